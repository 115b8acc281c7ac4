/* x86-64-v3: AVX2, FMA, BMI2. Included by vec.h alone. */
#include <immintrin.h>

enum { QH_LANES = 8 };
typedef float vec __attribute__((vector_size(32)));
typedef uint32_t vec_u __attribute__((vector_size(32)));
typedef uint64_t vec_w __attribute__((vector_size(32)));
typedef __m256i vec_mask; /* lanes of all ones or zeros */

INLINE vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

INLINE void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

INLINE void vec_stream(float *p, vec v)
{
    _mm256_stream_ps(p, v);
}

INLINE void vec_fence(void)
{
    _mm_sfence();
}

INLINE vec_mask vec_first(int64_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int count = n > QH_LANES ? QH_LANES : n < 0 ? 0 : (int)n;

    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane);
}

INLINE vec vec_load_part(const float *p, vec_mask m)
{
    return _mm256_maskload_ps(p, m);
}

INLINE void vec_store_part(float *p, vec v, vec_mask m)
{
    _mm256_maskstore_ps(p, m, v);
}

INLINE vec vec_set(float x)
{
    return _mm256_set1_ps(x);
}

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

INLINE vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

INLINE vec vec_sqrt(vec a)
{
    return _mm256_sqrt_ps(a);
}

INLINE vec_mask vec_gt(vec a, vec b)
{
    return (vec_mask)_mm256_cmp_ps(a, b, _CMP_GT_OQ);
}

INLINE uint32_t vec_bits(vec_mask m)
{
    return (uint32_t)_mm256_movemask_ps((__m256)m);
}

INLINE vec_mask vec_of_bits(uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit);
}

INLINE vec vec_keep(vec_mask m, vec a)
{
    return _mm256_and_ps((__m256)m, a);
}

INLINE vec vec_choose(vec_mask m, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, (__m256)m);
}

INLINE vec vec_from_u(vec_u a)
{
    return _mm256_cvtepi32_ps((__m256i)a);
}

INLINE vec_u vec_to_u(vec a)
{
    return (vec_u)_mm256_cvttps_epi32(a);
}

/* Unsigned comparison by way of the signed one. */
INLINE vec_mask vec_u_lt(vec_u a, vec_u b)
{
    const __m256i top = _mm256_set1_epi32(INT32_MIN);

    return _mm256_cmpgt_epi32(_mm256_xor_si256((__m256i)b, top), _mm256_xor_si256((__m256i)a, top));
}

INLINE vec_u vec_xor3(vec_u a, vec_u b, vec_u c)
{
    return a ^ b ^ c;
}

INLINE vec_w vec_mul_low(vec_w a, vec_w b)
{
    return (vec_w)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}

INLINE vec_u vec_weave(vec_w even, vec_w odd)
{
    return (vec_u)_mm256_blend_epi32((__m256i)even, _mm256_slli_epi64((__m256i)odd, 32), 0xaa);
}

INLINE void vec_pack4(const vec_u q[4], uint8_t *out)
{
    __m256i ab = _mm256_packus_epi32((__m256i)q[0], (__m256i)q[1]);
    __m256i cd = _mm256_packus_epi32((__m256i)q[2], (__m256i)q[3]);
    /* Packs stay inside 128 bits: lane i of the result holds half i of q0, q1, q2, q3. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    _mm256_storeu_si256((__m256i *)(void *)out,
                        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), order));
}

INLINE vec_u vec_of_bytes(const uint8_t *p)
{
    return (vec_u)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

INLINE void vec_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

INLINE uint64_t squeeze(uint64_t bytes, int bits)
{
    return _pext_u64(bytes, ((1ULL << bits) - 1) * 0x0101010101010101);
}

INLINE uint64_t spread(uint64_t stream, int bits)
{
    return _pdep_u64(stream, ((1ULL << bits) - 1) * 0x0101010101010101);
}

INLINE void vec_to_fp16(const float *x, uint16_t *out)
{
    _mm_storeu_si128((__m128i *)(void *)out,
                     _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}

INLINE void vec_from_fp16(const uint16_t *x, float *out)
{
    _mm256_storeu_ps(out, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)x)));
}

INLINE bool vec_squeeze(const uint8_t *bytes, int bits, uint8_t *out)
{
    (void)bytes, (void)bits, (void)out;
    return false;
}
