#include "netmodel/plugins/described.h"

#include "netmodel/topo_links.h"

#include <stdio.h>
#include <string.h>

/* The topology itself. */
static const qh_topo *topo_of(const described_net *net)
{
    return (const qh_topo *)net;
}

static qh_status read_topology(const char *text, int n_devices, qh_topo **out)
{
    qh_yaml *y = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_parse("description", text, (int64_t)strlen(text), QH_EINPUT, &y));
    if (qh_yaml_get(qh_yaml_root(y), "topology"))
        QH_TRY(st, qh_topo_open(y, qh_yaml_root(y), n_devices, out));
    else /* routes that are not there are missed by the flows that want them */
        QH_TRY(st, qh_topo_links_read(y, qh_yaml_root(y), n_devices, false, out));
out:
    qh_yaml_free(y);
    return st;
}

described_net *described_net_new(const char *text, int n_devices, char *error, size_t error_size)
{
    qh_topo *t = NULL;

    if (read_topology(text, n_devices, &t) < 0) {
        snprintf(error, error_size, "%s", qh_error_text());
        return NULL;
    }
    return (described_net *)t;
}

void described_net_free(described_net *net)
{
    qh_topo_close((qh_topo *)net);
}

int described_net_links(const described_net *net)
{
    return topo_of(net)->n_links;
}

int described_net_longest(const described_net *net)
{
    return topo_of(net)->longest;
}

double described_net_bytes_per_s(const described_net *net, int link)
{
    return topo_of(net)->link[link].bytes_per_s;
}

int64_t described_net_latency(const described_net *net, int link)
{
    return topo_of(net)->link[link].latency;
}

int described_net_route(const described_net *net, int src, int dst, int32_t *out)
{
    return topo_of(net)->ops->route(topo_of(net), src, dst, out);
}

int64_t described_net_alone(const described_net *net, int src, int dst, int64_t bytes)
{
    int32_t route[QH_TOPO_LONGEST];
    qh_link path = qh_topo_path(topo_of(net), src, dst, route);
    qh_time travel;

    if (!(path.bytes_per_s > 0))
        return QH_TIME_NEVER;
    travel = qh_time_of_bytes(bytes, path.bytes_per_s);
    return travel > QH_TIME_NEVER - path.latency ? QH_TIME_NEVER : path.latency + travel;
}
