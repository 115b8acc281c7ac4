#include "src/policy/rate.h"

#include "src/base/mem.h"
#include "src/base/options.h"
#include "src/base/units.h"
#include "src/policy/rates.h"

#include <stdbool.h>
#include <string.h>

static const qh_rate_ops *const schedules[] = {&qh_rate_const, &qh_rate_linear, &qh_rate_exp,
                                               &qh_rate_step, &qh_rate_file};

typedef struct part {
    const qh_rate_ops *ops;
    qh_rate_state *state; /* owned */
} part;

struct qh_rate {
    qh_rate_run run;
    int n_parts;
    part *part; /* owned: one a layer, the last for all that follow */
};

const qh_rate_ops *qh_rate_ops_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(schedules) ? schedules[i] : NULL;
}

void qh_rates_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(schedules); i++)
        fprintf(out, "  %-10s %s\n", schedules[i]->name, schedules[i]->help);
}

/* --- numbers --- */

static qh_status check_rates(const char *where, const char *name, double high, double low)
{
    if (low < 1 || high > QH_RATE_MOST)
        return qh_fail(QH_EUSAGE, "%s: %s: a rate of %g; 1 (all columns) to %g is allowed", where,
                       name, low < 1 ? low : high, (double)QH_RATE_MOST);
    if (high < low)
        return qh_fail(QH_EUSAGE, "%s: %s: HIGH is %g and LOW is %g; HIGH comes first", where, name,
                       high, low);
    return QH_OK;
}

/* One number up to `end`, and over it; false: there is none of that form. */
static bool take_piece(const char **at, char end, char piece[64])
{
    size_t length = strcspn(*at, ":");

    if (length == 0 || length >= 64 || (*at)[length] != end)
        return false;
    memcpy(piece, *at, length);
    piece[length] = 0;
    *at += length + (end != 0);
    return true;
}

qh_status qh_rate_numbers(const char *where, const char *text, const char *name, const char *form,
                          int n, double *value)
{
    char piece[64];
    const char *at = text;
    qh_status st = QH_OK;

    for (int i = 0; i < n; i++) {
        if (!take_piece(&at, i + 1 < n ? ':' : 0, piece)) {
            st = qh_fail(QH_EUSAGE, "%s: '%s:%s' is not %s:%s", where, name, text, name, form);
            goto out;
        }
        QH_TRY(st, qh_parse_real(where, piece, 0, 1e300, value + i));
    }
    QH_TRY(st, check_rates(where, name, value[0], n > 1 ? value[1] : value[0]));
    for (int i = 2; i < n; i++)
        if (!(value[i] > 0)) {
            st = qh_fail(QH_EUSAGE, "%s: %s: 0 in '%s'; numbers above 0 follow HIGH:LOW", where,
                         name, text);
            goto out;
        }
out:
    return st;
}

/* --- a schedule for each layer --- */

static qh_status unknown(const char *where, const char *name)
{
    const char *known[QH_COUNT(schedules)], *near;

    for (size_t i = 0; i < QH_COUNT(schedules); i++)
        known[i] = schedules[i]->name;
    near = qh_did_you_mean(name, known, QH_COUNT(known));
    if (near)
        return qh_fail(QH_EUSAGE, "%s: there is no schedule '%s'; did you mean %s?", where, name,
                       near);
    return qh_fail(QH_EUSAGE,
                   "%s: there is no schedule '%s'; it has to be const, linear, exp, step or file",
                   where, name);
}

static qh_status open_part(const char *where, const char *text, const qh_rate_run *run, part *out)
{
    const char *colon = strchr(text, ':');
    char name[32];
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    qh_status st;

    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), text);
    out->ops = NULL;
    for (size_t i = 0; i < QH_COUNT(schedules); i++)
        if (strcmp(schedules[i]->name, name) == 0)
            out->ops = schedules[i];
    QH_TRY(st, out->ops ? QH_OK : unknown(where, name));
    QH_TRY(st, out->ops->open(where, colon ? colon + 1 : "", run, &out->state));
out:
    return st;
}

static int count_parts(const char *text)
{
    int n = 1;

    if (strncmp(text, "file:", 5) == 0) /* a path may have commas */
        return 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* Opens every part; those that are open are counted in r. */
static qh_status open_parts(const char *where, char *text, qh_rate *r, int n)
{
    qh_status st = QH_OK;

    for (int i = 0; i < n; i++) {
        char *comma = n > 1 ? strchr(text, ',') : NULL;

        if (comma)
            *comma = 0;
        if (n > 1 && strncmp(text, "file:", 5) == 0) {
            st = qh_fail(QH_EUSAGE,
                         "%s: file:PATH stands alone; its lines may have a rate for each layer",
                         where);
            goto out;
        }
        QH_TRY(st, open_part(where, text, &r->run, &r->part[i]));
        r->n_parts++;
        text = comma ? comma + 1 : text;
    }
out:
    return st;
}

qh_status qh_rate_open(const char *where, const char *text, const qh_rate_run *run, qh_rate **out)
{
    qh_rate *r = NULL;
    char *copy = NULL;
    int n = count_parts(text);
    qh_status st;

    QH_ASSERT(run->epochs >= 1 && run->n_layers >= 1);
    if (n > run->n_layers)
        return qh_fail(QH_EUSAGE,
                       "%s: %d schedules for %d layers; one a layer, the last for all "
                       "that follow",
                       where, n, run->n_layers);
    QH_TRY(st, QH_NEW(&r));
    r->run = *run;
    QH_TRY(st, QH_NEW_ARRAY(&r->part, n));
    QH_TRY(st, qh_mem_strdup(text, &copy));
    QH_TRY(st, open_parts(where, copy, r, n));
    *out = r;
    r = NULL;
out:
    qh_mem_free(copy);
    qh_rate_close(r);
    return st;
}

void qh_rate_close(qh_rate *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_parts; i++)
        r->part[i].ops->close(r->part[i].state);
    qh_mem_free(r->part);
    qh_mem_free(r);
}

double qh_rate_at(const qh_rate *r, int64_t epoch, int layer)
{
    const part *p = &r->part[layer < r->n_parts ? layer : r->n_parts - 1];
    double rate = p->ops->at(p->state, epoch, layer);

    QH_ASSERT(rate >= 1);
    return rate;
}

double qh_rate_least(const qh_rate *r, int layer)
{
    double least = qh_rate_at(r, 0, layer);

    for (int64_t t = 1; t < r->run.epochs; t++) {
        double rate = qh_rate_at(r, t, layer);

        least = rate < least ? rate : least;
    }
    return least;
}

double qh_rate_mean(const qh_rate *r, int64_t epoch)
{
    double sum = 0;

    for (int l = 0; l < r->run.n_layers; l++)
        sum += qh_rate_at(r, epoch, l);
    return sum / r->run.n_layers;
}
