/* How parts lie in a .qhp file, behind what qhp.c describes; shared by part*.c alone.
 *
 *   for each part, at a multiple of 64 bytes: int64 counts, then the arrays below, each at a
 *     multiple of 64 bytes; offsets count from the beginning of the part;
 *     Its hash is that of chunks of QH_QHP_CHUNK bytes, each continued from the one before;
 *   the index: what all ranks need, then where each part lies;
 *   the tail: where the index lies. */
#ifndef QH_PARTITION_PART_FORMAT_H
#define QH_PARTITION_PART_FORMAT_H

#include "src/partition/part.h"

enum { QH_QHP_ALIGN = 64, QH_QHP_TEXT_BYTES = 256, QH_QHP_CHUNK = 1 << 20 };

enum {
    QH_PART_NODE,
    QH_PART_RECV_PTR,
    QH_PART_SEND_PTR,
    QH_PART_SEND_ROW,
    QH_PART_IN_PTR,
    QH_PART_IN_COL,
    QH_PART_IN_DEG,
    QH_PART_OUT_DEG,
    QH_PART_HALO_ORDER,
    QH_PART_SPLIT,
    QH_PART_LABEL,
    QH_PART_FEATURES, /* dense values, or ptr of sparse rows */
    QH_PART_COL,
    QH_PART_VAL,
    QH_PART_N_ARRAYS
};

typedef struct qh_qhp_counts {
    int64_t n_central, n_inner, n_halo, n_edges, n_send, n_values; /* n_values: sparse features */
} qh_qhp_counts;

typedef struct qh_qhp_index {
    int64_t n_nodes, n_edges, n_features, n_classes;
    int64_t sparse, multilabel, norm, n_parts;
    int64_t n_of_split[4];
    int64_t edge_cut, n_pairs, halo_nodes, boundary_nodes, marginal_nodes;
    int64_t max_inner, min_inner, max_halo, min_halo, min_train;
    char name[QH_QHP_TEXT_BYTES], source[QH_QHP_TEXT_BYTES];
} qh_qhp_index;

typedef struct qh_qhp_place {
    int64_t offset, bytes, n_inner;
    uint64_t hash;
} qh_qhp_place;

typedef struct qh_qhp_tail {
    char magic[8];
    int64_t offset, bytes; /* of the index with its places */
    uint64_t hash;
} qh_qhp_tail;

extern const char qh_qhp_tail_magic[8];

/* Elements of an array, and bytes of one. */
typedef struct qh_qhp_array {
    int64_t n, size;
} qh_qhp_array;

void qh_qhp_arrays(const qh_qhp_index *x, const qh_qhp_counts *c,
                   qh_qhp_array out[QH_PART_N_ARRAYS]);
int64_t qh_qhp_align(int64_t offset);

/* qhp.c: the ids with all that stands before and behind them; the bytes written. */
int64_t qh_qhp_put_ids(FILE *out, const qh_graph *g, const int32_t *part, int n_parts,
                       const char *made_by, int version);

#endif
