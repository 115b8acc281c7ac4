/* ring: device d has a link to d + 1 and one to d - 1 (mod N), each of its own. Routes go the
 * shorter way round; where both are as long, upwards. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

typedef struct ring {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link class;
} ring;

static void close_topo(qh_topo *t)
{
    qh_mem_free((ring *)t);
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "link"};
    ring *t = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_ring;
    t->base.longest = n_devices / 2 > 1 ? n_devices / 2 : 1;
    if (t->base.longest > QH_TOPO_LONGEST) {
        st = qh_yaml_fail(y, map, "a ring of %d devices has routes of %d links; %d is the most",
                          n_devices, t->base.longest, QH_TOPO_LONGEST);
        goto out;
    }
    QH_TRY(st, qh_topo_read_class(y, map, "link", &t->class));
    for (int d = 0; d < n_devices; d++) {
        QH_TRY(st, qh_topo_add(&t->base, &t->class, "%d to %d", d, (d + 1) % n_devices));
        QH_TRY(st,
               qh_topo_add(&t->base, &t->class, "%d to %d", d, (d + n_devices - 1) % n_devices));
    }
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

static int32_t route(const qh_topo *t, int src, int dst, int32_t *out)
{
    int n = t->n_devices, up = ((dst - src) % n + n) % n, down = n - up;
    int32_t count = 0;

    if (up <= down)
        for (int d = src; count < up; d = (d + 1) % n)
            out[count++] = 2 * d;
    else
        for (int d = src; count < down; d = (d + n - 1) % n)
            out[count++] = 2 * d + 1;
    return count;
}

static void show(const qh_topo *t, FILE *out)
{
    fprintf(out, "  ring: each device has a link to the next and one to the one before; routes go "
                 "the shorter way, upwards where both are as long\n");
    qh_topo_show_class("links", &((const ring *)t)->class, out);
}

const qh_topo_ops qh_topo_ring = {
    .name = "ring",
    .help = "each device linked to its two neighbours",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .show = show,
};
