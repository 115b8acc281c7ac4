/* The kernels against values worked out by hand; every table must give them. */
#include "src/base/status.h"
#include "src/kernel/backend.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static int n_tables(void)
{
    int n = 0;

    while (qh_kernels_list(n))
        n++;
    return n;
}

static void near(double got, double want, double relative)
{
    ck_assert_msg(fabs(got - want) <= relative * fmax(1e-30, fabs(want)), "%.10g, want %.10g", got,
                  want);
}

/* Path 0 - 1 - 2 with weights; column 1 of x is 10 times column 0. */
START_TEST(spmm_of_a_path)
{
    const int64_t ptr[] = {0, 1, 3, 4};
    const int32_t col[] = {1, 0, 2, 1};
    const float val[] = {2, 3, 0.5F, -1};
    qh_csr a = {3, 3, ptr, col, val}, ones = {3, 3, ptr, col, NULL};
    float in[] = {1, 10, 2, 20, 4, 40}, o[6] = {9, 9, 9, 9, 9, 9};
    qh_mat x = {in, 3, 2, 2}, out = {o, 3, 2, 2};
    const qh_kernels *k = qh_kernels_list(_i);

    k->spmm(a, x, 0, 3, out, false);
    ck_assert(o[0] == 4 && o[1] == 40 && o[2] == 5 && o[3] == 50 && o[4] == -2 && o[5] == -20);
    k->spmm(ones, x, 1, 2, out, true);
    ck_assert(o[0] == 4 && o[2] == 10 && o[3] == 100 && o[4] == -2);
    k->spmm_tn(a, x, 1, 2, out); /* column 1 only: 3*20, 2*10 - 40, 0.5*20 */
    ck_assert(o[0] == 4 && o[1] == 60 && o[3] == -20 && o[5] == 10);
}
END_TEST

START_TEST(gemm_of_two_by_two)
{
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, bias[] = {100, 200}, o[] = {1, 1, 1, 1}, s[2];
    qh_mat ma = {a, 2, 2, 2}, mb = {b, 2, 2, 2}, out = {o, 2, 2, 2};
    const qh_kernels *k = qh_kernels_list(_i);

    k->gemm_nn(ma, mb, bias, 0, 2, out, true);
    ck_assert(o[0] == 120 && o[1] == 223 && o[2] == 144 && o[3] == 251);
    k->gemm_nt(ma, mb, 0, 2, out, false);
    ck_assert(o[0] == 17 && o[1] == 23 && o[2] == 39 && o[3] == 53);
    k->gemm_tn(ma, mb, 0, 2, out);
    ck_assert(o[0] == 26 && o[1] == 30 && o[2] == 38 && o[3] == 44);
    k->colsum(ma, 0, 2, s);
    ck_assert(s[0] == 4 && s[1] == 6);
}
END_TEST

/* Row 1 2 3 6: mean 3, variance 3.5. */
START_TEST(layer_norm_of_four)
{
    float z[] = {1, 2, 3, 6}, o[4], g[] = {1, 1, 1, 1}, gain[] = {1, 1, 1, 2},
          bias[] = {0, 3, 1, 0};
    float mean, rstd, d_gain[4], d_bias[4];
    qh_mat mz = {z, 1, 4, 4}, mo = {o, 1, 4, 4}, mg = {g, 1, 4, 4};
    qh_hidden h = {.norm = true, .gain = gain, .bias = bias, .keep = 65536};
    double s = 1 / sqrt(3.5 + 1e-5), x[4] = {-2 * s, -s, 0, 3 * s};
    double a[4] = {0, 1, 1, 2}; /* the first is stopped by the ReLU */
    double mean_a = 1, mean_ax = (x[1] + 2 * x[3]) / 4;
    const qh_kernels *k = qh_kernels_list(_i);

    k->hidden_forward(&h, mz, 0, 1, mo, &mean, &rstd, NULL, 0);
    near((double)mean, 3, 0);
    near((double)rstd, s, 2e-7);
    ck_assert(o[0] == 0 && o[2] == 1);
    near((double)o[1], 3 + x[1], 3e-7);
    near((double)o[3], 2 * x[3], 3e-7);
    k->hidden_backward(&h, mz, &mean, &rstd, NULL, 0, 0, 1, mg, d_gain, d_bias);
    for (int c = 0; c < 4; c++) {
        double want = s * (a[c] - mean_a - x[c] * mean_ax);

        ck_assert_double_le(fabs((double)g[c] - want), 1e-6);
        ck_assert(d_bias[c] == (c > 0));
        ck_assert_double_le(fabs((double)d_gain[c] - (c > 0) * x[c]), 1e-6);
    }
}
END_TEST

/* Keeps about keep / 65536, scales by its inverse, and drops the same on the way back. */
START_TEST(dropout_keeps_its_share)
{
    enum { N = 300, COLS = 200 };
    static float z[N * COLS], o[N * COLS], g[N * COLS];
    static uint8_t bits[N * 25];
    static int32_t node[N];
    static float mean[N], rstd[N];
    qh_mat mz = {z, N, COLS, COLS}, mo = {o, N, COLS, COLS}, mg = {g, N, COLS, COLS};
    qh_hidden h = {.keep = 49152, .key = {3, 9}, .node = node}; /* 3 of 4 */
    const qh_kernels *k = qh_kernels_list(_i);
    double kept = 0, sigma = sqrt(N * COLS * 0.75 * 0.25);

    for (int i = 0; i < N * COLS; i++)
        z[i] = g[i] = 3;
    for (int r = 0; r < N; r++)
        node[r] = 7 * r;
    k->hidden_forward(&h, mz, 0, N, mo, mean, rstd, bits, 25);
    k->hidden_backward(&h, mz, mean, rstd, bits, 25, 0, N, mg, NULL, NULL);
    for (int i = 0; i < N * COLS; i++) {
        bool here = qh_rand16(h.key, (uint64_t)node[i / COLS], (uint64_t)(i % COLS)) < h.keep;

        kept += here;
        if (o[i] != (here ? 4.0F : 0) || g[i] != o[i] ||
            (bits[i / COLS * 25 + i % COLS / 8] >> i % COLS % 8 & 1) != here)
            ck_abort_msg("element %d", i);
    }
    ck_assert_double_le(fabs(kept - 0.75 * N * COLS), 5 * sigma);
}
END_TEST

