/* Made from sim/accelerators by tools/embed.py at build time. */
#ifndef QH_SIM_ACCELERATORS_H
#define QH_SIM_ACCELERATORS_H

#include "netmodel/preset.h"

extern const qh_preset qh_accelerator_presets[];
extern const int64_t qh_accelerator_presets_count;

#endif
