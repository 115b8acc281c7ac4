#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

#include <math.h>

double qh_ref_softmax_ce(qh_mat logits, const int32_t *label, const int32_t *list, int64_t r0,
                         int64_t r1, float scale, qh_mat grad)
{
    double loss = 0;

    for (int64_t i = r0; i < r1; i++) {
        const float *x = qh_mat_row(logits, list[i]);
        double most = -INFINITY, sum = 0;
        int32_t y;

        QH_ASSERT(0 <= list[i] && list[i] < logits.rows);
        y = label[list[i]];
        QH_ASSERT(0 <= y && y < logits.cols);
        for (int64_t c = 0; c < logits.cols; c++)
            most = fmax(most, (double)x[c]);
        for (int64_t c = 0; c < logits.cols; c++)
            sum += exp((double)x[c] - most);
        loss += log(sum) + most - (double)x[y];
        if (!grad.data)
            continue;
        for (int64_t c = 0; c < logits.cols; c++) {
            double p = exp((double)x[c] - most) / sum;

            qh_mat_row(grad, list[i])[c] = (float)((double)scale * (p - (c == y)));
        }
    }
    return loss;
}

double qh_ref_sigmoid_bce(qh_mat logits, const uint8_t *target, const int32_t *list, int64_t r0,
                          int64_t r1, float scale, qh_mat grad)
{
    double loss = 0;

    for (int64_t i = r0; i < r1; i++) {
        const float *row = qh_mat_row(logits, list[i]);
        const uint8_t *t = target + list[i] * logits.cols;

        QH_ASSERT(0 <= list[i] && list[i] < logits.rows);
        for (int64_t c = 0; c < logits.cols; c++) {
            double x = (double)row[c], small = exp(-fabs(x)); /* never overflows */
            double p = (x >= 0 ? 1 : small) / (1 + small);

            loss += (x > 0 ? x : 0) - x * t[c] + log1p(small);
            if (grad.data)
                qh_mat_row(grad, list[i])[c] = (float)((double)scale * (p - t[c]));
        }
    }
    return loss;
}
