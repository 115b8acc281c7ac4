/* qhalo net run: a plan of flows through a network. */
#ifndef QH_TOOLS_NET_RUN_H
#define QH_TOOLS_NET_RUN_H

#include "src/base/status.h"

#include <stdbool.h>

/* net NULL: the links of the file. Prints to stdout. */
qh_status qh_net_run(const char *path, const char *net, bool json);

#endif
