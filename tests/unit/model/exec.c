#include "src/model/exec.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* --- a sink that counts --- */

typedef struct counter {
    qh_sink sink;
    int n;
    qh_record last;
} counter;

static void count(qh_sink *sink, int rank, const qh_record *r)
{
    counter *c = (counter *)sink;

    ck_assert_int_eq(rank, 3);
    c->n++;
    c->last = *r;
}

static counter new_counter(void)
{
    return (counter){.sink = {.emit = count}};
}

static qh_mat random_mat(int64_t rows, int64_t cols, uint32_t stream)
{
    qh_key key = qh_rand_key(1, QH_RAND_SAMPLE, stream, 0, 0);
    qh_mat m;

    ck_assert_int_eq(qh_mat_new(rows, cols, &m), QH_OK);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            qh_mat_row(m, r)[c] = (float)qh_rand_normal(key, (uint64_t)(r * cols + c));
    return m;
}

/* --- chunks --- */

static const struct {
    int64_t cut, first, end, chunk;
} ranges[] = {
    {0, 0, 0, 4},   {0, 0, 1, 4}, {0, 0, 17, 4},   {5, 0, 17, 4},      {4, 0, 8, 4},
    {5, 5, 17, 4},  {5, 0, 5, 4}, {5, 3, 14, 4},   {17, 0, 17, 4},     {30, 3, 17, 4},
    {0, 13, 29, 1}, {7, 7, 7, 4}, {1, 0, 2, 1024}, {3, 2, 1029, 1024},
};

/* Chunks cover the range in order, none is empty, none spans the cut, none is too long. */
START_TEST(chunks_tile_the_range)
{
    for (size_t t = 0; t < QH_COUNT(ranges); t++) {
        qh_exec x = {.cut = ranges[t].cut};
        qh_rows rows = {ranges[t].first, ranges[t].end};
        int64_t n = qh_exec_n_chunks(&x, rows, ranges[t].chunk), at = rows.first;

        for (int64_t i = 0; i < n; i++) {
            qh_rows c = qh_exec_chunk(&x, rows, ranges[t].chunk, i);

            ck_assert_int_eq(c.first, at);
            ck_assert(c.first < c.end && c.end - c.first <= ranges[t].chunk);
            ck_assert(c.end <= x.cut || c.first >= x.cut);
            at = c.end;
        }
        ck_assert_int_eq(at, rows.end);
    }
}
END_TEST

/* Done in two at the cut, a range has the same chunks as done at once. */
START_TEST(the_cut_splits_without_a_trace)
{
    enum { N = 23, CHUNK = 4 };

    for (int64_t cut = 0; cut <= N; cut++) {
        qh_exec x = {.cut = cut};
        int64_t below = qh_exec_n_chunks(&x, (qh_rows){0, cut}, CHUNK);
        int64_t above = qh_exec_n_chunks(&x, (qh_rows){cut, N}, CHUNK);

        ck_assert_int_eq(qh_exec_n_chunks(&x, (qh_rows){0, N}, CHUNK), below + above);
        for (int64_t i = 0; i < below + above; i++) {
            qh_rows whole = qh_exec_chunk(&x, (qh_rows){0, N}, CHUNK, i);
            qh_rows part = i < below ? qh_exec_chunk(&x, (qh_rows){0, cut}, CHUNK, i)
                                     : qh_exec_chunk(&x, (qh_rows){cut, N}, CHUNK, i - below);

            ck_assert(whole.first == part.first && whole.end == part.end);
        }
    }
}
END_TEST

/* --- steps --- */

enum { STEP_ROWS = 5000 };

typedef struct trail {
    atomic_int done[2][STEP_ROWS];
} trail;

static void first_step(void *ctx, qh_rows rows)
{
    for (int64_t r = rows.first; r < rows.end; r++)
        atomic_fetch_add(&((trail *)ctx)->done[0][r], 1);
}

static void second_step(void *ctx, qh_rows rows)
{
    trail *t = ctx;

    for (int64_t r = rows.first; r < rows.end; r++) {
        ck_assert_int_eq(atomic_load(&t->done[0][r]), 1); /* the step before is done here */
        atomic_fetch_add(&t->done[1][r], 1);
    }
}

