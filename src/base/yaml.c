#include "src/base/yaml.h"

#include "src/base/mem.h"
#include "src/base/options.h"
#include "src/base/units.h"

#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* libfyaml reads the text and gives events; the tree is our own, so that every node knows its line
 * and keys are checked as they come. */
typedef enum node_kind { SCALAR, MAPPING, SEQUENCE } node_kind;

struct qh_yaml_node {
    node_kind kind;
    const char *where;   /* inside this block */
    const char *text;    /* inside this block; "" unless a scalar */
    qh_yaml_node **key;  /* owned, [n]; mappings: scalars */
    qh_yaml_node **item; /* owned, [n]; mappings: the values */
    int64_t n, capacity;
};

struct qh_yaml {
    char *name;   /* owned */
    char *source; /* owned */
    qh_status bad;
    qh_yaml_node *root; /* owned */
};

enum { DEEPEST = 64 };

typedef struct reader {
    qh_yaml *y;
    struct fy_parser *parser;
    struct fy_diag *diag;
    int line; /* of the last event that had one, from 1 */
} reader;

static void node_free(qh_yaml_node *node)
{
    if (!node)
        return;
    for (int64_t i = 0; i < node->n; i++) {
        if (node->key)
            node_free(node->key[i]);
        node_free(node->item[i]);
    }
    qh_mem_free(node->item);
    qh_mem_free(node->key);
    qh_mem_free(node);
}

void qh_yaml_free(qh_yaml *y)
{
    if (!y)
        return;
    node_free(y->root);
    qh_mem_free(y->source);
    qh_mem_free(y->name);
    qh_mem_free(y);
}

static qh_status node_new(reader *r, node_kind kind, const char *text, size_t length,
                          qh_yaml_node **out)
{
    char line[16];
    size_t where = strlen(r->y->name) + (size_t)snprintf(line, sizeof line, ":%d", r->line) + 1;
    qh_yaml_node *node = NULL;
    char *tail;
    qh_status st = qh_mem_alloc((void **)&node, 1, sizeof *node + where + length + 1);

    if (st < 0)
        return st;
    tail = (char *)(node + 1);
    node->kind = kind;
    node->where = tail;
    stpcpy(stpcpy(tail, r->y->name), line);
    node->text = tail + where;
    memcpy(tail + where, text, length);
    *out = node;
    return QH_OK;
}

static qh_status grow(qh_yaml_node *node)
{
    qh_status st = QH_OK;
    int64_t bigger = node->capacity ? 2 * node->capacity : 8;

    if (node->n < node->capacity)
        return QH_OK;
    if (node->kind == MAPPING)
        QH_TRY(st, QH_RESIZE(&node->key, node->n, bigger));
    QH_TRY(st, QH_RESIZE(&node->item, node->n, bigger));
    node->capacity = bigger;
out:
    return st;
}

/* What libfyaml has against the text, with its line. */
static qh_status syntax_error(const reader *r)
{
    void *at = NULL;
    const struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &at);

    if (!e)
        return qh_fail(r->y->bad, "%s:%d: is not well-formed YAML", r->y->name, r->line);
    return qh_fail(r->y->bad, "%s:%d: is not well-formed YAML: %s", r->y->name, e->line, e->msg);
}

/* The next event, which the caller frees; NULL only at the end of the text. */
static qh_status next_event(reader *r, struct fy_event **out)
{
    struct fy_event *e = fy_parser_parse(r->parser);
    const struct fy_mark *mark;

    if (!e && (fy_parser_get_stream_error(r->parser) || fy_diag_got_error(r->diag)))
        return syntax_error(r);
    mark = e ? fy_event_start_mark(e) : NULL;
    if (mark)
        r->line = mark->line + 1;
    *out = e;
    return QH_OK;
}

static qh_status build(reader *r, struct fy_event *e, int depth, qh_yaml_node **out);

