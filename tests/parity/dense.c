#include "tests/parity/fixture.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

static const int64_t depths[] = {0, 1, 5, 33, 128};
static const int64_t heights[] = {0, 1, 3, 130};

static double sum_abs_nn(qh_mat a, qh_mat b, int64_t r, int64_t c)
{
    double sum = 0;

    for (int64_t i = 0; i < a.cols; i++)
        sum += fabs((double)qh_mat_row(a, r)[i] * (double)qh_mat_row(b, i)[c]);
    return sum;
}

static qh_mat transposed(qh_mat m)
{
    qh_mat t = fixture_mat(m.cols, m.rows, 0);

    for (int64_t r = 0; r < m.rows; r++)
        for (int64_t c = 0; c < m.cols; c++)
            qh_mat_row(t, c)[r] = qh_mat_row(m, r)[c];
    return t;
}

/* got against want within 4 (k + 2) eps (sum|a b| + |bias| + |before|). */
static void compare(int table, const char *name, qh_mat a, qh_mat b, const float *bias,
                    const qh_mat *before, qh_mat want, qh_mat got)
{
    for (int64_t r = 0; r < got.rows; r++)
        for (int64_t c = 0; c < got.cols; c++) {
            double size = sum_abs_nn(a, b, r, c);

            size += bias ? fabs((double)bias[c]) : 0;
            size += before ? fabs((double)qh_mat_row(*before, r)[c]) : 0;
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          4 * (double)(a.cols + 2) * EPS * size, name, table, r, c);
        }
    fixture_check_guards(got, name);
}

static void check_shape(int table, int64_t n, int64_t k, int64_t f)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(table);
    qh_mat a = fixture_mat(n, k, 1), b = fixture_mat(k, f, 2), bt = transposed(b);
    qh_mat at = transposed(a), bias = fixture_mat(1, f, 4);

    for (int mode = 0; mode < 6; mode++) {
        bool add = mode % 2;
        qh_mat want = fixture_mat(n, f, 3), got = fixture_copy(want), before = fixture_copy(want);
        const float *with = mode / 2 == 1 ? bias.data : NULL;

        if (mode < 4) {
            ref->gemm_nn(a, b, with, 0, n, want, add);
            fast->gemm_nn(a, b, with, 0, n / 2, got, add);
            fast->gemm_nn(a, b, with, n / 2, n, got, add);
        } else {
            ref->gemm_nt(a, bt, 0, n, want, add);
            fast->gemm_nt(a, bt, 0, n / 2, got, add);
            fast->gemm_nt(a, bt, n / 2, n, got, add);
        }
        compare(table, mode < 4 ? "gemm_nn" : "gemm_nt", a, b, with, add ? &before : NULL, want,
                got);
        if (mode == 0) { /* at^T b = a b */
            ref->gemm_tn(at, b, 0, k, want);
            fast->gemm_tn(at, b, 0, k, got);
            compare(table, "gemm_tn", a, b, NULL, NULL, want, got);
        }
        fixture_free(&want);
        fixture_free(&got);
        fixture_free(&before);
    }
    fixture_free(&a);
    fixture_free(&b);
    fixture_free(&bt);
    fixture_free(&at);
    fixture_free(&bias);
}

START_TEST(products_agree)
{
    for (size_t h = 0; h < QH_COUNT(heights); h++)
        for (size_t d = 0; d < QH_COUNT(depths); d++)
            for (int i = 0; i < n_fixture_cols; i++)
                if (heights[h] < 100 || fixture_cols[i] < 130)
                    check_shape(_i, heights[h], depths[d], fixture_cols[i]);
}
END_TEST

START_TEST(a_range_of_gemm_tn_is_a_partial_sum)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    qh_mat a = fixture_mat(70, 5, 1), g = fixture_mat(70, 7, 2);
    qh_mat want = fixture_mat(5, 7, 3), got = fixture_mat(5, 7, 3);

    ref->gemm_tn(a, g, 11, 60, want);
    fast->gemm_tn(a, g, 11, 60, got);
    for (int64_t r = 0; r < 5; r++)
        for (int64_t c = 0; c < 7; c++)
            fixture_close((double)qh_mat_row(got, r)[c], (double)qh_mat_row(want, r)[c],
                          4 * 49 * EPS * 49, "gemm_tn", _i, r, c);
    ref->gemm_tn(a, g, 11, 11, want);
    fast->gemm_tn(a, g, 11, 11, got);
    for (int64_t r = 0; r < 5; r++)
        for (int64_t c = 0; c < 7; c++)
            ck_assert(qh_mat_row(got, r)[c] == 0 && qh_mat_row(want, r)[c] == 0);
    fixture_free(&a);
    fixture_free(&g);
    fixture_free(&want);
    fixture_free(&got);
}
END_TEST

