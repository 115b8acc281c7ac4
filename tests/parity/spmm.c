#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sparse, dense in one block of source rows, dense in several. */
static const struct {
    int64_t n_rows, n_cols, degree;
    bool weighted, few_cols; /* few_cols: only some column counts, to save time */
} graphs[] = {
    {0, 0, 0, true, false},      {1, 1, 1, true, false},       {17, 5, 2, false, false},
    {101, 67, 3, true, false},   {67, 101, 60, true, false},   {64, 64, 40, false, false},
    {9, 6200, 3000, true, true}, {2100, 3100, 30, true, true}, {5, 7000, 200, false, true},
};

/* sum|a b| of each element decides the bound: 4 n eps of it. */
static void check_spmm(int table, qh_csr a, qh_mat x, bool accumulate)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(table);
    qh_mat want = fixture_mat(a.n_rows, x.cols, 3), got = fixture_copy(want);
    qh_mat cut = fixture_copy(want), before = fixture_copy(want);
    int64_t middle = a.n_rows / 3;

    ref->spmm(a, x, 0, a.n_rows, want, accumulate);
    fast->spmm(a, x, 0, a.n_rows, got, accumulate);
    fast->spmm(a, x, middle, a.n_rows, cut, accumulate);
    fast->spmm(a, x, 0, middle, cut, accumulate);
    for (int64_t r = 0; r < a.n_rows; r++) {
        int64_t n = a.ptr[r + 1] - a.ptr[r] + 1;

        for (int64_t c = 0; c < x.cols; c++) {
            double sum = accumulate ? fabs((double)qh_mat_row(before, r)[c]) : 0;

            for (int64_t e = a.ptr[r]; e < a.ptr[r + 1]; e++)
                sum += fabs((double)(a.val ? a.val[e] : 1) * (double)qh_mat_row(x, a.col[e])[c]);
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          4 * (double)n * EPS * sum, "spmm", table, r, c);
        }
        ck_assert_msg(memcmp(qh_mat_row(got, r), qh_mat_row(cut, r), (size_t)x.cols * 4) == 0,
                      "spmm of table %d: the bits of row %lld depend on the range", table,
                      (long long)r);
    }
    fixture_check_guards(got, "spmm");
    fixture_check_guards(cut, "spmm");
    fixture_free(&want);
    fixture_free(&got);
    fixture_free(&cut);
    fixture_free(&before);
}

static void check_spmm_tn(int table, qh_csr a, qh_mat g)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(table);
    qh_mat want = fixture_mat(a.n_cols, g.cols, 3), got = fixture_copy(want);
    qh_mat cut = fixture_copy(want), absolute = fixture_copy(want), size = fixture_copy(g);
    int64_t middle = g.cols / 3;
    float *val = NULL;
    qh_csr b = a;

    if (a.val) {
        ck_assert_ptr_nonnull(val = malloc((size_t)(a.ptr[a.n_rows] + 1) * sizeof *val));
        for (int64_t e = 0; e < a.ptr[a.n_rows]; e++)
            val[e] = fabsf(a.val[e]);
        b.val = val;
    }
    for (int64_t r = 0; r < g.rows; r++)
        for (int64_t c = 0; c < g.cols; c++)
            qh_mat_row(size, r)[c] = fabsf(qh_mat_row(g, r)[c]);
    ref->spmm_tn(b, size, 0, g.cols, absolute); /* sum|a g|, a rounding or so off */
    ref->spmm_tn(a, g, 0, g.cols, want);
    fast->spmm_tn(a, g, 0, g.cols, got);
    fast->spmm_tn(a, g, middle, g.cols, cut);
    fast->spmm_tn(a, g, 0, middle, cut);
    for (int64_t r = 0; r < a.n_cols; r++) {
        for (int64_t c = 0; c < g.cols; c++)
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          4 * (double)(a.n_rows + 1) * EPS * (double)qh_mat_row(absolute, r)[c],
                          "spmm_tn", table, r, c);
        ck_assert_msg(memcmp(qh_mat_row(got, r), qh_mat_row(cut, r), (size_t)g.cols * 4) == 0,
                      "spmm_tn of table %d: the bits of row %lld depend on the range", table,
                      (long long)r);
    }
    fixture_check_guards(got, "spmm_tn");
    fixture_check_guards(cut, "spmm_tn");
    fixture_free(&want);
    fixture_free(&got);
    fixture_free(&cut);
    fixture_free(&absolute);
    fixture_free(&size);
    free(val);
}

START_TEST(products_agree)
{
    int table = _i / (int)QH_COUNT(graphs) + 1, g = _i % (int)QH_COUNT(graphs);
    qh_csr a = fixture_csr(graphs[g].n_rows, graphs[g].n_cols, graphs[g].degree, graphs[g].weighted,
                           (uint64_t)g);

    for (int i = 0; i < n_fixture_cols; i++) {
        int64_t cols = fixture_cols[i];
        qh_mat x, rows;

        if (graphs[g].few_cols && cols != 7 && cols != 41 && cols != 129)
            continue;
        x = fixture_mat(a.n_cols, cols, 1);
        rows = fixture_mat(a.n_rows, cols, 2);
        check_spmm(table, a, x, false);
        check_spmm(table, a, x, true);
        check_spmm_tn(table, a, rows);
        fixture_free(&x);
        fixture_free(&rows);
    }
    fixture_csr_free(&a);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of sparse products");
    TCase *t = tcase_create("spmm");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, products_agree, 0, (fixture_tables() - 1) * (int)QH_COUNT(graphs));
    suite_add_tcase(s, t);
    return s;
}
