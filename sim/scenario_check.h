/* Settings as the user gives them into what training takes, with every mistake named. */
#ifndef QH_SIM_SCENARIO_CHECK_H
#define QH_SIM_SCENARIO_CHECK_H

#include "sim/scenario.h"

/* Texts stay borrowed from s. bits_state stays NULL: opening the assigner is the caller's. Errors:
 * QH_EUSAGE, naming the option. */
qh_status qh_scenario_training(const qh_settings *s, const qh_dataset *d, const qh_kernels *kernels,
                               qh_train_settings *out);

#endif
