#include "src/partition/partitioners.h"

#include "src/base/rng.h"

/* A node's part is a function of its id and the number of parts alone (the seed has no say), so
 * that anyone can tell where a node lives. Only empty parts of small graphs are filled up. */
static qh_status run(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    qh_key key = qh_rand_key(0, QH_RAND_PARTITION, 0, 1, 0);

    for (int64_t i = 0; i < g->n_nodes; i++)
        part[i] = (int32_t)qh_rand_below(key, (uint64_t)i, (uint64_t)r->n_parts);
    return qh_partition_fill_empty(g->n_nodes, r->n_parts, part);
}

const qh_partitioner_ops qh_partitioner_hash = {
    .name = "hash", .help = "a hash of the node's id, whatever the seed", .run = run};
