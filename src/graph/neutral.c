/* Reading a folder in the neutral layout (DESIGN section 4). */
#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/graph/build.h"
#include "src/graph/npy.h"
#include "src/graph/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_BYTES = 1 << 20 }; /* features read at a time */

typedef struct folder {
    const char *path; /* borrowed */
    int64_t n_nodes;
    qh_dataset *d; /* owned until it is handed over */
    qh_npy edges, features, columns, values, labels, split;
} folder;

static bool has(const folder *f, const char *name)
{
    char text[4096];

    return snprintf(text, sizeof text, "%s/%s", f->path, name) < (int)sizeof text &&
           qh_file_exists(text);
}

/* --- meta.json --- */

static qh_status read_count(const json_t *meta, const char *path, const char *key, int64_t *out)
{
    const json_t *x = json_object_get(meta, key);

    if (!json_is_integer(x) || json_integer_value(x) < 1 || json_integer_value(x) > INT32_MAX)
        return qh_fail(QH_EINPUT, "%s: \"%s\" is %s; an integer from 1 to %d is right", path, key,
                       x ? "no such number" : "missing", INT32_MAX);
    *out = json_integer_value(x);
    return QH_OK;
}

/* A text, or any other JSON as compact text; "" when absent. */
static qh_status read_source(const json_t *x, char **out)
{
    char *text;
    qh_status st;

    if (!x || json_is_string(x))
        return qh_mem_strdup(x ? json_string_value(x) : "", out);
    text = json_dumps(x, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        return qh_fail(QH_ERESOURCE, "memory: no room for a JSON text");
    st = qh_mem_strdup(text, out);
    free(text);
    return st;
}

static qh_status read_meta(folder *f)
{
    char path[4096];
    json_error_t error;
    json_t *meta = NULL, *name;
    FILE *file;
    int fd;
    qh_status st = QH_OK;

    if (snprintf(path, sizeof path, "%s/meta.json", f->path) >= (int)sizeof path)
        return qh_fail(QH_EINPUT, "%.64s...: a path of more than 4096 bytes", f->path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no wait for a pipe's writer */
    file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        st = qh_fail(QH_EINPUT, "%s: %s; name, nodes, features and classes are wanted", path,
                     strerror(errno));
        if (fd >= 0)
            close(fd);
        return st;
    }
    meta = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    fclose(file);
    if (!meta && error.line > 0)
        return qh_fail(QH_EINPUT, "%s:%d: %s; a JSON object is right", path, error.line,
                       error.text);
    if (!meta)
        return qh_fail(QH_EINPUT, "%s: %s; name, nodes, features and classes are wanted", path,
                       error.text);
    name = json_object_get(meta, "name");
    if (!json_is_string(name) || !*json_string_value(name)) {
        st = qh_fail(QH_EINPUT, "%s: \"name\" is %s; a text is right", path,
                     name ? "no text or empty" : "missing");
        goto out;
    }
    QH_TRY(st, read_count(meta, path, "nodes", &f->n_nodes));
    QH_TRY(st, read_count(meta, path, "features", &f->d->n_features));
    QH_TRY(st, read_count(meta, path, "classes", &f->d->n_classes));
    QH_TRY(st, qh_mem_strdup(json_string_value(name), &f->d->name));
    QH_TRY(st, read_source(json_object_get(meta, "source"), &f->d->source));
out:
    json_decref(meta);
    return st;
}

/* --- edges --- */

typedef struct edge_file {
    const qh_npy *file; /* borrowed, [E, 2] */
    int64_t n_nodes;
    int64_t *raw; /* owned: room for a chunk of pairs */
} edge_file;

static qh_status read_edges(void *ctx, int64_t first, int64_t n, int32_t *src, int32_t *dst)
{
    edge_file *e = ctx;
    bool wide = e->file->type == QH_NPY_INT64;
    const int64_t *raw64 = e->raw;
    const int32_t *raw32 = (const int32_t *)e->raw;
    qh_status st = qh_npy_read(e->file, 2 * first, 2 * n, e->raw);

    if (st < 0)
        return st;
    for (int64_t i = 0; i < n; i++) {
        int64_t u = wide ? raw64[2 * i] : raw32[2 * i];
        int64_t v = wide ? raw64[2 * i + 1] : raw32[2 * i + 1];

        if (u < 0 || u >= e->n_nodes || v < 0 || v >= e->n_nodes)
            return qh_fail(QH_EINPUT, "%s: row %lld is the edge %lld -> %lld; nodes are 0 .. %lld",
                           e->file->path, (long long)(first + i), (long long)u, (long long)v,
                           (long long)e->n_nodes - 1);
        src[i] = (int32_t)u;
        dst[i] = (int32_t)v;
    }
    return QH_OK;
}

static qh_status read_graph(folder *f)
{
    edge_file e = {.file = &f->edges, .n_nodes = f->n_nodes};
    qh_edge_source source = {.read = read_edges, .ctx = &e};
    qh_status st;

    QH_TRY(st, qh_npy_open(f->path, "edges.npy", &f->edges));
    QH_TRY(st, qh_npy_expect(&f->edges, QH_NPY_INT32, QH_NPY_INT64, 2, QH_NPY_ANY, 2));
    source.n_edges = f->edges.shape[0];
    QH_TRY(st, QH_NEW_ARRAY(&e.raw, 2 * QH_EDGE_CHUNK));
    QH_TRY(st, qh_graph_build(f->n_nodes, &source, &f->d->graph, &f->d->edges));
    qh_edges_warn(f->edges.path, &f->d->edges);
out:
    qh_mem_free(e.raw);
    return st;
}

/* --- features --- */

static qh_status read_dense(folder *f)
{
    int64_t cols = f->d->n_features, row_bytes = cols * (int64_t)sizeof(float);
    int64_t n_rows = row_bytes < ROWS_BYTES ? ROWS_BYTES / row_bytes : 1;
    float *rows = NULL;
    qh_status st;

    QH_TRY(st, qh_npy_expect(&f->features, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 2, f->n_nodes, cols));
    QH_TRY(st, qh_mat_new(f->n_nodes, cols, &f->d->dense));
    QH_TRY(st, qh_mem_alloc((void **)&rows, n_rows, (size_t)row_bytes));
    for (int64_t v = 0; v < f->n_nodes; v += n_rows) {
        int64_t n = f->n_nodes - v < n_rows ? f->n_nodes - v : n_rows;

        QH_TRY(st, qh_npy_read(&f->features, v * cols, n * cols, rows));
        for (int64_t i = 0; i < n; i++)
            memcpy(qh_mat_row(f->d->dense, v + i), rows + i * cols, (size_t)row_bytes);
    }
out:
    qh_mem_free(rows);
    return st;
}

static qh_status read_sparse(folder *f)
{
    int64_t *ptr = NULL, n_items;
    int32_t *col = NULL;
    float *val = NULL;
    qh_status st;

    f->d->sparse = true;
    QH_TRY(st, qh_npy_open(f->path, "feat_indices.npy", &f->columns));
    QH_TRY(st, qh_npy_open(f->path, "feat_data.npy", &f->values));
    n_items = f->columns.n_items;
    QH_TRY(st, qh_npy_expect(&f->features, QH_NPY_INT64, QH_NPY_INT64, 1, f->n_nodes + 1, 0));
    QH_TRY(st, qh_npy_expect(&f->columns, QH_NPY_INT32, QH_NPY_INT32, 1, QH_NPY_ANY, 0));
    QH_TRY(st, qh_npy_expect(&f->values, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 1, n_items, 0));
    QH_TRY(st, QH_NEW_ARRAY(&ptr, f->n_nodes + 1));
    f->d->sparse_features = (qh_csr){.n_rows = f->n_nodes, .n_cols = f->d->n_features, .ptr = ptr};
    QH_TRY(st, QH_NEW_ARRAY(&col, n_items));
    f->d->sparse_features.col = col;
    QH_TRY(st, QH_NEW_ARRAY(&val, n_items));
    f->d->sparse_features.val = val;
    QH_TRY(st, qh_npy_read(&f->features, 0, f->n_nodes + 1, ptr));
    QH_TRY(st, qh_npy_read(&f->columns, 0, n_items, col));
    QH_TRY(st, qh_npy_read(&f->values, 0, n_items, val));
    if (ptr[0] != 0 || ptr[f->n_nodes] != n_items)
        st = qh_fail(
            QH_EINPUT,
            "%s: runs from %lld to %lld; 0 to %lld, the length of feat_indices.npy, is right",
            f->features.path, (long long)ptr[0], (long long)ptr[f->n_nodes], (long long)n_items);
out:
    return st;
}

static qh_status read_features(folder *f)
{
    static const char *const sparse[] = {"feat_indptr.npy", "feat_indices.npy", "feat_data.npy"};
    bool is_dense = has(f, "feat.npy"), is_sparse = false;
    qh_status st;

    for (size_t i = 0; i < QH_COUNT(sparse); i++)
        is_sparse |= has(f, sparse[i]);
    if (is_dense && is_sparse)
        return qh_fail(QH_EINPUT,
                       "%s: both feat.npy and feat_indptr/indices/data.npy; one of them is right",
                       f->path);
    QH_TRY(st, qh_npy_open(f->path, is_sparse ? sparse[0] : "feat.npy", &f->features));
    QH_TRY(st, is_sparse ? read_sparse(f) : read_dense(f));
out:
    return st;
}

/* --- labels and split --- */

static qh_status read_labels(folder *f)
{
    qh_dataset *d = f->d;
    qh_status st;

    QH_TRY(st, qh_npy_open(f->path, "label.npy", &f->labels));
    d->multilabel = f->labels.n_dims == 2;
    if (d->multilabel) {
        QH_TRY(st,
               qh_npy_expect(&f->labels, QH_NPY_UINT8, QH_NPY_UINT8, 2, f->n_nodes, d->n_classes));
        QH_TRY(st, QH_NEW_ARRAY(&d->multi_label, f->labels.n_items));
        QH_TRY(st, qh_npy_read(&f->labels, 0, f->labels.n_items, d->multi_label));
    } else {
        QH_TRY(st, qh_npy_expect(&f->labels, QH_NPY_INT32, QH_NPY_INT32, 1, f->n_nodes, 0));
        QH_TRY(st, QH_NEW_ARRAY(&d->label, f->n_nodes));
        QH_TRY(st, qh_npy_read(&f->labels, 0, f->n_nodes, d->label));
    }
    QH_TRY(st, qh_npy_open(f->path, "split.npy", &f->split));
    QH_TRY(st, qh_npy_expect(&f->split, QH_NPY_INT8, QH_NPY_INT8, 1, f->n_nodes, 0));
    QH_TRY(st, QH_NEW_ARRAY(&d->split, f->n_nodes));
    QH_TRY(st, qh_npy_read(&f->split, 0, f->n_nodes, d->split));
out:
    return st;
}

qh_status qh_neutral_open(const char *path, qh_dataset **out)
{
    folder f = {.path = path};
    qh_status st;

    QH_TRY(st, QH_NEW(&f.d));
    QH_TRY(st, read_meta(&f));
    /* The small files first, and the graph before the features: a broken folder is known before
     * most of it is read, and the building has the memory that the features take later. */
    QH_TRY(st, read_labels(&f));
    QH_TRY(st, read_graph(&f));
    QH_TRY(st, read_features(&f));
    qh_dataset_drop_unlabelled(f.d, f.split.path);
    QH_TRY(st, qh_dataset_check_places(
                   f.d, &(qh_places){.graph = f.edges.path,
                                     .features = f.d->sparse ? f.columns.path : f.features.path,
                                     .rows = f.features.path,
                                     .values = f.values.path,
                                     .labels = f.labels.path,
                                     .split = f.split.path}));
    *out = f.d;
    f.d = NULL;
out:
    qh_npy_close(&f.edges);
    qh_npy_close(&f.features);
    qh_npy_close(&f.columns);
    qh_npy_close(&f.values);
    qh_npy_close(&f.labels);
    qh_npy_close(&f.split);
    qh_dataset_free(f.d);
    return st;
}
