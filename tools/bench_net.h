/* qhalo bench net: flows a second through the network models, alone and under the engine. */
#ifndef QH_TOOLS_BENCH_NET_H
#define QH_TOOLS_BENCH_NET_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* One core. quick: a look, with few flows. Prints to stdout. */
qh_status qh_bench_net(bool quick, bool json);

/* The cases, one a line. */
void qh_bench_net_help(FILE *out);

#endif
