/* The products are summed in double: what the definition leaves to rounding is one float. */
#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

void qh_ref_gemm_nn(qh_mat a, qh_mat b, const float *bias, int64_t r0, int64_t r1, qh_mat out,
                    bool accumulate)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.rows && r1 <= out.rows);
    QH_ASSERT(a.cols == b.rows && b.cols == out.cols);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < out.cols; c++) {
            float *o = qh_mat_row(out, r) + c;
            double sum = (accumulate ? (double)*o : 0) + (bias ? (double)bias[c] : 0);

            for (int64_t i = 0; i < a.cols; i++)
                sum += (double)qh_mat_row(a, r)[i] * (double)qh_mat_row(b, i)[c];
            *o = (float)sum;
        }
}

void qh_ref_gemm_nt(qh_mat a, qh_mat b, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.rows && r1 <= out.rows);
    QH_ASSERT(a.cols == b.cols && b.rows == out.cols);
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = 0; c < out.cols; c++) {
            float *o = qh_mat_row(out, r) + c;
            double sum = accumulate ? (double)*o : 0;

            for (int64_t i = 0; i < a.cols; i++)
                sum += (double)qh_mat_row(a, r)[i] * (double)qh_mat_row(b, c)[i];
            *o = (float)sum;
        }
}

void qh_ref_gemm_tn(qh_mat a, qh_mat g, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.rows && r1 <= g.rows);
    QH_ASSERT(a.cols == out.rows && g.cols == out.cols);
    for (int64_t i = 0; i < out.rows; i++)
        for (int64_t c = 0; c < out.cols; c++) {
            double sum = 0;

            for (int64_t r = r0; r < r1; r++)
                sum += (double)qh_mat_row(a, r)[i] * (double)qh_mat_row(g, r)[c];
            qh_mat_row(out, i)[c] = (float)sum;
        }
}

void qh_ref_colsum(qh_mat g, int64_t r0, int64_t r1, float *out)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= g.rows);
    for (int64_t c = 0; c < g.cols; c++) {
        double sum = 0;

        for (int64_t r = r0; r < r1; r++)
            sum += (double)qh_mat_row(g, r)[c];
        out[c] = (float)sum;
    }
}
