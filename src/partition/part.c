#include "src/partition/part.h"

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/partition/part_format.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages that were read are given back; they are the file's, so nothing is lost. */
static void forget(const void *from, int64_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)from / page * page;

    madvise((void *)first, (uintptr_t)from + (uintptr_t)bytes - first, MADV_DONTNEED);
}

/* --- the index --- */

static qh_status damaged(const char *path)
{
    return qh_fail(QH_EINPUT,
                   "%s: its parts are damaged; qhalo partition --with-parts writes them "
                   "anew",
                   path);
}

static bool find_tail(const qh_map *map, qh_qhp_tail *t)
{
    if (map->size < (int64_t)sizeof *t)
        return false;
    memcpy(t, map->data + map->size - (int64_t)sizeof *t, sizeof *t);
    return memcmp(t->magic, qh_qhp_tail_magic, sizeof t->magic) == 0;
}

bool qh_parts_are_in(const char *path)
{
    qh_map map = {0};
    qh_qhp_tail tail;
    bool found;

    if (qh_map_open(path, &map) < 0)
        return false;
    found = map.size > 8 && memcmp(map.data, "QHALOQHP", 8) == 0 && find_tail(&map, &tail);
    qh_map_close(&map);
    return found;
}

static bool sound_index(const qh_qhp_index *x)
{
    return x->n_nodes >= 1 && x->n_nodes <= INT32_MAX && x->n_edges >= 0 && x->n_features >= 1 &&
           x->n_features <= INT32_MAX && x->n_classes >= 1 && x->n_classes <= INT32_MAX &&
           x->n_parts >= 1 && x->n_parts <= x->n_nodes && x->norm >= QH_NORM_NONE &&
           x->norm <= QH_NORM_STANDARD && x->name[QH_QHP_TEXT_BYTES - 1] == '\0' &&
           x->source[QH_QHP_TEXT_BYTES - 1] == '\0';
}

/* *place points into the mapping (at a multiple of 8 bytes, as all that is written is padded). */
static qh_status read_index(const char *path, const qh_map *map, qh_qhp_index *x,
                            const qh_qhp_place **place)
{
    qh_qhp_tail t;
    const uint8_t *at;

    if (!(map->size > 8 && memcmp(map->data, "QHALOQHP", 8) == 0))
        return qh_fail(QH_EINPUT, "%s: no .qhp file; one written by qhalo partition --with-parts",
                       path);
    if (!find_tail(map, &t))
        return qh_fail(QH_EINPUT,
                       "%s: has no parts, or is cut; qhalo partition --with-parts writes them",
                       path);
    if (!(t.offset >= 0 && t.offset % 8 == 0 && t.bytes >= (int64_t)sizeof *x &&
          t.bytes <= map->size && t.offset <= map->size - t.bytes))
        return damaged(path);
    at = map->data + t.offset;
    memcpy(x, at, sizeof *x);
    if (!sound_index(x) ||
        t.bytes != (int64_t)sizeof *x + x->n_parts * (int64_t)sizeof(qh_qhp_place) ||
        t.hash != qh_hash(at + sizeof *x, t.bytes - (int64_t)sizeof *x,
                          qh_hash(at, (int64_t)sizeof *x, 0)))
        return damaged(path);
    *place = (const qh_qhp_place *)(const void *)(at + sizeof *x);
    return QH_OK;
}

static qh_status take_index(const qh_qhp_index *x, const qh_qhp_place *place, qh_part *p)
{
    qh_status st;

    p->n_parts = (int)x->n_parts;
    p->norm = (qh_feature_norm)x->norm;
    p->sparse = x->sparse != 0;
    memcpy(p->n_of_split, x->n_of_split, sizeof p->n_of_split);
    p->figures = (qh_partition_figures){.n_parts = (int)x->n_parts,
                                        .edge_cut = x->edge_cut,
                                        .n_pairs = x->n_pairs,
                                        .halo_nodes = x->halo_nodes,
                                        .boundary_nodes = x->boundary_nodes,
                                        .marginal_nodes = x->marginal_nodes,
                                        .max_inner = x->max_inner,
                                        .min_inner = x->min_inner,
                                        .max_halo = x->max_halo,
                                        .min_halo = x->min_halo,
                                        .min_train = x->min_train};
    p->sizes = (qh_graph){.n_nodes = x->n_nodes, .n_edges = x->n_edges};
    p->facts = (qh_dataset){.graph = &p->sizes,
                            .n_features = x->n_features,
                            .n_classes = x->n_classes,
                            .sparse = p->sparse,
                            .multilabel = x->multilabel != 0};
    QH_TRY(st, qh_mem_strdup(x->name, &p->facts.name));
    QH_TRY(st, qh_mem_strdup(x->source, &p->facts.source));
    QH_TRY(st, QH_NEW_ARRAY(&p->inner_nodes, p->n_parts));
    for (int i = 0; i < p->n_parts; i++)
        p->inner_nodes[i] = place[i].n_inner;
out:
    return st;
}

