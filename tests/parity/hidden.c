#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t keeps[] = {65536, 32768, 60000, 1, 0};
enum { ROWS = 11 };

typedef struct result {
    qh_mat z, out, g, mean, rstd, d_gain, d_bias; /* the last four: one row */
    uint8_t *bits;
    int64_t stride, n_bits; /* bytes */
} result;

static result result_new(int64_t cols)
{
    result r = {.z = fixture_mat(ROWS, cols, 1),
                .out = fixture_mat(ROWS, cols, 2),
                .g = fixture_mat(ROWS, cols, 3),
                .mean = fixture_mat(1, ROWS, 4),
                .rstd = fixture_mat(1, ROWS, 5),
                .d_gain = fixture_mat(1, cols, 6),
                .d_bias = fixture_mat(1, cols, 7),
                .stride = (cols + 7) / 8 + 1};

    for (int64_t i = 0; i < ROWS; i++) /* one row is constant: no variance */
        for (int64_t c = 0; c < cols && i == 4; c++)
            qh_mat_row(r.z, i)[c] = 0.75F;
    r.n_bits = r.stride * ROWS;
    ck_assert_ptr_nonnull(r.bits = malloc((size_t)r.n_bits));
    memset(r.bits, 0xa5, (size_t)r.n_bits);
    return r;
}

static void result_free(result *r)
{
    fixture_check_guards(r->z, "hidden");
    fixture_check_guards(r->out, "hidden");
    fixture_check_guards(r->g, "hidden");
    fixture_check_guards(r->mean, "hidden");
    fixture_check_guards(r->rstd, "hidden");
    fixture_check_guards(r->d_gain, "hidden");
    fixture_check_guards(r->d_bias, "hidden");
    fixture_free(&r->z);
    fixture_free(&r->out);
    fixture_free(&r->g);
    fixture_free(&r->mean);
    fixture_free(&r->rstd);
    fixture_free(&r->d_gain);
    fixture_free(&r->d_bias);
    free(r->bits);
}

static void forward(const qh_kernels *k, const qh_hidden *h, result *r)
{
    k->hidden_forward(h, r->z, 1, ROWS - 1, r->out, r->mean.data, r->rstd.data, r->bits, r->stride);
}

/* The mean and 1/sigma of a row feel a sum of n terms; relative to what they stand on, 4 n eps. */
static void compare_forward(int table, const qh_hidden *h, const result *want, const result *got)
{
    int64_t cols = want->z.cols;

    ck_assert_mem_eq(want->bits, got->bits, (size_t)want->n_bits);
    for (int64_t r = 0; r < ROWS; r++) {
        double size = 0, error, rstd = (double)want->rstd.data[r];

        for (int64_t c = 0; c < cols; c++)
            size += fabs((double)qh_mat_row(want->z, r)[c]);
        error = cols ? 4 * EPS * size : 0; /* n eps times the mean of |z| */
        ck_assert_mem_eq(qh_mat_row(want->z, r), qh_mat_row(got->z, r), (size_t)cols * 4);
        if (h->norm && cols) {
            fixture_close((double)got->mean.data[r], (double)want->mean.data[r], error, "mean",
                          table, r, 0);
            fixture_close((double)got->rstd.data[r], rstd,
                          4 * (double)(cols + 4) * EPS * rstd + rstd * rstd * rstd * error * error,
                          "rstd", table, r, 0);
        }
        for (int64_t c = 0; c < cols; c++) {
            double x = (double)qh_mat_row(want->z, r)[c] - (double)want->mean.data[r];
            double gain = h->norm ? fabs((double)h->gain[c]) : 0;
            double bound = gain * rstd * (error + 4 * (double)(cols + 4) * EPS * fabs(x)) +
                           (h->norm ? 4 * EPS * fabs((double)h->bias[c]) : 0) +
                           gain * fabs(x) * rstd * rstd * rstd * error * error;

            fixture_close((double)qh_mat_row(got->out, r)[c], (double)qh_mat_row(want->out, r)[c],
                          bound, "hidden_forward", table, r, c);
        }
    }
}

