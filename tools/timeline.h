/* The picture of an epoch: what each device computes, waits for and has in flight, as bars over
 * time, one panel a replay. */
#ifndef QH_TOOLS_TIMELINE_H
#define QH_TOOLS_TIMELINE_H

#include "tools/whatif.h"

/* What fits a picture: panels, and devices of a panel (the first ones). */
enum { QH_TIMELINE_PANELS = 6, QH_TIMELINE_DEVICES = 8 };

/* All of w's runs over one scale of time, from the first instant of the epoch in each. epoch < 0:
 * the last whole one of each trace. Replays them once more. QH_EUSAGE: more runs than panels, or a
 * trace without the epoch; QH_ERESOURCE: gnuplot fails, or the file cannot be written; the old
 * picture then stays. */
qh_status qh_timeline_draw(const qh_whatif *w, int64_t epoch, const char *svg);

#endif
