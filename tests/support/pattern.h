/* Random patterns of blocks over any transport: both ends compute what every channel carries in
 * every step, so whatever arrives is checked to the byte. */
#ifndef QH_TESTS_SUPPORT_PATTERN_H
#define QH_TESTS_SUPPORT_PATTERN_H

#include "src/transport/transport.h"

#include <stdint.h>

enum { PATTERN_STEPS = 30, PATTERN_MAX_RANKS = 16 };

typedef struct pattern {
    qh_transport *t;
    int n_ranks;
    uint64_t seed;
    /* Called by each rank after it began the sends of a step; an error ends its pattern. NULL. */
    qh_status (*step)(void *ctx, int rank, int step);
    void *ctx;
} pattern;

/* One rank's part. Blocks go to every rank, the own one too, some of them empty, and are finished
 * and released in other orders than they were begun in. A failure aborts the transport. */
qh_status pattern_run(const pattern *p, int rank);

#endif
