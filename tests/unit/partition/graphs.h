/* A table of small graphs of all kinds, and a matrix to recount from. */
#ifndef QH_TESTS_UNIT_PARTITION_GRAPHS_H
#define QH_TESTS_UNIT_PARTITION_GRAPHS_H

#include "src/graph/graph.h"

typedef struct graph_case {
    const char *name;
    int64_t n_nodes;
    /* Edges into src and dst (room for 10000), their number is returned. */
    int64_t (*edges)(int64_t n_nodes, int32_t *src, int32_t *dst);
} graph_case;

extern const graph_case graph_cases[];
extern const int n_graph_cases;

qh_graph *graph_of_case(const graph_case *c);

/* [n_nodes * n_nodes], u * n_nodes + v: is there an edge u -> v? Freed with free. */
bool *edge_matrix(const qh_graph *g);

/* Part counts worth trying; 0 stands for n_nodes. Those above n_nodes are to be left out. */
extern const int part_counts[];
extern const int n_part_counts;

#endif
