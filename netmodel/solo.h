/* Makes a flow source of a plain duration formula: no flow knows of another. A member begins its
 * struct with a qh_solo, gives the formula as its `alone`, and puts these into its table. */
#ifndef QH_NETMODEL_SOLO_H
#define QH_NETMODEL_SOLO_H

#include "netmodel/heap.h"
#include "netmodel/netmodel.h"

typedef struct qh_solo {
    qh_netmodel base;
    qh_heap in_flight; /* by (finish, number of the start) */
    uint64_t n_started;
} qh_solo;

/* Also QH_EINPUT when the finish lies past the end of virtual time. */
qh_status qh_solo_start(qh_netmodel *m, qh_time now, const qh_flow *f);
qh_time qh_solo_next(qh_netmodel *m);
int64_t qh_solo_advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity);
int64_t qh_solo_soon(const qh_netmodel *m);
void qh_solo_fini(qh_solo *s);

/* now + duration into *at, or QH_EINPUT naming the flow: virtual time ends after 106 days. */
qh_status qh_flow_instant(qh_time now, qh_time duration, const qh_flow *f, qh_time *at);

#endif
