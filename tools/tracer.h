/* qhalo train --trace: what a run leaves, into a .qht file. */
#ifndef QH_TOOLS_TRACER_H
#define QH_TOOLS_TRACER_H

#include "sim/scenario.h"

typedef struct qh_tracer qh_tracer;

/* Refuses to put a trace over a file that is none. NULL is fine. QH_EUSAGE. */
qh_status qh_tracer_check(const char *path);

/* Makes PATH.part; dataset is its name as the user gave it. All borrowed until the end. */
qh_status qh_tracer_open(const char *path, const qh_settings *s, const char *dataset,
                         const qh_dataset *d, bool payload, qh_tracer **out);

/* The members of a qh_observer, with the tracer as ctx. ready cannot fail: what went wrong in it
 * comes out of the first call after it. widths is for traces with payload. */
void qh_tracer_ready(qh_tracer *t, const qh_result *partial);
qh_status qh_tracer_widths(qh_tracer *t, int device, const qh_record *send, const uint8_t *width,
                           int64_t n);
qh_status qh_tracer_records(qh_tracer *t, int device, int32_t epoch, const qh_record *r, int64_t n);
qh_status qh_tracer_trained(qh_tracer *t, const qh_epoch_metrics *m);
qh_status qh_tracer_times(qh_tracer *t, const qh_epoch_times *e);

/* Closes the trace and gives it its name, after a whole run or a Ctrl-C. */
qh_status qh_tracer_close(qh_tracer *t);

/* What is left unclosed keeps the name PATH.part. NULL is fine. */
void qh_tracer_free(qh_tracer *t);

#endif
