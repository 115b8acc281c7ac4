/* The topology that is written out link by link and route by route, in a description or in a file
 * of flows. */
#ifndef QH_NETMODEL_TOPO_LINKS_H
#define QH_NETMODEL_TOPO_LINKS_H

#include "netmodel/topo.h"

enum { QH_TOPO_LINKS_MAX_DEVICES = 4096 };

/* From the keys `links` and `routes` of map, which may have others too:
 *     links:  [{id: a, bandwidth: 10Gbit/s, latency: 5us}, ...]
 *     routes: [{src: 0, dst: 1, links: [a, b]}, ...]
 * In place of bandwidth and latency, bandwidth_Bps and latency_s are plain numbers. n_devices 0: as
 * many as routes name. every_pair: each device needs a route to each other. Errors carry
 * file:line. */
qh_status qh_topo_links_read(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                             bool every_pair, qh_topo **out);

#endif
