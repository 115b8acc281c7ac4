/* qhalo bench --fit: a description of this host as an accelerator. */
#ifndef QH_TOOLS_BENCH_FIT_H
#define QH_TOOLS_BENCH_FIT_H

#include "src/base/status.h"

#include <stdbool.h>

/* peak_flops and memory_bytes_per_s, of one thread, are measured already. A training with measured
 * compute times tells what share of them each kind of operation reaches; the description goes to
 * path, or to stdout where it is NULL. quick: a small graph, to see that it runs. */
qh_status qh_bench_fit(double peak_flops, double memory_bytes_per_s, bool quick, const char *path);

#endif