/* --- a part --- */

static bool sound_hash(const uint8_t *data, const qh_qhp_place *place)
{
    uint64_t hash = 0;

    for (int64_t at = 0; at < place->bytes; at += QH_QHP_CHUNK) {
        int64_t left = place->bytes - at, n = left < QH_QHP_CHUNK ? left : QH_QHP_CHUNK;

        hash = qh_hash(data + at, n, hash);
        forget(data + at, n);
    }
    return hash == place->hash;
}

/* Where each array lies; false where the counts do not fit the bytes. */
static bool find_arrays(const qh_qhp_index *x, const qh_qhp_place *place, const qh_qhp_counts *c,
                        int64_t at[QH_PART_N_ARRAYS])
{
    qh_qhp_array a[QH_PART_N_ARRAYS];
    int64_t most = INT64_C(1) << 40, offset = (int64_t)sizeof *c;

    if (!(c->n_inner >= 1 && c->n_inner <= INT32_MAX && c->n_central >= 0 &&
          c->n_central <= c->n_inner && c->n_halo >= 0 && c->n_halo <= INT32_MAX - c->n_inner &&
          c->n_edges >= 0 && c->n_edges < most && c->n_send >= 0 && c->n_send < most &&
          c->n_values >= 0 && c->n_values < most))
        return false;
    qh_qhp_arrays(x, c, a);
    for (int i = 0; i < QH_PART_N_ARRAYS; i++) {
        offset = qh_qhp_align(offset);
        at[i] = offset;
        if (a[i].n > (place->bytes - offset) / a[i].size)
            return false;
        offset += a[i].n * a[i].size;
    }
    return true;
}

static void take_arrays(qh_part *p, const uint8_t *data, const qh_qhp_counts *c,
                        const int64_t at[QH_PART_N_ARRAYS])
{
    int64_t n_local = c->n_inner + c->n_halo, f = p->facts.n_features;
    void *array[QH_PART_N_ARRAYS];

    for (int i = 0; i < QH_PART_N_ARRAYS; i++)
        array[i] = (void *)(uintptr_t)(data + at[i]);
    p->lists = (qh_halo){.rank = p->rank,
                         .n_ranks = p->n_parts,
                         .n_central = c->n_central,
                         .n_inner = c->n_inner,
                         .n_halo = c->n_halo,
                         .n_local = n_local,
                         .node = array[QH_PART_NODE],
                         .recv_ptr = array[QH_PART_RECV_PTR],
                         .send_ptr = array[QH_PART_SEND_PTR],
                         .send_row = array[QH_PART_SEND_ROW],
                         .n_edges = c->n_edges,
                         .in_ptr = array[QH_PART_IN_PTR],
                         .in_col = array[QH_PART_IN_COL],
                         .in_deg = array[QH_PART_IN_DEG],
                         .out_deg = array[QH_PART_OUT_DEG]};
    p->halo_order = array[QH_PART_HALO_ORDER];
    p->split = array[QH_PART_SPLIT];
    p->target = p->facts.multilabel ? array[QH_PART_LABEL] : NULL;
    p->label = p->facts.multilabel ? NULL : array[QH_PART_LABEL];
    if (p->sparse)
        p->sparse_features =
            (qh_csr){n_local, f, array[QH_PART_FEATURES], array[QH_PART_COL], array[QH_PART_VAL]};
    else
        p->dense = (qh_mat){array[QH_PART_FEATURES], n_local, f, f};
}

static bool rising(const int64_t *ptr, int64_t n, int64_t end)
{
    bool good = ptr[0] == 0 && ptr[n] == end;

    for (int64_t i = 0; i < n; i++)
        good = good && ptr[i] <= ptr[i + 1];
    return good;
}

