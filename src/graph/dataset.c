#include "src/graph/dataset.h"

#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/graph/storage.h"

#include <string.h>

/* --- ownership --- */

static void release(const qh_dataset *d, const void *array)
{
    const qh_storage *s = d->storage;
    const uint8_t *p = array;

    if (!s || p < s->map.data || p >= s->map.data + s->map.size)
        qh_mem_free((void *)array);
}

void qh_dataset_free_features(qh_dataset *d)
{
    release(d, d->dense.data);
    release(d, d->sparse_features.ptr);
    release(d, d->sparse_features.col);
    release(d, d->sparse_features.val);
    d->dense = (qh_mat){0};
    d->sparse_features = (qh_csr){0};
}

void qh_dataset_free(qh_dataset *d)
{
    qh_storage *s;

    if (!d)
        return;
    s = d->storage;
    release(d, d->split);
    release(d, d->multi_label);
    release(d, d->label);
    qh_dataset_free_features(d);
    qh_graph_free(d->graph);
    qh_mem_free(d->source);
    qh_mem_free(d->name);
    if (s)
        qh_map_close(&s->map);
    qh_mem_free(s);
    qh_mem_free(d);
}

int64_t qh_dataset_bytes(const qh_dataset *d)
{
    int64_t n = d->graph->n_nodes;
    int64_t bytes = (n + 1) * 8 + d->graph->n_edges * 4 + n * 8;

    if (d->sparse)
        bytes += (n + 1) * 8 + d->sparse_features.ptr[n] * (d->sparse_features.val ? 8 : 4);
    else
        bytes += n * d->dense.ld * 4;
    return bytes + n * (d->multilabel ? d->n_classes : 4) + n;
}

/* --- opening --- */

qh_status qh_dataset_open(const char *name, qh_dataset **out)
{
    if (strncmp(name, "synth:", 6) == 0)
        return qh_synth_new(name + 6, out);
    if (qh_is_folder(name))
        return qh_neutral_open(name, out);
    if (!qh_file_exists(name))
        return qh_fail(QH_EINPUT,
                       "%s: no such data set; a .qhd file, a folder in the neutral layout or "
                       "synth:PRESET is right",
                       name);
    return qh_qhd_open(name, out);
}

void qh_edges_warn(const char *where, const qh_edge_report *r)
{
    if (r->duplicates || r->self_loops)
        qh_log(QH_LOG_WARNING, "%s: dropped %lld duplicate edges and %lld self loops", where,
               (long long)r->duplicates, (long long)r->self_loops);
}

void qh_dataset_drop_unlabelled(qh_dataset *d, const char *where)
{
    int64_t n = 0;

    if (d->multilabel)
        return;
    for (int64_t v = 0; v < d->graph->n_nodes; v++)
        if (d->label[v] == -1 && d->split[v] != QH_SPLIT_NONE) {
            d->split[v] = QH_SPLIT_NONE;
            n++;
        }
    if (n)
        qh_log(QH_LOG_WARNING, "%s: %lld nodes of the split have no label and are left out of it",
               where, (long long)n);
}

/* --- checking --- */

/* First column of a row that is NaN or infinite, or -1. The first loop has no branch, so that it
 * runs at the speed of memory. */
static int64_t find_not_finite(const float *row, int64_t n)
{
    uint32_t bad = 0;

    for (int64_t c = 0; c < n; c++) {
        uint32_t bits;

        memcpy(&bits, row + c, sizeof bits);
        bad |= (bits & 0x7f800000) == 0x7f800000;
    }
    for (int64_t c = 0; bad && c < n; c++)
        if (!__builtin_isfinite(row[c]))
            return c;
    return -1;
}

static qh_status check_dense(const qh_dataset *d, const char *where)
{
    for (int64_t v = 0; v < d->graph->n_nodes; v++) {
        const float *row = qh_mat_row(d->dense, v);
        int64_t c = find_not_finite(row, d->n_features);

        if (c >= 0)
            return qh_fail(QH_EINPUT, "%s: row %lld, column %lld is %g; a finite number is right",
                           where, (long long)v, (long long)c, (double)row[c]);
    }
    return QH_OK;
}

