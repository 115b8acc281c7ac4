#include "tests/support/tiny.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <string.h>

static qh_dataset *empty(int64_t nodes, int64_t n_edges, const int32_t *src, const int32_t *dst)
{
    qh_dataset *d;

    ck_assert_int_eq(QH_NEW(&d), QH_OK);
    ck_assert_int_eq(qh_graph_new(nodes, n_edges, src, dst, 1, &d->graph, &d->edges), QH_OK);
    ck_assert_int_eq(qh_mem_strdup("tiny", &d->name), QH_OK);
    ck_assert_int_eq(qh_mem_strdup("", &d->source), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&d->split, nodes), QH_OK);
    return d;
}

qh_dataset *tiny_of(int64_t nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
                    int64_t n_features, const float *features, int64_t classes,
                    const int32_t *label, const uint8_t *target, const int8_t *split)
{
    qh_dataset *d = empty(nodes, n_edges, src, dst);

    d->n_features = n_features;
    d->n_classes = classes;
    d->multilabel = label == NULL;
    ck_assert_int_eq(qh_mat_new(nodes, n_features, &d->dense), QH_OK);
    for (int64_t r = 0; r < nodes; r++)
        memcpy(qh_mat_row(d->dense, r), features + r * n_features,
               (size_t)n_features * sizeof *features);
    if (label) {
        ck_assert_int_eq(QH_NEW_ARRAY(&d->label, nodes), QH_OK);
        memcpy(d->label, label, (size_t)nodes * sizeof *label);
    } else {
        ck_assert_int_eq(QH_NEW_ARRAY(&d->multi_label, nodes * classes), QH_OK);
        memcpy(d->multi_label, target, (size_t)(nodes * classes));
    }
    memcpy(d->split, split, (size_t)nodes);
    return d;
}

static void draw_labels(qh_dataset *d, qh_key key)
{
    int64_t n = d->graph->n_nodes;

    if (d->multilabel)
        ck_assert_int_eq(QH_NEW_ARRAY(&d->multi_label, n * d->n_classes), QH_OK);
    else
        ck_assert_int_eq(QH_NEW_ARRAY(&d->label, n), QH_OK);
    for (int64_t v = 0; v < n; v++) {
        d->split[v] = v % 3 < 2 ? QH_SPLIT_TRAIN : v % 2 ? QH_SPLIT_TEST : QH_SPLIT_VALIDATION;
        if (!d->multilabel)
            d->label[v] = (int32_t)qh_rand_below(key, (uint64_t)v, (uint64_t)d->n_classes);
        for (int64_t c = 0; d->multilabel && c < d->n_classes; c++)
            d->multi_label[v * d->n_classes + c] =
                qh_rand_below(key, (uint64_t)(v * d->n_classes + c), 3) == 0;
    }
}

static bool has_class(const qh_dataset *d, int64_t v, int64_t c)
{
    return d->multilabel ? d->multi_label[v * d->n_classes + c] : d->label[v] == c;
}

/* Column c leans to the nodes of class c mod classes. */
static float feature(const qh_dataset *d, qh_key key, int64_t v, int64_t c)
{
    float x = (float)qh_rand_normal(key, (uint64_t)(v * d->n_features + c));

    return x + (has_class(d, v, c % d->n_classes) ? 1.0F : 0.0F);
}

static void draw_features(qh_dataset *d, qh_key key)
{
    int64_t n = d->graph->n_nodes, nnz = 0, *ptr;
    int32_t *col;
    float *val;

    if (!d->sparse) {
        ck_assert_int_eq(qh_mat_new(n, d->n_features, &d->dense), QH_OK);
        for (int64_t v = 0; v < n; v++)
            for (int64_t c = 0; c < d->n_features; c++)
                qh_mat_row(d->dense, v)[c] = feature(d, key, v, c);
        return;
    }
    ck_assert_int_eq(QH_NEW_ARRAY(&ptr, n + 1), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&col, n * d->n_features), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&val, n * d->n_features), QH_OK);
    for (int64_t v = 0; v < n; v++) {
        for (int64_t c = 0; c < d->n_features; c++)
            if (feature(d, key, v, c) > 1.5F) { /* some rows stay empty */
                col[nnz] = (int32_t)c;
                val[nnz++] = feature(d, key, v, c);
            }
        ptr[v + 1] = nnz;
    }
    d->sparse_features =
        (qh_csr){.n_rows = n, .n_cols = d->n_features, .ptr = ptr, .col = col, .val = val};
}

qh_dataset *tiny_new(tiny_spec s)
{
    qh_key key = qh_rand_key(s.seed, QH_RAND_SYNTH, 1, 0, 0);
    int64_t n_pairs = s.nodes * s.degree / 2, n = 0;
    int32_t *src, *dst;
    qh_dataset *d;

    ck_assert_int_eq(QH_NEW_ARRAY(&src, 2 * n_pairs), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&dst, 2 * n_pairs), QH_OK);
    for (int64_t i = 0; i < n_pairs; i++) {
        /* The square leans to low ids: some nodes have many edges, the last have none. */
        double u = qh_rand_unit(key, (uint64_t)(2 * i));
        int32_t a = (int32_t)(u * u * 0.97 * (double)s.nodes);
        int32_t b = (int32_t)(qh_rand_unit(key, (uint64_t)(2 * i + 1)) * 0.97 * (double)s.nodes);

        src[n] = a, dst[n++] = b;
        if (!s.directed)
            src[n] = b, dst[n++] = a;
    }
    d = empty(s.nodes, n, src, dst);
    qh_mem_free(dst);
    qh_mem_free(src);
    d->n_features = s.features;
    d->n_classes = s.classes;
    d->sparse = s.sparse;
    d->multilabel = s.multilabel;
    draw_labels(d, qh_rand_key(s.seed, QH_RAND_SYNTH, 2, 0, 0));
    draw_features(d, qh_rand_key(s.seed, QH_RAND_SYNTH, 3, 0, 0));
    return d;
}

void tiny_free(qh_dataset *d)
{
    qh_mem_free((void *)(uintptr_t)d->sparse_features.val);
    qh_mem_free((void *)(uintptr_t)d->sparse_features.col);
    qh_mem_free((void *)(uintptr_t)d->sparse_features.ptr);
    qh_mat_free(&d->dense);
    qh_mem_free(d->multi_label);
    qh_mem_free(d->label);
    qh_mem_free(d->split);
    qh_mem_free(d->source);
    qh_mem_free(d->name);
    qh_graph_free(d->graph);
    qh_mem_free(d);
}