/* _i: fused or one by one. */
START_TEST(steps_run_once_a_row_in_order)
{
    static trail t;
    counter c = new_counter();
    qh_exec x = {.sink = &c.sink, .rank = 3, .cut = 777, .separate = _i};
    qh_step step[] = {{first_step, QH_OP_GEMM, 6, 7}, {second_step, QH_OP_ELEMENTWISE, 8, 9}};

    memset(&t, 0, sizeof t);
    ck_assert_int_eq(qh_team_new(3, NULL, &x.team), QH_OK);
    qh_exec_steps(&x, 2, QH_BACKWARD, (qh_rows){0, STEP_ROWS}, 64, step, 2, &t);
    for (int r = 0; r < STEP_ROWS; r++)
        ck_assert_int_eq(atomic_load(&t.done[1][r]), 1);
    ck_assert_int_eq(c.n, 2);
    ck_assert_int_eq(c.last.op, QH_OP_ELEMENTWISE);
    ck_assert(c.last.layer == 2 && c.last.direction == QH_BACKWARD && c.last.flops == 8 &&
              c.last.bytes == 9 && c.last.peer == -1);
    qh_team_free(x.team);
}
END_TEST

/* --- sums over rows --- */

static const struct {
    int64_t rows, k, f;
} shapes[] = {{0, 3, 5},       {1, 1, 1},      {7, 3, 2},      {4096, 2, 3},   {4097, 5, 1},
              {20011, 17, 13}, {300, 1025, 7}, {9001, 513, 3}, {140001, 2, 2}, {5000, 1025, 2}};

/* Bound: n * eps * sum|a*b|, sums of partial sums being no worse than one sum. */
static void check_product(qh_mat a, qh_mat g, qh_mat ours, float before)
{
    for (int64_t i = 0; i < a.cols; i += a.cols / 3 + 1)
        for (int64_t j = 0; j < g.cols; j += g.cols / 3 + 1) {
            double sum = (double)before, size = fabs(sum);

            for (int64_t r = 0; r < a.rows; r++) {
                double p = (double)qh_mat_row(a, r)[i] * (double)qh_mat_row(g, r)[j];

                sum += p;
                size += fabs(p);
            }
            ck_assert_double_le(fabs((double)qh_mat_row(ours, i)[j] - sum),
                                4 * ((double)a.rows + 1) * 0x1p-24 * size);
        }
}

/* _i: backend. Right, and the same bits for a team of any size. */
START_TEST(gemm_tn_adds_the_product)
{
    for (size_t t = 0; t < QH_COUNT(shapes); t++) {
        qh_mat a = random_mat(shapes[t].rows, shapes[t].k, 1);
        qh_mat g = random_mat(shapes[t].rows, shapes[t].f, 2), out[3];
        qh_rows all = {0, shapes[t].rows};
        counter c = new_counter();

        for (int n = 0; n < 3; n++) {
            qh_exec x = {.kernels = qh_kernels_list(_i), .sink = &c.sink, .rank = 3, .cut = 5};

            ck_assert_int_eq(qh_team_new(n + 1, NULL, &x.team), QH_OK);
            ck_assert_int_eq(qh_mat_new(shapes[t].k, shapes[t].f, &out[n]), QH_OK);
            for (int64_t i = 0; i < shapes[t].k; i++)
                for (int64_t j = 0; j < shapes[t].f; j++)
                    qh_mat_row(out[n], i)[j] = 2;
            ck_assert_int_eq(qh_exec_gemm_tn_add(&x, 0, QH_BACKWARD, a, g, all, out[n]), QH_OK);
            ck_assert_mem_eq(out[n].data, out[0].data,
                             (size_t)(out[n].rows * out[n].ld) * sizeof(float));
            qh_exec_fini(&x);
            qh_team_free(x.team);
        }
        check_product(a, g, out[0], 2);
        ck_assert_int_eq(c.n, shapes[t].rows ? 3 : 0);
        if (shapes[t].rows)
            ck_assert_int_eq(c.last.flops, 2 * shapes[t].rows * shapes[t].k * shapes[t].f);
        for (int n = 0; n < 3; n++)
            qh_mat_free(&out[n]);
        qh_mat_free(&a);
        qh_mat_free(&g);
    }
}
END_TEST

