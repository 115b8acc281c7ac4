/* Drawing an item by weight in constant time: the alias method (Vose, IEEE Trans. Software Eng.
 * 17(9), 1991). Inside src/graph only. */
#ifndef QH_GRAPH_ALIAS_H
#define QH_GRAPH_ALIAS_H

#include "src/base/status.h"

#include <stdint.h>

/* One item: stays when the fraction drawn is below keep (of 2^32), else gives way to other. */
typedef struct qh_alias {
    uint32_t keep;
    int32_t other; /* number within the table */
} qh_alias;

/* Fills a table of n items, n >= 1, from their weights (> 0, finite; unscaled). scratch: n doubles
 * and n int32. */
void qh_alias_fill(const double *weight, int64_t n, double *scratch, int32_t *stack, qh_alias *out);

/* The item for 32 random bits. Above n = 2^20 or so the fraction gets coarse (32 bits serve both).
 */
static inline int64_t qh_alias_pick(const qh_alias *table, int64_t n, uint32_t bits)
{
    uint64_t x = (uint64_t)bits * (uint64_t)n;
    int64_t i = (int64_t)(x >> 32);

    return (uint32_t)x < table[i].keep ? i : table[i].other;
}

#endif
