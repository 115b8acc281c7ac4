#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/partition/part_format.h"

#include <stdlib.h>
#include <string.h>

const char qh_qhp_tail_magic[8] = {'Q', 'H', 'P', 'P', 'A', 'R', 'T', 'S'};

int64_t qh_qhp_align(int64_t offset)
{
    return (offset + QH_QHP_ALIGN - 1) / QH_QHP_ALIGN * QH_QHP_ALIGN;
}

void qh_qhp_arrays(const qh_qhp_index *x, const qh_qhp_counts *c,
                   qh_qhp_array out[QH_PART_N_ARRAYS])
{
    int64_t n_local = c->n_inner + c->n_halo;
    const qh_qhp_array arrays[QH_PART_N_ARRAYS] = {
        [QH_PART_NODE] = {n_local, 4},
        [QH_PART_RECV_PTR] = {x->n_parts + 1, 8},
        [QH_PART_SEND_PTR] = {x->n_parts + 1, 8},
        [QH_PART_SEND_ROW] = {c->n_send, 4},
        [QH_PART_IN_PTR] = {c->n_inner + 1, 8},
        [QH_PART_IN_COL] = {c->n_edges, 4},
        [QH_PART_IN_DEG] = {n_local, 4},
        [QH_PART_OUT_DEG] = {n_local, 4},
        [QH_PART_HALO_ORDER] = {c->n_halo, 4},
        [QH_PART_SPLIT] = {c->n_inner, 1},
        [QH_PART_LABEL] = {x->multilabel ? c->n_inner * x->n_classes : c->n_inner,
                           x->multilabel ? 1 : 4},
        [QH_PART_FEATURES] = {x->sparse ? n_local + 1 : n_local * x->n_features, x->sparse ? 8 : 4},
        [QH_PART_COL] = {c->n_values, 4},
        [QH_PART_VAL] = {c->n_values, 4},
    };

    memcpy(out, arrays, sizeof arrays);
}

/* Bytes go out in chunks that begin with a part, and the hash goes by chunks, as the reader's. */
typedef struct writer {
    qh_output *file; /* owned */
    const qh_dataset *dataset;
    int64_t offset; /* of the file, what waits in the chunk counted */
    uint8_t *chunk; /* owned, [QH_QHP_CHUNK] */
    int64_t n_chunk;
    uint64_t hash;
} writer;

static void flush(writer *w)
{
    if (w->n_chunk == 0)
        return;
    fwrite(w->chunk, 1, (size_t)w->n_chunk, qh_output_stream(w->file)); /* commit sees a failure */
    w->hash = qh_hash(w->chunk, w->n_chunk, w->hash);
    w->n_chunk = 0;
}

static void put(writer *w, const void *data, int64_t bytes)
{
    const uint8_t *from = data;

    while (bytes > 0) {
        int64_t room = QH_QHP_CHUNK - w->n_chunk, n = bytes < room ? bytes : room;

        memcpy(w->chunk + w->n_chunk, from, (size_t)n);
        w->n_chunk += n;
        w->offset += n;
        from += n;
        bytes -= n;
        if (w->n_chunk == QH_QHP_CHUNK)
            flush(w);
    }
}

static void pad(writer *w)
{
    static const char zeros[QH_QHP_ALIGN];

    put(w, zeros, qh_qhp_align(w->offset) - w->offset);
}

/* At the next multiple of the alignment. */
static void put_array(writer *w, const void *data, int64_t n, int64_t size)
{
    pad(w);
    put(w, data, n * size);
}

/* --- a part --- */

static void put_labels(writer *w, const qh_halo *h)
{
    const qh_dataset *d = w->dataset;

    pad(w);
    for (int64_t r = 0; r < h->n_inner; r++)
        put(w, &d->split[h->node[r]], 1);
    pad(w);
    for (int64_t r = 0; r < h->n_inner; r++)
        if (d->multilabel)
            put(w, d->multi_label + h->node[r] * d->n_classes, d->n_classes);
        else
            put(w, &d->label[h->node[r]], (int64_t)sizeof *d->label);
}

