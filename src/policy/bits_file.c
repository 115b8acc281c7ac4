/* file:PATH: widths from a text file. A line is
 *
 *     NODE WIDTH                       the node's messages in every layer and direction, or
 *     LAYER DIRECTION NODE WIDTH       those of one layer (0, 1, ...) and direction (forward or
 *                                      backward), which wins over the short form
 *
 * separated by blanks or tabs; '#' begins a comment; empty lines are fine. A message that no line
 * speaks of gets the widest of --bits, and no line gives a width that --bits has not. */
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/policy/members.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 4, MAX_LAYER = 65535 };

typedef struct entry {
    uint64_t key;
    int64_t line;
    uint8_t width;
} entry;

struct qh_bits_state {
    entry *entry; /* owned, by rising key */
    int64_t n, room;
};

typedef struct field {
    const char *text;
    int length;
} field;

/* Layer and direction -1: every one of them. */
static uint64_t key_of(int64_t layer, int direction, int64_t node)
{
    return (uint64_t)(layer + 1) << 34 | (uint64_t)(direction + 1) << 32 | (uint64_t)node;
}

static bool number(field f, int64_t most, int64_t *out)
{
    int64_t x = 0;

    for (int i = 0; i < f.length; i++) {
        if (f.text[i] < '0' || f.text[i] > '9' || (x = 10 * x + (f.text[i] - '0')) > most)
            return false;
    }
    *out = x;
    return f.length > 0;
}

