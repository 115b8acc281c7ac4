/* Element by element: loops that the compiler makes vectors of. */
#include "src/base/status.h"
#include "src/kernel/fast/fast.h"

void FAST(axpy)(qh_mat x, float s, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++) {
        const float *in = qh_mat_row(x, r);
        float *restrict o = qh_mat_row(out, r);

        if (accumulate)
            for (int64_t c = 0; c < x.cols; c++)
                o[c] += s * in[c];
        else
            for (int64_t c = 0; c < x.cols; c++)
                o[c] = s * in[c];
    }
}

double FAST(dot)(qh_mat a, qh_mat b, int64_t r0, int64_t r1)
{
    double sum[QH_LANES] = {0}, all = 0;

    QH_ASSERT(a.cols == b.cols && r1 <= a.rows && r1 <= b.rows);
    for (int64_t r = r0; r < r1; r++) {
        const float *x = qh_mat_row(a, r), *y = qh_mat_row(b, r);
        int64_t c = 0;

        for (; c + QH_LANES <= a.cols; c += QH_LANES)
            for (int i = 0; i < QH_LANES; i++)
                sum[i] += (double)x[c + i] * (double)y[c + i];
        for (; c < a.cols; c++)
            sum[c % QH_LANES] += (double)x[c] * (double)y[c];
    }
    for (int i = 0; i < QH_LANES; i++)
        all += sum[i];
    return all;
}

void FAST(add_bias)(const float *bias, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++) {
        float *restrict o = qh_mat_row(out, r);

        for (int64_t c = 0; c < out.cols; c++)
            o[c] += bias[c];
    }
}

void FAST(scatter_add)(qh_mat x, const int32_t *row_index, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows);
    for (int64_t r = r0; r < r1; r++) {
        const float *in = qh_mat_row(x, r);
        float *restrict o = qh_mat_row(out, row_index[r]);

        QH_ASSERT(0 <= row_index[r] && row_index[r] < out.rows);
        for (int64_t c = 0; c < x.cols; c++)
            o[c] += in[c];
    }
}

/* In bunches of rows, added afterwards: the error grows with n / BUNCH + BUNCH in place of n. */
void FAST(colsum)(qh_mat g, int64_t r0, int64_t r1, float *out)
{
    enum { BUNCH = 64, COLS = 64 };

    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= g.rows);
    for (int64_t c0 = 0; c0 < g.cols; c0 += COLS) {
        int64_t n = g.cols - c0 < COLS ? g.cols - c0 : COLS;
        float total[COLS] = {0};

        for (int64_t b = r0; b < r1; b += BUNCH) {
            float sum[COLS] = {0};

            for (int64_t r = b; r < r1 && r < b + BUNCH; r++) {
                const float *row = qh_mat_row(g, r) + c0;

                if (n == COLS)
                    for (int64_t c = 0; c < COLS; c++)
                        sum[c] += row[c];
                else
                    for (int64_t c = 0; c < n; c++)
                        sum[c] += row[c];
            }
            for (int64_t c = 0; c < COLS; c++)
                total[c] += sum[c];
        }
        memcpy(out + c0, total, (size_t)n * sizeof *out);
    }
}
