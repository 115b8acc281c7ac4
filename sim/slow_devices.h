/* Devices that compute slower than the accelerator of the run. */
#ifndef QH_SIM_SLOW_DEVICES_H
#define QH_SIM_SLOW_DEVICES_H

#include "src/base/status.h"

/* What the engine multiplies durations by: base for all devices, times the factors of list,
 * "3:1.5,8-15:2" (NULL: none). *out, which the caller frees, stays NULL where nothing is changed.
 * where is the option, for errors: QH_EUSAGE. */
qh_status qh_slow_devices(const char *where, const char *list, int n_devices, double base,
                          double **out);

#endif
