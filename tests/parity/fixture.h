/* Guarded matrices, random graphs and bounds for the parity tests. */
#ifndef QH_TESTS_PARITY_FIXTURE_H
#define QH_TESTS_PARITY_FIXTURE_H

#include "src/base/status.h"
#include "src/kernel/backend.h"

#include "tests/support/support.h"

/* Column counts around every vector width and tile. */
extern const int64_t fixture_cols[];
extern const int n_fixture_cols;

/* The fast tables under test: 1 .. fixture_tables()-1 of qh_kernels_list. */
int fixture_tables(void);

/* rows x cols with ld > cols, uniform in [-1, 1), and a guard value in the padding and in a row
 * before and after. */
qh_mat fixture_mat(int64_t rows, int64_t cols, uint64_t seed);
qh_mat fixture_copy(qh_mat m);
void fixture_free(qh_mat *m);
/* Fails when a guard value has changed. */
void fixture_check_guards(qh_mat m, const char *what);

/* n_rows x n_cols with about `degree` entries a row (a row in 8 is empty). Freed with free of ptr,
 * col, val. weighted: with values. */
qh_csr fixture_csr(int64_t n_rows, int64_t n_cols, int64_t degree, bool weighted, uint64_t seed);
void fixture_csr_free(qh_csr *a);

/* got and want agree within `bound`; the message names the kernel, table and place. */
void fixture_close(double got, double want, double bound, const char *kernel, int table,
                   int64_t row, int64_t col);

/* Unit of float rounding. */
#define EPS 5.9604644775390625e-8

#endif
