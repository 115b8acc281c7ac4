/* Dropout -> LayerNorm (Ba, Kiros, Hinton 2016) -> ReLU, forward and backward.
 *
 * xhat = (z - mean) * rstd and y = xhat * gain + bias are taken in single precision with one
 * rounding an operation, here and in every backend: the sign of y is the ReLU's mask, which the
 * way back draws again from z, so it must come out the same. */
#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

#include <math.h>

static const double LAYER_NORM_EPS = 1e-5;

/* Row r of z becomes dropout(z), and its mask bits are kept. */
static void drop_row(const qh_hidden *h, int64_t r, float *z, int64_t cols, uint8_t *bits)
{
    float scale = 65536.0F / (float)h->keep;

    if (bits)
        for (int64_t i = 0; i < (cols + 7) / 8; i++)
            bits[i] = 0;
    for (int64_t c = 0; c < cols; c++) {
        bool kept = qh_rand16(h->key, (uint64_t)h->node[r], (uint64_t)c) < h->keep;

        z[c] = kept ? z[c] * scale : 0;
        if (bits && kept)
            bits[c / 8] |= (uint8_t)(1 << c % 8);
    }
}

static void row_moments(const float *z, int64_t cols, float *mean, float *rstd)
{
    double sum = 0, square = 0, m;

    for (int64_t c = 0; c < cols; c++)
        sum += (double)z[c];
    m = sum / (double)cols;
    for (int64_t c = 0; c < cols; c++)
        square += ((double)z[c] - m) * ((double)z[c] - m);
    *mean = (float)m;
    *rstd = (float)(1 / sqrt(square / (double)cols + LAYER_NORM_EPS));
}

void qh_ref_hidden_forward(const qh_hidden *h, qh_mat z, int64_t r0, int64_t r1, qh_mat out,
                           float *mean, float *rstd, uint8_t *dropped, int64_t stride)
{
    QH_ASSERT(h->keep <= 65536 && z.cols == out.cols && r1 <= z.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++) {
        float *in = qh_mat_row(z, r), *o = qh_mat_row(out, r);

        if (h->keep < 65536)
            drop_row(h, r, in, z.cols, dropped ? dropped + r * stride : NULL);
        if (h->norm)
            row_moments(in, z.cols, &mean[r], &rstd[r]);
        for (int64_t c = 0; c < z.cols; c++) {
            float y = in[c];

            if (h->norm) {
                float xhat = (y - mean[r]) * rstd[r];

                y = xhat * h->gain[c] + h->bias[c];
            }
            o[c] = 0 > y ? 0 : y; /* NaN passes */
        }
    }
}

/* With gy the gradient of y and a = gy * gain:
 * gz = rstd * (a - mean(a) - xhat * mean(a * xhat)). */
static void norm_row_backward(const qh_hidden *h, const float *z, float mean, float rstd,
                              int64_t cols, float *g, float *d_gain, float *d_bias)
{
    double sum = 0, dot = 0;

    for (int64_t c = 0; c < cols; c++) {
        float xhat = (z[c] - mean) * rstd;
        float y = xhat * h->gain[c] + h->bias[c];
        float gy = y > 0 ? g[c] : 0;

        d_gain[c] += gy * xhat;
        d_bias[c] += gy;
        g[c] = gy * h->gain[c];
        sum += (double)g[c];
        dot += (double)g[c] * (double)xhat;
    }
    for (int64_t c = 0; c < cols; c++) {
        float xhat = (z[c] - mean) * rstd;

        g[c] = rstd * (g[c] - (float)(sum / (double)cols) - xhat * (float)(dot / (double)cols));
    }
}

void qh_ref_hidden_backward(const qh_hidden *h, qh_mat z, const float *mean, const float *rstd,
                            const uint8_t *dropped, int64_t stride, int64_t r0, int64_t r1,
                            qh_mat g, float *d_gain, float *d_bias)
{
    float scale = 65536.0F / (float)h->keep;

    QH_ASSERT(h->keep <= 65536 && z.cols == g.cols && r1 <= z.rows && r1 <= g.rows);
    QH_ASSERT(!h->norm || h->keep == 65536 || dropped);
    for (int64_t c = 0; h->norm && c < g.cols; c++)
        d_gain[c] = d_bias[c] = 0;
    for (int64_t r = r0; r < r1; r++) {
        const float *in = qh_mat_row(z, r);
        float *o = qh_mat_row(g, r);

        if (h->norm)
            norm_row_backward(h, in, mean[r], rstd[r], z.cols, o, d_gain, d_bias);
        for (int64_t c = 0; c < z.cols; c++) {
            /* Without a norm a dropped element is 0 in z, which the ReLU stops anyway. */
            bool pass = h->norm ? h->keep == 65536 || (dropped[r * stride + c / 8] >> c % 8 & 1)
                                : in[c] > 0;

            o[c] = pass ? o[c] * scale : 0;
        }
    }
}
