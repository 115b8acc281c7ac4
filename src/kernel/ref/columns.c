#include "src/kernel/ref/ref.h"

#include <string.h>

void qh_ref_gather_cols(const float *x, const int32_t *column, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[column[i]];
}

void qh_ref_scatter_cols(const float *x, const int32_t *column, int64_t n, float scale,
                         int64_t n_cols, float *out)
{
    for (int64_t c = 0; c < n_cols; c++)
        out[c] = 0;
    for (int64_t i = 0; i < n; i++)
        out[column[i]] = scale * x[i];
}

static int64_t at_least(const float *x, int64_t n, uint32_t magnitude)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, x + i, sizeof bits);
        count += (bits & 0x7fffffff) >= magnitude;
    }
    return count;
}

/* The largest magnitude that k values reach, bit by bit from the top. */
uint32_t qh_ref_kth_magnitude(const float *x, int64_t n, int64_t k)
{
    uint32_t found = 0;

    QH_ASSERT(1 <= k && k <= n);
    for (uint32_t bit = 1U << 30; bit; bit >>= 1)
        if (at_least(x, n, found | bit) >= k)
            found |= bit;
    return found;
}
