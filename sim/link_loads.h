/* What the links of a network have had to carry, and how many send to one device at a time. */
#ifndef QH_SIM_LINK_LOADS_H
#define QH_SIM_LINK_LOADS_H

#include "netmodel/netmodel.h"
#include "sim/scenario.h"

/* The links that carried something, hottest first, up to the end of a run; the caller frees them.
 * Of a model without links: none. QH_ERESOURCE. */
qh_status qh_link_loads(const qh_netmodel *net, qh_time end, qh_link_load **out, int64_t *n);

/* The most devices that send to one in the same layer and direction. QH_ERESOURCE. */
qh_status qh_most_senders(const qh_traffic_row *rows, int64_t n, int n_devices, int *out);

#endif
