/* The members of the family, for the registry and for the test that walks it. */
#ifndef QH_NETMODEL_MEMBERS_H
#define QH_NETMODEL_MEMBERS_H

#include "netmodel/netmodel.h"

extern const qh_netmodel_ops qh_net_alphabeta, qh_net_fairshare, qh_net_loggp, qh_net_plugin,
    qh_net_table;

extern const qh_netmodel_ops *const qh_net_members[];
extern const int64_t qh_net_members_count;

/* What `model:` begins with when a plug-in's path follows. */
#define QH_NET_PLUGIN_PREFIX "plugin:"

/* The keys that every description may have; a member names its own beside them. */
#define QH_NET_COMMON_KEYS                                                                         \
    "model", "about", "devices", "staging", "slow", "outages", "background", "jitter"

#endif
