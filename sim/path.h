/* The critical path: the chain of operations of which each began when the one before it ended, back
 * from the last thing that happens to the first. Its parts add up to the whole time, so a part says
 * how much sooner the run could end if that were free (and nothing else took its place). */
#ifndef QH_SIM_PATH_H
#define QH_SIM_PATH_H

#include "src/base/units.h"

typedef enum qh_path_part {
    QH_PATH_COMPUTE,  /* and choosing bit-widths */
    QH_PATH_CODEC,    /* quantizing and dequantizing */
    QH_PATH_TRANSFER, /* blocks: overheads, copies, waiting for a round, flows */
    QH_PATH_ALLREDUCE,
    QH_PATH_PARTS
} qh_path_part;

/* The chain that ends at an instant: the parts add up to it. */
typedef struct qh_path {
    qh_time part[QH_PATH_PARTS];
} qh_path;

static inline qh_time qh_path_end(const qh_path *p)
{
    qh_time sum = 0;

    for (int i = 0; i < QH_PATH_PARTS; i++)
        sum += p->part[i];
    return sum;
}

/* The chain goes on to an instant with one part. */
static inline qh_path qh_path_to(const qh_path *p, qh_time at, qh_path_part part)
{
    qh_path longer = *p;

    longer.part[part] += at - qh_path_end(p);
    return longer;
}

#endif
