/* A .npy header is a Python literal. Only the one dictionary that the format allows is read: this
 * is a grammar of six tokens, not an evaluator. */
#include "src/graph/npy_header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

static bool take(cursor *c, const char *token)
{
    size_t n = strlen(token);

    skip_blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, token, n) != 0)
        return false;
    c->at += n;
    return true;
}

/* A text in single or double quotes, without escapes. */
static bool take_text(cursor *c, char *out, size_t out_bytes)
{
    const char *close;
    char quote;

    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    quote = *c->at++;
    close = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (!close || (size_t)(close - c->at) >= out_bytes ||
        memchr(c->at, '\\', (size_t)(close - c->at)))
        return false;
    memcpy(out, c->at, (size_t)(close - c->at));
    out[close - c->at] = '\0';
    c->at = close + 1;
    return true;
}

/* A count; false for anything else and for what an int64 cannot hold. */
static bool take_count(cursor *c, int64_t *out)
{
    int64_t x = 0;

    skip_blanks(c);
    if (c->at == c->end || !isdigit((unsigned char)*c->at))
        return false;
    for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *c->at - '0', &x))
            return false;
    if (c->at < c->end && *c->at == 'L') /* Python 2 wrote long integers so */
        c->at++;
    *out = x;
    return true;
}

/* --- types --- */

static const struct {
    qh_npy_type type;
    const char *descr, *text;
    int64_t bytes;
} types[] = {{QH_NPY_INT8, "|i1", "int8 (|i1)", 1},
             {QH_NPY_UINT8, "|u1", "uint8 (|u1)", 1},
             {QH_NPY_INT32, "<i4", "int32 (<i4)", 4},
             {QH_NPY_INT64, "<i8", "int64 (<i8)", 8},
             {QH_NPY_FLOAT32, "<f4", "float32 (<f4)", 4}};

const char *qh_npy_type_text(qh_npy_type type)
{
    return types[type].text;
}

const char *qh_npy_type_descr(qh_npy_type type)
{
    return types[type].descr;
}

/* Names a type that is not read, for the message: "big-endian float32 (>f4)". */
static void name_other(const char *descr, int64_t bytes, qh_npy *a)
{
    const char *kind;

    switch (descr[1]) {
    case 'b':
        kind = "bool";
        break;
    case 'i':
        kind = "int";
        break;
    case 'u':
        kind = "uint";
        break;
    case 'f':
        kind = "float";
        break;
    case 'c':
        kind = "complex";
        break;
    case 'S':
    case 'U':
        kind = "text";
        break;
    default:
        kind = "type";
        break;
    }
    snprintf(a->type_name, sizeof a->type_name, "%s%s%lld (%.16s)",
             descr[0] == '>' ? "big-endian " : "", kind, (long long)bytes * 8, descr);
}

/* 'X' type letter and item size, as in <f4. */
static qh_status read_descr(const char *descr, qh_npy *a)
{
    cursor c = {descr, descr + strlen(descr)};
    int64_t bytes = 0;

    if (strchr("<>|=", descr[0]) && descr[0] && descr[1] == 'O')
        return qh_fail(QH_EINPUT,
                       "%s: Python objects (dtype %.16s), which are never unpickled; save numbers "
                       "(astype)",
                       a->path, descr);
    if (!descr[0] || !strchr("<>|=", descr[0]) || !descr[1])
        return qh_fail(QH_EINPUT, "%s: unknown dtype '%.32s'; such as <f4 is right", a->path,
                       descr);
    c.at += 2;
    if (!take_count(&c, &bytes) || bytes < 1 || bytes > 1 << 20)
        return qh_fail(QH_EINPUT, "%s: unknown dtype '%.32s'; such as <f4 is right", a->path,
                       descr);
    a->item_bytes = bytes;
    a->type = QH_NPY_OTHER;
    for (size_t i = 0; i < QH_COUNT(types) && c.at == c.end; i++)
        if (types[i].bytes == bytes && types[i].descr[1] == descr[1] &&
            (descr[0] != '>' || bytes == 1)) {
            a->type = types[i].type;
            snprintf(a->type_name, sizeof a->type_name, "%s", types[i].text);
        }
    if (a->type == QH_NPY_OTHER)
        name_other(descr, bytes, a);
    return QH_OK;
}

/* --- the dictionary --- */

static qh_status malformed(const qh_npy *a, const char *what)
{
    return qh_fail(QH_EINPUT,
                   "%s: malformed .npy header (%s); {'descr': ..., 'fortran_order': ..., 'shape': "
                   "...} is right",
                   a->path, what);
}

static qh_status read_shape(cursor *c, qh_npy *a)
{
    a->n_dims = 0;
    if (!take(c, "("))
        return malformed(a, "shape is no tuple");
    while (!take(c, ")")) {
        if (a->n_dims == QH_NPY_DIMS)
            return qh_fail(QH_EINPUT, "%s: more than %d dimensions; 1 or 2 are right", a->path,
                           QH_NPY_DIMS);
        if (!take_count(c, &a->shape[a->n_dims++]))
            return malformed(a, "a size in shape is no count below 2^63");
        if (!take(c, ",")) {
            if (!take(c, ")"))
                return malformed(a, "shape does not end");
            break;
        }
    }
    return QH_OK;
}

static qh_status read_value(cursor *c, int key, qh_npy *a)
{
    char descr[64];

    switch (key) {
    case 0:
        skip_blanks(c);
        if (c->at < c->end && *c->at == '[')
            return qh_fail(QH_EINPUT,
                           "%s: a structured dtype (records); one plain array a file is right",
                           a->path);
        if (!take_text(c, descr, sizeof descr))
            return malformed(a, "descr is no text");
        return read_descr(descr, a);
    case 1:
        a->fortran = take(c, "True");
        return a->fortran || take(c, "False") ? QH_OK : malformed(a, "fortran_order is no bool");
    default:
        return read_shape(c, a);
    }
}

qh_status qh_npy_parse_header(const char *text, int64_t size, qh_npy *a)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    cursor c = {text, text + size};
    bool seen[QH_COUNT(keys)] = {false};

    if (!take(&c, "{"))
        return malformed(a, "no dictionary");
    while (!take(&c, "}")) {
        char key[32];
        size_t k = 0;
        qh_status st;

        if (!take_text(&c, key, sizeof key) || !take(&c, ":"))
            return malformed(a, "a key is missing");
        while (k < QH_COUNT(keys) && strcmp(key, keys[k]) != 0)
            k++;
        if (k == QH_COUNT(keys) || seen[k])
            return malformed(a, k == QH_COUNT(keys) ? "an unknown key" : "a key twice");
        seen[k] = true;
        st = read_value(&c, (int)k, a);
        if (st < 0)
            return st;
        if (!take(&c, ",")) {
            if (!take(&c, "}"))
                return malformed(a, "the dictionary does not end");
            break;
        }
    }
    skip_blanks(&c);
    if (c.at != c.end)
        return malformed(a, "text after the dictionary");
    for (size_t k = 0; k < QH_COUNT(keys); k++)
        if (!seen[k])
            return malformed(a, "descr, fortran_order or shape is missing");
    return QH_OK;
}
