/* Scaling the features of a loaded data set. Sums are in double and go in row order. */
#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/graph/storage.h"

#include <math.h>
#include <string.h>

/* A matrix of its own with the features of d, dense whatever they were. */
static qh_status copy_dense(const qh_dataset *d, qh_mat *out)
{
    const qh_csr *x = &d->sparse_features;
    int64_t n = d->graph->n_nodes;
    qh_status st = qh_mat_new(n, d->n_features, out);

    if (st < 0)
        return st;
    for (int64_t v = 0; v < n && !d->sparse; v++)
        memcpy(qh_mat_row(*out, v), qh_mat_row(d->dense, v), (size_t)d->n_features * sizeof(float));
    for (int64_t v = 0; v < n && d->sparse; v++)
        for (int64_t e = x->ptr[v]; e < x->ptr[v + 1]; e++)
            qh_mat_row(*out, v)[x->col[e]] = x->val ? x->val[e] : 1;
    return QH_OK;
}

/* Dense features that may be written: a mapped matrix is replaced by a copy. */
static qh_status own_dense(qh_dataset *d)
{
    qh_mat own = {0};
    qh_status st;

    if (!d->sparse && !d->storage)
        return QH_OK;
    st = copy_dense(d, &own);
    if (st < 0)
        return st;
    qh_dataset_free_features(d);
    d->dense = own;
    d->sparse = false;
    return QH_OK;
}

static void scale_row(float *row, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)row[i];
    for (int64_t i = 0; i < n && sum != 0; i++)
        row[i] = (float)((double)row[i] / sum);
}

/* The places of the entries stay (borrowed or owned as they were), the values are new. */
static qh_status scale_sparse_rows(qh_dataset *d)
{
    qh_csr *x = &d->sparse_features;
    int64_t n = x->ptr[x->n_rows], *ptr = NULL;
    int32_t *col = NULL;
    float *val = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&val, n));
    QH_TRY(st, QH_NEW_ARRAY(&col, n));
    QH_TRY(st, QH_NEW_ARRAY(&ptr, x->n_rows + 1));
    memcpy(col, x->col, (size_t)n * sizeof *col);
    memcpy(ptr, x->ptr, (size_t)(x->n_rows + 1) * sizeof *ptr);
    for (int64_t e = 0; e < n; e++)
        val[e] = x->val ? x->val[e] : 1;
    for (int64_t v = 0; v < x->n_rows; v++)
        scale_row(val + ptr[v], ptr[v + 1] - ptr[v]);
    qh_dataset_free_features(d);
    d->sparse_features = (qh_csr){
        .n_rows = d->graph->n_nodes, .n_cols = d->n_features, .ptr = ptr, .col = col, .val = val};
    return QH_OK;
out:
    qh_mem_free(ptr);
    qh_mem_free(col);
    qh_mem_free(val);
    return st;
}

static qh_status normalise_rows(qh_dataset *d)
{
    qh_status st;

    if (d->sparse)
        return scale_sparse_rows(d);
    QH_TRY(st, own_dense(d));
    for (int64_t v = 0; v < d->graph->n_nodes; v++)
        scale_row(qh_mat_row(d->dense, v), d->n_features);
out:
    return st;
}

/* Mean over training nodes, then mean square of what is left: two passes, for the digits. */
static void measure_columns(const qh_dataset *d, double *mean, double *square)
{
    int64_t n = 0;

    for (int64_t v = 0; v < d->graph->n_nodes; v++) {
        if (d->split[v] != QH_SPLIT_TRAIN)
            continue;
        n++;
        for (int64_t c = 0; c < d->n_features; c++)
            mean[c] += (double)qh_mat_row(d->dense, v)[c];
    }
    for (int64_t c = 0; c < d->n_features; c++)
        mean[c] /= (double)(n ? n : 1);
    for (int64_t v = 0; v < d->graph->n_nodes; v++)
        for (int64_t c = 0; c < d->n_features && d->split[v] == QH_SPLIT_TRAIN; c++) {
            double x = (double)qh_mat_row(d->dense, v)[c] - mean[c];

            square[c] += x * x;
        }
    for (int64_t c = 0; c < d->n_features; c++)
        square[c] /= (double)(n ? n : 1);
}

static qh_status standardise(qh_dataset *d)
{
    double *mean = NULL, *square = NULL;
    char text[32] = "";
    qh_status st;

    if (d->sparse) {
        snprintf(text, sizeof text, "%.1f MB",
                 (double)d->graph->n_nodes * (double)d->n_features * 4e-6);
        qh_log(QH_LOG_NOTE, "%s: standardised features are no longer sparse: %s", d->name, text);
    }
    QH_TRY(st, own_dense(d));
    QH_TRY(st, QH_NEW_ARRAY(&mean, d->n_features));
    QH_TRY(st, QH_NEW_ARRAY(&square, d->n_features));
    measure_columns(d, mean, square);
    for (int64_t c = 0; c < d->n_features; c++) /* a constant column: only rounding is left of it */
        square[c] = square[c] > 1e-14 * (mean[c] * mean[c]) ? 1 / sqrt(square[c]) : 0;
    for (int64_t v = 0; v < d->graph->n_nodes; v++)
        for (int64_t c = 0; c < d->n_features; c++) {
            float *x = qh_mat_row(d->dense, v) + c;

            *x = (float)(((double)*x - mean[c]) * square[c]);
        }
out:
    qh_mem_free(square);
    qh_mem_free(mean);
    return st;
}

qh_status qh_dataset_normalise(qh_dataset *d, qh_feature_norm norm)
{
    switch (norm) {
    case QH_NORM_ROW:
        return normalise_rows(d);
    case QH_NORM_STANDARD:
        return standardise(d);
    case QH_NORM_NONE:
        break;
    }
    return QH_OK;
}
