#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

void qh_ref_spmm(qh_csr a, qh_mat x, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.n_rows && r1 <= out.rows);
    QH_ASSERT(a.n_cols <= x.rows && x.cols == out.cols);
    for (int64_t r = r0; r < r1; r++) {
        float *o = qh_mat_row(out, r);

        if (!accumulate)
            for (int64_t c = 0; c < out.cols; c++)
                o[c] = 0;
        for (int64_t e = a.ptr[r]; e < a.ptr[r + 1]; e++) {
            const float *in = qh_mat_row(x, a.col[e]);
            float w = a.val ? a.val[e] : 1;

            for (int64_t c = 0; c < out.cols; c++)
                o[c] += w * in[c];
        }
    }
}

void qh_ref_spmm_tn(qh_csr a, qh_mat g, int64_t c0, int64_t c1, qh_mat out)
{
    QH_ASSERT(0 <= c0 && c0 <= c1 && c1 <= out.cols && g.cols == out.cols);
    QH_ASSERT(a.n_rows <= g.rows && a.n_cols <= out.rows);
    for (int64_t r = 0; r < a.n_cols; r++)
        for (int64_t c = c0; c < c1; c++)
            qh_mat_row(out, r)[c] = 0;
    for (int64_t r = 0; r < a.n_rows; r++) {
        const float *in = qh_mat_row(g, r);

        for (int64_t e = a.ptr[r]; e < a.ptr[r + 1]; e++) {
            float *o = qh_mat_row(out, a.col[e]);
            float w = a.val ? a.val[e] : 1;

            for (int64_t c = c0; c < c1; c++)
                o[c] += w * in[c];
        }
    }
}
