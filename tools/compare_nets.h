/* A comparison on several networks: the list, and what puts them side by side. */
#ifndef QH_TOOLS_COMPARE_NETS_H
#define QH_TOOLS_COMPARE_NETS_H

#include "src/base/status.h"

#include <jansson.h>
#include <stdint.h>

typedef struct qh_net_list {
    char *text; /* owned; names point into it */
    const char *name[16];
    int64_t n; /* >= 1 */
} qh_net_list;

/* "switch-1g,wan"; one name is a list of one. QH_EUSAGE. */
qh_status qh_net_list_read(const char *text, qh_net_list *out);
void qh_net_list_fini(qh_net_list *l);

/* "OUT/switch-10g", which the caller frees; a path loses its slashes. *folder NULL without OUT. */
qh_status qh_net_folder(const char *out, const char *net, char **folder);

/* Speed-ups over the first method, a row a network: speedup is [nets->n][n_methods]. */
qh_status qh_nets_print(const qh_net_list *nets, char *const *methods, int64_t n_methods,
                        const double *speedup);

/* Prints all, an array with a comparison's object a network, as qhalo.compare-networks/1; each gets
 * its "net". */
qh_status qh_nets_json(const qh_net_list *nets, json_t *all);

#endif
