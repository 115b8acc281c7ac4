/* Topologies: links, each direction of its own, and the route from any device to any other. A
 * family: one file a member, one table, one line in topo.c. */
#ifndef QH_NETMODEL_TOPO_H
#define QH_NETMODEL_TOPO_H

#include "netmodel/links.h"
#include "netmodel/netmodel.h"
#include "src/base/units.h"
#include "src/base/yaml.h"

#include <stdint.h>
#include <stdio.h>

enum { QH_TOPO_MAX_LINKS = 1 << 24, QH_TOPO_LONGEST = 1024 };

typedef struct qh_topo_link {
    char name[QH_NET_LINK_NAME_BYTES];
    double bytes_per_s;
    qh_time latency;
} qh_topo_link;

typedef struct qh_topo qh_topo;

typedef struct qh_topo_ops {
    const char *name, *help;
    /* From the description's mapping for n_devices devices; checks the keys. Errors carry
     * file:line. */
    qh_status (*open)(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out);
    void (*close)(qh_topo *t); /* frees the member's own, and t; links are topo.c's */
    /* The links from src to dst, src != dst, in order, no link twice, into out[longest]; how many,
     * 0: there is no route. The same whenever it is asked. */
    int32_t (*route)(const qh_topo *t, int src, int dst, int32_t *out);
    /* How many devices the description has room for; 0: as many as one likes, or it is wrong.
     * NULL: as many as one likes. */
    int64_t (*room)(const qh_yaml *y, const qh_yaml_node *map);
    /* What it is and how routes go, lines of two spaces and text. */
    void (*show)(const qh_topo *t, FILE *out);
} qh_topo_ops;

struct qh_topo {
    const qh_topo_ops *ops;
    int n_devices, devices_per_node;    /* devices_per_node 0: no nodes */
    int32_t n_links, capacity, longest; /* longest: most links of a route, >= 1 */
    qh_topo_link *link;                 /* owned, [capacity] */
};

extern const qh_topo_ops qh_topo_star, qh_topo_two_level, qh_topo_ring, qh_topo_fat_tree,
    qh_topo_torus, qh_topo_dragonfly, qh_topo_links;

extern const qh_topo_ops *const qh_topo_members[];
extern const int64_t qh_topo_members_count;

/* The member that `topology:` names, opened; `links:` alone means the member of that name. */
qh_status qh_topo_open(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out);
void qh_topo_close(qh_topo *t); /* NULL is fine */

/* How many devices the described topology has room for; 0: no matter, or it is wrong. */
int64_t qh_topo_room(const qh_yaml *y, const qh_yaml_node *map);

/* Latency of the route from src to dst, and the rate of its slowest link (0: no route). */
qh_link qh_topo_path(const qh_topo *t, int src, int dst, int32_t *route);

/* --- for members --- */

/* The keys that every topology has. */
#define QH_TOPO_COMMON_KEYS "topology"

/* A link of its own number, with a printed name. QH_ERESOURCE. */
qh_status qh_topo_add(qh_topo *t, const qh_link *like, const char *name, ...)
    __attribute__((format(printf, 3, 4)));

/* The class of links under key: {latency: 5us, bandwidth: 10GB/s}, both needed. */
qh_status qh_topo_read_class(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                             qh_link *out);

/* "  device links  latency ..., bandwidth ..." */
void qh_topo_show_class(const char *what, const qh_link *l, FILE *out);

/* More devices than the topology has room for: QH_EUSAGE, for the description is right. */
qh_status qh_topo_check_room(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                             int64_t room);

#endif