static int direction_of(field f)
{
    static const char *const names[] = {"forward", "backward"};

    for (int d = 0; d < 2; d++)
        if (strlen(names[d]) == (size_t)f.length && memcmp(names[d], f.text, strlen(names[d])) == 0)
            return d;
    return -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The fields of a line of n characters; one more than MAX_FIELDS stands for too many. */
static int split(const char *line, int64_t n, field f[MAX_FIELDS])
{
    int count = 0;

    for (int64_t at = 0; at < n && line[at] != '#';) {
        int64_t end = at;

        while (end < n && !is_blank(line[end]) && line[end] != '#')
            end++;
        if (end > at) {
            if (count == MAX_FIELDS)
                return MAX_FIELDS + 1;
            f[count++] = (field){line + at, (int)(end - at < 4096 ? end - at : 4096)};
        }
        at = end < n && line[end] == '#' ? end : end + 1;
    }
    return count;
}

static bool is_of_bits(const qh_bits_config *c, int64_t width)
{
    for (int i = 0; i < c->n_widths; i++)
        if (c->width[i] == width)
            return true;
    return false;
}

/* Whether the run has what the line names. */
static qh_status check_range(const qh_bits_config *c, int64_t line, int64_t layer, int64_t node,
                             int64_t width)
{
    if (c->n_layers > 0 && layer >= c->n_layers)
        return qh_fail(QH_EINPUT, "%s:%lld: there is no layer %lld; the last of %d is %d",
                       c->argument, (long long)line, (long long)layer, c->n_layers,
                       c->n_layers - 1);
    if (c->n_nodes > 0 && node >= c->n_nodes)
        return qh_fail(QH_EINPUT, "%s:%lld: there is no node %lld; the last of %lld is %lld",
                       c->argument, (long long)line, (long long)node, (long long)c->n_nodes,
                       (long long)c->n_nodes - 1);
    if (!is_of_bits(c, width))
        return qh_fail(QH_EINPUT, "%s:%lld: %lld is not one of --bits; add it there", c->argument,
                       (long long)line, (long long)width);
    return QH_OK;
}

static qh_status parse_line(const qh_bits_config *c, int64_t line, const field *f, int n,
                            entry *out)
{
    const char *path = c->argument;
    int64_t layer = -1, node, width;
    int direction = -1;
    qh_status st;

    if (n != 2 && n != 4)
        return qh_fail(QH_EINPUT,
                       "%s:%lld: neither 2 nor 4 fields; NODE WIDTH or LAYER DIRECTION NODE WIDTH",
                       path, (long long)line);
    if (n == 4 && !number(f[0], MAX_LAYER, &layer))
        return qh_fail(QH_EINPUT, "%s:%lld: '%.*s' is not a layer; 0, 1, ...", path,
                       (long long)line, f[0].length, f[0].text);
    if (n == 4 && (direction = direction_of(f[1])) < 0)
        return qh_fail(QH_EINPUT, "%s:%lld: '%.*s' is not a direction; forward or backward", path,
                       (long long)line, f[1].length, f[1].text);
    if (!number(f[n - 2], INT32_MAX, &node))
        return qh_fail(QH_EINPUT, "%s:%lld: '%.*s' is not a node; 0, 1, ...", path, (long long)line,
                       f[n - 2].length, f[n - 2].text);
    if (!number(f[n - 1], 32, &width) || !qh_bits_is_width(width))
        return qh_fail(QH_EINPUT, "%s:%lld: '%.*s' is not a bit-width; 1 to 8, 16 or 32", path,
                       (long long)line, f[n - 1].length, f[n - 1].text);
    QH_TRY(st, check_range(c, line, layer, node, width));
    *out = (entry){key_of(layer, direction, node), line, (uint8_t)width};
out:
    return st;
}

static qh_status add(qh_bits_state *s, entry e)
{
    qh_status st = QH_OK;

    if (s->n == s->room) {
        int64_t room = s->room ? 2 * s->room : 1024;

        st = QH_RESIZE(&s->entry, s->room, room);
        if (st == QH_OK)
            s->room = room;
    }
    if (st == QH_OK)
        s->entry[s->n++] = e;
    return st;
}

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static qh_status sort(const char *path, qh_bits_state *s)
{
    qsort(s->entry, (size_t)s->n, sizeof *s->entry, compare);
    for (int64_t i = 1; i < s->n; i++)
        if (s->entry[i].key == s->entry[i - 1].key)
            return qh_fail(QH_EINPUT, "%s:%lld: says again what line %lld said of node %u; once",
                           path, (long long)s->entry[i].line, (long long)s->entry[i - 1].line,
                           (unsigned)s->entry[i].key);
    return QH_OK;
}

static void close_state(qh_bits_state *s)
{
    if (!s)
        return;
    qh_mem_free(s->entry);
    qh_mem_free(s);
}

static qh_status open_state(const qh_bits_config *c, qh_bits_state **out)
{
    qh_status st;
    qh_map map = {0};
    qh_bits_state *s = NULL;
    const char *text;

    QH_TRY(st, qh_map_open(c->argument, &map));
    text = (const char *)map.data;
    QH_TRY(st, QH_NEW(&s));
    for (int64_t at = 0, line = 1; at < map.size; line++) {
        const char *end = memchr(text + at, '\n', (size_t)(map.size - at));
        int64_t n = end ? end - (text + at) : map.size - at;
        field f[MAX_FIELDS];
        int n_fields = split(text + at, n, f);
        entry e = {0};

        if (n_fields > 0) {
            QH_TRY(st, parse_line(c, line, f, n_fields, &e));
            QH_TRY(st, add(s, e));
        }
        at += n + 1;
    }
    if (s->n > 0)
        QH_TRY(st, sort(c->argument, s));
    *out = s;
    s = NULL;
out:
    close_state(s);
    qh_map_close(&map);
    return st;
}

static const entry *look_up(const qh_bits_state *s, uint64_t key)
{
    int64_t low = 0, high = s->n;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (s->entry[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && s->entry[low].key == key ? &s->entry[low] : NULL;
}

static bool changes(const qh_bits_config *c, int32_t epoch)
{
    (void)c;
    return epoch == 0;
}

static qh_status assign(const qh_bits_config *c, const qh_bits_state *s, const qh_bits_request *r,
                        uint8_t *width)
{
    for (int64_t i = 0; i < r->n_messages; i++) {
        const entry *e = look_up(s, key_of(r->layer, r->direction, r->node[i]));

        if (!e)
            e = look_up(s, key_of(-1, -1, r->node[i]));
        width[i] = e ? e->width : c->width[c->n_widths - 1];
    }
    return QH_OK;
}

const qh_bits_ops qh_bits_file = {
    .name = "file",
    .help =
        "file:PATH, lines NODE WIDTH or LAYER DIRECTION NODE WIDTH; others the widest of --bits",
    .takes_argument = true,
    .open = open_state,
    .close = close_state,
    .changes = changes,
    .assign = assign,
};
