#include "traces/import_text.h"

#include "src/base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *qh_word_text(qh_word w, char *buf)
{
    int64_t n = w.n < QH_WORD_TEXT_BYTES - 4 ? w.n : QH_WORD_TEXT_BYTES - 4;

    for (int64_t i = 0; i < n; i++)
        buf[i] = isprint((unsigned char)w.at[i]) ? w.at[i] : '?';
    snprintf(buf + n, 4, "%s", n < w.n ? "..." : "");
    return buf;
}

bool qh_word_is(qh_word w, const char *text)
{
    return w.n == (int64_t)strlen(text) && strncasecmp(w.at, text, (size_t)w.n) == 0;
}

bool qh_word_int(qh_word w, int64_t max, int64_t *v)
{
    int64_t value = 0;

    for (int64_t i = 0; i < w.n; i++) {
        int digit = w.at[i] - '0';

        if (digit < 0 || digit > 9 || digit > max || value > (max - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *v = value;
    return w.n > 0;
}

bool qh_word_real(qh_word w, double *v)
{
    char text[QH_WORD_TEXT_BYTES], *end;

    if (w.n == 0 || w.n >= QH_WORD_TEXT_BYTES)
        return false;
    memcpy(text, w.at, (size_t)w.n);
    text[w.n] = '\0';
    if (strspn(text, "+-.0123456789eE") != (size_t)w.n)
        return false;
    *v = strtod(text, &end);
    return *end == '\0' && isfinite(*v);
}

int32_t qh_word_mark(const qh_word *w, int64_t n)
{
    int64_t epoch;

    if (n != 3 || !qh_word_is(w[0], "epoch") || !qh_word_is(w[2], "ends") ||
        !qh_word_int(w[1], 1000000000, &epoch))
        return -1;
    return (int32_t)epoch;
}

qh_status qh_lines_open(qh_lines *l, const char *path)
{
    qh_status st;

    *l = (qh_lines){0};
    QH_TRY(st, qh_mem_strdup(path, &l->path));
    QH_TRY(st, qh_map_open(path, &l->map));
out:
    return st;
}

void qh_lines_close(qh_lines *l)
{
    qh_mem_free(l->word);
    qh_map_close(&l->map);
    qh_mem_free(l->path);
    *l = (qh_lines){0};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static qh_status add_word(qh_lines *l, const char *at, int64_t n)
{
    qh_status st = QH_OK;

    if (l->n == l->capacity) {
        int64_t more = l->capacity ? 2 * l->capacity : 16;

        QH_TRY(st, QH_RESIZE(&l->word, l->capacity, more));
        l->capacity = more;
    }
    l->word[l->n++] = (qh_word){at, n};
out:
    return st;
}

qh_status qh_lines_next(qh_lines *l, bool *more)
{
    const char *text = (const char *)l->map.data;
    qh_status st = QH_OK;

    l->n = 0;
    while (l->n == 0 && l->at < l->map.size) {
        const char *at = text + l->at;
        const char *end = memchr(at, '\n', (size_t)(l->map.size - l->at));

        end = end ? end : text + l->map.size;
        l->at = end - text + 1;
        if (l->number == INT32_MAX)
            return qh_fail(QH_EINPUT, "%s: more than 2^31 lines", l->path);
        l->number++;
        for (const char *word; at < end; at = word) {
            while (at < end && is_blank(*at))
                at++;
            for (word = at; word < end && !is_blank(*word); word++)
                ;
            if (word > at)
                QH_TRY(st, add_word(l, at, word - at));
        }
    }
    *more = l->n > 0;
out:
    return st;
}
