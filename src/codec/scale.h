/* Zero point and step of a row of stochastic integers, and the values that a receiver makes of
 * them. Everything here is a function of what travels, so both ends agree. */
#ifndef QH_CODEC_SCALE_H
#define QH_CODEC_SCALE_H

#include "src/codec/codec.h"

/* As they travel. Two bit patterns have a meaning of their own, so that no row of finite values is
 * out of reach: an infinity stands for 2^128, the number after the largest of its format, and a
 * negative step for twice its magnitude. */
typedef struct qh_scale {
    float zero, step;
} qh_scale;

/* Parameters for values in [min, max] (finite) in steps 0 .. levels, levels = 2^B - 1:
 * zero <= min, and the receiver's value of the top level is >= max. min = max: step is 0 where the
 * format holds min, so that it arrives exactly. Both are multiples of the float spacing at the
 * row's largest magnitude, which makes zero + q * step exact in single precision (but for rows
 * wider than half the float range): the receiver's rounding adds no bias, however large the offset.
 */
qh_scale qh_scale_choose(float min, float max, int levels, qh_params_format params);

/* Whether the receiver computes zero + q * step in single precision, as the kernels do; if not (16
 * bits, or an intermediate would overflow) both ends use double, and the result is clamped to
 * finite floats. */
bool qh_scale_is_single(qh_scale s, int levels);

/* What level q decodes to on the receiver, in the arithmetic of is_single. */
float qh_scale_value(qh_scale s, int levels, int q);

/* Their true values, where is_single does not hold. */
double qh_scale_zero(qh_scale s);
double qh_scale_step(qh_scale s);

/* To and from 8 (fp32) or 4 (bf16) wire bytes, zero first, at any alignment. */
void qh_scale_put(qh_scale s, qh_params_format params, uint8_t *out);
qh_scale qh_scale_get(qh_params_format params, const uint8_t *in);

#endif
