/* Zero point and step of a row of stochastic integers, and the values that a receiver makes of
 * them. Everything here is a function of what travels, so both ends agree. */
#ifndef QH_CODEC_SCALE_H
#define QH_CODEC_SCALE_H

#include "src/codec/codec.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* As they travel. Two bit patterns have a meaning of their own, so that no row of finite values is
 * out of reach: an infinity stands for 2^128, the number after the largest of its format, and a
 * negative step for twice its magnitude. */
typedef struct qh_scale {
    float zero, step;
} qh_scale;

enum { QH_SCALE_BATCH = 8 };

/* Parameters of n <= QH_SCALE_BATCH rows at once, for values in [min, max] (finite) in steps 0 ..
 * levels, levels = 2^B - 1. min, max and levels hold QH_SCALE_BATCH values whatever n is (finite,
 * levels >= 1; what lies past n does not matter).
 *
 * zero <= min, and the receiver's value of the top level is >= max. min = max: step is 0 where the
 * format holds min, so that it arrives exactly. Both are multiples of the float spacing at the
 * row's largest magnitude, which makes zero + q * step exact in single precision (but for rows
 * wider than half the float range): the receiver's rounding adds no bias, however large the offset.
 */
void qh_scale_choose(const float *min, const float *max, const int32_t *levels, int n,
                     qh_params_format params, qh_scale *out);

/* Whether the receiver computes zero + q * step in single precision, as the kernels do; if not (16
 * bits, or an intermediate would overflow) both ends use double, and the result is clamped to
 * finite floats. */
static inline bool qh_scale_is_single(qh_scale s, int levels)
{
    return levels <= 255 && s.step >= 0 && fabsf(s.zero + (float)levels * s.step) <= FLT_MAX;
}

/* What level q decodes to on the receiver, in the arithmetic of is_single. */
float qh_scale_value(qh_scale s, int levels, int q);

/* Their true values, where is_single does not hold. */
double qh_scale_zero(qh_scale s);
double qh_scale_step(qh_scale s);

/* To and from 8 (fp32) or 4 (bf16) wire bytes, zero first, at any alignment. */
static inline void qh_scale_put(qh_scale s, qh_params_format params, uint8_t *out)
{
    uint32_t wide[2];
    uint16_t narrow[2];

    memcpy(wide, &s, sizeof wide);
    narrow[0] = (uint16_t)(wide[0] >> 16);
    narrow[1] = (uint16_t)(wide[1] >> 16);
    if (params == QH_PARAMS_FP32)
        memcpy(out, wide, sizeof wide);
    else
        memcpy(out, narrow, sizeof narrow);
}

static inline qh_scale qh_scale_get(qh_params_format params, const uint8_t *in)
{
    uint32_t wide[2];
    uint16_t narrow[2];
    qh_scale s;

    if (params == QH_PARAMS_FP32) {
        memcpy(wide, in, sizeof wide);
    } else {
        memcpy(narrow, in, sizeof narrow);
        wide[0] = (uint32_t)narrow[0] << 16;
        wide[1] = (uint32_t)narrow[1] << 16;
    }
    memcpy(&s, wide, sizeof s);
    return s;
}

#endif
