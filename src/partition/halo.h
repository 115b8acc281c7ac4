/* The halo plan: which rows a rank owns, which it receives and sends, and its local graph.
 *
 * Local rows of a rank: [0, n_central) central, [n_central, n_inner) marginal, [n_inner, n_local)
 * halo copies. Inside the central and the marginal range rows follow a locality order; halo rows
 * are sorted by owner and, within an owner, by the owner's own row, so that a received block is one
 * range and the sender gathers forward through its memory. */
#ifndef QH_PARTITION_HALO_H
#define QH_PARTITION_HALO_H

#include "src/base/view.h"
#include "src/graph/graph.h"

/* The numbering of all ranks, shared and read-only. */
typedef struct qh_layout {
    const qh_graph *graph; /* borrowed */
    int n_ranks;
    int32_t *part;      /* owned, [n_nodes]: rank of a node */
    int32_t *row;       /* owned, [n_nodes]: its inner row on that rank */
    int64_t *first;     /* owned, [n_ranks + 1]: offsets into node */
    int32_t *node;      /* owned, [n_nodes]: nodes by rank, then by row */
    int64_t *n_central; /* owned, [n_ranks] */
    int64_t *out_ptr;   /* owned, [n_nodes + 1]: the transposed graph; NULL for a symmetric one */
    int32_t *out_dst;   /* owned, [n_edges]: targets, rising; NULL likewise */
} qh_layout;

/* part is copied. Deterministic: depends on graph, part and n_ranks only. */
qh_status qh_layout_new(const qh_graph *g, const int32_t *part, int n_ranks, qh_layout **out);
void qh_layout_free(qh_layout *l);

typedef struct qh_halo {
    int rank, n_ranks;
    int64_t n_central, n_inner, n_halo, n_local; /* n_local = n_inner + n_halo */
    int32_t *node;                               /* owned, [n_local]: global ids */
    int64_t *recv_ptr; /* owned, [n_ranks + 1]: halo rows n_inner + recv_ptr[p] .. of rank p */
    int64_t *send_ptr; /* owned, [n_ranks + 1]: into send_row */
    int32_t *send_row; /* owned: inner rows for rank p, in the order of p's halo rows */
    int64_t n_edges;   /* local: into inner rows, self loops included when asked for */
    int64_t *in_ptr;   /* owned, [n_inner + 1] */
    int32_t *in_col;   /* owned, [n_edges]: local rows, rising */
    int64_t *out_ptr;  /* owned, [n_local + 1]: the transposed graph */
    int32_t *out_col;  /* owned, [n_edges]: inner rows, rising */
    int32_t *in_deg, *out_deg; /* owned, [n_local]: global degrees, without self loops */
} qh_halo;

/* rank's plan. self_loops: every inner row gets the edge to itself (models that want it). */
qh_status qh_halo_new(const qh_layout *l, int rank, bool self_loops, qh_halo **out);
void qh_halo_free(qh_halo *h);

/* Row ranges. */
qh_rows qh_halo_central(const qh_halo *h);
qh_rows qh_halo_marginal(const qh_halo *h);
qh_rows qh_halo_inner(const qh_halo *h);
qh_rows qh_halo_remote(const qh_halo *h);

#endif
