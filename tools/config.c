/* Configuration files: the keys are names of options, the values what would follow them. */
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/yaml.h"
#include "tools/args.h"

#include <string.h>

enum { LARGEST = 1 << 20 };

static qh_status visit_value(const qh_yaml *y, const qh_yaml_node *value, const char *key,
                             qh_args_visit visit, void *ctx)
{
    const char *text;
    qh_status st;

    QH_TRY(st, qh_yaml_text(y, value, key, &text));
    QH_TRY(st, visit(ctx, qh_yaml_where(y, value), key, text));
out:
    return st;
}

/* A list under a key: one call an item where the flag may be repeated, else joined by commas. */
static qh_status visit_list(const qh_yaml *y, const qh_yaml_node *list, const qh_option *o,
                            qh_args_visit visit, void *ctx)
{
    char joined[1024] = "";
    size_t length = 0;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < qh_yaml_size(list); i++) {
        const qh_yaml_node *item = qh_yaml_item(list, i);
        const char *text;

        QH_TRY(st, qh_yaml_text(y, item, o->name, &text));
        if (o->type == QH_OPT_LIST) {
            QH_TRY(st, visit(ctx, qh_yaml_where(y, item), o->name, text));
            continue;
        }
        length +=
            (size_t)snprintf(joined + length, sizeof joined - length, "%s%s", i ? "," : "", text);
        if (length >= sizeof joined) {
            st =
                qh_fail(QH_EUSAGE, "%s: %s: the list is too long", qh_yaml_where(y, item), o->name);
            goto out;
        }
    }
    if (o->type != QH_OPT_LIST)
        QH_TRY(st, visit(ctx, qh_yaml_where(y, list), o->name, joined));
out:
    return st;
}

static qh_status visit_pairs(const qh_args *a, const qh_yaml *y, qh_args_visit visit, void *ctx)
{
    const qh_yaml_node *map = qh_yaml_root(y);
    qh_status st = QH_OK;

    for (int64_t i = 0; i < qh_yaml_size(map); i++) {
        const qh_yaml_node *value = qh_yaml_value(map, i);
        const char *key = qh_yaml_key(y, map, i);
        const qh_option *o = NULL;

        if (strcmp(key, "config") == 0) {
            st = qh_fail(QH_EUSAGE, "%s: a configuration names no other; write its keys here",
                         qh_yaml_where(y, value));
            goto out;
        }
        qh_args_find(a, key, &o);
        if (qh_yaml_is_sequence(value))
            QH_TRY(st, visit_list(y, value, o, visit, ctx));
        else
            QH_TRY(st, visit_value(y, value, key, visit, ctx));
    }
out:
    return st;
}

qh_status qh_args_scan_file(const qh_args *a, const char *path, qh_args_visit visit, void *ctx)
{
    qh_status st;
    char *text = NULL;
    qh_yaml *y = NULL;
    const char **names = NULL;
    int64_t n;

    st = qh_file_read_text(path, LARGEST, &text);
    if (st == QH_EINPUT) /* a wrong option, not bad data */
        st = qh_fail(QH_EUSAGE, "--config: %s", qh_error_text());
    QH_TRY(st, st);
    QH_TRY(st, qh_yaml_parse(path, text, (int64_t)strlen(text), QH_EUSAGE, &y));
    QH_TRY(st, qh_args_names(a, &names, &n));
    QH_TRY(st, qh_yaml_check_keys(y, qh_yaml_root(y), names, n));
    QH_TRY(st, visit_pairs(a, y, visit, ctx));
out:
    qh_mem_free(names);
    qh_yaml_free(y);
    qh_mem_free(text);
    return st;
}
