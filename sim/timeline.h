/* What the engine says of time: intervals as they end, and the sums of each epoch. */
#ifndef QH_SIM_TIMELINE_H
#define QH_SIM_TIMELINE_H

#include "src/base/units.h"
#include "src/record/record.h"

/* Time of one device in one epoch. compute + quantize + dequantize + assign + exposed_comm +
 * allreduce + idle = total, to the picosecond. */
typedef struct qh_breakdown {
    qh_time compute; /* SPMM, GEMM, ELEMENTWISE, LOSS, OPTIMIZER */
    qh_time quantize, dequantize;
    qh_time assign; /* ASSIGN, and all holds by what QH_ASSIGNMENT marks */
    qh_time comm;   /* some flow of an exchange towards this device was in flight; overlaps
                       the others, so no part of the sum */
    qh_time
        exposed_comm;  /* held in another WAIT while one of the blocks waited for was in flight */
    qh_time allreduce; /* in the all-reduce while one of its flows towards or from here was */
    qh_time idle;      /* held with nothing of the kind in flight: waiting for other devices */
    qh_time total;     /* from the device's previous EPOCH_END to this one */
} qh_breakdown;

typedef struct qh_epoch_times {
    int32_t epoch;
    qh_time start, end; /* latest EPOCH_END of the epoch before, and of this one, over devices */
    const qh_breakdown *device; /* [n_devices], borrowed during the call */
} qh_epoch_times;

/* An interval of a device, as it ends. stream 0: compute; 1: communication (a SEND's flow, at the
 * sender). */
typedef struct qh_interval {
    int device, stream;
    qh_time start, end;
    const qh_record *record; /* borrowed during the call */
} qh_interval;

typedef struct qh_timeline {
    /* Either may be NULL. Called in order of time for one device; epochs in order. */
    void (*interval)(void *ctx, const qh_interval *i);
    void (*epoch)(void *ctx, const qh_epoch_times *t);
    void *ctx;
} qh_timeline;

#endif
