#include "src/partition/locality.h"

qh_status qh_locality_order(const qh_graph *g, const int64_t *out_ptr, const int32_t *out_dst,
                            const int32_t *part, int n_ranks, int32_t *order)
{
    (void)out_ptr, (void)out_dst, (void)part, (void)n_ranks;
    for (int64_t i = 0; i < g->n_nodes; i++)
        order[i] = (int32_t)i;
    return QH_OK;
}
