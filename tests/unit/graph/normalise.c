/* Feature scaling against the formulas, on owned and on mapped features. */
#include "src/base/mem.h"
#include "src/graph/dataset.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <math.h>

enum { NODES = 61, COLS = 33 };

static char *folder;
static qh_dataset *d, *raw;

static float at(const qh_dataset *x, int64_t row, int64_t col)
{
    const qh_csr *s = &x->sparse_features;

    if (!x->sparse)
        return qh_mat_row(x->dense, row)[col];
    for (int64_t e = s->ptr[row]; e < s->ptr[row + 1]; e++)
        if (s->col[e] == col)
            return s->val ? s->val[e] : 1;
    return 0;
}

/* bit 0: sparse, bit 1: mapped. Column 3 is made constant and row 5 zero where that can be. */
static void open_both(int kind)
{
    const char *path;

    folder = sample_new_folder();
    path = sample_path(folder, "a.qhd");
    ck_assert_int_eq(sample_dataset(NODES, 6, COLS, 4, kind & 1, false, 3, &raw), QH_OK);
    for (int64_t v = 0; v < NODES && !raw->sparse; v++) {
        qh_mat_row(raw->dense, v)[3] = 0.1F;
        for (int64_t c = 0; c < COLS && v == 5; c++)
            qh_mat_row(raw->dense, v)[c] = c < 2 ? 1 - 2 * (float)c : 0; /* sum 0 */
    }
    ck_assert_int_eq(qh_qhd_write(raw, path), QH_OK);
    if (kind & 2)
        ck_assert_int_eq(qh_qhd_open(path, &d), QH_OK);
    else
        ck_assert_int_eq(qh_neutral_write(raw, folder), QH_OK);
    if (!(kind & 2))
        ck_assert_int_eq(qh_neutral_open(folder, &d), QH_OK);
}

static void close_both(void)
{
    qh_dataset_free(d);
    qh_dataset_free(raw);
    sample_remove_folder(folder);
    ck_assert_int_eq(qh_mem_bytes(), 0);
}

START_TEST(rows_sum_to_one)
{
    open_both(_i);
    ck_assert_int_eq(qh_dataset_normalise(d, QH_NORM_ROW), QH_OK);
    ck_assert_int_eq(d->sparse, _i & 1);
    for (int64_t v = 0; v < NODES; v++) {
        double sum = 0;

        for (int64_t c = 0; c < COLS; c++)
            sum += (double)at(raw, v, c);
        for (int64_t c = 0; c < COLS; c++)
            ck_assert_float_eq(at(d, v, c),
                               sum != 0 ? (float)((double)at(raw, v, c) / sum) : at(raw, v, c));
    }
    close_both();
}
END_TEST

START_TEST(columns_have_mean_0_and_variance_1)
{
    open_both(_i);
    ck_assert_int_eq(qh_dataset_normalise(d, QH_NORM_STANDARD), QH_OK);
    ck_assert(!d->sparse);
    for (int64_t c = 0; c < COLS; c++) {
        double sum = 0, square = 0, low = INFINITY, high = -INFINITY;
        int n = 0;

        for (int64_t v = 0; v < NODES; v++) {
            double x = (double)at(d, v, c), before = (double)at(raw, v, c);

            if (d->split[v] == QH_SPLIT_TRAIN) {
                n++;
                sum += x;
                square += x * x;
                low = fmin(low, before);
                high = fmax(high, before);
            }
        }
        ck_assert_double_lt(fabs(sum / n), 1e-6);
        ck_assert_double_lt(fabs(square / n - (high > low)), 1e-5);
        if (high == low)
            for (int64_t v = 0; v < NODES; v++)
                ck_assert_float_eq(at(d, v, c), 0);
    }
    close_both();
}
END_TEST

START_TEST(none_changes_nothing)
{
    open_both(_i);
    ck_assert_int_eq(qh_dataset_normalise(d, QH_NORM_NONE), QH_OK);
    sample_assert_same(d, raw);
    close_both();
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("normalise");
    TCase *t = tcase_create("normalise");

    tcase_add_loop_test(t, rows_sum_to_one, 0, 4);
    tcase_add_loop_test(t, columns_have_mean_0_and_variance_1, 0, 4);
    tcase_add_loop_test(t, none_changes_nothing, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
