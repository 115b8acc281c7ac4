/* Partitioners: node -> part, by name; and the figures of a partition. */
#ifndef QH_PARTITION_PARTITION_H
#define QH_PARTITION_PARTITION_H

#include "src/graph/graph.h"

#include <stdio.h>

typedef enum qh_objective { QH_OBJECTIVE_CUT, QH_OBJECTIVE_VOL } qh_objective;

typedef struct qh_partition_request {
    int n_parts;            /* 1 .. n_nodes */
    qh_objective objective; /* edges cut, or total communication volume; metis only */
    uint64_t seed;
    const char *argument; /* what stands after ':' in the partitioner's name, or NULL */
} qh_partition_request;

typedef struct qh_partitioner_ops {
    const char *name, *help;
    const char *argument; /* what the argument is called in the help; NULL: none is taken */
    /* Writes part[n_nodes]. g is as given (maybe directed): who needs symmetry makes it. */
    qh_status (*run)(const qh_graph *g, const qh_partition_request *r, int32_t *part);
} qh_partitioner_ops;

/* By "NAME" or "NAME:ARGUMENT"; QH_EUSAGE with the known names. Refuses n_parts < 1 or > n_nodes;
 * afterwards no part is empty and every id is in range: checked for every member. */
qh_status qh_partition_make(const qh_graph *g, const char *partitioner, qh_partition_request r,
                            int32_t *part);
void qh_partitioners_help(FILE *out);

/* What a .qhp file records as its maker, cut to size bytes: name, settings, and for metis the
 * library's version, as its results differ by version. QH_EUSAGE as above. */
qh_status qh_partition_made_by(const char *partitioner, qh_partition_request r, char *text,
                               int64_t size);

typedef struct qh_partition_figures {
    int n_parts;
    int64_t edge_cut;   /* undirected pairs {u,v} with an edge either way, ends in two parts */
    int64_t n_pairs;    /* all such pairs */
    int64_t halo_nodes; /* sum over parts */
    int64_t boundary_nodes, marginal_nodes; /* sums over parts */
    int64_t max_inner, min_inner, max_halo, min_halo;
    int64_t min_train; /* training nodes of the part with the fewest; -1 when split is NULL */
} qh_partition_figures;

/* Recounted from the graph, whatever the partitioner claimed. split may be NULL. */
qh_status qh_partition_measure(const qh_graph *g, const int32_t *part, int n_parts,
                               const int8_t *split, qh_partition_figures *out);

/* .qhp: magic, version, graph hash, what made it, part ids, checksum. Reading refuses a file of
 * another graph or a damaged one (QH_EINPUT). *part is freed with qh_mem_free. */
qh_status qh_partition_write(const char *path, const qh_graph *g, const int32_t *part, int n_parts,
                             const char *made_by);
qh_status qh_partition_read(const char *path, const qh_graph *g, int32_t **part, int *n_parts);

#endif
