#include "tools/compare_nets.h"

#include "tools/json.h"
#include "tools/runfolder.h"
#include "tools/table.h"

#include "src/base/file.h"
#include "src/base/mem.h"

#include <string.h>

qh_status qh_net_list_read(const char *text, qh_net_list *out)
{
    qh_net_list l = {0};
    char *rest = NULL;
    qh_status st;

    QH_TRY(st, qh_mem_strdup(text, &l.text));
    for (char *name = strtok_r(l.text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (l.n == (int64_t)QH_COUNT(l.name)) {
            st = qh_fail(QH_EUSAGE, "--net: more than %zu are named", QH_COUNT(l.name));
            goto out;
        }
        l.name[l.n++] = name;
    }
    if (l.n == 0) {
        st = qh_fail(QH_EUSAGE,
                     "--net: names no network; --net switch-1g,switch-10g compares on two");
        goto out;
    }
    *out = l;
    l = (qh_net_list){0};
out:
    qh_net_list_fini(&l);
    return st;
}

void qh_net_list_fini(qh_net_list *l)
{
    qh_mem_free(l->text);
    *l = (qh_net_list){0};
}

qh_status qh_net_folder(const char *out, const char *net, char **folder)
{
    char name[256];

    *folder = NULL;
    if (!out)
        return QH_OK;
    snprintf(name, sizeof name, "%s", net);
    for (char *c = name; *c; c++)
        if (*c == ':' || *c == '/')
            *c = '-';
    return qh_path_join(out, name, folder);
}

qh_status qh_nets_print(const qh_net_list *nets, char *const *methods, int64_t n_methods,
                        const double *speedup)
{
    qh_table t = {0};

    printf("speed-up over %s, by network\n\n", methods[0]);
    qh_table_cell(&t, "network");
    for (int64_t i = 0; i < n_methods && i + 1 < QH_TABLE_COLUMNS; i++)
        qh_table_cell(&t, "%s", methods[i]);
    qh_table_row(&t);
    for (int64_t n = 0; n < nets->n; n++) {
        qh_table_cell(&t, "%s", nets->name[n]);
        for (int64_t i = 0; i < n_methods && i + 1 < QH_TABLE_COLUMNS; i++)
            qh_table_cell(&t, "%.2fx", speedup[n * n_methods + i]);
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

qh_status qh_nets_json(const qh_net_list *nets, json_t *all)
{
    json_t *o, *one;
    size_t i;
    qh_status st;

    json_array_foreach(all, i, one) json_object_set_new(one, "net", qh_json_text(nets->name[i]));
    o = json_pack("{s:s,s:O}", "schema", "qhalo.compare-networks/1", "networks", all);
    st = qh_json_print(o, stdout);
    json_decref(o);
    return st;
}
