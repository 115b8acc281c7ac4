/* A plan of flows: which start when, and after which others. Read from a file of `qhalo net run`,
 * driven through any model. */
#ifndef QH_NETMODEL_PLAN_H
#define QH_NETMODEL_PLAN_H

#include "netmodel/netmodel.h"

typedef struct qh_plan_flow {
    char *id; /* owned */
    bool id_is_number;
    int32_t src, dst;
    int64_t bytes;
    qh_time earliest;
    int64_t first_after, n_after; /* of the plan's after list: flows that have to finish before */
    qh_time start, finish;        /* of the last run */
} qh_plan_flow;

typedef struct qh_plan {
    char *name;    /* owned; of the file */
    int n_devices; /* as the file says, or as many as flows and routes name */
    bool has_links;
    qh_plan_flow *flow; /* owned */
    int64_t n_flows;
    int32_t *after; /* owned: numbers of flows */
    qh_time makespan;
} qh_plan;

/* A JSON (or YAML) file:
 *     {"devices": 3, "links": [...], "routes": [...],
 *      "flows": [{"id": 0, "src": 0, "dst": 1, "bytes": 1000, "earliest_start": 0.0, "after": []}]}
 * earliest_start in seconds, or a duration with its unit; earliest_start and after may be absent,
 * links and routes too (then another network is to be given). Where the file has links and links is
 * not NULL, *links becomes the model with them. Errors: QH_EINPUT with file:line. */
qh_status qh_plan_read(const char *path, qh_plan *out, qh_netmodel **links);
void qh_plan_fini(qh_plan *p);

/* Sends all flows through a fresh model for the plan's devices, and writes start, finish and
 * makespan. Flows whose turn comes at one instant start in the order of the file. QH_EINPUT where
 * flows wait for each other in a circle, or have no route. */
qh_status qh_plan_run(qh_plan *p, qh_netmodel *net);

#endif
