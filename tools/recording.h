/* A trace as the commands see it: the file and what its head says of the run. */
#ifndef QH_TOOLS_RECORDING_H
#define QH_TOOLS_RECORDING_H

#include "sim/replay.h"
#include "traces/export.h"

#include <jansson.h>

/* A description as it was when the run was made. */
typedef struct qh_recorded_part {
    const char *name, *text; /* borrowed from head; NULL: the trace does not say */
} qh_recorded_part;

typedef struct qh_recording {
    const char *path;           /* borrowed from the caller */
    qh_trace *trace;            /* owned */
    const qh_trace_info *info;  /* borrowed from trace */
    json_t *head;               /* owned */
    const char *method, *graph; /* borrowed from head; "" where it does not say */
    qh_recorded_part net, accelerator;
    qh_exchange_order order;
    qh_reduce_kind reduce;
    const char *slow;  /* borrowed from head: devices that compute slower, or NULL */
    double time_scale; /* of its network; see qh_recording_net */
    qh_compute_kind compute;
    bool imported;        /* from another tool: computations are times, nothing was trained */
    bool follows_network; /* its bit-widths would be others on another network */
    int64_t epochs;       /* planned; 0: it does not say */
} qh_recording;

/* Warns of a trace that was not closed. QH_EINPUT. */
qh_status qh_recording_open(const char *path, bool partial, qh_recording *out);
void qh_recording_close(qh_recording *r);

/* The network and the accelerator of the run. *net is NULL with one device. QH_EUSAGE where the
 * trace does not name them. */
qh_status qh_recording_net(const qh_recording *r, qh_netmodel **net);
qh_status qh_recording_accelerator(const qh_recording *r, qh_accelerator **accelerator);

/* A replay of the run as it was: what its config borrows. */
typedef struct qh_rerun {
    qh_replay_config config;
    qh_netmodel *net;            /* owned */
    qh_accelerator *accelerator; /* owned */
    double *scale;               /* owned */
} qh_rerun;

/* On another network or accelerator than those of the run; NULL: on that. What it has is to be
 * freed, done or failed. */
qh_status qh_recording_rerun(const qh_recording *r, const char *net, const char *accelerator,
                             qh_rerun *out);
void qh_rerun_fini(qh_rerun *r);

enum { QH_TITLE_BYTES = 512 };

/* What was run, in words. Gives buf. */
const char *qh_recording_title(const qh_recording *r, char *buf, size_t room);

/* The run as it was recorded, or on network `net` (NULL: on that of the run), in another format.
 * QH_EUSAGE where the trace does not say how it was and the format has to know. */
qh_status qh_recording_export(const qh_recording *r, const qh_export_ops *format, const char *net,
                              const char *path);

#endif
