/* The sink of a rank that is a process of its own: at the end of each epoch its records go to rank
 * 0, whose meter takes those of all. They travel over the same transport, on QH_LANE_OTHER, while
 * no clock runs. */
#ifndef QH_SIM_GATHER_H
#define QH_SIM_GATHER_H

#include "sim/meter.h"
#include "src/transport/transport.h"

typedef struct qh_gather qh_gather;

/* All borrowed. */
typedef struct qh_gather_config {
    qh_transport *transport;
    int rank;
    qh_meter *meter;     /* rank 0's; NULL elsewhere */
    const qh_team *team; /* whose helpers work for this rank; NULL: none */
    bool stamp;          /* write the host's CPU time into records, transport's work left out */
    bool widths;         /* the meter's observer wants them; the same on all ranks */
} qh_gather_config;

qh_status qh_gather_new(const qh_gather_config *c, qh_gather **out);
void qh_gather_free(qh_gather *g); /* NULL is fine */

qh_sink *qh_gather_sink(qh_gather *g);

/* When all ranks are built and about to train: the clock of epoch 0 runs from here. */
void qh_gather_begin(qh_gather *g);

#endif
