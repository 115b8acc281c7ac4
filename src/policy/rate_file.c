/* file:PATH: rates from a text file. A line is an epoch, from epoch 0 on: one rate for all layers,
 * or one for each, separated by blanks or tabs. The last line holds for all epochs that follow. '#'
 * begins a comment; lines without a number do not count. */
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/policy/rates.h"

#include <string.h>

struct qh_rate_state {
    double *rate; /* owned, [n_lines, n_layers] */
    int64_t n_lines, room;
    int n_layers;
};

static void close_state(qh_rate_state *s)
{
    if (!s)
        return;
    qh_mem_free(s->rate);
    qh_mem_free(s);
}

static qh_status grow(qh_rate_state *s)
{
    int64_t room = s->room ? 2 * s->room : 256;
    qh_status st = QH_OK;

    if (s->n_lines < s->room)
        return QH_OK;
    QH_TRY(st, QH_RESIZE(&s->rate, s->room * s->n_layers, room * s->n_layers));
    s->room = room;
out:
    return st;
}

/* One word as a rate; text is the word and nothing else. */
static qh_status parse_rate(const char *path, int64_t line, const char *text, double *out)
{
    if (qh_parse_real("", text, 1, QH_RATE_MOST, out) == QH_OK)
        return QH_OK;
    return qh_fail(QH_EINPUT, "%s:%lld: '%s' is not a rate; a number of 1 (all columns) or more",
                   path, (long long)line, text);
}

/* The words of a line (which ends with 0) into the next place of s. */
static qh_status parse_line(const char *path, int64_t line, char *text, qh_rate_state *s)
{
    static const char blanks[] = " \t\r";
    char *rest = NULL;
    double *rate;
    int n = 0;
    qh_status st;

    QH_TRY(st, grow(s));
    rate = s->rate + s->n_lines * s->n_layers;
    text[strcspn(text, "#")] = 0;
    for (char *word = strtok_r(text, blanks, &rest); word;
         word = strtok_r(NULL, blanks, &rest), n++) {
        double value;

        QH_TRY(st, parse_rate(path, line, word, &value));
        if (n < s->n_layers)
            rate[n] = value;
    }
    if (n != 0 && n != 1 && n != s->n_layers) {
        st = qh_fail(QH_EINPUT, "%s:%lld: %d rates for %d layers; one for all, or one for each",
                     path, (long long)line, n, s->n_layers);
        goto out;
    }
    for (int l = n; n > 0 && l < s->n_layers; l++)
        rate[l] = rate[0];
    s->n_lines += n > 0;
out:
    return st;
}

static qh_status open_state(const char *where, const char *path, const qh_rate_run *run,
                            qh_rate_state **out)
{
    enum { LARGEST = 1 << 26 };
    qh_rate_state *s = NULL;
    char *text = NULL, *next;
    int64_t line = 1;
    qh_status st;

    if (!*path)
        return qh_fail(QH_EUSAGE, "%s: file lacks its path; file:PATH", where);
    QH_TRY(st, qh_file_read_text(path, LARGEST, &text));
    QH_TRY(st, QH_NEW(&s));
    s->n_layers = run->n_layers;
    for (char *at = text; at; at = next, line++) {
        next = strchr(at, '\n');
        if (next)
            *next++ = 0;
        QH_TRY(st, parse_line(path, line, at, s));
    }
    if (s->n_lines == 0) {
        st = qh_fail(QH_EINPUT, "%s: no rate in it; a line for each epoch, from epoch 0 on", path);
        goto out;
    }
    *out = s;
    s = NULL;
out:
    close_state(s);
    qh_mem_free(text);
    return st;
}

static double at(const qh_rate_state *s, int64_t epoch, int layer)
{
    return s->rate[(epoch < s->n_lines ? epoch : s->n_lines - 1) * s->n_layers + layer];
}

const qh_rate_ops qh_rate_file = {
    .name = "file",
    .help = "file:PATH, a line an epoch: one rate, or one for each layer",
    .open = open_state,
    .close = close_state,
    .at = at,
};
