/* The .qhd file, version 1. All little-endian; arrays lie as they are used, so a mapping is the
 * data set and nothing is copied.
 *
 *   header   struct head below (256 bytes), then struct entry a section
 *   sections each begins on a multiple of 64 bytes; zeros between them
 *
 * Every section carries the XXH3 hash of its bytes; the header carries that of itself (with this
 * field 0) and of the section table. The file has exactly the length that the header says. */
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/graph/build.h"
#include "src/graph/storage.h"

#include <stdio.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a .qhd file is mapped as it lies: a little-endian machine is needed"
#endif

enum { VERSION = 1, ALIGN = 64 };

static const uint8_t magic[8] = {0x89, 'Q', 'H', 'D', '\r', '\n', 0x1a, '\n'};

typedef enum section {
    NAME,
    SOURCE,
    IN_PTR,
    IN_SRC,
    IN_DEG,
    OUT_DEG,
    DENSE,
    SPARSE_PTR,
    SPARSE_COL,
    SPARSE_VAL,
    LABEL,
    MULTI_LABEL,
    SPLIT,
    N_SECTIONS
} section;

static const char *const section_names[N_SECTIONS] = {
    "name",        "source",       "edge rows",   "edges",          "in-degrees",
    "out-degrees", "features",     "sparse rows", "sparse columns", "sparse values",
    "labels",      "multi-labels", "split"};

enum { SPARSE_FLAG = 1, MULTILABEL_FLAG = 2, SYMMETRIC_FLAG = 4, ALL_FLAGS = 7 };

typedef struct head {
    uint8_t magic[8];
    uint32_t version, flags;
    int64_t file_bytes;
    int64_t n_nodes, n_edges, n_features, n_classes, n_sparse; /* n_sparse: stored features */
    int64_t duplicates, self_loops, one_way;
    uint64_t hash;
    uint8_t zero[160];
} head;

typedef struct entry {
    int64_t offset, bytes; /* bytes 0: not there */
    uint64_t hash;
} entry;

_Static_assert(sizeof(head) == 256 && sizeof(entry) == 24, "the layout is what the file says");

typedef struct table {
    head h;
    entry at[N_SECTIONS];
} table;

static uint64_t hash_table(const table *t)
{
    table copy = *t;

    copy.h.hash = 0;
    return qh_hash(&copy, sizeof copy, 0);
}