static qh_status add_key(reader *r, qh_yaml_node *map, qh_yaml_node *key)
{
    if (key->kind != SCALAR)
        return qh_fail(r->y->bad, "%s: a key is no plain word; KEY: VALUE is wanted", key->where);
    for (int64_t i = 0; i < map->n; i++)
        if (strcmp(map->key[i]->text, key->text) == 0)
            return qh_fail(r->y->bad, "%s: '%s' stands here again (first at %s); once is enough",
                           key->where, key->text, map->key[i]->where);
    return QH_OK;
}

/* The entries of a mapping or sequence up to its end event. */
static qh_status build_entries(reader *r, int depth, qh_yaml_node *node)
{
    enum fy_event_type end = node->kind == MAPPING ? FYET_MAPPING_END : FYET_SEQUENCE_END;
    struct fy_event *e = NULL;
    qh_yaml_node *key = NULL, *item = NULL;
    qh_status st = QH_OK;

    if (depth > DEEPEST)
        return qh_fail(r->y->bad, "%s: is nested more than %d deep", node->where, DEEPEST);
    for (;;) {
        QH_TRY(st, next_event(r, &e));
        if (!e || e->type == end)
            break;
        if (node->kind == MAPPING) {
            QH_TRY(st, build(r, e, depth, &key));
            QH_TRY(st, add_key(r, node, key));
            fy_parser_event_free(r->parser, e);
            e = NULL;
            QH_TRY(st, next_event(r, &e));
        }
        QH_TRY(st, build(r, e, depth, &item));
        QH_TRY(st, grow(node));
        if (node->kind == MAPPING)
            node->key[node->n] = key;
        node->item[node->n++] = item;
        key = item = NULL;
        fy_parser_event_free(r->parser, e);
        e = NULL;
    }
out:
    fy_parser_event_free(r->parser, e);
    node_free(key);
    node_free(item);
    return st;
}

static qh_status build(reader *r, struct fy_event *e, int depth, qh_yaml_node **out)
{
    qh_status st;
    qh_yaml_node *node = NULL;
    const char *text = "";
    size_t length = 0;

    switch (e ? e->type : FYET_NONE) {
    case FYET_SCALAR:
        if (e->scalar.value)
            text = fy_token_get_text(e->scalar.value, &length);
        QH_TRY(st, node_new(r, SCALAR, text ? text : "", text ? length : 0, &node));
        if (strlen(node->text) != length) {
            st = qh_fail(r->y->bad, "%s: the text holds a zero byte", node->where);
            goto out;
        }
        break;
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        QH_TRY(st, node_new(r, e->type == FYET_MAPPING_START ? MAPPING : SEQUENCE, "", 0, &node));
        QH_TRY(st, build_entries(r, depth + 1, node));
        break;
    default:
        st = qh_fail(r->y->bad, "%s:%d: aliases are not read here; write the value out", r->y->name,
                     r->line);
        goto out;
    }
    *out = node;
    node = NULL;
out:
    node_free(node);
    return st;
}

/* stream start, document start, the root, document end, stream end. */
static qh_status build_document(reader *r)
{
    qh_status st;
    struct fy_event *e = NULL;

    for (;;) {
        fy_parser_event_free(r->parser, e);
        e = NULL;
        QH_TRY(st, next_event(r, &e));
        if (!e || e->type == FYET_STREAM_END)
            break;
        if (e->type == FYET_STREAM_START || e->type == FYET_DOCUMENT_END)
            continue;
        if (e->type == FYET_DOCUMENT_START && !r->y->root)
            continue;
        if (r->y->root) {
            st = qh_fail(r->y->bad, "%s:%d: a second document begins; one is wanted", r->y->name,
                         r->line);
            goto out;
        }
        QH_TRY(st, build(r, e, 0, &r->y->root));
    }
    if (!r->y->root)
        st = qh_fail(r->y->bad, "%s:1: holds nothing; KEY: VALUE lines are wanted", r->y->name);
out:
    fy_parser_event_free(r->parser, e);
    return st;
}

