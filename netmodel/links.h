/* Latency and bandwidth of each channel, by class: one class for all, or inside a node and between
 * nodes. */
#ifndef QH_NETMODEL_LINKS_H
#define QH_NETMODEL_LINKS_H

#include "src/base/units.h"
#include "src/base/yaml.h"

#include <stdio.h>

typedef struct qh_link {
    qh_time latency;
    double bytes_per_s;
} qh_link;

typedef struct qh_links {
    int32_t devices_per_node; /* devices d with the same d / devices_per_node share a node */
    qh_link intra, inter;     /* alike when there is one class */
} qh_links;

/* The keys that it reads. */
#define QH_LINKS_KEYS "latency", "bandwidth", "nodes"

/* Either `latency:` and `bandwidth:`, or
 *     nodes: {devices_per_node: 2, intra: {latency, bandwidth}, inter: {latency, bandwidth}}
 * Errors carry file:line: a key that is missing, unknown or there twice over, a rate of 0. */
qh_status qh_links_read(const qh_yaml *y, const qh_yaml_node *map, qh_links *out);

/* One line a class. */
void qh_links_show(const qh_links *l, FILE *out);

/* 0: one class for all. */
static inline int qh_links_per_node(const qh_links *l)
{
    return l->devices_per_node == INT32_MAX ? 0 : l->devices_per_node;
}

static inline const qh_link *qh_links_of(const qh_links *l, int32_t src, int32_t dst)
{
    return src / l->devices_per_node == dst / l->devices_per_node ? &l->intra : &l->inter;
}

#endif
