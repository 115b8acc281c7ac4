#include "src/partition/partitioners.h"

static qh_status run(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    for (int64_t i = 0; i < g->n_nodes; i++)
        part[i] = (int32_t)(i * r->n_parts / g->n_nodes);
    return QH_OK;
}

const qh_partitioner_ops qh_partitioner_range = {
    .name = "range", .help = "runs of neighbouring ids, sizes apart by one at most", .run = run};
