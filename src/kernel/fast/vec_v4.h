/* x86-64-v4: AVX-512 F, BW, CD, DQ, VL. Included by vec.h alone. */
#include <immintrin.h>

enum { QH_LANES = 16 };
typedef float vec __attribute__((vector_size(64)));
typedef uint32_t vec_u __attribute__((vector_size(64)));
typedef uint64_t vec_w __attribute__((vector_size(64)));
typedef __mmask16 vec_mask;

INLINE vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

INLINE void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

INLINE void vec_stream(float *p, vec v)
{
    _mm512_stream_ps(p, v);
}

INLINE void vec_fence(void)
{
    _mm_sfence();
}

INLINE vec_mask vec_first(int64_t n)
{
    return n >= QH_LANES ? 0xffff : n <= 0 ? 0 : (vec_mask)((1U << n) - 1);
}

INLINE vec vec_load_part(const float *p, vec_mask m)
{
    return _mm512_maskz_loadu_ps(m, p);
}

INLINE void vec_store_part(float *p, vec v, vec_mask m)
{
    _mm512_mask_storeu_ps(p, m, v);
}

INLINE vec vec_set(float x)
{
    return _mm512_set1_ps(x);
}

INLINE vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

INLINE vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

INLINE vec vec_sqrt(vec a)
{
    return _mm512_sqrt_ps(a);
}

INLINE vec_mask vec_gt(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}

INLINE uint32_t vec_bits(vec_mask m)
{
    return m;
}

INLINE vec_mask vec_of_bits(uint32_t bits)
{
    return (vec_mask)bits;
}

INLINE vec vec_keep(vec_mask m, vec a)
{
    return _mm512_maskz_mov_ps(m, a);
}

INLINE vec vec_choose(vec_mask m, vec yes, vec no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

INLINE vec vec_from_u(vec_u a)
{
    return _mm512_cvtepi32_ps((__m512i)a);
}

INLINE vec_u vec_to_u(vec a)
{
    return (vec_u)_mm512_cvttps_epi32(a);
}

INLINE vec_mask vec_u_lt(vec_u a, vec_u b)
{
    return _mm512_cmplt_epu32_mask((__m512i)a, (__m512i)b);
}

INLINE vec_u vec_xor3(vec_u a, vec_u b, vec_u c)
{
    return (vec_u)_mm512_ternarylogic_epi32((__m512i)a, (__m512i)b, (__m512i)c, 0x96);
}

INLINE vec_w vec_mul_low(vec_w a, vec_w b)
{
    return (vec_w)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}

INLINE vec_u vec_weave(vec_w even, vec_w odd)
{
    return (vec_u)_mm512_mask_blend_epi32(0xaaaa, (__m512i)even,
                                          _mm512_slli_epi64((__m512i)odd, 32));
}

INLINE void vec_pack4(const vec_u q[4], uint8_t *out)
{
    __m512i ab = _mm512_packus_epi32((__m512i)q[0], (__m512i)q[1]);
    __m512i cd = _mm512_packus_epi32((__m512i)q[2], (__m512i)q[3]);
    /* Packs stay inside 128 bits: lane i of the result holds quarter i of q0, q1, q2, q3. */
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);

    _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(ab, cd)));
}

INLINE vec_u vec_of_bytes(const uint8_t *p)
{
    return (vec_u)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
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
    _mm256_storeu_si256((__m256i *)(void *)out,
                        _mm512_cvtps_ph(_mm512_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT));
}

INLINE void vec_from_fp16(const uint16_t *x, float *out)
{
    _mm512_storeu_ps(out, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)x)));
}

/* 64 bytes below 2^bits to 8 * bits bytes: pairs, and pairs of pairs, by multiplying and adding. */
INLINE bool vec_squeeze(const uint8_t *bytes, int bits, uint8_t *out)
{
    __m512i b = _mm512_loadu_si512(bytes);

    if (bits == 4) {
        b = _mm512_maddubs_epi16(b, _mm512_set1_epi16(0x1001));
        _mm256_storeu_si256((__m256i *)(void *)out, _mm512_cvtepi16_epi8(b));
    } else if (bits == 2) {
        b = _mm512_maddubs_epi16(b, _mm512_set1_epi16(0x0401));
        b = _mm512_madd_epi16(b, _mm512_set1_epi32(0x00100001));
        _mm_storeu_si128((__m128i *)(void *)out, _mm512_cvtepi32_epi8(b));
    }
    return bits == 4 || bits == 2;
}
