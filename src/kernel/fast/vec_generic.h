/* Any machine: the compiler's vector extensions alone. Included by vec.h alone. */
#include "src/kernel/ref/ref.h"

#include <math.h>

enum { QH_LANES = 4 };
typedef float vec __attribute__((vector_size(16)));
typedef uint32_t vec_u __attribute__((vector_size(16)));
typedef int32_t vec_i __attribute__((vector_size(16)));
typedef uint64_t vec_w __attribute__((vector_size(16)));
typedef vec_i vec_mask; /* lanes of all ones or zeros */

INLINE vec vec_load(const float *p)
{
    vec v;

    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void vec_store(float *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

INLINE void vec_stream(float *p, vec v)
{
    vec_store(p, v);
}

INLINE void vec_fence(void)
{
}

INLINE vec_mask vec_first(int64_t n)
{
    int count = n > QH_LANES ? QH_LANES : n < 0 ? 0 : (int)n;

    return (vec_i){0, 1, 2, 3} < (vec_i){count, count, count, count};
}

INLINE vec vec_load_part(const float *p, vec_mask m)
{
    vec v = {0, 0, 0, 0};

    for (int i = 0; i < QH_LANES; i++)
        if (m[i])
            v[i] = p[i];
    return v;
}

INLINE void vec_store_part(float *p, vec v, vec_mask m)
{
    for (int i = 0; i < QH_LANES; i++)
        if (m[i])
            p[i] = v[i];
}

INLINE vec vec_set(float x)
{
    return (vec){x, x, x, x};
}

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

INLINE vec vec_choose(vec_mask m, vec yes, vec no)
{
    return (vec)((m & (vec_i)yes) | (~m & (vec_i)no));
}

INLINE vec vec_min(vec a, vec b)
{
    return vec_choose(a < b, a, b);
}

INLINE vec vec_max(vec a, vec b)
{
    return vec_choose(a > b, a, b);
}

INLINE vec vec_sqrt(vec a)
{
    for (int i = 0; i < QH_LANES; i++)
        a[i] = sqrtf(a[i]);
    return a;
}

INLINE vec_mask vec_gt(vec a, vec b)
{
    return a > b;
}

INLINE uint32_t vec_bits(vec_mask m)
{
    return (uint32_t)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
}

INLINE vec_mask vec_of_bits(uint32_t bits)
{
    vec_i b = {(int32_t)bits, (int32_t)bits, (int32_t)bits, (int32_t)bits};

    return (b & (vec_i){1, 2, 4, 8}) != 0;
}

INLINE vec vec_keep(vec_mask m, vec a)
{
    return (vec)(m & (vec_i)a);
}

INLINE vec vec_from_u(vec_u a)
{
    return __builtin_convertvector((vec_i)a, vec);
}

/* What C leaves open, NaN and integers too large, must not reach the conversion. */
INLINE vec_u vec_to_u(vec a)
{
    return (vec_u) __builtin_convertvector(vec_choose(a > vec_set(-1), a, vec_set(-1)), vec_i);
}

INLINE vec_mask vec_u_lt(vec_u a, vec_u b)
{
    return (vec_mask)(a < b);
}

INLINE vec_u vec_xor3(vec_u a, vec_u b, vec_u c)
{
    return a ^ b ^ c;
}

INLINE vec_w vec_mul_low(vec_w a, vec_w b)
{
    return (a & 0xffffffff) * (b & 0xffffffff);
}

INLINE vec_u vec_weave(vec_w even, vec_w odd)
{
    return (vec_u)((even & 0xffffffff) | odd << 32);
}

INLINE void vec_pack4(const vec_u q[4], uint8_t *out)
{
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < QH_LANES; i++)
            out[v * QH_LANES + i] = (int32_t)q[v][i] < 0 ? 0 : (uint8_t)q[v][i];
}

INLINE vec_u vec_of_bytes(const uint8_t *p)
{
    return (vec_u){p[0], p[1], p[2], p[3]};
}

INLINE void vec_prefetch(const void *p)
{
    __builtin_prefetch(p);
}

/* Pairs, then fours, then eights close up. */
INLINE uint64_t squeeze(uint64_t bytes, int bits)
{
    uint64_t one = (1ULL << bits) - 1, two = (1ULL << 2 * bits) - 1, four = (1ULL << 4 * bits) - 1;
    uint64_t w = bytes;

    w = (w & one * 0x0001000100010001) | (w >> 8 & one * 0x0001000100010001) << bits;
    w = (w & two * 0x0000000100000001) | (w >> 16 & two * 0x0000000100000001) << 2 * bits;
    return (w & four) | (w >> 32 & four) << 4 * bits;
}

INLINE uint64_t spread(uint64_t stream, int bits)
{
    uint64_t one = (1ULL << bits) - 1, two = (1ULL << 2 * bits) - 1, four = (1ULL << 4 * bits) - 1;
    uint64_t w = (stream & four) | (stream >> 4 * bits & four) << 32;

    w = (w & two * 0x0000000100000001) | (w >> 2 * bits & two * 0x0000000100000001) << 16;
    return (w & one * 0x0001000100010001) | (w >> bits & one * 0x0001000100010001) << 8;
}

INLINE void vec_to_fp16(const float *x, uint16_t *out)
{
    qh_ref_to_fp16(x, QH_LANES, out);
}

INLINE void vec_from_fp16(const uint16_t *x, float *out)
{
    qh_ref_from_fp16(x, QH_LANES, out);
}

INLINE bool vec_squeeze(const uint8_t *bytes, int bits, uint8_t *out)
{
    (void)bytes, (void)bits, (void)out;
    return false;
}
