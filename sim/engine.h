/* The one simulator: records + compute model + network model -> timeline. Live training feeds it
 * epoch by epoch, a replay feeds it from disk; the instants are the same bit for bit, because it
 * never runs past the instant at which a device's next record is still unknown. */
#ifndef QH_SIM_ENGINE_H
#define QH_SIM_ENGINE_H

#include "netmodel/netmodel.h"
#include "sim/compute.h"
#include "sim/path.h"
#include "sim/reduce_steps.h"
#include "sim/timeline.h"

typedef enum qh_exchange_order { QH_EXCHANGE_POSTED, QH_EXCHANGE_ROUNDS } qh_exchange_order;

typedef struct qh_engine_config {
    int n_devices;
    qh_netmodel *net; /* borrowed; used by one engine at a time. NULL with 1 device */
    const qh_accelerator *accelerator; /* borrowed */
    qh_compute_kind compute;
    qh_exchange_order order;
    qh_reduce_kind reduce;       /* how gradients are summed */
    const double *compute_scale; /* borrowed, [n_devices]: durations of compute operations are times
                                    this; NULL: 1 */
    bool path;                   /* follow the critical path */
    qh_timeline timeline;
} qh_engine_config;

typedef struct qh_engine qh_engine;

/* Whether so many devices on the network can sum in this way: QH_EUSAGE says why not. */
qh_status qh_reduce_check(qh_reduce_kind kind, int n_devices, const qh_netmodel *net);

qh_status qh_engine_new(const qh_engine_config *c, qh_engine **out);
void qh_engine_free(qh_engine *e);

/* Appends n records of a device, in program order. One thread. */
qh_status qh_engine_feed(qh_engine *e, int device, const qh_record *records, int64_t n);

/* Runs as far as the records allow. Errors: QH_EINPUT for an impossible record (peer out of range,
 * sizes of a matched pair that differ), naming device and record. */
qh_status qh_engine_run(qh_engine *e);

/* No more records of the device will come. */
void qh_engine_end(qh_engine *e, int device);

/* No more records of any device will come: runs to the end. Records that wait for what never comes:
 * QH_EINPUT, "deadlock: device 0 waits for device 2 (epoch 3, layer 1, forward); ...". */
qh_status qh_engine_finish(qh_engine *e);

/* Records of the device that were fed and are not begun. */
int64_t qh_engine_pending(const qh_engine *e, int device);

/* The critical path up to the instant that the last device has reached; asked for with path. */
qh_path qh_engine_path(const qh_engine *e);

/* The instant the device has reached. */
qh_time qh_engine_now(const qh_engine *e, int device);

#endif
