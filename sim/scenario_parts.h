/* What every kind of run is built of: all devices in this process (scenario.c), or one of them
 * (cluster.c). */
#ifndef QH_SIM_SCENARIO_PARTS_H
#define QH_SIM_SCENARIO_PARTS_H

#include "sim/meter.h"
#include "sim/pace.h"
#include "sim/placement.h"
#include "sim/scenario.h"
#include "src/partition/halo.h"

/* In the order of building; zero but for the first four to begin with. */
typedef struct qh_scenario {
    const qh_settings *settings;
    const qh_dataset *dataset; /* of a part: its names and sizes alone */
    const qh_observer *observer;
    qh_result *result;
    double wall, cpu; /* when it began */
    bool watch;       /* measure epochs by the wall clock */
    qh_train_settings train;
    qh_bits_state *bits_state;   /* owned */
    qh_rate *rate;               /* owned; NULL: no schedule */
    qh_netmodel *net;            /* owned; NULL for one device */
    qh_accelerator *accelerator; /* owned */
    double *compute_scale;       /* owned; NULL: no device is slow */
    double *theta, *gamma;       /* owned, [devices^2]; NULL unless the assigner asks */
    int32_t *part;               /* owned */
    qh_layout *layout;           /* owned */
    qh_placement *placement;     /* owned */
    qh_transport *transport;     /* owned */
    qh_meter *meter;             /* owned */
    qh_netmodel *pace_net;       /* owned; real clock: the network as the devices meet it */
    qh_pace *pace;               /* owned; real clock */
} qh_scenario;

void qh_scenario_begin_host(qh_scenario *c);

/* All up to theta and gamma. */
qh_status qh_scenario_models(qh_scenario *c);
/* Who has what: c->part and its name; its figures; the layout and the sizes of parts. */
qh_status qh_scenario_ids(qh_scenario *c);
qh_status qh_scenario_measure(qh_scenario *c);
qh_status qh_scenario_layout(qh_scenario *c);
qh_status qh_scenario_meter(qh_scenario *c);
/* c->pace, where the clock is the real one and there are other devices to wait for. */
qh_status qh_scenario_pace(qh_scenario *c);

/* After training: all of the result but the host's figures. QH_EINTERRUPT where it was stopped. */
qh_status qh_scenario_finish(qh_scenario *c);
void qh_scenario_measure_host(qh_scenario *c);

void qh_scenario_dismantle(qh_scenario *c);

#endif
