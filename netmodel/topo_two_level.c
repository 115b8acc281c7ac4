/* two-level: machines (nodes) of several devices. Inside a node each device has a link to the
 * node's own switch (PCIe, NVLink); each node has one network card (NIC) with a link to the
 * switch between nodes. A route inside a node is the two device links; between nodes it is the
 * sender's device link, its node's NIC out, the other node's NIC in, and the receiver's device
 * link. Device d is in node d / devices_per_node, rounded down. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

typedef struct two_level {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link device, nic;
    int32_t per_node, first_nic; /* first_nic: link number */
} two_level;

static void close_topo(qh_topo *t)
{
    qh_mem_free((two_level *)t);
}

static qh_status add_links(two_level *t, int n_devices)
{
    qh_status st = QH_OK;

    for (int d = 0; d < n_devices; d++) {
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %d out", d));
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %d in", d));
    }
    t->first_nic = t->base.n_links;
    for (int node = 0; node < n_devices; node++) {
        if ((int64_t)node * t->per_node >= n_devices)
            break;
        QH_TRY(st, qh_topo_add(&t->base, &t->nic, "node %d NIC out", node));
        QH_TRY(st, qh_topo_add(&t->base, &t->nic, "node %d NIC in", node));
    }
out:
    return st;
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "devices_per_node",
                                       "device", "nic"};
    two_level *t = NULL;
    int64_t per_node = 0;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_two_level;
    t->base.longest = 4;
    QH_TRY(st, qh_yaml_int(y, map, "devices_per_node", true, 1, INT32_MAX, &per_node));
    t->per_node = t->base.devices_per_node = (int32_t)per_node;
    QH_TRY(st, qh_topo_read_class(y, map, "device", &t->device));
    QH_TRY(st, qh_topo_read_class(y, map, "nic", &t->nic));
    QH_TRY(st, add_links(t, n_devices));
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

static int32_t route(const qh_topo *topo, int src, int dst, int32_t *out)
{
    const two_level *t = (const two_level *)topo;
    int from = src / t->per_node, to = dst / t->per_node;
    int32_t n = 0;

    out[n++] = 2 * src;
    if (from != to) {
        out[n++] = t->first_nic + 2 * from;
        out[n++] = t->first_nic + 2 * to + 1;
    }
    out[n++] = 2 * dst + 1;
    return n;
}

static void show(const qh_topo *topo, FILE *out)
{
    const two_level *t = (const two_level *)topo;

    fprintf(out,
            "  two-level: nodes of %d device%s; each device has a link to its node's own switch, "
            "each node a NIC on one switch; a route between nodes is device link, NIC out, NIC in, "
            "device link\n",
            t->per_node, t->per_node == 1 ? "" : "s");
    qh_topo_show_class("device links", &t->device, out);
    qh_topo_show_class("NICs", &t->nic, out);
}

const qh_topo_ops qh_topo_two_level = {
    .name = "two-level",
    .help = "nodes of several devices, one NIC a node, one switch",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .show = show,
};