qh_status qh_yaml_parse(const char *name, const char *text, int64_t size, qh_status status_when_bad,
                        qh_yaml **out)
{
    qh_status st;
    reader r = {.line = 1};
    struct fy_parse_cfg config = {.search_path = "", .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG};

    QH_TRY(st, QH_NEW(&r.y));
    r.y->bad = status_when_bad;
    QH_TRY(st, qh_mem_strdup(name, &r.y->name));
    QH_TRY(st, qh_mem_alloc((void **)&r.y->source, size + 1, 1));
    if (size > 0)
        memcpy(r.y->source, text, (size_t)size);
    r.diag = fy_diag_create(NULL);
    if (r.diag)
        fy_diag_set_collect_errors(r.diag, true);
    config.diag = r.diag;
    r.parser = r.diag ? fy_parser_create(&config) : NULL;
    if (!r.parser || fy_parser_set_string(r.parser, text, (size_t)size) != 0) {
        st = qh_fail(QH_ERESOURCE, "%s: no memory to read it", name);
        goto out;
    }
    QH_TRY(st, build_document(&r));
    *out = r.y;
    r.y = NULL;
out:
    if (r.parser)
        fy_parser_destroy(r.parser);
    fy_diag_destroy(r.diag);
    qh_yaml_free(r.y);
    return st;
}

const qh_yaml_node *qh_yaml_root(const qh_yaml *y)
{
    return y->root;
}

const char *qh_yaml_source(const qh_yaml *y)
{
    return y->source;
}

const char *qh_yaml_where(const qh_yaml *y, const qh_yaml_node *node)
{
    return node ? node->where : y->name;
}

