/* The breakdown of a whole run, of the epochs that the engine tells of. */
#ifndef QH_SIM_TOTALS_H
#define QH_SIM_TOTALS_H

#include "sim/timeline.h"
#include "src/base/status.h"

#include <stdint.h>

/* Seconds an epoch. */
typedef struct qh_breakdown_seconds {
    double compute, comm, exposed_comm, quantize, dequantize, allreduce, assign, idle;
} qh_breakdown_seconds;

typedef struct qh_totals {
    int n_devices;
    qh_breakdown *sum; /* owned, [n_devices] */
    qh_time end;       /* of the last epoch */
    int64_t n_epochs;
} qh_totals;

qh_status qh_totals_init(qh_totals *t, int n_devices); /* QH_ERESOURCE */
void qh_totals_fini(qh_totals *t);

void qh_breakdown_add(const qh_breakdown *b, qh_breakdown *sum);
void qh_totals_epoch(qh_totals *t, const qh_epoch_times *e);

/* Mean and maximum over devices, an epoch, once the run is over. A device that is done with the
 * last epoch waits for the last device. */
void qh_totals_finish(qh_totals *t, qh_breakdown_seconds *mean, qh_breakdown_seconds *max);

#endif
