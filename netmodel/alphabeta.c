/* alphabeta: latency + bytes / bandwidth on every channel, whatever else is under way (the
 * alpha-beta or postal model; Hockney, The communication challenge for MPP, Parallel Computing 20,
 * 1994). */
#include "netmodel/links.h"
#include "netmodel/members.h"
#include "netmodel/solo.h"

typedef struct alphabeta {
    qh_solo solo; /* first: a qh_netmodel is at its head */
    qh_links links;
} alphabeta;

static void close_model(qh_netmodel *m)
{
    alphabeta *a = (alphabeta *)m;

    qh_solo_fini(&a->solo);
    qh_mem_free(a);
}

static qh_status open_model(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                            qh_netmodel **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_LINKS_KEYS};
    alphabeta *a = NULL;
    qh_status st;

    (void)n_devices; /* channels differ by class only */
    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&a));
    QH_TRY(st, qh_links_read(y, map, &a->links));
    a->solo.base.devices_per_node = qh_links_per_node(&a->links);
    *out = &a->solo.base;
    a = NULL;
out:
    qh_mem_free(a);
    return st;
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const qh_link *l = qh_links_of(&((const alphabeta *)m)->links, src, dst);
    qh_time travel = qh_time_of_bytes(bytes, l->bytes_per_s);

    return travel > QH_TIME_NEVER - l->latency ? QH_TIME_NEVER : l->latency + travel;
}

static void show(const qh_netmodel *m, FILE *out)
{
    fprintf(out, "  time of a flow = latency + bytes / bandwidth of its channel\n");
    qh_links_show(&((const alphabeta *)m)->links, out);
    fprintf(out,
            "  nothing is shared: flows that meet at a port or link do not slow each other, so "
            "posted exchanges and incast come out too fast\n");
}

const qh_netmodel_ops qh_net_alphabeta = {
    .name = "alphabeta",
    .help = "latency + bytes / bandwidth on each channel, nothing shared",
    .open = open_model,
    .close = close_model,
    .start = qh_solo_start,
    .next = qh_solo_next,
    .advance = qh_solo_advance,
    .soon = qh_solo_soon,
    .alone = alone,
    .show = show,
    .contention = false,
};