START_TEST(colsum_agrees)
{
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);

    for (int i = 0; i < n_fixture_cols; i++)
        for (int64_t n = 0; n <= 200; n = 2 * n + 1) {
            qh_mat g = fixture_mat(n, fixture_cols[i], 1);
            qh_mat want = fixture_mat(1, g.cols, 2), got = fixture_copy(want);

            ref->colsum(g, n / 3, n, want.data);
            fast->colsum(g, n / 3, n, got.data);
            for (int64_t c = 0; c < g.cols; c++) {
                double sum = 0;

                for (int64_t r = n / 3; r < n; r++)
                    sum += fabs((double)qh_mat_row(g, r)[c]);
                fixture_close((double)got.data[c], (double)want.data[c], 4 * (double)n * EPS * sum,
                              "colsum", _i, 0, c);
            }
            fixture_check_guards(got, "colsum");
            fixture_free(&g);
            fixture_free(&want);
            fixture_free(&got);
        }
}
END_TEST

/* Several devices multiply at once; each must get the bits that it gets alone. Short products meet
 * far more often in what a library does before and after them. */
static const struct {
    int64_t n, k;
    int times;
} crowd[] = {{203, 96, 60}, {50, 16, 20000}};

typedef struct hammer {
    const qh_kernels *k;
    qh_mat a, b, want[3], got[3];
    int times, n_wrong;
} hammer;

static void products(const qh_kernels *k, qh_mat a, qh_mat b, qh_mat out[3])
{
    k->gemm_nn(a, b, NULL, 0, a.rows, out[0], false);
    k->gemm_nt(a, b, 0, a.rows, out[1], false);
    k->gemm_tn(a, a, 0, a.rows, out[2]);
}

static void *hammer_run(void *arg)
{
    hammer *h = arg;

    for (int i = 0; i < h->times; i++) {
        products(h->k, h->a, h->b, h->got);
        for (int p = 0; p < 3; p++)
            h->n_wrong += memcmp(h->got[p].data, h->want[p].data,
                                 (size_t)(h->got[p].rows * h->got[p].ld) * 4) != 0;
    }
    return NULL;
}

static void multiply_at_once(const qh_kernels *kernels, int64_t n, int64_t k, int times)
{
    enum { THREADS = 4 };
    hammer h[THREADS];
    pthread_t thread[THREADS];

    for (int t = 0; t < THREADS; t++) {
        h[t] = (hammer){.k = kernels,
                        .a = fixture_mat(n + t, k, (uint64_t)t),
                        .b = fixture_mat(k, k, 9),
                        .times = times};
        for (int p = 0; p < 3; p++) {
            h[t].want[p] = fixture_mat(p == 2 ? k : n + t, k, 3);
            h[t].got[p] = fixture_copy(h[t].want[p]);
        }
        products(h[t].k, h[t].a, h[t].b, h[t].want);
    }
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_create(&thread[t], NULL, hammer_run, &h[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        ck_assert_int_eq(h[t].n_wrong, 0);
        fixture_free(&h[t].a);
        fixture_free(&h[t].b);
        for (int p = 0; p < 3; p++) {
            fixture_free(&h[t].want[p]);
            fixture_free(&h[t].got[p]);
        }
    }
}

START_TEST(threads_do_not_disturb_each_other)
{
    for (size_t i = 0; i < QH_COUNT(crowd); i++)
        multiply_at_once(qh_kernels_list(_i), crowd[i].n, crowd[i].k, crowd[i].times);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of dense products");
    TCase *t = tcase_create("dense");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, products_agree, 1, fixture_tables());
    tcase_add_loop_test(t, a_range_of_gemm_tn_is_a_partial_sum, 1, fixture_tables());
    tcase_add_loop_test(t, colsum_agrees, 1, fixture_tables());
    tcase_add_loop_test(t, threads_do_not_disturb_each_other, 1, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
