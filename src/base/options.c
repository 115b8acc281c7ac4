#include "src/base/options.h"

#include "src/base/mem.h"
#include "src/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void *field_of(const qh_option *o, void *settings)
{
    return (char *)settings + o->offset;
}

static const void *const_field_of(const qh_option *o, const void *settings)
{
    return (const char *)settings + o->offset;
}

qh_status qh_options_default(const qh_option *table, void *settings)
{
    qh_status st = QH_OK;

    for (const qh_option *o = table; o->type != QH_OPT_END; o++) {
        void *field = field_of(o, settings);

        switch (o->type) {
        case QH_OPT_FLAG:
            *(bool *)field = o->def != 0;
            break;
        case QH_OPT_INT:
            *(int64_t *)field = (int64_t)o->def;
            break;
        case QH_OPT_REAL:
            *(double *)field = o->def;
            break;
        case QH_OPT_CHOICE:
            *(int *)field = (int)o->def;
            break;
        case QH_OPT_TEXT:
            if (o->def_text)
                QH_TRY(st, qh_mem_strdup(o->def_text, field));
            break;
        case QH_OPT_LIST:
        case QH_OPT_END:
            break;
        }
    }
out:
    return st;
}

void qh_options_free(const qh_option *table, void *settings)
{
    for (const qh_option *o = table; o->type != QH_OPT_END; o++)
        if (o->type == QH_OPT_TEXT) {
            char **text = field_of(o, settings);

            qh_mem_free(*text);
            *text = NULL;
        } else if (o->type == QH_OPT_LIST) {
            qh_text_list *list = field_of(o, settings);

            for (int64_t i = 0; i < list->n; i++)
                qh_mem_free(list->item[i]);
            qh_mem_free(list->item);
            *list = (qh_text_list){0};
        }
}

const qh_option *qh_options_find(const qh_option *table, const char *name)
{
    for (const qh_option *o = table; o->type != QH_OPT_END; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static qh_status unknown_option(const qh_option *table, const char *where, const char *name)
{
    qh_status st;
    const char **names = NULL, *close;
    int64_t n = 0;

    while (table[n].type != QH_OPT_END)
        n++;
    QH_TRY(st, QH_NEW_ARRAY(&names, n));
    for (int64_t i = 0; i < n; i++)
        names[i] = table[i].name;
    close = qh_did_you_mean(name, names, n);
    st = close ? qh_fail(QH_EUSAGE, "%s: there is no option '%s'; did you mean --%s?", where, name,
                         close)
               : qh_fail(QH_EUSAGE, "%s: there is no option '%s'; --help lists those there are",
                         where, name);
out:
    qh_mem_free(names);
    return st;
}

static qh_status set_choice(const qh_option *o, const char *where, const char *text, int *out)
{
    size_t length = strlen(text), n;
    const char *c = o->choices;

    for (int i = 0;; i++) {
        n = strcspn(c, "|");
        if (n == length && strncmp(c, text, n) == 0) {
            *out = i;
            return QH_OK;
        }
        if (!c[n])
            break;
        c += n + 1;
    }
    return qh_fail(QH_EUSAGE, "%s: '%s' is not one of the choices; %s is wanted", where, text,
                   o->choices);
}

static qh_status set_flag(const char *where, const char *text, bool *out)
{
    bool yes = !text || strcmp(text, "true") == 0;

    if (!yes && strcmp(text, "false") != 0)
        return qh_fail(QH_EUSAGE, "%s: '%s' is neither true nor false", where, text);
    *out = yes;
    return QH_OK;
}

static qh_status set_text(const char *text, char **out)
{
    char *copy = NULL;
    qh_status st = qh_mem_strdup(text, &copy);

    if (st == QH_OK) {
        qh_mem_free(*out);
        *out = copy;
    }
    return st;
}

static qh_status append(const char *text, qh_text_list *list)
{
    qh_status st;
    char *copy = NULL;

    QH_TRY(st, qh_mem_strdup(text, &copy));
    QH_TRY(st, QH_RESIZE(&list->item, list->n, list->n + 1));
    list->item[list->n++] = copy;
    copy = NULL;
out:
    qh_mem_free(copy);
    return st;
}

/* The doubles of a table that gives no range stand for every int64_t. */
static int64_t bound(double b, bool unlimited, int64_t limit)
{
    return unlimited || b <= -9.2e18 || b >= 9.2e18 ? limit : (int64_t)b;
}

qh_status qh_options_set(const qh_option *table, void *settings, const char *where,
                         const char *name, const char *text)
{
    const qh_option *o = qh_options_find(table, name);
    bool unlimited = o && o->min == o->max;
    void *field;

    if (!o)
        return unknown_option(table, where, name);
    if (!text && o->type != QH_OPT_FLAG)
        return qh_fail(QH_EUSAGE, "%s: a value is missing; --%s %s is wanted", where, name,
                       o->value ? o->value : "VALUE");
    field = field_of(o, settings);
    switch (o->type) {
    case QH_OPT_FLAG:
        return set_flag(where, text, field);
    case QH_OPT_INT:
        return qh_parse_int(where, text, bound(o->min, unlimited, INT64_MIN),
                            bound(o->max, unlimited, INT64_MAX), field);
    case QH_OPT_REAL:
        return qh_parse_real(where, text, unlimited ? -1e308 : o->min, unlimited ? 1e308 : o->max,
                             field);
    case QH_OPT_CHOICE:
        return set_choice(o, where, text, field);
    case QH_OPT_TEXT:
        return set_text(text, field);
    case QH_OPT_LIST:
        return append(text, field);
    case QH_OPT_END:
        break;
    }
    return QH_OK;
}

/* The shortest decimal that reads back as the same double. */
static void print_real(double value, char *buf, size_t room)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, room, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            return;
    }
}

