/* The order of numbers, without comparisons. */
#ifndef QH_BASE_SORT_H
#define QH_BASE_SORT_H

#include <stdint.h>

/* The indices of v[n] by falling value, equal ones (0 and -0 are) by rising index, into order[n].
 * Values >= 0, no NaN; n <= 2^31; key is scratch, [2 * n]. A radix sort, O(n), no allocation. */
void qh_sort_falling(const float *v, int64_t n, uint64_t *key, int32_t *order);

#endif
