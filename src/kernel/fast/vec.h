/* A vector of QH_LANES floats of the instruction set that this file is compiled for: 16
 * (x86-64-v4), 8 (x86-64-v3) or 4. The sources of src/kernel/fast are compiled once for each, so
 * nothing here has external linkage, and names that have it get the suffix of the set from FAST().
 */
#ifndef QH_KERNEL_FAST_VEC_H
#define QH_KERNEL_FAST_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FAST_JOIN_(a, b) qh_fast_##a##_##b
#define FAST_JOIN(a, b)  FAST_JOIN_(a, b)
#define FAST(name)       FAST_JOIN(QH_ISA, name)

#define INLINE static inline __attribute__((always_inline, unused))

/* Each set's file gives the types vec (floats), vec_u (as many uint32_t), vec_w (half as many
 * uint64_t, the same bytes) and vec_mask, and these operations:
 * load, store (any address), stream (aligned, past the cache; fence when done), first(n) (a mask of
 * the first n lanes, n of any size), load_part (other lanes 0), store_part (others untouched), set,
 * fma (one rounding where the set has it), min, max (the second when one is NaN), sqrt, gt, keep (0
 * where not masked), choose, bits and of_bits (mask to integer and back), from_u (below 2^31),
 * to_u (cut towards 0; NaN below 0), xor3, mul_low (product of the low halves of 64-bit lanes),
 * weave (low halves of the 64-bit lanes, even and odd, to 32-bit lanes), pack4 (4 vec_u to bytes:
 * below 0, as signed, gives 0), of_bytes (QH_LANES bytes to 32-bit lanes), prefetch; and on bits:
 * squeeze (8 bytes below 2^bits to 8 * bits bits) and spread (its inverse);
 * vec_squeeze does it to 64 bytes at once, or returns false where it has no better way. */
#if defined(QH_ISA_V4)
#include "src/kernel/fast/vec_v4.h"
#elif defined(QH_ISA_V3)
#include "src/kernel/fast/vec_v3.h"
#else
#include "src/kernel/fast/vec_generic.h"
#endif

INLINE vec vec_of(vec_u bits)
{
    return (vec)bits;
}

INLINE vec_u vec_u_set(uint32_t x)
{
    return (vec_u){0} + x;
}

INLINE vec vec_abs(vec a)
{
    return (vec)((vec_u)a & vec_u_set(0x7fffffff));
}

/* Sum of the lanes, always paired the same way. */
INLINE double vec_sum(vec v)
{
    double sum[4] = {0, 0, 0, 0};

    for (int i = 0; i < QH_LANES; i++)
        sum[i % 4] += (double)v[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif
