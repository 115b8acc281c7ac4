/* A trace through the engine: the records of a run under the network and accelerator of the run, or
 * under others. No training, no threads of devices; memory is that of the frames at hand. */
#ifndef QH_SIM_REPLAY_H
#define QH_SIM_REPLAY_H

#include "sim/engine.h"
#include "sim/totals.h"
#include "traces/reader.h"

/* All borrowed. */
typedef struct qh_replay_config {
    const qh_trace *trace;
    qh_netmodel *net; /* NULL with 1 device */
    const qh_accelerator *accelerator;
    qh_compute_kind compute;
    qh_exchange_order order;
    qh_reduce_kind reduce;
    const double *compute_scale; /* [n_devices], as the engine has it; NULL: 1 */
    double bytes_scale; /* of blocks, to the nearest byte; all-reduces stay; 0 counts as 1 */
    void (*interval)(void *ctx, const qh_interval *i); /* NULL: nobody looks */
    void *ctx;
} qh_replay_config;

typedef struct qh_replay_result {
    int64_t n_epochs;
    qh_time end;
    qh_breakdown_seconds mean, max; /* over devices, an epoch */
    qh_path path; /* of the whole replay: its parts add up to the instant of the last device */
    int64_t blocks, messages, bytes; /* of SENDs */
    int64_t messages_of_width[QH_N_WIDTHS];
    int64_t n_timed; /* epochs whose times the trace has */
    int64_t n_same;  /* of them, those in which every device takes the same, to the picosecond */
    qh_time recorded_end; /* when the last of the timed epochs ended in the run */
} qh_replay_result;

/* Errors: QH_EINPUT for records that no run could have left (a deadlock says who waits for whom), a
 * damaged frame, or a device that ends another epoch than the trace says. */
qh_status qh_replay(const qh_replay_config *c, qh_replay_result *out);

/* n of them on n_threads threads; each has its own network. result[i] is of config[i]. The first
 * failure, in order, is the status and the error text. */
qh_status qh_replay_all(const qh_replay_config *config, int64_t n, int n_threads,
                        qh_replay_result *result);

#endif
