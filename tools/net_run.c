#include "tools/net_run.h"

#include "tools/json.h"
#include "tools/table.h"

#include "netmodel/plan.h"

#include <stdlib.h>

static json_t *id_json(const qh_plan_flow *f)
{
    return f->id_is_number ? json_integer(atoll(f->id)) : qh_json_text(f->id);
}

static json_t *flows_json(const qh_plan *p)
{
    json_t *flows = json_array();

    for (int64_t i = 0; i < p->n_flows; i++)
        json_array_append_new(flows, json_pack("{s:o,s:o,s:o}", "id", id_json(&p->flow[i]), "start",
                                               qh_json_real(qh_seconds(p->flow[i].start)), "finish",
                                               qh_json_real(qh_seconds(p->flow[i].finish))));
    return flows;
}

/* Bytes carried over bytes that the link could have carried until the last flow finished. */
static double utilisation(const qh_net_link *l, const qh_plan *p)
{
    double could = l->bytes_per_s * qh_seconds(p->makespan);

    return could > 0 ? (double)l->bytes / could : 0;
}

static json_t *links_json(const qh_plan *p, const qh_netmodel *m)
{
    json_t *links = json_array();

    for (int64_t i = 0; m->ops->n_links && i < m->ops->n_links(m); i++) {
        qh_net_link l;

        m->ops->link(m, i, &l);
        json_array_append_new(links, json_pack("{s:o,s:I,s:o}", "id", qh_json_text(l.name), "bytes",
                                               (json_int_t)l.bytes, "utilisation",
                                               qh_json_real(utilisation(&l, p))));
    }
    return links;
}

static qh_status print_json(const qh_plan *p, const qh_netmodel *m)
{
    json_t *o =
        json_pack("{s:s,s:o,s:o,s:o}", "schema", "qhalo.flows/1", "flows", flows_json(p),
                  "makespan", qh_json_real(qh_seconds(p->makespan)), "links", links_json(p, m));
    qh_status st = qh_json_print(o, stdout);

    json_decref(o);
    return st;
}

static qh_status print_flows(const qh_plan *p)
{
    static const char *const heads[] = {"flow", "from", "to", "bytes", "start s", "finish s"};
    qh_table t = {0};

    for (size_t h = 0; h < QH_COUNT(heads); h++)
        qh_table_cell(&t, "%s", heads[h]);
    qh_table_row(&t);
    for (int64_t i = 0; i < p->n_flows; i++) {
        const qh_plan_flow *f = &p->flow[i];

        qh_table_cell(&t, "%s", f->id);
        qh_table_cell(&t, "%d", f->src);
        qh_table_cell(&t, "%d", f->dst);
        qh_table_cell(&t, "%lld", (long long)f->bytes);
        qh_table_cell(&t, "%.12f", qh_seconds(f->start));
        qh_table_cell(&t, "%.12f", qh_seconds(f->finish));
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

/* Links that carried nothing are left out. */
static qh_status print_links(const qh_plan *p, const qh_netmodel *m)
{
    static const char *const heads[] = {"link", "bytes", "utilisation"};
    qh_table t = {0};

    for (size_t h = 0; h < QH_COUNT(heads); h++)
        qh_table_cell(&t, "%s", heads[h]);
    qh_table_row(&t);
    for (int64_t i = 0; m->ops->n_links && i < m->ops->n_links(m); i++) {
        qh_net_link l;

        m->ops->link(m, i, &l);
        if (l.bytes == 0)
            continue;
        qh_table_cell(&t, "%s", l.name);
        qh_table_cell(&t, "%lld", (long long)l.bytes);
        qh_table_cell(&t, "%.1f %%", 100 * utilisation(&l, p));
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static qh_status print_text(const qh_plan *p, const qh_netmodel *m)
{
    char text[QH_UNIT_TEXT_BYTES];
    qh_status st;

    QH_TRY(st, print_flows(p));
    printf("\nmakespan %s\n\n", qh_print_seconds(qh_seconds(p->makespan), text));
    if (m->ops->n_links)
        QH_TRY(st, print_links(p, m));
    else
        printf("the model %s has no links\n", m->ops->name);
out:
    return st;
}

qh_status qh_net_run(const char *path, const char *net, bool json)
{
    qh_plan p = {0};
    qh_netmodel *m = NULL;
    qh_status st;

    QH_TRY(st, qh_plan_read(path, &p, net ? NULL : &m));
    if (net) {
        QH_TRY(st, qh_netmodel_open(net, p.n_devices, &m));
    } else if (!m) {
        st = qh_fail(QH_EUSAGE, "net run: %s has no links and routes; --net NAME gives a network",
                     path);
        goto out;
    }
    QH_TRY(st, qh_plan_run(&p, m));
    QH_TRY(st, json ? print_json(&p, m) : print_text(&p, m));
out:
    qh_netmodel_close(m);
    qh_plan_fini(&p);
    return st;
}
