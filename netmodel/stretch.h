/* A network whose clock goes slower: every latency and every transfer takes so many times as long.
 */
#ifndef QH_NETMODEL_STRETCH_H
#define QH_NETMODEL_STRETCH_H

#include "netmodel/netmodel.h"

/* Wraps *m, of which no flow was started. All that happens in it, its modifiers' times too, takes
 * factor (> 0) times as long; instants are rounded up to whole picoseconds. factor 1: *m stays as
 * it is. Not afterwards: share and slow. QH_ERESOURCE. */
qh_status qh_netmodel_stretch(qh_netmodel **m, double factor);

#endif
