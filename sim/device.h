/* The simulated devices: one pinned thread each, which trains its part over the in-process
 * transport. */
#ifndef QH_SIM_DEVICE_H
#define QH_SIM_DEVICE_H

#include "sim/meter.h"
#include "sim/pace.h"
#include "sim/placement.h"
#include "src/partition/halo.h"
#include "src/train/trainer.h"

/* All borrowed. */
typedef struct qh_devices_config {
    const qh_train_settings *settings;
    const qh_dataset *dataset;
    const qh_layout *layout;
    const qh_placement *placement;
    qh_transport *transport;
    qh_meter *meter;
    qh_pace *pace; /* before the meter; NULL: nobody waits for the network */
    /* Called from one thread when every device is built, before the first epoch: what all devices
     * together will send in epoch 0. NULL: nobody wants to know. */
    void (*ready)(void *ctx, const qh_volume *first_epoch);
    void *ctx;
} qh_devices_config;

/* Runs all devices to the end of training; *out is device 0's. When one fails, the others stop, and
 * the status and error text are those of the failed device of lowest rank, not of the stopped. */
qh_status qh_devices_run(const qh_devices_config *c, qh_train_result *out);

#endif
