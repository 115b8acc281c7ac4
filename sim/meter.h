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
 * records (measured compute). */
typedef struct qh_meter_config {
    qh_engine_config engine;
    const qh_observer *observer;
    int n_layers;
    int64_t epochs; /* planned */
    bool stamp;
} qh_meter_config;

qh_status qh_meter_new(const qh_meter_config *c, qh_meter **out);
void qh_meter_free(qh_meter *m); /* NULL is fine */

qh_sink *qh_meter_sink(qh_meter *m);

/* Before training: columns of the messages of a layer; and, by the device's own thread, the team
 * whose helpers work for it (NULL: none). */
void qh_meter_set_columns(qh_meter *m, int layer, int64_t n_cols);
void qh_meter_set_team(qh_meter *m, int device, const qh_team *team);

/* A device failed: wakes all who wait for the end of an epoch, with QH_EINTERRUPT. */
void qh_meter_break(qh_meter *m);

/* After training: runs the engine to the end and writes times, bytes, bits and traffic into r
 * (the partition, training and host fields stay as they are). */
qh_status qh_meter_finish(qh_meter *m, qh_result *r);

#endif
