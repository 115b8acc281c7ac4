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
    bool live;                   /* instants are the caller's: see below */
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

/* --- live: devices that really compute, of whom it is not known what they do next ---
 *
 * A device does a record at an instant that the caller gives, and is idle again when that is over:
 * a SEND when its overhead is paid, a WAIT or an all-reduce when what it waits for is there.
 * Computing is no business of a live engine. Instants never go back. Errors are those of
 * qh_engine_run. */

/* All that happens up to an instant. Devices are idle after the first call. */
qh_status qh_engine_run_until(qh_engine *e, qh_time until);
/* An idle device does a record, when all before `now` has been run; and all that happens then. */
qh_status qh_engine_do(qh_engine *e, int device, qh_time now, const qh_record *r);
bool qh_engine_is_idle(const qh_engine *e, int device);
/* When something happens next if no device does anything more; QH_TIME_NEVER: nothing. */
qh_time qh_engine_next(const qh_engine *e);

#endif
