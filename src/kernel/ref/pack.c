#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

bool qh_ref_min_max(const float *x, int64_t n, float *min, float *max)
{
    float lo = x[0], hi = x[0];
    bool finite = true;

    QH_ASSERT(n >= 1);
    for (int64_t i = 0; i < n; i++) {
        finite = finite && isfinite(x[i]);
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    if (!finite)
        return false;
    *min = lo + 0.0F; /* -0 becomes +0: which of the two came first must not show */
    *max = hi + 0.0F;
    return true;
}

void qh_ref_quantize(const float *x, int64_t n, int bits, float zero, float inverse, qh_key key,
                     uint64_t row, uint8_t *out)
{
    float most = (float)((1 << bits) - 1);

    QH_ASSERT(1 <= bits && bits <= 8);
    memset(out, 0, (size_t)((n * bits + 7) / 8));
    for (int64_t i = 0; i < n && inverse != 0; i++) {
        float u = (float)qh_rand16(key, row, (uint64_t)i) * 0x1p-16F;
        float t = (x[i] - zero) * inverse + u;
        unsigned q;

        t = t > 0 ? t : 0; /* NaN too becomes 0: the neighbours in the byte are never hurt */
        t = t < most ? t : most;
        q = (unsigned)t;
        for (int b = 0; b < bits; b++)
            out[(i * bits + b) / 8] |= (uint8_t)((q >> b & 1) << (i * bits + b) % 8);
    }
}

void qh_ref_dequantize(const uint8_t *in, int64_t n, int bits, float zero, float scale, float *out)
{
    QH_ASSERT(1 <= bits && bits <= 8);
    for (int64_t i = 0; i < n; i++) {
        unsigned q = 0;

        for (int b = 0; b < bits; b++)
            q |= (in[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1U) << b;
        out[i] = zero + (float)q * scale;
    }
}

void qh_ref_to_bf16(const float *x, int64_t n, uint16_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = bits_of(x[i]);

        if (isnan(x[i]))
            out[i] = (uint16_t)(u >> 16 | 0x40); /* quiet, so that the cut leaves a NaN */
        else
            out[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
    }
}

void qh_ref_from_bf16(const uint16_t *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = float_of((uint32_t)x[i] << 16);
}

static uint16_t fp16_of(uint32_t u)
{
    uint32_t sign = u >> 16 & 0x8000, mag = u & 0x7fffffff, bits, rest, half;
    int shift;

    if (mag > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x1ff)); /* quiet, payload's top kept */
    if (mag >= 0x477ff000)
        return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
    if (mag >= 0x38800000) {              /* normal: from 2^-14 */
        bits = mag - (112U << 23);
        shift = 13;
    } else { /* subnormal: the significand in units of 2^-24 */
        shift = 126 - (int)(mag >> 23);
        bits = mag < 0x00800000 ? 0 : (mag & 0x7fffff) | 0x800000;
        if (shift > 25)
            return (uint16_t)sign;
    }
    rest = bits & ((1U << shift) - 1);
    half = 1U << (shift - 1);
    bits >>= shift;
    bits += rest > half || (rest == half && (bits & 1));
    return (uint16_t)(sign | bits);
}

void qh_ref_to_fp16(const float *x, int64_t n, uint16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = fp16_of(bits_of(x[i]));
}

void qh_ref_from_fp16(const uint16_t *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t sign = (uint32_t)(x[i] & 0x8000) << 16, exponent = x[i] >> 10 & 31,
                 mantissa = x[i] & 0x3ff;
        float f = (float)mantissa * 0x1p-24F; /* exact: subnormal, or 0 */

        if (exponent == 31)
            f = float_of(0x7f800000 | mantissa << 13 | (mantissa ? 0x400000 : 0));
        else if (exponent)
            f = float_of((exponent + 112) << 23 | mantissa << 13);
        out[i] = float_of(sign | bits_of(f));
    }
}

void qh_ref_copy(const float *x, int64_t n, float *out)
{
    if (n > 0)
        memcpy(out, x, (size_t)n * sizeof *x);
}
