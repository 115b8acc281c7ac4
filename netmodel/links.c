#include "netmodel/links.h"

#include "src/base/status.h"

static qh_status read_link(const qh_yaml *y, const qh_yaml_node *map, qh_link *out)
{
    qh_link l = {0};
    qh_status st;

    QH_TRY(st, qh_yaml_duration(y, map, "latency", true, &l.latency));
    QH_TRY(st, qh_yaml_rate(y, map, "bandwidth", true, &l.bytes_per_s));
    *out = l;
out:
    return st;
}

/* A class of its own inside `nodes:`. */
static qh_status read_class(const qh_yaml *y, const qh_yaml_node *nodes, const char *key,
                            qh_link *out)
{
    static const char *const keys[] = {"latency", "bandwidth"};
    const qh_yaml_node *map = qh_yaml_get(nodes, key);
    qh_status st;

    if (!map)
        return qh_yaml_fail(
            y, nodes, "nodes has no '%s'; give %s: {latency: 5us, bandwidth: 10GB/s}", key, key);
    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, read_link(y, map, out));
out:
    return st;
}

static qh_status read_nodes(const qh_yaml *y, const qh_yaml_node *nodes, qh_links *out)
{
    static const char *const keys[] = {"devices_per_node", "intra", "inter"};
    int64_t per_node = 0;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, nodes, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_yaml_int(y, nodes, "devices_per_node", true, 1, INT32_MAX, &per_node));
    QH_TRY(st, read_class(y, nodes, "intra", &out->intra));
    QH_TRY(st, read_class(y, nodes, "inter", &out->inter));
    out->devices_per_node = (int32_t)per_node;
out:
    return st;
}

qh_status qh_links_read(const qh_yaml *y, const qh_yaml_node *map, qh_links *out)
{
    const qh_yaml_node *nodes = qh_yaml_get(map, "nodes");
    qh_links l = {0};
    qh_status st;

    if (nodes) {
        for (int i = 0; i < 2; i++) {
            const char *key = i ? "bandwidth" : "latency";

            if (qh_yaml_get(map, key))
                return qh_yaml_fail(y, qh_yaml_get(map, key),
                                    "%s stands beside nodes, which has its own; keep one", key);
        }
        QH_TRY(st, read_nodes(y, nodes, &l));
    } else {
        QH_TRY(st, read_link(y, map, &l.intra));
        l.inter = l.intra;
        l.devices_per_node = INT32_MAX;
    }
    *out = l;
out:
    return st;
}

static void show_link(const char *what, const qh_link *l, FILE *out)
{
    char latency[QH_UNIT_TEXT_BYTES], rate[QH_UNIT_TEXT_BYTES];

    fprintf(out, "  %-16s latency %s, bandwidth %s (%.4g Gbit/s)\n", what,
            qh_print_seconds(qh_seconds(l->latency), latency), qh_print_rate(l->bytes_per_s, rate),
            8e-9 * l->bytes_per_s);
}

void qh_links_show(const qh_links *l, FILE *out)
{
    if (l->devices_per_node == INT32_MAX) {
        show_link("every channel", &l->intra, out);
        return;
    }
    fprintf(out, "  servers of %d device%s\n", l->devices_per_node,
            l->devices_per_node == 1 ? "" : "s");
    show_link("inside a server", &l->intra, out);
    show_link("between servers", &l->inter, out);
}
