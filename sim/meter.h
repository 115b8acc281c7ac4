/* The sink of a live run: takes the records of all devices, and at the end of each epoch feeds the
 * engine, adds up traffic and bit-widths, and tells the observer. */
#ifndef QH_SIM_METER_H
#define QH_SIM_METER_H

#include "sim/engine.h"
#include "sim/scenario.h"
#include "src/base/thread.h"
#include "src/record/record.h"

typedef struct qh_meter qh_meter;

/* Everything is borrowed; engine's timeline is ours to set. stamp: write the host's CPU time into
 * records (measured compute); a record that has a shorter host_ns keeps it. */
typedef struct qh_meter_config {
    qh_engine_config engine;
    const qh_observer *observer;
    int n_layers;
    int64_t epochs; /* planned */
    bool stamp;
    bool watch; /* measure how long each epoch takes by the wall clock */
} qh_meter_config;

qh_status qh_meter_new(const qh_meter_config *c, qh_meter **out);
void qh_meter_free(qh_meter *m); /* NULL is fine */

qh_sink *qh_meter_sink(qh_meter *m);

/* Before training: columns of the messages of a layer; and, by the device's own thread, the team
 * whose helpers work for it (NULL: none). */
void qh_meter_set_columns(qh_meter *m, int layer, int64_t n_cols);
void qh_meter_set_team(qh_meter *m, int device, const qh_team *team);

/* By each device's own thread, when all begin: the wall clock of epoch 0 runs from here. */
void qh_meter_begin(qh_meter *m, int device);

/* Where devices are not threads here: the records of an epoch of one (it took wall_ns, 0: not
 * measured), then the end of the epoch of all, whose metrics are the same everywhere. *stop as of
 * qh_sink's end_epoch. One thread. */
qh_status qh_meter_give(qh_meter *m, int device, const qh_record *r, int64_t n, int64_t wall_ns);
qh_status qh_meter_close(qh_meter *m, const qh_epoch_metrics *metrics, int *stop);

/* A device failed: wakes all who wait for the end of an epoch, with QH_EINTERRUPT. */
void qh_meter_break(qh_meter *m);

/* After training: runs the engine to the end and writes times, bytes, bits and traffic into r
 * (the partition, training and host fields stay as they are). */
qh_status qh_meter_finish(qh_meter *m, qh_result *r);

#endif
