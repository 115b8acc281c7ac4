#include "sim/link_loads.h"

#include "src/base/mem.h"

#include <stdlib.h>

static int hotter(const void *a, const void *b)
{
    const qh_link_load *x = a, *y = b;

    if (x->utilisation != y->utilisation)
        return x->utilisation > y->utilisation ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

qh_status qh_link_loads(const qh_netmodel *net, qh_time end, qh_link_load **out, int64_t *n)
{
    int64_t n_links = net && net->ops->n_links ? net->ops->n_links(net) : 0, used = 0;
    qh_link_load *load = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&load, n_links));
    for (int64_t i = 0; i < n_links; i++) {
        qh_link_load *l = &load[used];
        double could;

        net->ops->link(net, i, &l->link);
        l->number = i;
        could = l->link.bytes_per_s * qh_seconds(end);
        l->utilisation = could > 0 ? (double)l->link.bytes / could : 0;
        used += l->link.bytes > 0;
    }
    qsort(load, (size_t)used, sizeof *load, hotter);
    *out = load;
    *n = used;
out:
    return st;
}

qh_status qh_most_senders(const qh_traffic_row *rows, int64_t n, int n_devices, int *out)
{
    int n_layers = 1, most = 0;
    int *count = NULL;
    qh_status st;

    for (int64_t i = 0; i < n; i++)
        n_layers = rows[i].layer >= n_layers ? rows[i].layer + 1 : n_layers;
    QH_TRY(st, QH_NEW_ARRAY(&count, (int64_t)2 * n_layers * n_devices));
    for (int64_t i = 0; i < n; i++) {
        const qh_traffic_row *r = &rows[i];
        int *c = &count[(r->dst * n_layers + r->layer) * 2 + r->direction];

        most = ++*c > most ? *c : most;
    }
    *out = most;
out:
    qh_mem_free(count);
    return st;
}
