#include "src/codec/scale.h"

#define BF16_MAX 0x1.FEp127F

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

/* 2^e for e in [-1022, 1023]. */
static double power_of_two(int e)
{
    uint64_t u = (uint64_t)(e + 1023) << 52;
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* Exponent of the spacing of floats at magnitude x: that of its last bit. */
static int spacing_exponent(float x)
{
    int biased = (int)(bits_of(x) >> 23 & 255);

    return (biased ? biased : 1) - 150;
}

/* Multiples of 2^e around x, |x| < 2^(e + 51): what adding 1.5 * 2^(e + 52) leaves of x. */
static double multiple_below(double x, int e)
{
    double c = 1.5 * power_of_two(e + 52), near = (x + c) - c;

    return near > x ? near - power_of_two(e) : near;
}

static double multiple_above(double x, int e)
{
    double c = 1.5 * power_of_two(e + 52), near = (x + c) - c;

    return near < x ? near + power_of_two(e) : near;
}

static float magnitude(float a, float b)
{
    a = fabsf(a);
    b = fabsf(b);
    return a > b ? a : b;
}

static double widen(float x)
{
    return isinf(x) ? copysign(0x1p128, (double)x) : (double)x;
}

double qh_scale_zero(qh_scale s)
{
    return widen(s.zero);
}

double qh_scale_step(qh_scale s)
{
    return s.step < 0 ? -2 * widen(s.step) : widen(s.step);
}

/* The greatest zero point that can travel and is <= x; x has 24 significant bits. */
static float zero_below(double x, qh_params_format params)
{
    float zero = (float)x; /* -2^128 becomes the infinity that stands for it */

    if (params == QH_PARAMS_FP32)
        return zero;
    return zero < -BF16_MAX ? -INFINITY : qh_bf16_down(zero);
}

/* The least step that can travel and is >= x. */
static float step_above(double x, qh_params_format params)
{
    bool halved = x > 0x1p128; /* one bit for a row as wide as all floats */
    float step;

    x = halved ? x / 2 : x;
    step = (float)x;
    if ((double)step < x)
        step = float_of(bits_of(step) + 1);
    if (params == QH_PARAMS_BF16)
        step = step > BF16_MAX ? INFINITY : qh_bf16_up(step);
    return halved ? -step : step;
}

float qh_scale_value(qh_scale s, int levels, int q)
{
    double x;

    if (qh_scale_is_single(s, levels))
        return s.zero + (float)q * s.step;
    x = qh_scale_zero(s) + q * qh_scale_step(s);
    return (float)(x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x);
}

/* A level past a power of two stands where floats are twice as far apart: then once more, on the
 * coarser grid; its 24 bits reach to where the next power begins. */
static qh_scale choose_any(float min, float max, int levels, qh_params_format params)
{
    int e = spacing_exponent(magnitude(min, max));
    qh_scale s;
    double zero, top;

    do {
        s.zero = zero_below(multiple_below(min, e), params);
        zero = qh_scale_zero(s);
        s.step = step_above(multiple_above((max - zero) / levels, e), params);
        while (qh_scale_value(s, levels, levels) < max)
            s.step = step_above(qh_scale_step(s) + power_of_two(e), params);
        top = zero + levels * qh_scale_step(s);
        e++;
    } while (-zero > power_of_two(e + 23) || top > power_of_two(e + 23));
    return s;
}

/* What nearly every row is: of ordinary magnitude, and right on the first grid. Everything is an
 * integer number of grid spacings, at most 2^25 of them, without a branch, so that the compiler
 * makes vectors of it: row by row, choose_any costs a quarter of the rounding of 256 values. *fine
 * = 0: not such a row. */
static inline void choose_ordinary(float min, float max, int32_t levels, uint32_t cut,
                                   float *zero_out, float *step_out, int32_t *fine)
{
    enum { LEAST = -120, REACH = 1 << 24 };
    float most = magnitude(min, max), zero, step, unit, per_unit;
    int32_t e = (int32_t)(bits_of(most) >> 23) - 150, low, high, width;
    uint32_t bits;

    e = e < LEAST ? LEAST : e;
    e = e > -LEAST ? -LEAST : e;
    unit = float_of((uint32_t)(127 + e) << 23);
    per_unit = float_of((uint32_t)(127 - e) << 23);
    low = (int32_t)(min * per_unit);
    low -= (float)low > min * per_unit;
    bits = bits_of((float)low);
    zero = float_of((bits + (cut & (0 - (bits >> 31)))) & ~cut);
    low = (int32_t)zero;
    high = (int32_t)(max * per_unit);
    high += (float)high < max * per_unit;
    width = (int32_t)((float)(high - low) / (float)levels);
    width += width * levels < high - low;
    step = float_of((bits_of((float)width) + cut) & ~cut);
    *zero_out = zero * unit;
    *step_out = step * unit;
    *fine = ((most >= 0x1p-90F) | (most == 0)) & (most < 0x1p90F) & (zero * unit <= min) &
            (zero * unit + (float)levels * (step * unit) >= max) & (low >= -REACH) &
            (low + levels * (int32_t)step <= REACH);
}

void qh_scale_choose(const float *min, const float *max, const int32_t *levels, int n,
                     qh_params_format params, qh_scale *out)
{
    float zero[QH_SCALE_BATCH], step[QH_SCALE_BATCH];
    int32_t fine[QH_SCALE_BATCH];
    uint32_t cut = params == QH_PARAMS_BF16 ? 0xffff : 0; /* the bits that do not travel */

    QH_ASSERT(0 <= n && n <= QH_SCALE_BATCH);
    for (int i = 0; i < QH_SCALE_BATCH; i++)
        choose_ordinary(min[i], max[i], levels[i], cut, zero + i, step + i, fine + i);
    for (int i = 0; i < n; i++)
        out[i] = fine[i] && levels[i] <= 255 ? (qh_scale){zero[i], step[i]}
                                             : choose_any(min[i], max[i], levels[i], params);
}
