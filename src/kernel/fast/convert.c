/* bf16 and fp16, to the bit as src/kernel/ref/pack.c. */
#include "src/kernel/fast/fast.h"
#include "src/kernel/ref/ref.h"

/* The compiler makes vectors of these. */
void FAST(to_bf16)(const float *x, int64_t n, uint16_t *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u, round;

        memcpy(&u, x + i, sizeof u);
        round = (u & 0x7fffffff) > 0x7f800000 ? u | 0x400000 : u + 0x7fff + (u >> 16 & 1);
        out[i] = (uint16_t)(round >> 16);
    }
}

void FAST(from_bf16)(const uint16_t *x, int64_t n, float *restrict out)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = (uint32_t)x[i] << 16;

        memcpy(out + i, &u, sizeof u);
    }
}

void FAST(to_fp16)(const float *x, int64_t n, uint16_t *out)
{
    int64_t i = 0;

    for (; i + QH_LANES <= n; i += QH_LANES)
        vec_to_fp16(x + i, out + i);
    qh_ref_to_fp16(x + i, n - i, out + i);
}

void FAST(from_fp16)(const uint16_t *x, int64_t n, float *out)
{
    int64_t i = 0;

    for (; i + QH_LANES <= n; i += QH_LANES)
        vec_from_fp16(x + i, out + i);
    qh_ref_from_fp16(x + i, n - i, out + i);
}

/* Past the cache only where the fence at the end is cheap beside the copy. */
void FAST(copy)(const float *x, int64_t n, float *out)
{
    enum { STREAM_FROM = 1 << 16 };
    int64_t i = 0;

    if (n < STREAM_FROM) {
        if (n > 0)
            memcpy(out, x, (size_t)n * sizeof *x);
        return;
    }
    while (i < n && (uintptr_t)(out + i) % 64 != 0) {
        out[i] = x[i];
        i++;
    }
    for (; i + 64 / 4 <= n; i += 64 / 4)
        for (int v = 0; v < 16 / QH_LANES; v++)
            vec_stream(out + i + v * QH_LANES, vec_load(x + i + v * QH_LANES));
    vec_fence();
    for (; i < n; i++)
        out[i] = x[i];
}
