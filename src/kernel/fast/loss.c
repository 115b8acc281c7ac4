#include "src/base/status.h"
#include "src/kernel/fast/fast.h"

#include <math.h>

/* exp(x) for x <= 0, within 2 units of the last place; 0 below -87. x = n ln 2 + r, |r| <= ln 2 /
 * 2, and the Taylor series of exp(r) to r^7 (its rest is below 6e-9). */
INLINE vec exp_down(vec x)
{
    const vec magic = vec_set(0x1.8p23F); /* adding it leaves n in the low bits, rounded */
    vec_mask alive = vec_gt(x, vec_set(-87.0F));
    vec shifted = vec_fma(x, vec_set(0x1.715476p+0F), magic), n = shifted - magic, r, p;

    r = vec_fma(n, vec_set(-0x1.62e400p-1F), x); /* ln 2 in two parts: n times the first is exact */
    r = vec_fma(n, vec_set(-0x1.7f7d1cp-20F), r);
    p = vec_set(1.0F / 5040);
    p = vec_fma(p, r, vec_set(1.0F / 720));
    p = vec_fma(p, r, vec_set(1.0F / 120));
    p = vec_fma(p, r, vec_set(1.0F / 24));
    p = vec_fma(p, r, vec_set(1.0F / 6));
    p = vec_fma(p, r, vec_set(0.5F));
    p = vec_fma(p, r, vec_set(1));
    p = vec_fma(p, r, vec_set(1));
    return vec_keep(alive, (vec)((vec_u)p + ((vec_u)shifted << 23)));
}

INLINE float row_most(const float *x, int64_t cols)
{
    vec hi = vec_set(x[0]);
    float most = x[0];

    for (int64_t c = 0; c < cols; c += QH_LANES) {
        vec_mask part = vec_first(cols - c);

        hi = vec_max(hi, vec_choose(part, vec_load_part(x + c, part), hi));
    }
    for (int i = 0; i < QH_LANES; i++)
        most = hi[i] > most ? hi[i] : most;
    return most;
}

double FAST(softmax_ce)(qh_mat logits, const int32_t *label, const int32_t *list, int64_t r0,
                        int64_t r1, float scale, qh_mat grad)
{
    double loss = 0;

    for (int64_t i = r0; i < r1; i++) {
        const float *x = qh_mat_row(logits, list[i]);
        vec most, sum = vec_set(0), factor;
        double all;
        int32_t y;

        QH_ASSERT(0 <= list[i] && list[i] < logits.rows);
        y = label[list[i]];
        QH_ASSERT(0 <= y && y < logits.cols);
        most = vec_set(row_most(x, logits.cols));
        for (int64_t c = 0; c < logits.cols; c += QH_LANES) {
            vec_mask part = vec_first(logits.cols - c);

            sum += vec_keep(part, exp_down(vec_load_part(x + c, part) - most));
        }
        all = vec_sum(sum);
        loss += log(all) + (double)most[0] - (double)x[y];
        if (!grad.data)
            continue;
        factor = vec_set((float)((double)scale / all));
        for (int64_t c = 0; c < logits.cols; c += QH_LANES) {
            vec_mask part = vec_first(logits.cols - c);
            vec p = exp_down(vec_load_part(x + c, part) - most) * factor;

            vec_store_part(qh_mat_row(grad, list[i]) + c, p, part);
        }
        /* The label's own, p - 1, in double: near p = 1 a difference of floats has no digits left.
         */
        qh_mat_row(grad, list[i])[y] =
            (float)((double)scale * (exp((double)x[y] - (double)most[0]) - all) / all);
    }
    return loss;
}

/* The sum of log(1 + e) as the log of a product, in double: a thousand factors of at most 2 fit. */
typedef struct log_sum {
    double product[QH_LANES], sum;
    int n_factors;
} log_sum;

INLINE void log_sum_init(log_sum *s)
{
    for (int i = 0; i < QH_LANES; i++)
        s->product[i] = 1;
    s->sum = 0;
    s->n_factors = 0;
}

INLINE double log_sum_value(const log_sum *s)
{
    double sum = s->sum;

    for (int i = 0; i < QH_LANES; i++)
        sum += log(s->product[i]);
    return sum;
}

INLINE void log_sum_add(log_sum *s, vec e)
{
    for (int i = 0; i < QH_LANES; i++)
        s->product[i] *= 1 + (double)e[i];
    if (++s->n_factors == 1000) {
        double sum = log_sum_value(s);

        log_sum_init(s);
        s->sum = sum;
    }
}

INLINE vec targets_at(const uint8_t *t, int64_t n)
{
    uint8_t part[QH_LANES] = {0};

    if (n >= QH_LANES)
        return vec_from_u(vec_of_bytes(t));
    memcpy(part, t, (size_t)n);
    return vec_from_u(vec_of_bytes(part));
}

double FAST(sigmoid_bce)(qh_mat logits, const uint8_t *target, const int32_t *list, int64_t r0,
                         int64_t r1, float scale, qh_mat grad)
{
    double linear[QH_LANES] = {0}, loss;
    log_sum logs;

    log_sum_init(&logs);
    for (int64_t i = r0; i < r1; i++) {
        const float *row = qh_mat_row(logits, list[i]);

        QH_ASSERT(0 <= list[i] && list[i] < logits.rows);
        for (int64_t c = 0; c < logits.cols; c += QH_LANES) {
            vec_mask part = vec_first(logits.cols - c);
            vec x = vec_load_part(row + c, part), one = vec_set(1);
            vec t = targets_at(target + list[i] * logits.cols + c, logits.cols - c);
            vec small = vec_keep(part, exp_down(vec_set(0) - vec_abs(x)));
            vec up = vec_keep(vec_gt(x, vec_set(0)), x), p;

            log_sum_add(&logs, small);
            for (int j = 0; j < QH_LANES; j++)
                linear[j] += (double)up[j] - (double)x[j] * (double)t[j];
            if (!grad.data)
                continue;
            p = vec_choose(vec_gt(vec_set(0), x), small, one) / (one + small);
            vec_store_part(qh_mat_row(grad, list[i]) + c, vec_set(scale) * (p - t), part);
        }
    }
    loss = log_sum_value(&logs);
    for (int j = 0; j < QH_LANES; j++)
        loss += linear[j];
    return loss;
}
