/* Collectives over any transport, with sums in rank order, so that every rank gets the same bits
 * and the bits depend on the number of ranks only. */
#ifndef QH_TRANSPORT_COLLECTIVE_H
#define QH_TRANSPORT_COLLECTIVE_H

#include "src/transport/transport.h"

/* Buffers of one rank's collectives, owned; grown on first use, then kept. */
typedef struct qh_collective qh_collective;

qh_status qh_collective_new(qh_transport *t, int rank, qh_collective **out);
void qh_collective_free(qh_collective *c);

/* data[0..n-1] on every rank becomes ((x_0 + x_1) + x_2) + ... over the ranks' x, element by
 * element. They travel on QH_LANE_SUMS; QH_LANE_EXCHANGE is the rank's after it. All ranks call it
 * with the same n. Each rank sums one slice, then slices are shared. */
qh_status qh_allreduce_float(qh_collective *c, float *data, int64_t n);
qh_status qh_allreduce_double(qh_collective *c, double *data, int64_t n);

#endif