static void put_dense(writer *w, const qh_halo *h)
{
    const qh_dataset *d = w->dataset;

    pad(w);
    for (int64_t r = 0; r < h->n_local; r++)
        put(w, qh_mat_row(d->dense, h->node[r]), d->n_features * (int64_t)sizeof(float));
    pad(w);
    pad(w);
}

static int64_t n_values(const qh_csr *f, const qh_halo *h)
{
    int64_t n = 0;

    for (int64_t r = 0; r < h->n_local; r++)
        n += f->ptr[h->node[r] + 1] - f->ptr[h->node[r]];
    return n;
}

static void put_sparse(writer *w, const qh_halo *h)
{
    const qh_csr *f = &w->dataset->sparse_features;
    const float one = 1;
    int64_t end = 0;

    pad(w);
    put(w, &end, sizeof end);
    for (int64_t r = 0; r < h->n_local; r++) {
        end += f->ptr[h->node[r] + 1] - f->ptr[h->node[r]];
        put(w, &end, sizeof end);
    }
    pad(w);
    for (int64_t r = 0; r < h->n_local; r++) {
        int64_t from = f->ptr[h->node[r]], n = f->ptr[h->node[r] + 1] - from;

        put(w, f->col + from, n * (int64_t)sizeof *f->col);
    }
    pad(w);
    for (int64_t r = 0; r < h->n_local; r++)
        for (int64_t e = f->ptr[h->node[r]]; e < f->ptr[h->node[r] + 1]; e++)
            put(w, f->val ? &f->val[e] : &one, sizeof one);
}

typedef struct halo_place {
    int32_t node, row;
} halo_place;

static int by_node(const void *a, const void *b)
{
    const halo_place *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

static qh_status put_halo_order(writer *w, const qh_halo *h)
{
    halo_place *p = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&p, h->n_halo));
    for (int64_t i = 0; i < h->n_halo; i++)
        p[i] = (halo_place){h->node[h->n_inner + i], (int32_t)i};
    qsort(p, (size_t)h->n_halo, sizeof *p, by_node);
    pad(w);
    for (int64_t i = 0; i < h->n_halo; i++)
        put(w, &p[i].row, (int64_t)sizeof p[i].row);
out:
    qh_mem_free(p);
    return st;
}

static qh_status put_part(writer *w, const qh_halo *h, qh_qhp_place *out)
{
    qh_qhp_counts c = {.n_central = h->n_central,
                       .n_inner = h->n_inner,
                       .n_halo = h->n_halo,
                       .n_edges = h->n_edges,
                       .n_send = h->send_ptr[h->n_ranks]};
    qh_status st;

    if (w->dataset->sparse)
        c.n_values = n_values(&w->dataset->sparse_features, h);
    pad(w);
    flush(w);
    *out = (qh_qhp_place){.offset = w->offset, .n_inner = h->n_inner};
    w->hash = 0;
    put(w, &c, sizeof c);
    put_array(w, h->node, h->n_local, 4);
    put_array(w, h->recv_ptr, h->n_ranks + 1, 8);
    put_array(w, h->send_ptr, h->n_ranks + 1, 8);
    put_array(w, h->send_row, c.n_send, 4);
    put_array(w, h->in_ptr, h->n_inner + 1, 8);
    put_array(w, h->in_col, h->n_edges, 4);
    put_array(w, h->in_deg, h->n_local, 4);
    put_array(w, h->out_deg, h->n_local, 4);
    QH_TRY(st, put_halo_order(w, h));
    put_labels(w, h);
    if (w->dataset->sparse)
        put_sparse(w, h);
    else
        put_dense(w, h);
    pad(w);
    flush(w);
    out->bytes = w->offset - out->offset;
    out->hash = w->hash;
out:
    return st;
}

/* --- the file --- */