static void compare_backward(int table, const qh_hidden *h, const result *want, const result *got,
                             const result *start)
{
    int64_t cols = want->z.cols;
    double factor = h->keep ? 65536.0 / h->keep : 0;

    for (int64_t r = 0; r < ROWS; r++) {
        double sum = 0, dot = 0, rstd = (double)want->rstd.data[r];

        for (int64_t c = 0; c < cols && h->norm; c++) {
            double x = ((double)qh_mat_row(want->z, r)[c] - (double)want->mean.data[r]) * rstd;
            double a = fabs((double)qh_mat_row(start->g, r)[c] * (double)h->gain[c]);

            sum += a / (double)cols;
            dot += a * fabs(x) / (double)cols;
        }
        for (int64_t c = 0; c < cols; c++) {
            double x = ((double)qh_mat_row(want->z, r)[c] - (double)want->mean.data[r]) * rstd;
            double a = h->norm ? fabs((double)qh_mat_row(start->g, r)[c] * (double)h->gain[c]) : 0;
            double size = rstd * (a + sum + fabs(x) * dot) * factor;

            fixture_close((double)qh_mat_row(got->g, r)[c], (double)qh_mat_row(want->g, r)[c],
                          h->norm ? 4 * (double)(cols + 4) * EPS * size : 0, "hidden_backward",
                          table, r, c);
        }
    }
    for (int64_t c = 0; c < cols && h->norm; c++) {
        double gain = 0, bias = 0;

        for (int64_t r = 1; r < ROWS - 1; r++) {
            double x = ((double)qh_mat_row(want->z, r)[c] - (double)want->mean.data[r]) *
                       (double)want->rstd.data[r];

            bias += fabs((double)qh_mat_row(start->g, r)[c]);
            gain += fabs((double)qh_mat_row(start->g, r)[c] * x);
        }
        fixture_close((double)got->d_gain.data[c], (double)want->d_gain.data[c],
                      4 * ROWS * EPS * gain, "d_gain", table, 0, c);
        fixture_close((double)got->d_bias.data[c], (double)want->d_bias.data[c],
                      4 * ROWS * EPS * bias, "d_bias", table, 0, c);
    }
}

static void check(int table, int64_t cols, bool norm, uint32_t keep)
{
    static const int32_t node[ROWS] = {5, 0, 1, 7, 2, 100000, 3, 2147483647, 8, 9, 10};
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(table);
    qh_mat affine = fixture_mat(2, cols, 8);
    qh_hidden h = {.norm = norm,
                   .gain = qh_mat_row(affine, 0),
                   .bias = qh_mat_row(affine, 1),
                   .keep = keep,
                   .key = qh_rand_key(3, QH_RAND_DROPOUT, 1, 2, 0),
                   .node = node};
    result want = result_new(cols), got = result_new(cols), start = result_new(cols);

    forward(ref, &h, &want);
    forward(fast, &h, &got);
    compare_forward(table, &h, &want, &got);
    /* The way back from the same state, so that the masks of the ReLU are the same to the bit. */
    ref->hidden_backward(&h, want.z, want.mean.data, want.rstd.data, want.bits, want.stride, 1,
                         ROWS - 1, want.g, want.d_gain.data, want.d_bias.data);
    fast->hidden_backward(&h, want.z, want.mean.data, want.rstd.data, want.bits, want.stride, 1,
                          ROWS - 1, got.g, got.d_gain.data, got.d_bias.data);
    compare_backward(table, &h, &want, &got, &start);
    result_free(&want);
    result_free(&got);
    result_free(&start);
    fixture_free(&affine);
}

START_TEST(hidden_agrees)
{
    for (int i = 0; i < n_fixture_cols; i++)
        for (size_t k = 0; k < QH_COUNT(keeps); k++) {
            check(_i, fixture_cols[i], true, keeps[k]);
            check(_i, fixture_cols[i], false, keeps[k]);
        }
}
END_TEST

START_TEST(mask_may_be_left_out)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    int32_t node[] = {1, 2, 3};
    qh_hidden h = {.keep = 40000, .key = {1, 2}, .node = node};
    qh_mat z = fixture_mat(3, 41, 1), y = fixture_copy(z), o = fixture_mat(3, 41, 2);

    ref->hidden_forward(&h, z, 0, 3, o, NULL, NULL, NULL, 0);
    fast->hidden_forward(&h, y, 0, 3, o, NULL, NULL, NULL, 0);
    for (int r = 0; r < 3; r++)
        ck_assert_mem_eq(qh_mat_row(z, r), qh_mat_row(y, r), 41 * 4);
    fixture_free(&z);
    fixture_free(&y);
    fixture_free(&o);
}
END_TEST

START_TEST(nan_passes_the_relu)
{
    for (int t = 0; t < fixture_tables(); t++) {
        qh_hidden h = {.keep = 65536};
        qh_mat z = fixture_mat(1, 20, 1), o = fixture_mat(1, 20, 2);

        z.data[3] = z.data[19] = NAN;
        qh_kernels_list(t)->hidden_forward(&h, z, 0, 1, o, NULL, NULL, NULL, 0);
        ck_assert(isnan(o.data[3]) && isnan(o.data[19]) && !isnan(o.data[4]));
        qh_kernels_list(t)->relu(z, 0, 1, o);
        ck_assert(isnan(o.data[3]) && isnan(o.data[19]) && !isnan(o.data[4]));
        fixture_free(&z);
        fixture_free(&o);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of hidden layers");
    TCase *t = tcase_create("hidden");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, hidden_agrees, 1, fixture_tables());
    tcase_add_loop_test(t, mask_may_be_left_out, 1, fixture_tables());
    tcase_add_test(t, nan_passes_the_relu);
    suite_add_tcase(s, t);
    return s;
}