qh_status qh_yaml_fail(const qh_yaml *y, const qh_yaml_node *node, const char *format, ...)
{
    char text[QH_ERROR_TEXT_BYTES / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qh_fail(y->bad, "%s: %s", qh_yaml_where(y, node), text);
}

qh_status qh_yaml_check_keys(const qh_yaml *y, const qh_yaml_node *map, const char *const *keys,
                             int64_t n)
{
    if (map->kind != MAPPING)
        return qh_fail(y->bad, "%s: KEY: VALUE lines are wanted here", map->where);
    for (int64_t i = 0; i < map->n; i++) {
        const qh_yaml_node *key = map->key[i];
        const char *close;
        bool known = false;

        for (int64_t k = 0; k < n && !known; k++)
            known = strcmp(key->text, keys[k]) == 0;
        if (known)
            continue;
        close = qh_did_you_mean(key->text, keys, n);
        if (close)
            return qh_fail(y->bad, "%s: the key '%s' is unknown; did you mean '%s'?", key->where,
                           key->text, close);
        return qh_fail(y->bad, "%s: the key '%s' is unknown here%s%s", key->where, key->text,
                       n ? "; one that is known: " : "", n ? keys[0] : "");
    }
    return QH_OK;
}

const qh_yaml_node *qh_yaml_get(const qh_yaml_node *map, const char *key)
{
    for (int64_t i = 0; map->kind == MAPPING && i < map->n; i++)
        if (strcmp(map->key[i]->text, key) == 0)
            return map->item[i];
    return NULL;
}

int64_t qh_yaml_size(const qh_yaml_node *node)
{
    return node->n;
}

bool qh_yaml_is_sequence(const qh_yaml_node *node)
{
    return node->kind == SEQUENCE;
}

bool qh_yaml_is_scalar(const qh_yaml_node *node)
{
    return node->kind == SCALAR;
}

const char *qh_yaml_key(const qh_yaml *y, const qh_yaml_node *map, int64_t i)
{
    (void)y;
    QH_ASSERT(map->kind == MAPPING && i >= 0 && i < map->n);
    return map->key[i]->text;
}

const qh_yaml_node *qh_yaml_value(const qh_yaml_node *map, int64_t i)
{
    QH_ASSERT(map->kind == MAPPING && i >= 0 && i < map->n);
    return map->item[i];
}

const qh_yaml_node *qh_yaml_item(const qh_yaml_node *sequence, int64_t i)
{
    QH_ASSERT(sequence->kind == SEQUENCE && i >= 0 && i < sequence->n);
    return sequence->item[i];
}

qh_status qh_yaml_text(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                       const char **out)
{
    if (node->kind != SCALAR)
        return qh_fail(y->bad, "%s: %s is a %s; a single value is wanted", node->where, what,
                       node->kind == MAPPING ? "mapping" : "list");
    *out = node->text;
    return QH_OK;
}

/* --- values under a key --- */

enum { WHERE_BYTES = 512 };

/* *text stays NULL where an optional key is absent. where becomes "file:line: key". */
static qh_status find_text(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                           bool required, char *where, const char **text)
{
    const qh_yaml_node *node = qh_yaml_get(map, key);

    *text = NULL;
    if (node) {
        snprintf(where, WHERE_BYTES, "%s: %s", node->where, key);
        return qh_yaml_text(y, node, key, text);
    }
    if (required)
        return qh_fail(y->bad, "%s: the key '%s' is missing", map->where, key);
    return QH_OK;
}

/* Parsers of units.h answer QH_EUSAGE; the document has its own code. */
static qh_status recode(const qh_yaml *y, qh_status st)
{
    return st == QH_EUSAGE ? y->bad : st;
}

qh_status qh_yaml_parse_int(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                            int64_t min, int64_t max, int64_t *out)
{
    char where[WHERE_BYTES];
    const char *text = NULL;
    qh_status st;

    snprintf(where, sizeof where, "%s: %s", node->where, what);
    QH_TRY(st, qh_yaml_text(y, node, what, &text));
    st = recode(y, qh_parse_int(where, text, min, max, out));
out:
    return st;
}

qh_status qh_yaml_parse_real(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                             double min, double max, double *out)
{
    char where[WHERE_BYTES];
    const char *text = NULL;
    qh_status st;

    snprintf(where, sizeof where, "%s: %s", node->where, what);
    QH_TRY(st, qh_yaml_text(y, node, what, &text));
    st = recode(y, qh_parse_real(where, text, min, max, out));
out:
    return st;
}

/* The scalar under key, if any, through parse; ends the calling function. */
#define PARSE_UNDER_KEY(parse)                                                                     \
    do {                                                                                           \
        char where[WHERE_BYTES];                                                                   \
        const char *text;                                                                          \
        qh_status st = find_text(y, map, key, required, where, &text);                             \
                                                                                                   \
        return st < 0 || !text ? st : recode(y, (parse));                                          \
    } while (0)

qh_status qh_yaml_rate(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       double *bytes_per_s)
{
    PARSE_UNDER_KEY(qh_parse_rate(where, text, bytes_per_s));
}

qh_status qh_yaml_duration(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                           bool required, int64_t *duration_ps)
{
    PARSE_UNDER_KEY(qh_parse_duration(where, text, duration_ps));
}

qh_status qh_yaml_bytes(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                        int64_t *bytes)
{
    PARSE_UNDER_KEY(qh_parse_bytes(where, text, bytes));
}

qh_status qh_yaml_flops(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                        double *flops_per_s)
{
    PARSE_UNDER_KEY(qh_parse_flops(where, text, flops_per_s));
}

qh_status qh_yaml_int(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                      int64_t min, int64_t max, int64_t *out)
{
    PARSE_UNDER_KEY(qh_parse_int(where, text, min, max, out));
}

qh_status qh_yaml_real(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       double min, double max, double *out)
{
    PARSE_UNDER_KEY(qh_parse_real(where, text, min, max, out));
}

static qh_status parse_bool(const char *where, const char *text, bool *out)
{
    bool yes = strcmp(text, "true") == 0;

    if (!yes && strcmp(text, "false") != 0)
        return qh_fail(QH_EUSAGE, "%s: '%s' is neither true nor false", where, text);
    *out = yes;
    return QH_OK;
}

qh_status qh_yaml_bool(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       bool *out)
{
    PARSE_UNDER_KEY(parse_bool(where, text, out));
}
