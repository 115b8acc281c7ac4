#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

void qh_ref_dropout(qh_mat x, uint32_t keep, qh_key key, const int32_t *node, int64_t r0,
                    int64_t r1, qh_mat out)
{
    float scale = 65536.0F / (float)keep;

    QH_ASSERT(keep <= 65536 && x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < x.cols; c++) {
            bool kept = keep == 65536 || qh_rand16(key, (uint64_t)node[r], (uint64_t)c) < keep;

            qh_mat_row(out, r)[c] = kept ? qh_mat_row(x, r)[c] * scale : 0;
        }
}

void qh_ref_axpy(qh_mat x, float s, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < x.cols; c++) {
            float *o = qh_mat_row(out, r) + c;

            *o = accumulate ? *o + s * qh_mat_row(x, r)[c] : s * qh_mat_row(x, r)[c];
        }
}

double qh_ref_dot(qh_mat a, qh_mat b, int64_t r0, int64_t r1)
{
    double sum = 0;

    QH_ASSERT(a.cols == b.cols && r1 <= a.rows && r1 <= b.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < a.cols; c++)
            sum += (double)qh_mat_row(a, r)[c] * (double)qh_mat_row(b, r)[c];
    return sum;
}

void qh_ref_add_bias(const float *bias, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < out.cols; c++)
            qh_mat_row(out, r)[c] += bias[c];
}

/* Written so that NaN passes: a run that has gone wrong must show it. */
void qh_ref_relu(qh_mat x, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < x.cols; c++) {
            float v = qh_mat_row(x, r)[c];

            qh_mat_row(out, r)[c] = 0 > v ? 0 : v;
        }
}

void qh_ref_relu_backward(qh_mat y, int64_t r0, int64_t r1, qh_mat g)
{
    QH_ASSERT(y.cols == g.cols && r1 <= y.rows && r1 <= g.rows);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < g.cols; c++)
            if (!(qh_mat_row(y, r)[c] > 0))
                qh_mat_row(g, r)[c] = 0;
}

void qh_ref_scatter_add(qh_mat x, const int32_t *row_index, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows);
    for (int64_t r = r0; r < r1; r++) {
        QH_ASSERT(0 <= row_index[r] && row_index[r] < out.rows);
        for (int64_t c = 0; c < x.cols; c++)
            qh_mat_row(out, row_index[r])[c] += qh_mat_row(x, r)[c];
    }
}
