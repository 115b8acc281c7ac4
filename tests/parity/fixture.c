#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAD = 13 };
static const float GUARD = 1234.5F;

const int64_t fixture_cols[] = {0, 1, 2, 7, 16, 17, 31, 33, 40, 41, 64, 127, 129, 256, 602};
const int n_fixture_cols = QH_COUNT(fixture_cols);

int fixture_tables(void)
{
    int n = 0;

    while (qh_kernels_list(n))
        n++;
    return n;
}

static float uniform(qh_key key, uint64_t i)
{
    return (float)(2 * qh_rand_unit(key, i) - 1);
}

qh_mat fixture_mat(int64_t rows, int64_t cols, uint64_t seed)
{
    int64_t ld = cols + PAD;
    float *block = malloc((size_t)((rows + 2) * ld) * sizeof *block);
    qh_key key = qh_rand_key(seed, QH_RAND_INIT, 0, 0, 0);
    qh_mat m;

    ck_assert_ptr_nonnull(block);
    for (int64_t i = 0; i < (rows + 2) * ld; i++)
        block[i] = GUARD;
    m = (qh_mat){block + ld, rows, cols, ld};
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            qh_mat_row(m, r)[c] = uniform(key, (uint64_t)(r * cols + c));
    return m;
}

qh_mat fixture_copy(qh_mat m)
{
    qh_mat copy = fixture_mat(m.rows, m.cols, 0);

    memcpy(copy.data, m.data, (size_t)(m.rows * m.ld) * sizeof *m.data);
    return copy;
}

void fixture_free(qh_mat *m)
{
    free(m->data - m->ld);
    *m = (qh_mat){0};
}

void fixture_check_guards(qh_mat m, const char *what)
{
    const float *all = m.data - m.ld;

    for (int64_t r = 0; r < m.rows + 2; r++)
        for (int64_t c = 0; c < m.ld; c++) {
            bool inside = 0 < r && r <= m.rows && c < m.cols;

            /* A passing ck_assert writes to a pipe: too slow for every element. */
            if (!inside && all[r * m.ld + c] != GUARD)
                ck_abort_msg("%s wrote outside: row %lld column %lld of %lld x %lld", what,
                             (long long)r - 1, (long long)c, (long long)m.rows, (long long)m.cols);
        }
}

qh_csr fixture_csr(int64_t n_rows, int64_t n_cols, int64_t degree, bool weighted, uint64_t seed)
{
    int64_t *ptr = calloc((size_t)n_rows + 1, sizeof *ptr);
    int32_t *col = malloc((size_t)(n_rows * n_cols + 1) * sizeof *col);
    float *val = malloc((size_t)(n_rows * n_cols + 1) * sizeof *val);
    qh_key key = qh_rand_key(seed, QH_RAND_SYNTH, 0, 0, 0);
    int64_t n = 0;

    ck_assert(ptr && col && val);
    for (int64_t r = 0; r < n_rows; r++) {
        for (int64_t c = 0; c < n_cols && r % 8 != 5; c++) {
            uint64_t i = (uint64_t)(r * n_cols + c);

            if (qh_rand_below(key, i, (uint64_t)n_cols) < (uint64_t)degree) {
                col[n] = (int32_t)c;
                val[n++] = uniform(key, i + (1ULL << 40));
            }
        }
        ptr[r + 1] = n;
    }
    if (!weighted) {
        free(val);
        val = NULL;
    }
    return (qh_csr){n_rows, n_cols, ptr, col, val};
}

void fixture_csr_free(qh_csr *a)
{
    free((void *)(uintptr_t)a->ptr);
    free((void *)(uintptr_t)a->col);
    free((void *)(uintptr_t)a->val);
    *a = (qh_csr){0};
}

void fixture_close(double got, double want, double bound, const char *kernel, int table,
                   int64_t row, int64_t col)
{
    bool close = fabs(got - want) <= bound || (isnan(got) && isnan(want)) || got == want;

    if (!close)
        ck_abort_msg("%s of table %d (%s): row %lld column %lld is %.9g, ref says %.9g, bound %.3g",
                     kernel, table, qh_kernels_list(table)->help, (long long)row, (long long)col,
                     got, want, bound);
}
