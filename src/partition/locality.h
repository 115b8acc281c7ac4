/* An order of the nodes that puts those who share neighbours near each other, so that aggregation
 * finds their rows in the cache. */
#ifndef QH_PARTITION_LOCALITY_H
#define QH_PARTITION_LOCALITY_H

#include "src/graph/graph.h"

/* order[n_nodes]: a permutation of the nodes. out_ptr/out_dst is the transposed graph, or NULL for
 * a symmetric one. Only edges inside a part count. Deterministic. QH_ERESOURCE. */
qh_status qh_locality_order(const qh_graph *g, const int64_t *out_ptr, const int32_t *out_dst,
                            const int32_t *part, int32_t *order);

#endif
