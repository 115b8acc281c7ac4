#include "netmodel/topo_links.h"

#include "netmodel/members.h"
#include "src/base/mem.h"
#include "src/base/options.h"

#include <stdlib.h>
#include <string.h>

typedef struct id {
    const char *text; /* borrowed from the document */
    int32_t link;
} id;

typedef struct table {
    qh_topo base;   /* first: a qh_topo is at its head */
    int n;          /* devices that routes may name */
    int64_t *first; /* owned, [n * n]: of a pair's links in hop; -1: no route */
    int32_t *hop;   /* owned: for each route its count, then its links */
    int64_t n_hops, hop_room;
    id *ids; /* owned, while reading: by text */
} table;

static void close_topo(qh_topo *topo)
{
    table *t = (table *)topo;

    qh_mem_free(t->ids);
    qh_mem_free(t->hop);
    qh_mem_free(t->first);
    qh_mem_free(t);
}

static int by_text(const void *a, const void *b)
{
    const id *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order ? order : (x->link > y->link) - (x->link < y->link);
}

/* --- links --- */

static qh_status read_link(const qh_yaml *y, const qh_yaml_node *map, qh_link *out)
{
    static const char *const keys[] = {"id", "bandwidth", "bandwidth_Bps", "latency", "latency_s"};
    double latency_s = 0;
    qh_link l = {0};
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    for (size_t i = 1; i < QH_COUNT(keys); i += 2)
        if (qh_yaml_get(map, keys[i]) && qh_yaml_get(map, keys[i + 1]))
            return qh_yaml_fail(y, map, "%s and %s say the same; keep one", keys[i], keys[i + 1]);
    if (qh_yaml_get(map, "bandwidth_Bps")) {
        const qh_yaml_node *node = qh_yaml_get(map, "bandwidth_Bps");

        QH_TRY(st, qh_yaml_parse_real(y, node, "bandwidth_Bps", 0, 1e18, &l.bytes_per_s));
        if (!(l.bytes_per_s > 0))
            return qh_yaml_fail(y, node, "bandwidth_Bps: has to be above 0");
    } else {
        QH_TRY(st, qh_yaml_rate(y, map, "bandwidth", true, &l.bytes_per_s));
    }
    if (qh_yaml_get(map, "latency_s")) {
        QH_TRY(st, qh_yaml_real(y, map, "latency_s", true, 0, 1e6, &latency_s));
        l.latency = qh_time_of_seconds(latency_s);
    } else {
        QH_TRY(st, qh_yaml_duration(y, map, "latency", true, &l.latency));
    }
    *out = l;
out:
    return st;
}

static qh_status check_twice(const qh_yaml *y, const qh_yaml_node *list, const table *t)
{
    for (int32_t i = 1; i < t->base.n_links; i++)
        if (strcmp(t->ids[i - 1].text, t->ids[i].text) == 0)
            return qh_yaml_fail(y, qh_yaml_item(list, t->ids[i].link),
                                "link '%s' is there twice (first at %s); once is enough",
                                t->ids[i].text,
                                qh_yaml_where(y, qh_yaml_item(list, t->ids[i - 1].link)));
    return QH_OK;
}

static qh_status read_links(const qh_yaml *y, const qh_yaml_node *map, table *t)
{
    const qh_yaml_node *list = qh_yaml_get(map, "links");
    int64_t n;
    qh_status st;

    if (!list || !qh_yaml_is_sequence(list))
        return qh_yaml_fail(y, list ? list : map,
                            "'links' is to be a list; links: [{id: a, bandwidth: 10GB/s, latency: "
                            "5us}, ...]");
    n = qh_yaml_size(list);
    QH_TRY(st, QH_NEW_ARRAY(&t->ids, n));
    for (int64_t i = 0; i < n; i++) {
        const qh_yaml_node *item = qh_yaml_item(list, i), *name = qh_yaml_get(item, "id");
        qh_link l = {0};

        QH_TRY(st, read_link(y, item, &l));
        if (!name)
            return qh_yaml_fail(y, item, "the key 'id' is missing");
        QH_TRY(st, qh_yaml_text(y, name, "id", &t->ids[i].text));
        if (strlen(t->ids[i].text) >= QH_NET_LINK_NAME_BYTES || t->ids[i].text[0] == '\0')
            return qh_yaml_fail(y, name, "an id has 1 to %d bytes", QH_NET_LINK_NAME_BYTES - 1);
        t->ids[i].link = (int32_t)i;
        QH_TRY(st, qh_topo_add(&t->base, &l, "%s", t->ids[i].text));
    }
    qsort(t->ids, (size_t)n, sizeof *t->ids, by_text);
    QH_TRY(st, check_twice(y, list, t));
out:
    return st;
}