static bool below(const int32_t *id, int64_t n, int64_t limit)
{
    bool good = true;

    for (int64_t i = 0; i < n; i++)
        good = good && id[i] >= 0 && id[i] < limit;
    return good;
}

/* The hash holds, but whoever wrote the file may have been wrong: no index leads astray. */
static bool sound_lists(const qh_part *p, const qh_qhp_counts *c)
{
    const qh_halo *h = &p->lists;
    const qh_csr *f = &p->sparse_features;
    bool good =
        below(h->node, h->n_local, p->sizes.n_nodes) &&
        rising(h->recv_ptr, h->n_ranks, c->n_halo) && rising(h->send_ptr, h->n_ranks, c->n_send) &&
        below(h->send_row, c->n_send, c->n_inner) && rising(h->in_ptr, c->n_inner, c->n_edges) &&
        below(h->in_col, c->n_edges, h->n_local) && below(p->halo_order, c->n_halo, c->n_halo);

    for (int64_t r = 0; r < c->n_inner; r++)
        good = good && p->split[r] >= QH_SPLIT_NONE && p->split[r] <= QH_SPLIT_TEST &&
               (!p->label || (p->label[r] >= -1 && p->label[r] < p->facts.n_classes));
    if (good && p->sparse)
        good = rising(f->ptr, h->n_local, c->n_values) && below(f->col, c->n_values, f->n_cols);
    return good;
}

static qh_status read_part(const char *path, const qh_qhp_index *x, const qh_qhp_place *place,
                           qh_part *p)
{
    int64_t at[QH_PART_N_ARRAYS] = {0};
    const uint8_t *data = p->map.data + place->offset;
    qh_qhp_counts c;

    if (!(place->offset >= 0 && place->offset % QH_QHP_ALIGN == 0 &&
          place->bytes >= (int64_t)sizeof c && place->bytes <= p->map.size &&
          place->offset <= p->map.size - place->bytes) ||
        !sound_hash(data, place))
        return damaged(path);
    memcpy(&c, data, sizeof c);
    if (!find_arrays(x, place, &c, at))
        return damaged(path);
    take_arrays(p, data, &c, at);
    return sound_lists(p, &c) ? QH_OK : damaged(path);
}

qh_status qh_part_open(const char *path, int rank, int n_parts, qh_part **out)
{
    const qh_qhp_place *place = NULL;
    qh_qhp_index x;
    qh_part *p = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&p));
    p->rank = rank;
    QH_TRY(st, qh_map_open(path, &p->map));
    QH_TRY(st, read_index(path, &p->map, &x, &place));
    if (x.n_parts != n_parts)
        QH_TRY(st, qh_fail(QH_EUSAGE, "%s: has %lld parts for %d ranks; %lld ranks go with it",
                           path, (long long)x.n_parts, n_parts, (long long)x.n_parts));
    QH_TRY(st, take_index(&x, place, p));
    QH_TRY(st, read_part(path, &x, &place[rank], p));
    *out = p;
    p = NULL;
out:
    qh_part_close(p);
    return st;
}

void qh_part_close(qh_part *p)
{
    if (!p)
        return;
    qh_mem_free(p->inner_nodes);
    qh_mem_free(p->facts.source);
    qh_mem_free(p->facts.name);
    qh_map_close(&p->map);
    qh_mem_free(p);
}

/* --- rows --- */

int64_t qh_part_halo_row(const qh_part *p, int32_t node)
{
    const int32_t *halo = p->lists.node + p->lists.n_inner;
    int64_t first = 0, end = p->lists.n_halo;

    while (end - first > 1) {
        int64_t middle = (first + end) / 2;

        if (halo[p->halo_order[middle]] <= node)
            first = middle;
        else
            end = middle;
    }
    QH_ASSERT(end > first && halo[p->halo_order[first]] == node);
    return p->lists.n_inner + p->halo_order[first];
}

void qh_part_copy_features(const qh_part *p, qh_rows rows, qh_mat to)
{
    int64_t row_bytes = p->dense.cols * (int64_t)sizeof(float), waiting = 0;

    for (int64_t r = rows.first; r < rows.end; r++) {
        memcpy(qh_mat_row(to, r), qh_mat_row(p->dense, r), (size_t)row_bytes);
        waiting += row_bytes;
        if (waiting >= QH_QHP_CHUNK || r + 1 == rows.end) {
            forget((const char *)qh_mat_row(p->dense, r + 1) - waiting, waiting);
            waiting = 0;
        }
    }
}
