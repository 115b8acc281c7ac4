#include "src/codec/scale.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* Multiples of 2^e around x; |x| is less than 2^(e + 40). Truncation in place of floor and ceil,
 * which are calls on the oldest CPUs of the family. */
static double multiple_below(double x, int e)
{
    double k = x * power_of_two(-e), whole = (double)(int64_t)k;

    return (whole > k ? whole - 1 : whole) * power_of_two(e);
}

static double multiple_above(double x, int e)
{
    return 0 - multiple_below(-x, e); /* never -0 */
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

bool qh_scale_is_single(qh_scale s, int levels)
{
    return levels <= 255 && s.step >= 0 && fabsf(s.zero + (float)levels * s.step) <= FLT_MAX;
}

float qh_scale_value(qh_scale s, int levels, int q)
{
    double x;

    if (qh_scale_is_single(s, levels))
        return s.zero + (float)q * s.step;
    x = qh_scale_zero(s) + q * qh_scale_step(s);
    return (float)(x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x);
}

qh_scale qh_scale_choose(float min, float max, int levels, qh_params_format params)
{
    int e = spacing_exponent(magnitude(min, max));
    qh_scale s;
    double zero, top;

    /* A level past a power of two stands where floats are twice as far apart: then once more, on
     * the coarser grid. 24 bits of it reach to where the next power begins. */
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

void qh_scale_put(qh_scale s, qh_params_format params, uint8_t *out)
{
    uint32_t wide[2] = {bits_of(s.zero), bits_of(s.step)};
    uint16_t narrow[2] = {(uint16_t)(wide[0] >> 16), (uint16_t)(wide[1] >> 16)};

    if (params == QH_PARAMS_FP32)
        memcpy(out, wide, sizeof wide);
    else
        memcpy(out, narrow, sizeof narrow);
}

qh_scale qh_scale_get(qh_params_format params, const uint8_t *in)
{
    uint32_t wide[2];
    uint16_t narrow[2];

    if (params == QH_PARAMS_FP32) {
        memcpy(wide, in, sizeof wide);
    } else {
        memcpy(narrow, in, sizeof narrow);
        wide[0] = (uint32_t)narrow[0] << 16;
        wide[1] = (uint32_t)narrow[1] << 16;
    }
    return (qh_scale){float_of(wide[0]), float_of(wide[1])};
}
