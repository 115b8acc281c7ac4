#include "src/partition/partitioners.h"

#include "src/base/file.h"
#include "src/base/mem.h"

#include <stdbool.h>
#include <string.h>

typedef struct cursor {
    const char *path;
    const uint8_t *at, *end;
    int64_t line; /* of what stands at `at`, from 1 */
} cursor;

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && is_space(*c->at))
        c->at++;
}

/* The number on this line, and on to the next line. */
static qh_status read_id(cursor *c, int n_parts, int32_t *id)
{
    int64_t value = 0;
    const uint8_t *start;

    skip_spaces(c);
    start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && value <= INT32_MAX)
        value = 10 * value + (*c->at++ - '0');
    if (c->at == start || value > INT32_MAX)
        return qh_fail(QH_EINPUT, "%s:%lld: no part id; one integer a line from 0 to %d", c->path,
                       (long long)c->line, n_parts - 1);
    skip_spaces(c);
    if (c->at < c->end && *c->at != '\n')
        return qh_fail(QH_EINPUT, "%s:%lld: more than a part id; one integer a line from 0 to %d",
                       c->path, (long long)c->line, n_parts - 1);
    if (value >= n_parts)
        return qh_fail(QH_EINPUT, "%s:%lld: part %lld of %d; 0 to %d", c->path, (long long)c->line,
                       (long long)value, n_parts, n_parts - 1);
    c->at += c->at < c->end;
    c->line++;
    *id = (int32_t)value;
    return QH_OK;
}

static bool only_blanks(cursor *c)
{
    while (c->at < c->end && (is_space(*c->at) || *c->at == '\n'))
        c->at++;
    return c->at == c->end;
}

static qh_status read_ids(cursor *c, const qh_graph *g, int n_parts, int32_t *part)
{
    qh_status st = QH_OK;

    for (int64_t i = 0; i < g->n_nodes; i++) {
        cursor ahead = *c;

        if (only_blanks(&ahead))
            return qh_fail(QH_EINPUT, "%s: %lld part ids; the graph has %lld nodes", c->path,
                           (long long)i, (long long)g->n_nodes);
        QH_TRY(st, read_id(c, n_parts, &part[i]));
    }
    if (!only_blanks(c))
        st = qh_fail(QH_EINPUT, "%s:%lld: a line too many; the graph has %lld nodes", c->path,
                     (long long)c->line, (long long)g->n_nodes);
out:
    return st;
}

static qh_status refuse_empty(const char *path, const qh_graph *g, int n_parts, const int32_t *part)
{
    bool *used = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&used, n_parts));
    for (int64_t i = 0; i < g->n_nodes; i++)
        used[part[i]] = true;
    for (int p = 0; p < n_parts; p++)
        if (!used[p]) {
            st = qh_fail(QH_EINPUT, "%s: part %d of %d has no node; every part needs one", path, p,
                         n_parts);
            break;
        }
out:
    qh_mem_free(used);
    return st;
}

static qh_status run_qhp(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    int32_t *read = NULL;
    int n_parts = 0;
    qh_status st;

    QH_TRY(st, qh_partition_read(r->argument, g, &read, &n_parts));
    if (n_parts != r->n_parts)
        QH_TRY(st, qh_fail(QH_EINPUT, "%s: has %d parts; %d are asked for", r->argument, n_parts,
                           r->n_parts));
    memcpy(part, read, (size_t)g->n_nodes * sizeof *part);
out:
    qh_mem_free(read);
    return st;
}

/* A text with one part id a line (what METIS's gpmetis writes), or a .qhp file. */
static qh_status run(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    qh_map map = {0};
    cursor c;
    qh_status st;

    QH_TRY(st, qh_map_open(r->argument, &map));
    if (map.size >= 8 && memcmp(map.data, "QHALOQHP", 8) == 0) {
        QH_TRY(st, run_qhp(g, r, part));
    } else {
        c = (cursor){.path = r->argument, .at = map.data, .end = map.data, .line = 1};
        c.end += map.size;
        QH_TRY(st, read_ids(&c, g, r->n_parts, part));
    }
    QH_TRY(st, refuse_empty(r->argument, g, r->n_parts, part));
out:
    qh_map_close(&map);
    return st;
}

const qh_partitioner_ops qh_partitioner_file = {
    .name = "file",
    .help = "read from PATH: a text with one part id a line, or a .qhp file",
    .argument = "PATH",
    .run = run};