static qh_status join(const qh_text_list *list, char **out)
{
    int64_t room = 1;
    char *text = NULL, *end;
    qh_status st;

    for (int64_t i = 0; i < list->n; i++)
        room += (int64_t)strlen(list->item[i]) + 1;
    QH_TRY(st, QH_NEW_ARRAY(&text, room));
    end = text;
    for (int64_t i = 0; i < list->n; i++) {
        end = stpcpy(end, i ? "," : "");
        end = stpcpy(end, list->item[i]);
    }
    *out = text;
out:
    return st;
}

static const char *choice_start(const char *choices, int index)
{
    while (index-- > 0)
        choices += strcspn(choices, "|") + 1;
    return choices;
}

qh_status qh_options_print(const qh_option *o, const void *settings, char **out)
{
    const void *field = const_field_of(o, settings);
    const char *text = "", *choice;
    char buf[256];

    switch (o->type) {
    case QH_OPT_FLAG:
        text = *(const bool *)field ? "true" : "false";
        break;
    case QH_OPT_INT:
        snprintf(buf, sizeof buf, "%" PRId64, *(const int64_t *)field);
        text = buf;
        break;
    case QH_OPT_REAL:
        print_real(*(const double *)field, buf, sizeof buf);
        text = buf;
        break;
    case QH_OPT_CHOICE:
        choice = choice_start(o->choices, *(const int *)field);
        snprintf(buf, sizeof buf, "%.*s", (int)strcspn(choice, "|"), choice);
        text = buf;
        break;
    case QH_OPT_TEXT:
        text = *(char *const *)field ? *(char *const *)field : "";
        break;
    case QH_OPT_LIST:
        return join(field, out);
    case QH_OPT_END:
        break;
    }
    return qh_mem_strdup(text, out);
}

/* " [VALUE]", or nothing where there is no default to tell. */
static void default_text(const qh_option *o, char *buf, size_t room)
{
    char number[64];
    const char *choice;

    buf[0] = '\0';
    switch (o->type) {
    case QH_OPT_INT:
        snprintf(buf, room, " [%" PRId64 "]", (int64_t)o->def);
        break;
    case QH_OPT_REAL:
        print_real(o->def, number, sizeof number);
        snprintf(buf, room, " [%s]", number);
        break;
    case QH_OPT_CHOICE:
        choice = choice_start(o->choices, (int)o->def);
        snprintf(buf, room, " [%.*s]", (int)strcspn(choice, "|"), choice);
        break;
    case QH_OPT_TEXT:
        if (o->def_text)
            snprintf(buf, room, " [%s]", o->def_text);
        break;
    default:
        break;
    }
}

/* Both texts from a column on, in lines of at most 100 characters. */
static void print_wrapped(const char *help, const char *standard, int column, FILE *out)
{
    enum { WIDTH = 100 };
    const char *texts[] = {help, standard};
    int at = column;

    for (size_t i = 0; i < QH_COUNT(texts); i++)
        for (const char *word = texts[i]; *word;) {
            int blanks = (int)strspn(word, " "), n = (int)strcspn(word + blanks, " ");

            if (at + blanks + n > WIDTH && at > column) {
                fprintf(out, "\n%*s", column, "");
                at = column;
                blanks = 0;
                word += strspn(word, " ");
            }
            fprintf(out, "%.*s", blanks + n, word);
            at += blanks + n;
            word += blanks + n;
        }
    fputc('\n', out);
}

void qh_options_help(const qh_option *table, FILE *out)
{
    enum { COLUMN = 30 };

    for (const qh_option *o = table; o->type != QH_OPT_END; o++) {
        const char *value = o->value ? o->value : o->type == QH_OPT_CHOICE ? o->choices : "VALUE";
        bool valued = o->type != QH_OPT_FLAG;
        char standard[256];
        int width;

        if (o->group)
            fprintf(out, "%s%s:\n", o == table ? "" : "\n", o->group);
        width = fprintf(out, "  --%s%s%s", o->name, valued ? " " : "", valued ? value : "");
        if (width + 2 > COLUMN) { /* a long one has its line */
            fputc('\n', out);
            width = 0;
        }
        fprintf(out, "%*s", COLUMN - width, "");
        default_text(o, standard, sizeof standard);
        print_wrapped(o->help ? o->help : "", standard, COLUMN, out);
    }
}

/* Edit distance, whatever the case of letters, with insertions, deletions, replacements and swaps
 * of neighbours (Damerau, CACM 7(3), 1964). Words longer than the table are as far as can be. */
static int edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    int d[LONGEST + 1][LONGEST + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > LONGEST || m > LONGEST)
        return n > m ? n : m;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            int best;

            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            best = d[i - 1][j - 1] + (tolower(a[i - 1]) != tolower(b[j - 1]));
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

const char *qh_did_you_mean(const char *word, const char *const *names, int64_t n)
{
    int limit = (int)strlen(word) / 3 > 1 ? (int)strlen(word) / 3 : 1;
    const char *closest = NULL;

    for (int64_t i = 0; i < n; i++) {
        int distance = edit_distance(word, names[i]);

        if (distance <= limit) {
            limit = distance - 1; /* the first of equals stays */
            closest = names[i];
        }
    }
    return closest;
}