static qh_status check_sparse_row(const qh_csr *x, int64_t v, const qh_places *where)
{
    int64_t begin = x->ptr[v], n = x->ptr[v + 1] - begin, last = -1;
    int64_t bad = x->val ? find_not_finite(x->val + begin, n) : -1;

    for (int64_t e = begin; e < begin + n; e++) {
        if (x->col[e] < 0 || x->col[e] >= x->n_cols)
            return qh_fail(QH_EINPUT, "%s: row %lld has column %d; columns are 0 .. %lld",
                           where->features, (long long)v, x->col[e], (long long)x->n_cols - 1);
        if (x->col[e] <= last)
            return qh_fail(QH_EINPUT,
                           "%s: row %lld has column %d after %lld; rising and single columns are "
                           "right (scipy: sum_duplicates)",
                           where->features, (long long)v, x->col[e], (long long)last);
        last = x->col[e];
    }
    if (bad >= 0)
        return qh_fail(QH_EINPUT, "%s: row %lld, column %d is %g; a finite number is right",
                       where->values, (long long)v, x->col[begin + bad],
                       (double)x->val[begin + bad]);
    return QH_OK;
}

static qh_status check_sparse(const qh_dataset *d, const qh_places *where)
{
    const qh_csr *x = &d->sparse_features;
    qh_status st = QH_OK;

    for (int64_t v = 0; v < x->n_rows; v++)
        if (x->ptr[v] > x->ptr[v + 1])
            return qh_fail(QH_EINPUT,
                           "%s: row %lld ends at %lld, before it begins; rising numbers are right",
                           where->rows, (long long)v, (long long)x->ptr[v + 1]);
    for (int64_t v = 0; v < x->n_rows && st == QH_OK; v++)
        st = check_sparse_row(x, v, where);
    return st;
}

static qh_status check_labels(const qh_dataset *d, const char *where)
{
    int64_t n = d->graph->n_nodes;

    for (int64_t v = 0; v < n && !d->multilabel; v++)
        if (d->label[v] < -1 || d->label[v] >= d->n_classes)
            return qh_fail(QH_EINPUT, "%s: row %lld has label %d; -1 (none) or 0 .. %lld is right",
                           where, (long long)v, d->label[v], (long long)d->n_classes - 1);
    for (int64_t i = 0; i < n * d->n_classes && d->multilabel; i++)
        if (d->multi_label[i] > 1)
            return qh_fail(QH_EINPUT, "%s: row %lld, column %lld is %d; 0 or 1 is right", where,
                           (long long)(i / d->n_classes), (long long)(i % d->n_classes),
                           d->multi_label[i]);
    return QH_OK;
}

static qh_status check_split(const qh_dataset *d, const char *where)
{
    int64_t n_train = 0;

    for (int64_t v = 0; v < d->graph->n_nodes; v++) {
        if (d->split[v] < QH_SPLIT_NONE || d->split[v] > QH_SPLIT_TEST)
            return qh_fail(QH_EINPUT,
                           "%s: row %lld is %d; 0 (none), 1 (train), 2 (validation) or 3 (test) is "
                           "right",
                           where, (long long)v, d->split[v]);
        if (d->split[v] != QH_SPLIT_NONE && !d->multilabel && d->label[v] < 0)
            return qh_fail(
                QH_EINPUT,
                "%s: node %lld is in the split and has no label; split 0 (none) is right", where,
                (long long)v);
        n_train += d->split[v] == QH_SPLIT_TRAIN;
    }
    if (!n_train)
        return qh_fail(QH_EINPUT, "%s: no training node (with a label); at least one 1 is right",
                       where);
    return QH_OK;
}

qh_status qh_dataset_check_places(const qh_dataset *d, const qh_places *where)
{
    qh_status st;

    /* One node alone may have no edge; many nodes without any are a graph that got lost. */
    if (d->graph->n_edges == 0 && d->graph->n_nodes > 1)
        return qh_fail(
            QH_EINPUT,
            "%s: an empty graph; at least one edge between two of the %lld nodes is right",
            where->graph, (long long)d->graph->n_nodes);
    QH_TRY(st, d->sparse ? check_sparse(d, where) : check_dense(d, where->features));
    QH_TRY(st, check_labels(d, where->labels));
    QH_TRY(st, check_split(d, where->split));
out:
    return st;
}

qh_status qh_dataset_check(const qh_dataset *d, const char *where)
{
    return qh_dataset_check_places(d, &(qh_places){where, where, where, where, where, where});
}
