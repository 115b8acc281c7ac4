#include "tools/args.h"

#include "src/base/mem.h"

#include <string.h>

const qh_arg_set *qh_args_find(const qh_args *a, const char *name, const qh_option **option)
{
    for (int i = 0; i < a->n_sets; i++) {
        *option = qh_options_find(a->set[i].table, name);
        if (*option)
            return &a->set[i];
    }
    return NULL;
}

qh_status qh_args_names(const qh_args *a, const char ***names, int64_t *n)
{
    qh_status st;
    int64_t count = 0;

    for (int i = 0; i < a->n_sets; i++)
        for (const qh_option *o = a->set[i].table; o->type != QH_OPT_END; o++)
            count++;
    QH_TRY(st, QH_NEW_ARRAY(names, count));
    count = 0;
    for (int i = 0; i < a->n_sets; i++)
        for (const qh_option *o = a->set[i].table; o->type != QH_OPT_END; o++)
            (*names)[count++] = o->name;
    *n = count;
out:
    return st;
}

static qh_status unknown(const qh_args *a, const char *where)
{
    qh_status st;
    const char **names = NULL, *close;
    int64_t n;

    QH_TRY(st, qh_args_names(a, &names, &n));
    close = qh_did_you_mean(where + 2, names, n);
    if (close)
        st = qh_fail(QH_EUSAGE, "%s: there is no such option; did you mean --%s?", where, close);
    else
        st = qh_fail(QH_EUSAGE, "%s: there is no such option; --help lists those there are", where);
out:
    qh_mem_free(names);
    return st;
}

qh_status qh_args_store(void *ctx, const char *where, const char *name, const char *text)
{
    const qh_option *o;
    const qh_arg_set *set = qh_args_find(ctx, name, &o);

    QH_ASSERT(set);
    return qh_options_set(set->table, set->settings, where, name, text);
}

/* The option at argv[i]; *used is how many words it takes. */
static qh_status scan_option(qh_args *a, int left, char **argv, int *used, qh_args_visit visit,
                             void *ctx)
{
    enum { LONGEST = 64 };
    const char *word = strcmp(argv[0], "-o") == 0 ? "--output" : argv[0], *text;
    size_t length = strcspn(word, "=");
    char where[LONGEST + 1];
    const qh_option *o;

    snprintf(where, sizeof where, "%.*s", length < LONGEST ? (int)length : LONGEST, word);
    *used = 1;
    text = word[length] ? word + length + 1 : NULL;
    if (!qh_args_find(a, where + 2, &o))
        return unknown(a, where);
    /* A value may look like anything but the next long option, which means that it is missing. */
    if (!text && o->type != QH_OPT_FLAG && left > 1 && strncmp(argv[1], "--", 2) != 0) {
        text = argv[1];
        *used = 2;
    }
    if (!text && o->type != QH_OPT_FLAG)
        return qh_fail(QH_EUSAGE, "%s: its value is missing; %s %s is wanted", where, where,
                       o->value     ? o->value
                       : o->choices ? o->choices
                                    : "VALUE");
    return visit(ctx, where, o->name, text);
}

qh_status qh_args_scan(qh_args *a, int argc, char **argv, qh_args_visit visit, void *ctx)
{
    qh_status st = QH_OK;
    bool options = true;

    a->n_operands = 0;
    for (int i = 0, used = 1; i < argc; i += used, used = 1) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && (strncmp(argv[i], "--", 2) == 0 || strcmp(argv[i], "-o") == 0)) {
            QH_TRY(st, scan_option(a, argc - i, &argv[i], &used, visit, ctx));
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            st = qh_fail(QH_EUSAGE, "%s: options are written with two dashes; --help lists them",
                         argv[i]);
            goto out;
        } else if (a->n_operands == QH_MAX_OPERANDS) {
            st =
                qh_fail(QH_EUSAGE, "%s: more than %d operands are given", argv[i], QH_MAX_OPERANDS);
            goto out;
        } else {
            a->operand[a->n_operands++] = argv[i];
        }
    }
out:
    return st;
}

qh_status qh_args_default(const qh_args *a)
{
    qh_status st = QH_OK;

    for (int i = 0; i < a->n_sets; i++)
        QH_TRY(st, qh_options_default(a->set[i].table, a->set[i].settings));
out:
    return st;
}

void qh_args_free(const qh_args *a)
{
    for (int i = 0; i < a->n_sets; i++)
        qh_options_free(a->set[i].table, a->set[i].settings);
}

qh_status qh_args_read(qh_args *a, int argc, char **argv)
{
    qh_status st;

    QH_TRY(st, qh_args_default(a));
    QH_TRY(st, qh_args_scan(a, argc, argv, qh_args_store, a));
out:
    return st;
}

qh_status qh_args_want(const qh_args *a, const char *command, int n, const char *names)
{
    const char *missing = names;

    if (a->n_operands > n)
        return qh_fail(QH_EUSAGE, "%s: '%s' is one word too many; %s is wanted", command,
                       a->operand[n], *names ? names : "no operand");
    if (a->n_operands == n)
        return QH_OK;
    for (int i = 0; i < a->n_operands; i++)
        missing += strcspn(missing, " ") + 1;
    return qh_fail(QH_EUSAGE, "%s: %.*s is missing; qhalo %s --help says more", command,
                   (int)strcspn(missing, " "), missing, command);
}