static void put_text(const char *text, char out[QH_QHP_TEXT_BYTES])
{
    snprintf(out, QH_QHP_TEXT_BYTES, "%s", text);
}

static void count_splits(const qh_dataset *d, int64_t n_of_split[4])
{
    for (int64_t node = 0; node < d->graph->n_nodes; node++)
        if (d->multilabel || d->label[node] >= 0)
            n_of_split[d->split[node]]++;
        else
            n_of_split[QH_SPLIT_NONE]++;
}

static qh_status fill_index(const qh_dataset *d, qh_feature_norm norm, const int32_t *part,
                            int n_parts, qh_qhp_index *x)
{
    qh_partition_figures f;
    qh_status st;

    QH_TRY(st, qh_partition_measure(d->graph, part, n_parts, d->split, &f));
    *x = (qh_qhp_index){.n_nodes = d->graph->n_nodes,
                        .n_edges = d->graph->n_edges,
                        .n_features = d->n_features,
                        .n_classes = d->n_classes,
                        .sparse = d->sparse,
                        .multilabel = d->multilabel,
                        .norm = norm,
                        .n_parts = n_parts,
                        .edge_cut = f.edge_cut,
                        .n_pairs = f.n_pairs,
                        .halo_nodes = f.halo_nodes,
                        .boundary_nodes = f.boundary_nodes,
                        .marginal_nodes = f.marginal_nodes,
                        .max_inner = f.max_inner,
                        .min_inner = f.min_inner,
                        .max_halo = f.max_halo,
                        .min_halo = f.min_halo,
                        .min_train = f.min_train};
    count_splits(d, x->n_of_split);
    put_text(d->name, x->name);
    put_text(d->source ? d->source : "", x->source);
out:
    return st;
}

static qh_status put_parts(writer *w, const int32_t *part, int n_parts, qh_qhp_place *place)
{
    qh_layout *layout = NULL;
    qh_halo *h = NULL;
    qh_status st;

    QH_TRY(st, qh_layout_new(w->dataset->graph, part, n_parts, &layout));
    for (int p = 0; p < n_parts; p++) {
        QH_TRY(st, qh_halo_new(layout, p, false, &h));
        QH_TRY(st, put_part(w, h, &place[p]));
        qh_halo_free(h);
        h = NULL;
    }
out:
    qh_halo_free(h);
    qh_layout_free(layout);
    return st;
}

static void put_index(writer *w, const qh_qhp_index *x, const qh_qhp_place *place)
{
    qh_qhp_tail tail = {.offset = w->offset};

    memcpy(tail.magic, qh_qhp_tail_magic, sizeof tail.magic);
    tail.hash = qh_hash(place, x->n_parts * (int64_t)sizeof *place, qh_hash(x, sizeof *x, 0));
    put(w, x, sizeof *x);
    put(w, place, x->n_parts * (int64_t)sizeof *place);
    tail.bytes = w->offset - tail.offset;
    put(w, &tail, sizeof tail);
    flush(w);
}

qh_status qh_parts_write(const char *path, const qh_dataset *d, qh_feature_norm norm,
                         const int32_t *part, int n_parts, const char *made_by)
{
    writer w = {.dataset = d};
    qh_qhp_place *place = NULL;
    qh_qhp_index index;
    qh_status st;

    QH_TRY(st, fill_index(d, norm, part, n_parts, &index));
    QH_TRY(st, QH_NEW_ARRAY(&place, n_parts));
    QH_TRY(st, QH_NEW_ARRAY(&w.chunk, QH_QHP_CHUNK));
    QH_TRY(st, qh_output_open(path, &w.file));
    w.offset = qh_qhp_put_ids(qh_output_stream(w.file), d->graph, part, n_parts, made_by, 2);
    QH_TRY(st, put_parts(&w, part, n_parts, place));
    put_index(&w, &index, place);
    QH_TRY(st, qh_output_commit(&w.file));
out:
    qh_output_abort(&w.file);
    qh_mem_free(w.chunk);
    qh_mem_free(place);
    return st;
}
