/* Building a graph from edges that are made or read piece by piece, so that no list of them is ever
 * held. Inside src/graph only. */
#ifndef QH_GRAPH_BUILD_H
#define QH_GRAPH_BUILD_H

#include "src/graph/graph.h"

enum { QH_EDGE_CHUNK = 1 << 14 }; /* edges asked for at a time; even */

typedef struct qh_edge_source {
    int64_t n_edges;
    /* Edges first .. first+n-1 into src and dst; the same ones each time it is asked. Ids must be
     * in range: a source that reads a file checks that, and fails. */
    qh_status (*read)(void *ctx, int64_t first, int64_t n, int32_t *src, int32_t *dst);
    void *ctx;
    bool symmetric; /* known: every edge comes with its reverse, nothing needs to be counted */
} qh_edge_source;

/* As qh_graph_new. The source is read twice. Memory: 4 bytes for each edge of the source and
 * 8 for each node, some of which is the result. */
qh_status qh_graph_build(int64_t n_nodes, const qh_edge_source *source, qh_graph **out,
                         qh_edge_report *report);

/* Checks the arrays of a graph that somebody else wrote (a mapped file): pointers rising, sources
 * in range, rising, none of them the node itself, degrees true. QH_EINPUT naming where and the
 * node. */
qh_status qh_graph_check(const qh_graph *g, const char *where);

#endif
