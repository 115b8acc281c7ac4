#include "src/policy/bits.h"

#include "src/policy/members.h"

#include <stdlib.h>
#include <string.h>

static const qh_bits_ops *const assigners[] = {&qh_bits_uniform, &qh_bits_random, &qh_bits_degree,
                                               &qh_bits_adaptive, &qh_bits_file};

const qh_bits_ops *qh_bits_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(assigners) ? assigners[i] : NULL;
}

static const qh_bits_ops *find(const char *name, size_t n)
{
    for (size_t i = 0; i < QH_COUNT(assigners); i++)
        if (strlen(assigners[i]->name) == n && memcmp(assigners[i]->name, name, n) == 0)
            return assigners[i];
    return NULL;
}

const qh_bits_ops *qh_bits_find(const char *name)
{
    return find(name, strlen(name));
}

void qh_bits_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(assigners); i++)
        fprintf(out, "  %-8s %s\n", assigners[i]->name, assigners[i]->help);
}

static qh_status unknown(const char *where, const char *text)
{
    char names[256] = "";

    for (size_t i = 0; i < QH_COUNT(assigners); i++) {
        size_t used = strlen(names);

        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", assigners[i]->name);
    }
    return qh_fail(QH_EUSAGE, "%s: '%s' is not a bit assigner; there are %s", where, text, names);
}

qh_status qh_bits_choose(const char *where, const char *text, qh_bits_config *c,
                         const qh_bits_ops **out)
{
    const char *colon = strchr(text, ':');
    const qh_bits_ops *ops = find(text, colon ? (size_t)(colon - text) : strlen(text));

    if (!ops)
        return unknown(where, text);
    if (ops->takes_argument && !(colon && colon[1]))
        return qh_fail(QH_EUSAGE, "%s: '%s' lacks its argument; %s", where, text, ops->help);
    if (!ops->takes_argument && colon)
        return qh_fail(QH_EUSAGE, "%s: '%s': %s takes no argument", where, text, ops->name);
    c->argument = colon ? colon + 1 : NULL;
    *out = ops;
    return QH_OK;
}

bool qh_bits_is_width(int64_t width)
{
    return (1 <= width && width <= 8) || width == 16 || width == 32;
}

qh_status qh_bits_parse(const char *where, const char *text, qh_bits_config *out)
{
    uint8_t width[QH_MAX_WIDTHS];
    int n = 0;

    for (const char *at = text;; at++) {
        int len = (int)strcspn(at, ",");
        int64_t w = 0;

        for (int i = 0; i < len && w >= 0; i++)
            w = '0' <= at[i] && at[i] <= '9' && w < 100 ? 10 * w + (at[i] - '0') : -1;
        if (!qh_bits_is_width(w))
            return qh_fail(QH_EUSAGE,
                           "%s: '%.*s' in '%s' is not a bit-width; there are 1 to 8, 16 and 32, "
                           "as in 2,4,8",
                           where, len, at, text);
        if (n > 0 && w <= width[n - 1])
            return qh_fail(QH_EUSAGE, "%s: %lld after %d in '%s'; each width once, rising", where,
                           (long long)w, width[n - 1], text);
        width[n++] = (uint8_t)w; /* rising, so there are never more than all widths */
        at += len;
        if (!*at)
            break;
    }
    memcpy(out->width, width, (size_t)n);
    out->n_widths = n;
    return QH_OK;
}
