#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, LISTED = 7 };
static const int32_t list[LISTED] = {0, 11, 3, 4, 7, 6, 9};

/* Logits of small and huge size; row 3 has equal ones, row 4 one that outweighs the others. */
static qh_mat logits_new(int64_t cols, float size)
{
    qh_mat x = fixture_mat(ROWS, cols, 1);

    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < cols; c++)
            qh_mat_row(x, r)[c] *= size;
    for (int64_t c = 0; c < cols; c++)
        qh_mat_row(x, 3)[c] = size;
    qh_mat_row(x, 4)[cols - 1] = 3 * size;
    return x;
}

static double greatest(qh_mat x)
{
    double most = 0;

    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t c = 0; c < x.cols; c++)
            most = fmax(most, fabs((double)qh_mat_row(x, r)[c]));
    return most;
}

/* exp of a difference rounded to a unit of |x| is off by |x| eps; the sum has cols terms. */
static void compare(int table, const char *name, qh_mat x, double scale, const double loss[2],
                    qh_mat got, qh_mat want)
{
    double most = greatest(x), unit = 4 * EPS * (2 * most + (double)x.cols + 8);

    fixture_close(loss[1], loss[0], unit * LISTED * (double)x.cols, name, table, -1, 0);
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < x.cols; c++)
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          unit * scale, name, table, r, c);
    fixture_check_guards(got, name);
}

START_TEST(cross_entropy_agrees)
{
    const float sizes[] = {1e-3F, 1, 30, 1e4F};

    for (int i = 1; i < n_fixture_cols; i++)
        for (size_t s = 0; s < QH_COUNT(sizes); s++) {
            int64_t cols = fixture_cols[i];
            qh_mat x = logits_new(cols, sizes[s]), want = fixture_mat(ROWS, cols, 2);
            qh_mat got = fixture_copy(want);
            int32_t label[ROWS];
            double loss[2];

            for (int r = 0; r < ROWS; r++)
                label[r] = (int32_t)((r * 7 + 3) % cols);
            label[4] = (int32_t)cols - 1;
            label[1] = -1; /* not listed */
            for (int t = 0; t < 2; t++)
                loss[t] = qh_kernels_list(t ? _i : 0)
                              ->softmax_ce(x, label, list, 0, LISTED, 0.25F, t ? got : want);
            compare(_i, "softmax_ce", x, 0.25, loss, got, want);
            ck_assert_double_eq(
                qh_kernels_list(_i)->softmax_ce(x, label, list, 0, LISTED, 1, (qh_mat){0}),
                loss[1]);
            fixture_free(&x);
            fixture_free(&want);
            fixture_free(&got);
        }
}
END_TEST

START_TEST(binary_cross_entropy_agrees)
{
    const float sizes[] = {1e-3F, 1, 30, 1e4F};

    for (int i = 1; i < n_fixture_cols; i++)
        for (size_t s = 0; s < QH_COUNT(sizes); s++) {
            int64_t cols = fixture_cols[i];
            qh_mat x = logits_new(cols, sizes[s]), want = fixture_mat(ROWS, cols, 2);
            qh_mat got = fixture_copy(want);
            uint8_t *target = malloc((size_t)(ROWS * cols)); /* no byte more: tails show */
            double loss[2];

            ck_assert_ptr_nonnull(target);
            for (int64_t j = 0; j < ROWS * cols; j++)
                target[j] = (uint8_t)(j * 7 % 3 == 0);
            for (int t = 0; t < 2; t++)
                loss[t] = qh_kernels_list(t ? _i : 0)
                              ->sigmoid_bce(x, target, list, 0, LISTED, 0.25F, t ? got : want);
            compare(_i, "sigmoid_bce", x, 0.25, loss, got, want);
            ck_assert_double_eq(
                qh_kernels_list(_i)->sigmoid_bce(x, target, list, 0, LISTED, 1, (qh_mat){0}),
                loss[1]);
            free(target);
            fixture_free(&x);
            fixture_free(&want);
            fixture_free(&got);
        }
}
END_TEST

/* More factors than one product of the log-sum holds. */
START_TEST(many_rows)
{
    enum { N = 5000 };
    qh_mat x = fixture_mat(N, 3, 1);
    uint8_t *target = calloc(N * 3, 1);
    int32_t *all = malloc(N * sizeof *all);
    double want, got;

    ck_assert(target && all);
    for (int i = 0; i < N; i++)
        all[i] = i;
    want = qh_kernels_list(0)->sigmoid_bce(x, target, all, 0, N, 1, (qh_mat){0});
    got = qh_kernels_list(_i)->sigmoid_bce(x, target, all, 0, N, 1, (qh_mat){0});
    fixture_close(got, want, 4 * EPS * want, "sigmoid_bce", _i, -1, 0);
    free(target);
    free(all);
    fixture_free(&x);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of losses");
    TCase *t = tcase_create("loss");

    tcase_add_loop_test(t, cross_entropy_agrees, 1, fixture_tables());
    tcase_add_loop_test(t, binary_cross_entropy_agrees, 1, fixture_tables());
    tcase_add_loop_test(t, many_rows, 1, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
