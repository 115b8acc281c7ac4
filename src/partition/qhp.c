#include "src/base/file.h"
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/partition/part_format.h"

#include <stdlib.h>
#include <string.h>

/* A .qhp file, little-endian (as all machines are that qhalo is built for):
 *   header (below); made_by, made_by_bytes long, padded with zeros to a multiple of 8;
 *   int32 part[n_nodes], padded likewise; uint64 checksum of all bytes before it.
 * Version 2 has parts behind that (part_format.h). */
enum { QHP_VERSION = 1, QHP_WITH_PARTS = 2, MADE_BY_MAX = 4096 };

static const char magic[8] = {'Q', 'H', 'A', 'L', 'O', 'Q', 'H', 'P'};

typedef struct qhp_header {
    char magic[8];
    uint32_t version;
    uint32_t made_by_bytes;
    uint64_t graph_hash;
    int64_t n_nodes;
    int64_t n_parts;
} qhp_header;

_Static_assert(sizeof(qhp_header) == 40, "a header without holes");

static int64_t padded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static void put(FILE *out, const void *data, int64_t bytes, uint64_t *checksum)
{
    fwrite(data, 1, (size_t)bytes, out); /* a short write shows in qh_output_commit */
    *checksum = qh_hash(data, bytes, *checksum);
}

int64_t qh_qhp_put_ids(FILE *out, const qh_graph *g, const int32_t *part, int n_parts,
                       const char *made_by, int version)
{
    static const char zeros[8];
    uint64_t checksum = 0;
    int64_t text_bytes = (int64_t)strnlen(made_by, MADE_BY_MAX);
    int64_t part_bytes = g->n_nodes * (int64_t)sizeof *part;
    qhp_header h = {.version = (uint32_t)version,
                    .made_by_bytes = (uint32_t)text_bytes,
                    .graph_hash = qh_graph_hash(g),
                    .n_nodes = g->n_nodes,
                    .n_parts = n_parts};

    memcpy(h.magic, magic, sizeof magic);
    put(out, &h, sizeof h, &checksum);
    put(out, made_by, text_bytes, &checksum);
    put(out, zeros, padded(text_bytes) - text_bytes, &checksum);
    put(out, part, part_bytes, &checksum);
    put(out, zeros, padded(part_bytes) - part_bytes, &checksum);
    fwrite(&checksum, 1, sizeof checksum, out);
    return (int64_t)sizeof h + padded(text_bytes) + padded(part_bytes) + (int64_t)sizeof checksum;
}

qh_status qh_partition_write(const char *path, const qh_graph *g, const int32_t *part, int n_parts,
                             const char *made_by)
{
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, qh_output_open(path, &o));
    qh_qhp_put_ids(qh_output_stream(o), g, part, n_parts, made_by, QHP_VERSION);
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

/* The checksum goes section by section as it was written. */
static uint64_t checksum_of(const uint8_t *data, const qhp_header *h)
{
    int64_t text = h->made_by_bytes, ids = h->n_nodes * (int64_t)sizeof(int32_t);
    int64_t sizes[] = {(int64_t)sizeof *h, text, padded(text) - text, ids, padded(ids) - ids};
    uint64_t checksum = 0;

    for (size_t i = 0; i < QH_COUNT(sizes); i++) {
        checksum = qh_hash(data, sizes[i], checksum);
        data += sizes[i];
    }
    return checksum;
}

static qh_status check_file(const char *path, const qh_map *map, const qh_graph *g,
                            const qhp_header *h)
{
    int64_t wanted;
    uint64_t checksum;

    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return qh_fail(QH_EINPUT, "%s: no .qhp file; one written by qhalo partition", path);
    if (h->version != QHP_VERSION && h->version != QHP_WITH_PARTS)
        return qh_fail(QH_EINPUT, "%s: .qhp version %u; this qhalo reads versions %d and %d", path,
                       h->version, QHP_VERSION, QHP_WITH_PARTS);
    if (!(h->made_by_bytes <= MADE_BY_MAX && h->n_nodes >= 1 && h->n_nodes <= INT32_MAX &&
          h->n_parts >= 1 && h->n_parts <= h->n_nodes))
        return qh_fail(QH_EINPUT, "%s: %lld parts of %lld nodes in a damaged header; write it anew",
                       path, (long long)h->n_parts, (long long)h->n_nodes);
    wanted = (int64_t)sizeof *h + padded(h->made_by_bytes) +
             padded(h->n_nodes * (int64_t)sizeof(int32_t)) + (int64_t)sizeof checksum;
    if (map->size < wanted || (map->size > wanted && h->version == QHP_VERSION))
        return qh_fail(QH_EINPUT, "%s: %lld bytes where %lld belong; the file is cut or grown",
                       path, (long long)map->size, (long long)wanted);
    memcpy(&checksum, map->data + wanted - (int64_t)sizeof checksum, sizeof checksum);
    if (checksum != checksum_of(map->data, h))
        return qh_fail(QH_EINPUT, "%s: the checksum does not fit; the file is damaged", path);
    if (h->n_nodes != g->n_nodes || h->graph_hash != qh_graph_hash(g))
        return qh_fail(QH_EINPUT,
                       "%s: made for another graph of %lld nodes (hash %016llx); this one has "
                       "%lld (%016llx)",
                       path, (long long)h->n_nodes, (unsigned long long)h->graph_hash,
                       (long long)g->n_nodes, (unsigned long long)qh_graph_hash(g));
    return QH_OK;
}

/* The checksum holds, but whoever wrote the file may have been wrong. */
static qh_status check_ids(const char *path, int64_t n_nodes, int n_parts, const int32_t *part)
{
    int64_t *size = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&size, n_parts));
    for (int64_t i = 0; i < n_nodes; i++) {
        if (!(part[i] >= 0 && part[i] < n_parts))
            QH_TRY(st, qh_fail(QH_EINPUT, "%s: node %lld is in part %d of %d", path, (long long)i,
                               part[i], n_parts));
        size[part[i]]++;
    }
    for (int p = 0; p < n_parts; p++)
        if (size[p] == 0)
            QH_TRY(st, qh_fail(QH_EINPUT, "%s: part %d of %d has no node; every part needs one",
                               path, p, n_parts));
out:
    qh_mem_free(size);
    return st;
}

qh_status qh_partition_read(const char *path, const qh_graph *g, int32_t **part, int *n_parts)
{
    qh_map map = {0};
    qhp_header h;
    int32_t *ids = NULL;
    qh_status st;

    QH_TRY(st, qh_map_open(path, &map));
    if (map.size < (int64_t)sizeof h)
        QH_TRY(st, qh_fail(QH_EINPUT, "%s: no .qhp file; one written by qhalo partition", path));
    memcpy(&h, map.data, sizeof h);
    QH_TRY(st, check_file(path, &map, g, &h));
    QH_TRY(st, QH_NEW_ARRAY(&ids, h.n_nodes));
    memcpy(ids, map.data + sizeof h + padded(h.made_by_bytes), (size_t)h.n_nodes * sizeof *ids);
    QH_TRY(st, check_ids(path, h.n_nodes, (int)h.n_parts, ids));
    *part = ids;
    *n_parts = (int)h.n_parts;
    ids = NULL; /* handed over */
out:
    qh_mem_free(ids);
    qh_map_close(&map);
    return st;
}
