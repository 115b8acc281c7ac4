/* Emulation: devices that are threads here wait, by the wall clock, for as long as the network
 * would make them wait.
 *
 * A sink before another one. What a device sends, expects, waits for and sums it says to its sink
 * (record.h); a live engine is told of that at the instant at which it really happens, and the
 * device comes back from emit() when the engine has let it go: from a SEND when the overhead of it
 * is paid, from a WAIT when what it waits for has arrived, from an all-reduce when that is over.
 * The bytes themselves lie ready before, since a SEND is emitted when its block is posted. So what
 * is on the wire, and in what order, is what the records say and the simulation charges: tables go
 * with their blocks, rounds, staging and all-reduces are the engine's, and evaluation, which leaves
 * no records, is not paced.
 *
 * Nothing spins: a device that waits sleeps, and one thread sleeps until the next instant at which
 * the network has something to do. The clock of the network stands still while no device is in its
 * epoch, so that nothing travels while evaluation goes on. */
#ifndef QH_SIM_PACE_H
#define QH_SIM_PACE_H

#include "sim/engine.h"
#include "src/record/record.h"

typedef struct qh_pace qh_pace;

/* All borrowed. engine's timeline, path and compute are not looked at; compute_scale: a device of
 * factor f > 1 sleeps (f - 1) times as long as it has computed. next: takes the records too,
 * compute records with the wall time since the device was last let go as host_ns. */
typedef struct qh_pace_config {
    qh_engine_config engine; /* its network is for nobody else */
    qh_sink *next;
} qh_pace_config;

/* Starts the thread. QH_ERESOURCE. */
qh_status qh_pace_new(const qh_pace_config *c, qh_pace **out);
void qh_pace_free(qh_pace *p); /* no device is in it any more; NULL is fine */

/* Failures of the engine come out of end_epoch, with the text of the first. */
qh_sink *qh_pace_sink(qh_pace *p);

/* By each device's own thread, before its first record. end_epoch begins those after it. */
void qh_pace_begin(qh_pace *p, int device);

/* A device failed: nobody waits here any more. Any thread, also again. */
void qh_pace_break(qh_pace *p);

#endif
