/* Some columns of a row, and the magnitude that bounds the largest, as src/kernel/ref/columns.c. */
#include "src/base/status.h"
#include "src/kernel/fast/fast.h"

void FAST(gather_cols)(const float *x, const int32_t *column, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[column[i]];
}

void FAST(scatter_cols)(const float *x, const int32_t *column, int64_t n, float scale,
                        int64_t n_cols, float *out)
{
    memset(out, 0, (size_t)n_cols * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        out[column[i]] = scale * x[i];
}

INLINE int64_t at_least(const float *x, int64_t n, uint32_t magnitude)
{
    const vec_u sign = vec_u_set(0x7fffffff), below = vec_u_set(magnitude);
    int64_t less = 0, i = 0;

    for (; i + QH_LANES <= n; i += QH_LANES)
        less += __builtin_popcount(vec_bits(vec_u_lt((vec_u)vec_load(x + i) & sign, below)));
    if (i < n) {
        vec_mask part = vec_first(n - i);
        vec_mask small = vec_u_lt((vec_u)vec_load_part(x + i, part) & sign, below);

        less += __builtin_popcount(vec_bits(small) & vec_bits(part));
    }
    return n - less;
}

/* The smallest magnitude of at least `bound`. */
INLINE uint32_t least_from(const float *x, int64_t n, uint32_t bound)
{
    uint32_t least = UINT32_MAX;

    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        bits = bits >= bound ? bits : UINT32_MAX;
        least = bits < least ? bits : least;
    }
    return least;
}

/* The largest bound that k values reach, bit by bit from the top. A bound that exactly k reach has
 * found them: the smallest of them is what it would come to. */
uint32_t FAST(kth_magnitude)(const float *x, int64_t n, int64_t k)
{
    uint32_t found = 0;

    QH_ASSERT(1 <= k && k <= n);
    for (uint32_t bit = 1U << 30; bit; bit >>= 1) {
        int64_t count = at_least(x, n, found | bit);

        if (count == k)
            return least_from(x, n, found | bit);
        if (count > k)
            found |= bit;
    }
    return found;
}