START_TEST(cross_entropy_of_three)
{
    /* softmax(0, ln 2, ln 5) = 1/8, 2/8, 5/8 */
    float x[] = {7, 7, 7, 0, 0.69314718F, 1.60943791F}, g[] = {9, 9, 9, 9, 9, 9};
    qh_mat mx = {x, 2, 3, 3}, mg = {g, 2, 3, 3};
    const int32_t label[] = {-1, 1}, list[] = {1};
    double loss = qh_kernels_list(_i)->softmax_ce(mx, label, list, 0, 1, 0.5F, mg);

    near(loss, log(4), 2e-7);
    near((double)g[3], 0.5 / 8, 3e-7);
    near((double)g[4], -0.5 * 6 / 8, 3e-7);
    near((double)g[5], 0.5 * 5 / 8, 3e-7);
    ck_assert(g[0] == 9 && g[1] == 9 && g[2] == 9); /* not listed */
}
END_TEST

START_TEST(cross_entropy_far_out)
{
    float x[] = {1000, -1000}, g[2];
    qh_mat mx = {x, 1, 2, 2}, mg = {g, 1, 2, 2};
    const int32_t good[] = {0}, bad[] = {1}, list[] = {0};
    const qh_kernels *k = qh_kernels_list(_i);

    near(k->softmax_ce(mx, bad, list, 0, 1, 1, mg), 2000, 1e-7);
    ck_assert(g[0] == 1 && g[1] == -1);
    ck_assert_double_eq(k->softmax_ce(mx, good, list, 0, 1, 1, mg), 0);
    ck_assert(g[0] == 0 && g[1] == 0);
}
END_TEST

START_TEST(binary_cross_entropy_of_four)
{
    float x[] = {0, 1.09861229F, -1.09861229F, 500}, g[4]; /* sigmoid: 1/2 3/4 1/4 1 */
    const uint8_t target[] = {1, 1, 1, 0};
    const int32_t list[] = {0};
    qh_mat mx = {x, 1, 4, 4}, mg = {g, 1, 4, 4};
    double loss = qh_kernels_list(_i)->sigmoid_bce(mx, target, list, 0, 1, 2, mg);

    near(loss, log(2) + log(4.0 / 3) + log(4) + 500, 1e-7);
    near((double)g[0], -1, 3e-7);
    near((double)g[1], -0.5, 3e-7);
    near((double)g[2], -1.5, 3e-7);
    near((double)g[3], 2, 3e-7);
}
END_TEST

/* The first step moves by lr in the direction of the sign, whatever the size of the gradient. */
START_TEST(adam_by_hand)
{
    qh_adam p = {.lr = 0.1F, .beta1 = 0.9F, .beta2 = 0.999F, .eps = 1e-8F, .step = 1};
    float w[] = {1, 1, 1}, m[3] = {0}, v[3] = {0}, g[] = {2, -1e-3F, 0};
    const qh_kernels *k = qh_kernels_list(_i);
    double m2, v2;

    k->adam(&p, 3, w, g, m, v);
    near((double)w[0], 0.9, 1e-6);
    near((double)w[1], 1.1, 1e-5);
    ck_assert(w[2] == 1);
    p.step = 2;
    g[0] = 1;
    k->adam(&p, 1, w, g, m, v);
    m2 = (0.9 * 0.2 + 0.1) / (1 - 0.81);
    v2 = (0.999 * 0.004 + 0.001) / (1 - 0.998001);
    near((double)w[0], 0.9 - 0.1 * m2 / sqrt(v2), 1e-5);
    p = (qh_adam){
        .lr = 0.1F, .beta1 = 0.9F, .beta2 = 0.999F, .eps = 1e-8F, .weight_decay = 1, .step = 1};
    w[2] = -4;
    v[2] = m[2] = 0;
    k->adam(&p, 3, w, g, m, v); /* decay is a gradient of -4 */
    near((double)w[2], -3.9, 1e-6);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("closed forms");
    TCase *t = tcase_create("kernels");

    tcase_add_loop_test(t, spmm_of_a_path, 0, n_tables());
    tcase_add_loop_test(t, gemm_of_two_by_two, 0, n_tables());
    tcase_add_loop_test(t, layer_norm_of_four, 0, n_tables());
    tcase_add_loop_test(t, dropout_keeps_its_share, 0, n_tables());
    tcase_add_loop_test(t, cross_entropy_of_three, 0, n_tables());
    tcase_add_loop_test(t, cross_entropy_far_out, 0, n_tables());
    tcase_add_loop_test(t, binary_cross_entropy_of_four, 0, n_tables());
    tcase_add_loop_test(t, adam_by_hand, 0, n_tables());
    suite_add_tcase(s, t);
    return s;
}