static int64_t align(int64_t offset)
{
    return (offset + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes that a section must have, from the sizes in the header; false when that overflows. Texts
 * are free: -1. */
static bool expected_bytes(const head *h, section s, int64_t *bytes)
{
    bool sparse = h->flags & SPARSE_FLAG, multi = h->flags & MULTILABEL_FLAG, bad = false;
    int64_t n = h->n_nodes, cells = 0;

    *bytes = 0;
    switch (s) {
    case NAME:
    case SOURCE:
        *bytes = -1;
        break;
    case IN_PTR:
        *bytes = (n + 1) * 8;
        break;
    case IN_SRC:
        bad = __builtin_mul_overflow(h->n_edges, 4, bytes);
        break;
    case IN_DEG:
    case OUT_DEG:
        *bytes = n * 4;
        break;
    case DENSE:
        bad = !sparse && (__builtin_mul_overflow(n, h->n_features, &cells) ||
                          __builtin_mul_overflow(cells, 4, bytes));
        break;
    case SPARSE_PTR:
        *bytes = sparse ? (n + 1) * 8 : 0;
        break;
    case SPARSE_COL:
    case SPARSE_VAL:
        bad = sparse && __builtin_mul_overflow(h->n_sparse, 4, bytes);
        break;
    case LABEL:
        *bytes = multi ? 0 : n * 4;
        break;
    case MULTI_LABEL:
        bad = multi && __builtin_mul_overflow(n, h->n_classes, bytes);
        break;
    case SPLIT:
        *bytes = n;
        break;
    case N_SECTIONS:
        break;
    }
    return !bad;
}

/* --- writing --- */

static const void *section_data(const qh_dataset *d, section s)
{
    const void *const data[N_SECTIONS] = {d->name,
                                          d->source,
                                          d->graph->in_ptr,
                                          d->graph->in_src,
                                          d->graph->in_deg,
                                          d->graph->out_deg,
                                          d->dense.data,
                                          d->sparse_features.ptr,
                                          d->sparse_features.col,
                                          d->sparse_features.val,
                                          d->label,
                                          d->multi_label,
                                          d->split};

    return data[s];
}

static void fill_head(const qh_dataset *d, head *h)
{
    memcpy(h->magic, magic, sizeof magic);
    h->version = VERSION;
    h->flags = (d->sparse ? SPARSE_FLAG : 0) | (d->multilabel ? MULTILABEL_FLAG : 0) |
               (d->graph->symmetric ? SYMMETRIC_FLAG : 0);
    h->n_nodes = d->graph->n_nodes;
    h->n_edges = d->graph->n_edges;
    h->n_features = d->n_features;
    h->n_classes = d->n_classes;
    h->n_sparse = d->sparse ? d->sparse_features.ptr[h->n_nodes] : 0;
    h->duplicates = d->edges.duplicates;
    h->self_loops = d->edges.self_loops;
    h->one_way = d->edges.one_way;
}

/* A section is hashed piece by piece, each hash the seed of the next, so that rows can be written
 * from a padded matrix: pieces are rows of dense features, 4096 bytes of sparse values, all of any
 * other. */
static int64_t piece_bytes(const head *h, section s, int64_t bytes)
{
    return s == DENSE ? h->n_features * 4 : s == SPARSE_VAL ? 4096 : bytes;
}

/* Hashes a section of d, and writes it where out is given. */
static uint64_t emit(const qh_dataset *d, const head *h, section s, int64_t bytes, FILE *out)
{
    int64_t piece = piece_bytes(h, s, bytes), step = s == DENSE ? d->dense.ld * 4 : piece;
    const char *data = section_data(d, s);
    float ones[1024];
    uint64_t hash = 0;

    if (!data && bytes) { /* sparse features without values are all 1 */
        for (size_t i = 0; i < QH_COUNT(ones); i++)
            ones[i] = 1;
        data = (const char *)ones;
        step = 0;
    }
    for (int64_t at = 0; at < bytes; at += piece, data += step) {
        int64_t n = bytes - at < piece ? bytes - at : piece;

        hash = qh_hash(data, n, hash);
        if (out)
            fwrite(data, 1, (size_t)n, out);
    }
    return hash;
}

static void pad(FILE *out, int64_t *at, int64_t to)
{
    for (; *at < to; ++*at)
        fputc(0, out);
}

qh_status qh_qhd_write(const qh_dataset *d, const char *path)
{
    table t = {0};
    int64_t end = sizeof t, at = sizeof t;
    qh_output *o = NULL;
    qh_status st;

    fill_head(d, &t.h);
    for (section s = 0; s < N_SECTIONS; s++) {
        entry *e = &t.at[s];

        if (!expected_bytes(&t.h, s, &e->bytes))
            return qh_fail(QH_EINTERNAL, "%s: %s of more bytes than can be counted", path,
                           section_names[s]);
        if (e->bytes < 0)
            e->bytes = (int64_t)strlen(section_data(d, s)) + 1;
        e->offset = align(end);
        e->hash = emit(d, &t.h, s, e->bytes, NULL);
        end = e->offset + e->bytes;
    }
    t.h.file_bytes = end;
    t.h.hash = hash_table(&t);
    st = qh_output_open(path, &o);
    if (st < 0)
        return st;
    fwrite(&t, sizeof t, 1, qh_output_stream(o));
    for (section s = 0; s < N_SECTIONS; s++) {
        pad(qh_output_stream(o), &at, t.at[s].offset);
        emit(d, &t.h, s, t.at[s].bytes, qh_output_stream(o));
        at = t.at[s].offset + t.at[s].bytes;
    }
    return qh_output_commit(&o);
}

/* --- opening --- */

enum { TEXT_MAX = 1 << 20 };

static qh_status check_head(const table *t, const qh_map *map, const char *path)
{
    const head *h = &t->h;

    if (map->size < (int64_t)sizeof magic || memcmp(map->data, magic, sizeof magic) != 0)
        return qh_fail(QH_EINPUT, "%s: not a .qhd file; qhalo data convert writes one", path);
    if (map->size < (int64_t)sizeof *t)
        return qh_fail(QH_EINPUT, "%s: truncated: %lld bytes; the header alone takes %zu", path,
                       (long long)map->size, sizeof *t);
    if (h->version != VERSION)
        return qh_fail(QH_EINPUT,
                       "%s: .qhd version %u; version %d is read (qhalo data convert makes it anew)",
                       path, h->version, VERSION);
    if (h->hash != hash_table(t))
        return qh_fail(QH_EINPUT,
                       "%s: damaged: the checksum of the header does not hold; write it anew",
                       path);
    if (map->size != h->file_bytes)
        return qh_fail(QH_EINPUT, "%s: %s: %lld bytes; %lld, as its header says, are right", path,
                       map->size < h->file_bytes ? "truncated" : "bytes after the end",
                       (long long)map->size, (long long)h->file_bytes);
    if (h->n_nodes < 1 || h->n_nodes > INT32_MAX || h->n_edges < 0 || h->n_features < 1 ||
        h->n_features > INT32_MAX || h->n_classes < 1 || h->n_classes > INT32_MAX ||
        h->n_sparse < 0 || h->flags > ALL_FLAGS)
        return qh_fail(
            QH_EINPUT,
            "%s: %lld nodes, %lld edges, %lld features, %lld classes, flags %u; such sizes "
            "are out of range",
            path, (long long)h->n_nodes, (long long)h->n_edges, (long long)h->n_features,
            (long long)h->n_classes, h->flags);
    return QH_OK;
}

/* Place and length of every section, before any byte of one is used. */
static qh_status check_table(const table *t, const char *path)
{
    int64_t end = sizeof *t;

    for (section s = 0; s < N_SECTIONS; s++) {
        const entry *e = &t->at[s];
        int64_t bytes;
        bool fits = expected_bytes(&t->h, s, &bytes) && e->offset == align(end);

        fits = fits && (bytes < 0 ? e->bytes >= 1 && e->bytes <= TEXT_MAX : e->bytes == bytes) &&
               e->bytes <= t->h.file_bytes && e->offset <= t->h.file_bytes - e->bytes;
        if (!fits)
            return qh_fail(QH_EINPUT,
                           "%s: the section '%s' has %lld bytes at %lld, which does not fit; write "
                           "the file anew",
                           path, section_names[s], (long long)e->bytes, (long long)e->offset);
        end = e->offset + e->bytes;
    }
    if (end != t->h.file_bytes)
        return qh_fail(QH_EINPUT,
                       "%s: the sections end at byte %lld; %lld, the end of the file, is right",
                       path, (long long)end, (long long)t->h.file_bytes);
    return QH_OK;
}

static qh_status check_sections(const table *t, const qh_map *map, const char *path)
{
    int64_t end = sizeof *t;

    for (section s = 0; s < N_SECTIONS; s++) {
        const entry *e = &t->at[s];
        int64_t piece = piece_bytes(&t->h, s, e->bytes);
        uint64_t hash = 0;
        uint8_t gap = 0;

        for (; end < e->offset; end++)
            gap |= map->data[end];
        for (int64_t i = 0; i < e->bytes; i += piece)
            hash = qh_hash(map->data + e->offset + i, e->bytes - i < piece ? e->bytes - i : piece,
                           hash);
        if (gap || hash != e->hash)
            return qh_fail(
                QH_EINPUT,
                "%s: damaged: the checksum of the section '%s' does not hold; write it anew", path,
                section_names[s]);
        end = e->offset + e->bytes;
    }
    for (section s = NAME; s <= SOURCE; s++)
        if (map->data[t->at[s].offset + t->at[s].bytes - 1] != 0)
            return qh_fail(QH_EINPUT, "%s: the text '%s' does not end; a 0 at its end is right",
                           path, section_names[s]);
    return QH_OK;
}

/* Points the views of d at the mapping; they are read-only in it, whatever the types say. */
static qh_status point_at(const table *t, const qh_map *map, qh_dataset *d)
{
    const head *h = &t->h;
    const uint8_t *p[N_SECTIONS];
    qh_status st;

    for (section s = 0; s < N_SECTIONS; s++)
        p[s] = t->at[s].bytes ? map->data + t->at[s].offset : NULL;
    QH_TRY(st, qh_mem_strdup((const char *)p[NAME], &d->name));
    QH_TRY(st, qh_mem_strdup((const char *)p[SOURCE], &d->source));
    QH_TRY(st, QH_NEW(&d->graph));
    *d->graph = (qh_graph){.n_nodes = h->n_nodes,
                           .n_edges = h->n_edges,
                           .in_ptr = (int64_t *)p[IN_PTR],
                           .in_src = (int32_t *)p[IN_SRC],
                           .in_deg = (int32_t *)p[IN_DEG],
                           .out_deg = (int32_t *)p[OUT_DEG],
                           .symmetric = h->flags & SYMMETRIC_FLAG,
                           .owner = d->storage};
    d->n_features = h->n_features;
    d->n_classes = h->n_classes;
    d->sparse = h->flags & SPARSE_FLAG;
    d->multilabel = h->flags & MULTILABEL_FLAG;
    if (d->sparse)
        d->sparse_features = (qh_csr){h->n_nodes, h->n_features, (const int64_t *)p[SPARSE_PTR],
                                      (const int32_t *)p[SPARSE_COL], (const float *)p[SPARSE_VAL]};
    else
        d->dense = (qh_mat){(float *)p[DENSE], h->n_nodes, h->n_features, h->n_features};
    d->label = (int32_t *)p[LABEL];
    d->multi_label = (uint8_t *)p[MULTI_LABEL];
    d->split = (int8_t *)p[SPLIT];
    d->edges = (qh_edge_report){h->duplicates, h->self_loops, h->one_way};
out:
    return st;
}

qh_status qh_qhd_open(const char *path, qh_dataset **out)
{
    table t = {0};
    qh_storage *s = NULL;
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&d));
    QH_TRY(st, QH_NEW(&s));
    d->storage = s;
    QH_TRY(st, qh_map_open(path, &s->map));
    if (s->map.size > 0) /* an empty file has no data to copy from */
        memcpy(&t, s->map.data, s->map.size < (int64_t)sizeof t ? (size_t)s->map.size : sizeof t);
    QH_TRY(st, check_head(&t, &s->map, path));
    QH_TRY(st, check_table(&t, path));
    QH_TRY(st, check_sections(&t, &s->map, path));
    QH_TRY(st, point_at(&t, &s->map, d));
    if (d->sparse &&
        (d->sparse_features.ptr[0] != 0 || d->sparse_features.ptr[t.h.n_nodes] != t.h.n_sparse)) {
        st = qh_fail(QH_EINPUT,
                     "%s: the rows of the sparse features end elsewhere; %lld values are right",
                     path, (long long)t.h.n_sparse);
        goto out;
    }
    QH_TRY(st, qh_graph_check(d->graph, path));
    QH_TRY(st, qh_dataset_check(d, path));
    *out = d;
    d = NULL;
out:
    qh_dataset_free(d);
    return st;
}
