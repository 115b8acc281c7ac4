#include "src/partition/partitioners.h"

#include "src/base/rng.h"

/* Balanced parts, then a random permutation (Fisher and Yates, in Durstenfeld's form, CACM 7(7),
 * 1964): sizes differ by one at most, which independent draws would not give. */
static qh_status run(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    qh_key key = qh_rand_key(r->seed, QH_RAND_PARTITION, 0, 0, 0);

    for (int64_t i = 0; i < g->n_nodes; i++) {
        int64_t j = (int64_t)qh_rand_below(key, (uint64_t)i, (uint64_t)i + 1);

        part[i] = part[j]; /* a shuffle that fills as it goes: i takes j's place, j the new one */
        part[j] = (int32_t)(i * r->n_parts / g->n_nodes);
    }
    return QH_OK;
}

const qh_partitioner_ops qh_partitioner_random = {
    .name = "random", .help = "nodes drawn at random, sizes apart by one at most", .run = run};
