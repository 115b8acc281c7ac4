#include "tests/parity/fixture.h"

#include <math.h>
#include <string.h>

enum { ROWS = 9 };
static const int32_t node[ROWS] = {5, 0, 1, 7, 2, 100000, 3, 2147483647, 8};

static void same_bits(int table, const char *what, qh_mat got, qh_mat want)
{
    for (int64_t r = 0; r < want.rows; r++)
        ck_assert_msg(memcmp(qh_mat_row(got, r), qh_mat_row(want, r), (size_t)got.cols * 4) == 0,
                      "%s of table %d differs in row %lld of %lld columns", what, table,
                      (long long)r, (long long)got.cols);
    fixture_check_guards(got, what);
}

static void near(int table, const char *what, qh_mat got, qh_mat want)
{
    for (int64_t r = 0; r < want.rows; r++)
        for (int64_t c = 0; c < want.cols; c++) /* |a| + |s b| <= 4, two roundings */
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          4 * 2 * EPS * 4, what, table, r, c);
    fixture_check_guards(got, what);
}

START_TEST(rows_agree)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    const int32_t where[ROWS] = {3, 20, 1, 0, 7, 8, 9, 19, 4};

    for (int i = 0; i < n_fixture_cols; i++) {
        int64_t cols = fixture_cols[i];
        qh_mat x = fixture_mat(ROWS, cols, 1), want = fixture_mat(21, cols, 2);
        qh_mat got = fixture_copy(want), bias = fixture_mat(1, cols, 3);

        for (uint32_t keep = 0; keep <= 65536; keep += 16384) {
            ref->dropout(x, keep, (qh_key){3, 4}, node, 1, ROWS, want);
            fast->dropout(x, keep, (qh_key){3, 4}, node, 1, ROWS, got);
            same_bits(_i, "dropout", got, want);
        }
        ref->axpy(x, 3, 1, ROWS - 1, want, true);
        fast->axpy(x, 3, 1, ROWS - 1, got, true);
        near(_i, "axpy", got, want);
        ref->axpy(x, 0.1F, 1, ROWS, want, false);
        fast->axpy(x, 0.1F, 1, ROWS, got, false);
        same_bits(_i, "axpy", got, want);
        ref->add_bias(bias.data, 2, ROWS, want);
        fast->add_bias(bias.data, 2, ROWS, got);
        same_bits(_i, "add_bias", got, want);
        ref->scatter_add(x, where, 1, ROWS, want);
        fast->scatter_add(x, where, 1, ROWS, got);
        same_bits(_i, "scatter_add", got, want);
        if (cols > 0)
            x.data[cols - 1] = -0.0F;
        ref->relu_backward(x, 0, ROWS, want);
        fast->relu_backward(x, 0, ROWS, got);
        same_bits(_i, "relu_backward", got, want);
        ref->relu(x, 1, ROWS, want);
        fast->relu(x, 1, ROWS, got);
        same_bits(_i, "relu", got, want);
        fixture_close(fast->dot(x, x, 1, ROWS), ref->dot(x, x, 1, ROWS),
                      4 * (double)(ROWS * cols) * 0x1p-53 * ref->dot(x, x, 1, ROWS), "dot", _i, 0,
                      0);
        fixture_free(&x);
        fixture_free(&want);
        fixture_free(&got);
        fixture_free(&bias);
    }
}
END_TEST

START_TEST(dropout_in_place)
{
    for (int t = 0; t < fixture_tables(); t++) {
        qh_mat x = fixture_mat(ROWS, 41, 1), y = fixture_copy(x), z = fixture_mat(ROWS, 41, 2);

        qh_kernels_list(t)->dropout(x, 30000, (qh_key){3, 4}, node, 0, ROWS, z);
        qh_kernels_list(t)->dropout(y, 30000, (qh_key){3, 4}, node, 0, ROWS, y);
        same_bits(t, "dropout in place", y, z);
        fixture_free(&x);
        fixture_free(&y);
        fixture_free(&z);
    }
}
END_TEST

/* Five steps from the same start; a step's own error is a few roundings of lr (here 0.01). */
START_TEST(adam_agrees)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    qh_adam p = {.lr = 0.01F, .beta1 = 0.9F, .beta2 = 0.999F, .eps = 1e-8F, .weight_decay = 0.1F};

    for (int i = 0; i < n_fixture_cols; i++) {
        int64_t n = fixture_cols[i];
        qh_mat want = fixture_mat(3, n, 1), got = fixture_copy(want), g = fixture_mat(1, n, 2);

        for (int64_t c = 0; c < n; c++)
            qh_mat_row(want, 2)[c] = qh_mat_row(got, 2)[c] = fabsf(qh_mat_row(got, 2)[c]);
        for (p.step = 1; p.step <= 5; p.step++) {
            ref->adam(&p, n, qh_mat_row(want, 0), g.data, qh_mat_row(want, 1), qh_mat_row(want, 2));
            fast->adam(&p, n, qh_mat_row(got, 0), g.data, qh_mat_row(got, 1), qh_mat_row(got, 2));
        }
        same_bits(_i, "adam", got, want);
        fixture_free(&want);
        fixture_free(&got);
        fixture_free(&g);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of row kernels");
    TCase *t = tcase_create("rows");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, rows_agree, 1, fixture_tables());
    tcase_add_test(t, dropout_in_place);
    tcase_add_loop_test(t, adam_agrees, 1, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
