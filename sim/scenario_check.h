/* Settings as the user gives them into what training takes, with every mistake named. */
#ifndef QH_SIM_SCENARIO_CHECK_H
#define QH_SIM_SCENARIO_CHECK_H

#include "sim/scenario.h"

/* Texts stay borrowed from s. bits_state stays NULL: opening the assigner is the caller's. Errors:
 * QH_EUSAGE, naming the option. */
qh_status qh_scenario_training(const qh_settings *s, const qh_dataset *d, const qh_kernels *kernels,
                               qh_train_settings *out);

/* scenario_relax.c: the method's figures, or the options' in their place. QH_EUSAGE. */
qh_status qh_settings_relax(const qh_settings *s, const qh_method *m, qh_relax *out);
/* Refuses what makes no sense together: QH_EUSAGE, naming the option. */
qh_status qh_relax_check(const qh_train_settings *t);

/* scenario_rate.c: what is compressed by how much, of a part of the columns. The parts of that kind
 * into p (codec and method are chosen); the schedule (NULL: none); and the codec under it, with
 * what goes with what. QH_EUSAGE, QH_EINPUT. */
qh_status qh_settings_rate(const qh_settings *s, const qh_method *m, qh_parts *p);
qh_status qh_parts_open_rate(const qh_settings *s, const qh_parts *p, qh_rate **out);
qh_status qh_parts_cover(const qh_settings *s, const qh_parts *p, qh_codec *c);

#endif
