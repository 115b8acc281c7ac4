/* qhalo bench replay: traces of plain exchanges, replayed without contention and with. */
#ifndef QH_TOOLS_BENCH_REPLAY_H
#define QH_TOOLS_BENCH_REPLAY_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* keep: a folder that gets each trace as CASE.qht and each network as CASE.yaml; NULL: none are
 * kept. */
qh_status qh_bench_replay(const char *keep, bool quick, bool json);

/* Lists the cases. */
void qh_bench_replay_help(FILE *out);

#endif
