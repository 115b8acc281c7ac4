/* A directed graph in CSR by target, with global degrees. Built once, then read-only. */
#ifndef QH_GRAPH_GRAPH_H
#define QH_GRAPH_GRAPH_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qh_graph {
    int64_t n_nodes;           /* 1 .. 2^31 - 1 */
    int64_t n_edges;           /* directed, without self loops and duplicates */
    int64_t *in_ptr;           /* n_nodes + 1 */
    int32_t *in_src;           /* n_edges: sources of the edges into a node, rising */
    int32_t *in_deg, *out_deg; /* n_nodes each, self loops not counted */
    bool symmetric;            /* every edge has its reverse */
    void *owner; /* NULL: the arrays are owned (qh_mem); else they belong to a mapping that outlives
                  */
} qh_graph;

/* What building left out. */
typedef struct qh_edge_report {
    int64_t duplicates, self_loops, one_way; /* one_way: edges kept whose reverse is missing */
} qh_edge_report;

/* From edge e = src(e) -> dst(e), both arrays n_edges long (stride apart in elements, so that an
 * [E,2] array serves as it is); ids must be in range (asserted: readers check). Duplicates and self
 * loops are dropped and counted. Linear time (radix by target, then by source).
 * Memory: 4 n_edges bytes beside the result. */
qh_status qh_graph_new(int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
                       int64_t stride, qh_graph **out, qh_edge_report *report);

/* The graph with every edge also reversed (what partitioners see). A symmetric graph gives arrays
 * equal to the input. */
qh_status qh_graph_symmetrise(const qh_graph *g, qh_graph **out);

void qh_graph_free(qh_graph *g);

/* 64-bit hash of sizes and edges; part of cached files' identity. */
uint64_t qh_graph_hash(const qh_graph *g);

#endif
