/* fairshare on a topology that the caller has built, and a look inside for tests and reports. */
#ifndef QH_NETMODEL_FAIRSHARE_H
#define QH_NETMODEL_FAIRSHARE_H

#include "netmodel/maxmin.h"
#include "netmodel/netmodel.h"
#include "netmodel/topo.h"

/* A model on t, which it owns from now on, also when this fails. name, about, staging are empty. */
qh_status qh_fairshare_new(qh_topo *t, qh_netmodel **out);

/* The rates at hand, solved; units of 2^-bits bytes/s. */
const qh_maxmin *qh_fairshare_rates(qh_netmodel *m);
double qh_fairshare_unit(const qh_netmodel *m); /* bytes/s of one */

#endif