START_TEST(column_sums_and_dots)
{
    static const int64_t sizes[] = {0, 1, 1023, 1025, 5003};

    for (size_t t = 0; t < QH_COUNT(sizes); t++) {
        qh_exec x = {.kernels = qh_kernels_list(_i), .cut = 1};
        qh_mat a = random_mat(sizes[t], 3, 1), b = random_mat(sizes[t], 3, 2);
        float sum[3] = {1, 1, 1};
        double dot = -1, wanted[4] = {1, 1, 1, 0};

        for (int64_t r = 0; r < sizes[t]; r++)
            for (int c = 0; c < 3; c++) {
                wanted[c] += (double)qh_mat_row(a, r)[c];
                wanted[3] += (double)qh_mat_row(a, r)[c] * (double)qh_mat_row(b, r)[c];
            }
        ck_assert_int_eq(qh_exec_colsum_add(&x, 0, QH_BACKWARD, a, (qh_rows){0, sizes[t]}, sum),
                         QH_OK);
        ck_assert_int_eq(qh_exec_dot(&x, 0, QH_BACKWARD, a, b, (qh_rows){0, sizes[t]}, &dot),
                         QH_OK);
        for (int c = 0; c < 3; c++)
            ck_assert_double_eq_tol((double)sum[c], wanted[c], 1e-3);
        ck_assert_double_eq_tol(dot, wanted[3], 1e-3);
        qh_exec_fini(&x);
        qh_mat_free(&a);
        qh_mat_free(&b);
    }
}
END_TEST

/* --- records --- */

START_TEST(records_say_what_was_done)
{
    static const int64_t ptr[] = {0, 2, 2, 5};
    static const int32_t col[] = {0, 3, 1, 2, 3};
    static const float val[] = {1, 2, 3, 4, 5};
    qh_csr a = {3, 4, ptr, col, val};
    qh_mat in = random_mat(4, 6, 1), w = random_mat(6, 2, 2), out = random_mat(3, 6, 3);
    qh_mat z = random_mat(4, 2, 4);
    counter c = new_counter();
    qh_exec x = {.kernels = qh_kernels_find("ref"), .sink = &c.sink, .rank = 3, .epoch = 41};

    qh_exec_spmm(&x, 1, QH_FORWARD, a, in, (qh_rows){0, 3}, out, false);
    ck_assert_int_eq(c.last.op, QH_OP_SPMM);
    ck_assert_int_eq(c.last.epoch, 41);
    ck_assert_int_eq(c.last.flops, 2 * 5 * 6);
    ck_assert_int_eq(c.last.bytes, 5 * (8 + 4 * 6) + 4 * 3 * 6);
    qh_exec_spmm(&x, 1, QH_FORWARD, a, in, (qh_rows){1, 3}, out, true);
    ck_assert_int_eq(c.last.flops, 2 * 3 * 6);
    ck_assert_int_eq(c.last.bytes, 3 * (8 + 4 * 6) + 8 * 2 * 6);
    qh_exec_gemm_nn(&x, 1, QH_FORWARD, in, w, NULL, (qh_rows){0, 4}, z, false);
    ck_assert_int_eq(c.last.op, QH_OP_GEMM);
    ck_assert_int_eq(c.last.flops, 2 * 4 * 6 * 2);
    ck_assert_int_eq(c.last.bytes, 4 * (4 * 6 + 6 * 2 + 4 * 2));
    qh_exec_gemm_nt(&x, 1, QH_FORWARD, z, w, (qh_rows){1, 3}, in, false);
    ck_assert_int_eq(c.last.flops, 2 * 2 * 6 * 2);
    ck_assert_int_eq(c.n, 4);
    x.sink = NULL;
    qh_exec_gemm_nn(&x, 1, QH_FORWARD, in, w, NULL, (qh_rows){0, 4}, z, false);
    x.sink = &c.sink;
    qh_exec_gemm_nn(&x, 1, QH_FORWARD, in, w, NULL, (qh_rows){2, 2}, z, false);
    ck_assert_int_eq(c.n, 4); /* no rows, no record */
    qh_mat_free(&in);
    qh_mat_free(&w);
    qh_mat_free(&out);
    qh_mat_free(&z);
}
END_TEST

START_TEST(scratch_can_fail)
{
    qh_exec x = {0};

    qh_mem_fail_at(1);
    ck_assert_int_eq(qh_exec_reserve(&x, 100), QH_ERESOURCE);
    ck_assert_int_eq(qh_exec_reserve(&x, 100), QH_OK);
    ck_assert_int_eq(x.partial_capacity, 100);
    qh_exec_fini(&x);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("exec");
    TCase *t = tcase_create("exec");
    int n_backends = 0;

    while (qh_kernels_list(n_backends))
        n_backends++;
    tcase_set_timeout(t, 60);
    tcase_add_test(t, chunks_tile_the_range);
    tcase_add_test(t, the_cut_splits_without_a_trace);
    tcase_add_loop_test(t, steps_run_once_a_row_in_order, 0, 2);
    tcase_add_loop_test(t, gemm_tn_adds_the_product, 0, n_backends);
    tcase_add_loop_test(t, column_sums_and_dots, 0, n_backends);
    tcase_add_test(t, records_say_what_was_done);
    tcase_add_test(t, scratch_can_fail);
    suite_add_tcase(s, t);
    return s;
}
