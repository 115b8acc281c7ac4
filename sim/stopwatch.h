/* How long an epoch of one device takes by the wall clock: from when it may begin until its
 * EPOCH_END, so that evaluation and the writing of records are left out. */
#ifndef QH_SIM_STOPWATCH_H
#define QH_SIM_STOPWATCH_H

#include "src/record/record.h"

#include <time.h>

typedef struct qh_stopwatch {
    int64_t started_ns, epoch_ns; /* epoch_ns: of the last epoch */
} qh_stopwatch;

static inline int64_t qh_wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void qh_stopwatch_start(qh_stopwatch *w)
{
    w->started_ns = qh_wall_ns();
}

/* At each record. */
static inline void qh_stopwatch_look(qh_stopwatch *w, int op)
{
    if (op == QH_OP_EPOCH_END)
        w->epoch_ns = qh_wall_ns() - w->started_ns;
}

#endif