/* --- routes --- */

static qh_status find_link(const qh_yaml *y, const qh_yaml_node *node, const table *t, int32_t *out)
{
    const char *text = NULL;
    int32_t low = 0, high = t->base.n_links;
    qh_status st;

    QH_TRY(st, qh_yaml_text(y, node, "a link of a route", &text));
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (strcmp(t->ids[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->base.n_links || strcmp(t->ids[low].text, text) != 0)
        return qh_yaml_fail(y, node, "there is no link '%s' in links", text);
    *out = t->ids[low].link;
out:
    return st;
}

static qh_status read_hops(const qh_yaml *y, const qh_yaml_node *route, table *t)
{
    const qh_yaml_node *list = qh_yaml_get(route, "links");
    int64_t n, start = t->n_hops;
    qh_status st = QH_OK;

    if (!list || !qh_yaml_is_sequence(list) || qh_yaml_size(list) == 0)
        return qh_yaml_fail(y, list ? list : route,
                            "a route has a list of links; links: [a, b], at least one");
    n = qh_yaml_size(list);
    if (n > QH_TOPO_LONGEST)
        return qh_yaml_fail(y, list, "a route of %lld links; %d is the most", (long long)n,
                            QH_TOPO_LONGEST);
    if (t->n_hops + n + 1 > t->hop_room) {
        int64_t more = 2 * t->hop_room + n + 64;

        QH_TRY(st, QH_RESIZE(&t->hop, t->hop_room, more));
        t->hop_room = more;
    }
    t->hop[t->n_hops++] = (int32_t)n;
    for (int64_t i = 0; i < n; i++) {
        QH_TRY(st, find_link(y, qh_yaml_item(list, i), t, &t->hop[t->n_hops]));
        for (int64_t k = start + 1; k < t->n_hops; k++)
            if (t->hop[k] == t->hop[t->n_hops])
                return qh_yaml_fail(y, qh_yaml_item(list, i), "the route uses link '%s' twice",
                                    t->base.link[t->hop[k]].name);
        t->n_hops++;
    }
    if (n > t->base.longest)
        t->base.longest = (int32_t)n;
out:
    return st;
}

static qh_status read_end(const qh_yaml *y, const qh_yaml_node *route, const char *key, int n,
                          int64_t *out)
{
    return qh_yaml_int(y, route, key, true, 0, (n ? n : QH_TOPO_LINKS_MAX_DEVICES) - 1, out);
}

static qh_status read_route(const qh_yaml *y, const qh_yaml_node *route, table *t)
{
    static const char *const keys[] = {"src", "dst", "links"};
    int64_t src = 0, dst = 0, start = t->n_hops, *first;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, route, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, read_end(y, route, "src", t->n, &src));
    QH_TRY(st, read_end(y, route, "dst", t->n, &dst));
    if (src == dst)
        return qh_yaml_fail(y, route, "a route from device %lld to itself; src and dst differ",
                            (long long)src);
    first = &t->first[src * t->n + dst];
    if (*first >= 0)
        return qh_yaml_fail(y, route,
                            "a second route from device %lld to device %lld; give one a pair",
                            (long long)src, (long long)dst);
    QH_TRY(st, read_hops(y, route, t));
    *first = start;
out:
    return st;
}

/* The devices that routes name: the highest number and one. */
static qh_status count(const qh_yaml *y, const qh_yaml_node *list, int64_t *out)
{
    int64_t n = 0;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < qh_yaml_size(list); i++) {
        int64_t src = 0, dst = 0;

        QH_TRY(st, read_end(y, qh_yaml_item(list, i), "src", 0, &src));
        QH_TRY(st, read_end(y, qh_yaml_item(list, i), "dst", 0, &dst));
        n = src >= n ? src + 1 : n;
        n = dst >= n ? dst + 1 : n;
    }
    *out = n;
out:
    return st;
}

