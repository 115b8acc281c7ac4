/* star: every device has a link of its own to one switch that never gets in the way. A route is
 * the sender's link out and the receiver's link in. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

typedef struct star {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link class;
} star;

static void close_topo(qh_topo *t)
{
    qh_mem_free((star *)t);
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "link"};
    star *t = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_star;
    t->base.longest = 2;
    QH_TRY(st, qh_topo_read_class(y, map, "link", &t->class));
    for (int d = 0; d < n_devices; d++) {
        QH_TRY(st, qh_topo_add(&t->base, &t->class, "device %d out", d));
        QH_TRY(st, qh_topo_add(&t->base, &t->class, "device %d in", d));
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
    (void)t;
    out[0] = 2 * src;
    out[1] = 2 * dst + 1;
    return 2;
}

static void show(const qh_topo *t, FILE *out)
{
    fprintf(out, "  star: each device has a link to one switch; a route is the sender's link and "
                 "the receiver's\n");
    qh_topo_show_class("device links", &((const star *)t)->class, out);
}

const qh_topo_ops qh_topo_star = {
    .name = "star",
    .help = "devices on one switch",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .show = show,
};
