/* A data set: graph, features (dense or sparse), labels, split. DESIGN section 4 is the format. */
#ifndef QH_GRAPH_DATASET_H
#define QH_GRAPH_DATASET_H

#include "src/base/view.h"
#include "src/graph/graph.h"

#include <stdio.h>

typedef enum qh_split {
    QH_SPLIT_NONE,
    QH_SPLIT_TRAIN,
    QH_SPLIT_VALIDATION,
    QH_SPLIT_TEST
} qh_split;

typedef enum qh_feature_norm { QH_NORM_NONE, QH_NORM_ROW, QH_NORM_STANDARD } qh_feature_norm;

typedef struct qh_dataset {
    char *name;      /* owned */
    char *source;    /* owned; "" when unknown; synthetic twins say that they are */
    qh_graph *graph; /* owned */
    int64_t n_features, n_classes;
    bool sparse;            /* sparse_features is in use, else dense */
    qh_mat dense;           /* n_nodes x n_features; ld may be n_features where it is mapped */
    qh_csr sparse_features; /* n_nodes x n_features */
    bool multilabel;
    int32_t *label;       /* [n_nodes], -1 none; NULL when multilabel */
    uint8_t *multi_label; /* [n_nodes x n_classes] of 0 and 1; NULL unless multilabel */
    int8_t *split;        /* [n_nodes] of qh_split */
    qh_edge_report edges; /* what loading dropped */
    void *storage; /* owned: the mapping or the blocks behind the arrays; only dataset*.c looks */
} qh_dataset;

/* Opens what DATASET names: a .qhd file, a folder in the neutral layout, or synth:SPEC.
 * Errors: QH_EINPUT (QH_EUSAGE for a malformed synth:), naming file and row. Duplicates and self
 * loops give one warning through qh_log. */
qh_status qh_dataset_open(const char *name, qh_dataset **out);
void qh_dataset_free(qh_dataset *d);

/* Scales the features in place (a mapped or sparse matrix is replaced by an owned one where it must
 * be). ROW: rows divided by their sum (rows of sum 0 stay 0). STANDARD: zero mean, unit variance
 * over the training nodes, column by column (constant columns become 0); makes sparse dense, and
 * says so through qh_log. */
qh_status qh_dataset_normalise(qh_dataset *d, qh_feature_norm norm);

/* Checks all that DESIGN section 4 wants of a loaded data set (labels in range, finite features, a
 * training node, ...); where names it in errors. Every reader calls it. */
qh_status qh_dataset_check(const qh_dataset *d, const char *where);

/* Bytes that the arrays of d take in memory or in its mapping: what a run needs before the model.
 */
int64_t qh_dataset_bytes(const qh_dataset *d);

/* Writes a .qhd (versioned, checksummed, little-endian; layout in src/graph/qhd.c) under a
 * temporary name first. QH_ERESOURCE when the disk is full. */
qh_status qh_qhd_write(const qh_dataset *d, const char *path);
qh_status qh_qhd_open(const char *path, qh_dataset **out);

/* The neutral layout, out and in. */
qh_status qh_neutral_write(const qh_dataset *d, const char *folder);
qh_status qh_neutral_open(const char *folder, qh_dataset **out);

/* Makes a synthetic data set from "PRESET[,key=value...]" (without "synth:"); the same spec gives
 * the same bits. Presets and keys: qh_synth_help. QH_EUSAGE for an unknown preset or key. */
qh_status qh_synth_new(const char *spec, qh_dataset **out);
void qh_synth_help(FILE *out);

#endif
