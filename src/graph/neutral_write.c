/* Writing a folder in the neutral layout. meta.json comes last: a folder without it was not
 * finished. */
#include "src/base/mem.h"
#include "src/graph/npy.h"
#include "src/graph/storage.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static qh_status path_of(const char *folder, const char *name, char *path)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
        return qh_fail(QH_ERESOURCE, "%.64s...: a path of more than %d bytes", folder, PATH_BYTES);
    return QH_OK;
}

static qh_status open_output(const char *folder, const char *name, qh_output **out)
{
    char path[PATH_BYTES];
    qh_status st = path_of(folder, name, path);

    return st < 0 ? st : qh_output_open(path, out);
}

/* One array that lies in one piece. */
static qh_status write_array(const char *folder, const char *name, qh_npy_type type, int n_dims,
                             int64_t rows, int64_t cols, const void *data, size_t bytes)
{
    qh_output *o = NULL;
    qh_status st = open_output(folder, name, &o);

    if (st < 0)
        return st;
    qh_npy_write_header(o, type, n_dims, rows, cols);
    fwrite(data, 1, bytes, qh_output_stream(o));
    return qh_output_commit(&o);
}

static qh_status write_edges(const qh_dataset *d, const char *folder)
{
    const qh_graph *g = d->graph;
    qh_output *o = NULL;
    qh_status st = open_output(folder, "edges.npy", &o);

    if (st < 0)
        return st;
    qh_npy_write_header(o, QH_NPY_INT32, 2, g->n_edges, 2);
    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            int32_t pair[2] = {g->in_src[e], (int32_t)v};

            fwrite(pair, sizeof pair, 1, qh_output_stream(o));
        }
    return qh_output_commit(&o);
}

static qh_status write_dense(const qh_dataset *d, const char *folder)
{
    int64_t n = d->graph->n_nodes;
    qh_output *o = NULL;
    qh_status st = open_output(folder, "feat.npy", &o);

    if (st < 0)
        return st;
    qh_npy_write_header(o, QH_NPY_FLOAT32, 2, n, d->n_features);
    for (int64_t v = 0; v < n; v++)
        fwrite(qh_mat_row(d->dense, v), sizeof(float), (size_t)d->n_features, qh_output_stream(o));
    return qh_output_commit(&o);
}

static qh_status write_sparse(const qh_dataset *d, const char *folder)
{
    const qh_csr *x = &d->sparse_features;
    int64_t n = x->ptr[x->n_rows];
    const float one = 1;
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, write_array(folder, "feat_indptr.npy", QH_NPY_INT64, 1, x->n_rows + 1, 0, x->ptr,
                           (size_t)(x->n_rows + 1) * sizeof *x->ptr));
    QH_TRY(st, write_array(folder, "feat_indices.npy", QH_NPY_INT32, 1, n, 0, x->col,
                           (size_t)n * sizeof *x->col));
    QH_TRY(st, open_output(folder, "feat_data.npy", &o));
    qh_npy_write_header(o, QH_NPY_FLOAT32, 1, n, 0);
    if (x->val)
        fwrite(x->val, sizeof *x->val, (size_t)n, qh_output_stream(o));
    for (int64_t e = 0; e < n && !x->val; e++)
        fwrite(&one, sizeof one, 1, qh_output_stream(o));
    st = qh_output_commit(&o);
out:
    return st;
}

/* A source that was read as JSON is written as JSON again. */
static json_t *source_json(const char *source)
{
    json_t *x = source[0] == '{' || source[0] == '[' ? json_loads(source, 0, NULL) : NULL;

    return x ? x : json_string(source);
}

static qh_status write_meta(const qh_dataset *d, const char *folder)
{
    json_t *meta = json_object();
    char *text = NULL;
    qh_output *o = NULL;
    qh_status st = QH_OK;

    json_object_set_new(meta, "name", json_string(d->name));
    json_object_set_new(meta, "nodes", json_integer(d->graph->n_nodes));
    json_object_set_new(meta, "features", json_integer(d->n_features));
    json_object_set_new(meta, "classes", json_integer(d->n_classes));
    json_object_set_new(meta, "edges_directed", json_integer(d->graph->n_edges));
    if (d->source[0])
        json_object_set_new(meta, "source", source_json(d->source));
    text = json_object_size(meta) >= 5 ? json_dumps(meta, JSON_INDENT(1)) : NULL;
    if (!text) {
        st = qh_fail(QH_EINTERNAL, "%s: a name or source that is no UTF-8", folder);
        goto out;
    }
    QH_TRY(st, open_output(folder, "meta.json", &o));
    fprintf(qh_output_stream(o), "%s\n", text);
    st = qh_output_commit(&o);
out:
    free(text);
    json_decref(meta);
    return st;
}

/* The arrays of the other kind of features, from an earlier data set in this folder, would make it
 * ambiguous. */
static qh_status remove_stale(const qh_dataset *d, const char *folder)
{
    static const char *const sparse[] = {"feat_indptr.npy", "feat_indices.npy", "feat_data.npy"};
    char path[PATH_BYTES];
    qh_status st;

    QH_TRY(st, path_of(folder, "meta.json", path));
    unlink(path);
    QH_TRY(st, path_of(folder, "feat.npy", path));
    if (d->sparse)
        unlink(path);
    for (size_t i = 0; i < QH_COUNT(sparse) && !d->sparse; i++) {
        QH_TRY(st, path_of(folder, sparse[i], path));
        unlink(path);
    }
out:
    return st;
}

qh_status qh_neutral_write(const qh_dataset *d, const char *folder)
{
    int64_t n = d->graph->n_nodes;
    qh_status st;

    QH_TRY(st, qh_make_folder(folder));
    QH_TRY(st, remove_stale(d, folder));
    QH_TRY(st, write_edges(d, folder));
    QH_TRY(st, d->sparse ? write_sparse(d, folder) : write_dense(d, folder));
    if (d->multilabel)
        QH_TRY(st, write_array(folder, "label.npy", QH_NPY_UINT8, 2, n, d->n_classes,
                               d->multi_label, (size_t)(n * d->n_classes)));
    else
        QH_TRY(st, write_array(folder, "label.npy", QH_NPY_INT32, 1, n, 0, d->label,
                               (size_t)n * sizeof *d->label));
    QH_TRY(st, write_array(folder, "split.npy", QH_NPY_INT8, 1, n, 0, d->split, (size_t)n));
    QH_TRY(st, write_meta(d, folder));
out:
    return st;
}