static qh_status check_pairs(const qh_yaml *y, const qh_yaml_node *routes, const table *t)
{
    for (int src = 0; src < t->n; src++)
        for (int dst = 0; dst < t->n; dst++)
            if (src != dst && t->first[(int64_t)src * t->n + dst] < 0)
                return qh_yaml_fail(y, routes,
                                    "no route from device %d to device %d; add {src: %d, dst: %d, "
                                    "links: [...]}",
                                    src, dst, src, dst);
    return QH_OK;
}

qh_status qh_topo_links_read(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                             bool every_pair, qh_topo **out)
{
    const qh_yaml_node *routes = qh_yaml_get(map, "routes");
    int64_t n = n_devices, named = 0;
    table *t = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_links;
    t->base.longest = 1;
    QH_TRY(st, read_links(y, map, t));
    if (!routes || !qh_yaml_is_sequence(routes)) {
        st = qh_yaml_fail(y, routes ? routes : map,
                          "'routes' is to be a list; routes: [{src: 0, dst: 1, links: [a]}, ...]");
        goto out;
    }
    QH_TRY(st, count(y, routes, &named));
    n = n ? n : named;
    t->n = (int)n;
    t->base.n_devices = (int)n;
    QH_TRY(st, QH_NEW_ARRAY(&t->first, n * n));
    for (int64_t i = 0; i < n * n; i++)
        t->first[i] = -1;
    for (int64_t i = 0; i < qh_yaml_size(routes); i++)
        QH_TRY(st, read_route(y, qh_yaml_item(routes, i), t));
    if (every_pair)
        QH_TRY(st, check_pairs(y, routes, t));
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

/* --- as a member --- */

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "links", "routes"};
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_topo_links_read(y, map, n_devices, true, out));
out:
    return st;
}

static int64_t room(const qh_yaml *y, const qh_yaml_node *map)
{
    const qh_yaml_node *routes = qh_yaml_get(map, "routes");
    int64_t n = 0;

    return routes && count(y, routes, &n) == QH_OK ? n : 0;
}

static int32_t route(const qh_topo *topo, int src, int dst, int32_t *out)
{
    const table *t = (const table *)topo;
    int64_t at = t->first[(int64_t)src * t->n + dst];
    int32_t n = at < 0 ? 0 : t->hop[at];

    for (int32_t i = 0; i < n; i++)
        out[i] = t->hop[at + 1 + i];
    return n;
}

static void show(const qh_topo *t, FILE *out)
{
    enum { MOST = 64 };
    char latency[QH_UNIT_TEXT_BYTES], rate[QH_UNIT_TEXT_BYTES];

    fprintf(out, "  links and routes as listed; %d links:\n", t->n_links);
    for (int32_t i = 0; i < t->n_links && i < MOST; i++)
        fprintf(out, "    %-16s latency %s, bandwidth %s (%.4g Gbit/s)\n", t->link[i].name,
                qh_print_seconds(qh_seconds(t->link[i].latency), latency),
                qh_print_rate(t->link[i].bytes_per_s, rate), 8e-9 * t->link[i].bytes_per_s);
    if (t->n_links > MOST)
        fprintf(out, "    and %d more\n", t->n_links - MOST);
}

const qh_topo_ops qh_topo_links = {
    .name = "links",
    .help = "links and routes, one by one",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .room = room,
    .show = show,
};
