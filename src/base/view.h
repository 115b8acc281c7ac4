/* Borrowed views: passed by value, never own, never free. */
#ifndef QH_BASE_VIEW_H
#define QH_BASE_VIEW_H

#include <stdint.h>

/* Row-major float matrix; element (r, c) is data[r * ld + c], ld >= cols. What lies between cols
 * and ld is padding: never read as a value, never written by a kernel. */
typedef struct qh_mat {
    float *data;
    int64_t rows, cols, ld;
} qh_mat;

/* Compressed sparse rows. Row r holds entries ptr[r] .. ptr[r+1]-1, columns rising within a row. */
typedef struct qh_csr {
    int64_t n_rows, n_cols;
    const int64_t *ptr; /* n_rows + 1 */
    const int32_t *col;
    const float *val; /* NULL: every entry is 1 */
} qh_csr;

/* The rows first .. end-1. */
typedef struct qh_rows {
    int64_t first, end;
} qh_rows;

static inline float *qh_mat_row(qh_mat m, int64_t r)
{
    return m.data + r * m.ld;
}

static inline qh_mat qh_mat_sub(qh_mat m, qh_rows rows)
{
    return (qh_mat){qh_mat_row(m, rows.first), rows.end - rows.first, m.cols, m.ld};
}

#endif
