/* dragonfly (Kim, Dally, Scott and Abts, Technology-driven, highly-scalable dragonfly topology,
 * ISCA 2008): groups of a routers, each with p devices, a link to every other router of its group,
 * and h links to other groups. There are a h + 1 groups at most, and then one link between any two.
 *
 * Global port q = 0 .. a h - 1 of group G belongs to router q / h of it and leads to the q-th other
 * group, that is group q where q < G, else q + 1. Routes are minimal: to the router of the own
 * group that has the link to the other group, over it, and to the router of the destination. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

typedef struct dragonfly {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link device, local, global;
    int64_t p, a, h, groups;
    int64_t first_local, first_global; /* link numbers */
} dragonfly;

static void close_topo(qh_topo *t)
{
    qh_mem_free((dragonfly *)t);
}

static qh_status read_shape(const qh_yaml *y, const qh_yaml_node *map, dragonfly *t)
{
    qh_status st;

    QH_TRY(st, qh_yaml_int(y, map, "devices_per_router", true, 1, 1024, &t->p));
    QH_TRY(st, qh_yaml_int(y, map, "routers_per_group", true, 1, 1024, &t->a));
    QH_TRY(st, qh_yaml_int(y, map, "global_links_per_router", true, 1, 1024, &t->h));
    t->groups = t->a * t->h + 1;
    QH_TRY(st, qh_yaml_int(y, map, "groups", false, 1, t->a * t->h + 1, &t->groups));
    if (t->groups * t->a * (2 * t->p + t->a + t->h) > QH_TOPO_MAX_LINKS)
        st = qh_yaml_fail(y, map, "a dragonfly of %lld routers is too large; the most is %d links",
                          (long long)(t->groups * t->a), QH_TOPO_MAX_LINKS);
out:
    return st;
}

static int64_t room(const qh_yaml *y, const qh_yaml_node *map)
{
    dragonfly t = {0};

    return read_shape(y, map, &t) == QH_OK ? t.groups * t.a * t.p : 0;
}

/* Local links: router r of group G to router s of it, number (G a + r) a + s; s = r is no link but
 * keeps the count simple. Global links: port q of group G, number G a h + q. */
static qh_status add_links(dragonfly *t)
{
    int64_t n_routers = t->groups * t->a;
    qh_status st = QH_OK;

    for (int64_t d = 0; d < n_routers * t->p; d++) {
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %lld out", (long long)d));
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %lld in", (long long)d));
    }
    t->first_local = t->base.n_links;
    for (int64_t i = 0; i < n_routers * t->a; i++)
        QH_TRY(st, qh_topo_add(&t->base, &t->local, "group %lld router %lld to %lld",
                               (long long)(i / t->a / t->a), (long long)(i / t->a % t->a),
                               (long long)(i % t->a)));
    t->first_global = t->base.n_links;
    for (int64_t i = 0; i < n_routers * t->h; i++) {
        int64_t g = i / (t->a * t->h), q = i % (t->a * t->h);

        QH_TRY(st, qh_topo_add(&t->base, &t->global, "group %lld to group %lld", (long long)g,
                               (long long)(q < g ? q : q + 1)));
    }
out:
    return st;
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS,
                                       QH_TOPO_COMMON_KEYS,
                                       "devices_per_router",
                                       "routers_per_group",
                                       "global_links_per_router",
                                       "groups",
                                       "device",
                                       "local",
                                       "global"};
    dragonfly *t = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_dragonfly;
    t->base.longest = 5;
    QH_TRY(st, read_shape(y, map, t));
    QH_TRY(st, qh_topo_check_room(y, map, n_devices, t->groups * t->a * t->p));
    QH_TRY(st, qh_topo_read_class(y, map, "device", &t->device));
    QH_TRY(st, qh_topo_read_class(y, map, "local", &t->local));
    QH_TRY(st, qh_topo_read_class(y, map, "global", &t->global));
    QH_TRY(st, add_links(t));
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

/* The port of group from that leads to group to. */
static int64_t port(int64_t from, int64_t to)
{
    return to < from ? to : to - 1;
}

static int32_t route(const qh_topo *topo, int src, int dst, int32_t *out)
{
    const dragonfly *t = (const dragonfly *)topo;
    int64_t at = src / t->p, to = dst / t->p, from_group = at / t->a, to_group = to / t->a;
    int32_t n = 0;

    out[n++] = 2 * src;
    if (from_group != to_group) {
        int64_t q = port(from_group, to_group), exit = from_group * t->a + q / t->h;

        if (at != exit)
            out[n++] = (int32_t)(t->first_local + at * t->a + exit % t->a);
        out[n++] = (int32_t)(t->first_global + from_group * t->a * t->h + q);
        at = to_group * t->a + port(to_group, from_group) / t->h;
    }
    if (at != to)
        out[n++] = (int32_t)(t->first_local + at * t->a + to % t->a);
    out[n++] = 2 * dst + 1;
    return n;
}

static void show(const qh_topo *topo, FILE *out)
{
    const dragonfly *t = (const dragonfly *)topo;

    fprintf(out,
            "  dragonfly: %lld groups of %lld routers with %lld devices each, for up to %lld "
            "devices; routes are minimal: local, global, local\n",
            (long long)t->groups, (long long)t->a, (long long)t->p,
            (long long)(t->groups * t->a * t->p));
    qh_topo_show_class("device links", &t->device, out);
    qh_topo_show_class("local links", &t->local, out);
    qh_topo_show_class("global links", &t->global, out);
}

const qh_topo_ops qh_topo_dragonfly = {
    .name = "dragonfly",
    .help = "groups of routers, one link between any two groups",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .room = room,
    .show = show,
};
