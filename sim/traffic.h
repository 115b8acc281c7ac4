/* Totals of messages and bytes by channel, layer and direction. */
#ifndef QH_SIM_TRAFFIC_H
#define QH_SIM_TRAFFIC_H

#include "sim/scenario.h"

/* Open addressing: a run uses few of all possible (source, destination, layer, direction). */
typedef struct qh_traffic {
    qh_traffic_row *slot; /* owned, [capacity], messages 0: free */
    int64_t n, capacity;
} qh_traffic;

/* Adds a SEND record of device src. QH_ERESOURCE. */
qh_status qh_traffic_add(qh_traffic *t, int src, const qh_record *send);

/* The rows by source, destination, layer, direction; the caller frees them. */
qh_status qh_traffic_list(const qh_traffic *t, qh_traffic_row **rows);

void qh_traffic_fini(qh_traffic *t);

#endif
