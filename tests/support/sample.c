#include "tests/support/sample.h"

#include <check.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

qh_status sample_dataset(int64_t nodes, int64_t degree, int64_t features, int64_t classes,
                         bool sparse, bool multilabel, uint64_t seed, qh_dataset **out)
{
    int64_t most = nodes > 2 ? (nodes - 1) / 2 : nodes - 1;
    char spec[256];

    snprintf(
        spec, sizeof spec,
        "sbm,nodes=%lld,degree=%lld,features=%lld,classes=%lld,sparse=%s,multilabel=%s,seed=%llu",
        (long long)nodes, (long long)(degree < most ? degree : most), (long long)features,
        (long long)classes, sparse ? "true" : "false", multilabel ? "true" : "false",
        (unsigned long long)seed);
    return qh_synth_new(spec, out);
}

static void same_bytes(const char *what, const void *a, const void *b, int64_t bytes)
{
    ck_assert_msg(bytes == 0 || memcmp(a, b, (size_t)bytes) == 0, "%s differ", what);
}

static void same_graph(const qh_graph *a, const qh_graph *b)
{
    ck_assert_int_eq(a->n_nodes, b->n_nodes);
    ck_assert_int_eq(a->n_edges, b->n_edges);
    ck_assert_int_eq(a->symmetric, b->symmetric);
    same_bytes("edge rows", a->in_ptr, b->in_ptr, (a->n_nodes + 1) * 8);
    same_bytes("edges", a->in_src, b->in_src, a->n_edges * 4);
    same_bytes("in-degrees", a->in_deg, b->in_deg, a->n_nodes * 4);
    same_bytes("out-degrees", a->out_deg, b->out_deg, a->n_nodes * 4);
}

void sample_assert_same(const qh_dataset *a, const qh_dataset *b)
{
    int64_t n = a->graph->n_nodes;

    ck_assert_str_eq(a->name, b->name);
    ck_assert_str_eq(a->source, b->source);
    same_graph(a->graph, b->graph);
    ck_assert_int_eq(a->n_features, b->n_features);
    ck_assert_int_eq(a->n_classes, b->n_classes);
    ck_assert_int_eq(a->sparse, b->sparse);
    ck_assert_int_eq(a->multilabel, b->multilabel);
    for (int64_t v = 0; v < n && !a->sparse; v++)
        same_bytes("features", qh_mat_row(a->dense, v), qh_mat_row(b->dense, v), a->n_features * 4);
    if (a->sparse) {
        same_bytes("sparse rows", a->sparse_features.ptr, b->sparse_features.ptr, (n + 1) * 8);
        same_bytes("columns", a->sparse_features.col, b->sparse_features.col,
                   a->sparse_features.ptr[n] * 4);
        same_bytes("values", a->sparse_features.val, b->sparse_features.val,
                   a->sparse_features.ptr[n] * 4);
    }
    if (a->multilabel)
        same_bytes("multi-labels", a->multi_label, b->multi_label, n * a->n_classes);
    else
        same_bytes("labels", a->label, b->label, n * 4);
    same_bytes("split", a->split, b->split, n);
}

char *sample_new_folder(void)
{
    const char *base = getenv("TMPDIR");
    char text[4096], *folder;

    snprintf(text, sizeof text, "%s/qhalo-test-XXXXXX", base && *base ? base : "/tmp");
    folder = strdup(text);
    ck_assert_msg(folder && mkdtemp(folder), "no folder %s", text);
    return folder;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

void sample_remove_folder(char *folder)
{
    if (folder)
        nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

const char *sample_path(const char *folder, const char *name)
{
    static char text[4][4096];
    static unsigned turn;
    char *path = text[turn++ % 4];

    snprintf(path, sizeof text[0], "%s/%s", folder, name);
    return path;
}
