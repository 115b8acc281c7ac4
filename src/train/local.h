/* A rank's part of the data set: its plan, and features, labels and splits by local row. */
#ifndef QH_TRAIN_LOCAL_H
#define QH_TRAIN_LOCAL_H

#include "src/graph/dataset.h"
#include "src/model/model.h"
#include "src/partition/halo.h"
#include "src/partition/part.h"

/* Where the features of halo nodes are read that need not travel; what it points to is borrowed. */
typedef struct qh_features {
    bool sparse;
    int64_t n_cols;
    qh_mat dense;        /* rows of the whole data set by node, or of a part by local row */
    qh_csr rows;         /* likewise */
    const qh_part *part; /* NULL: the whole */
} qh_features;

/* The row of features that has those of a node in the halo. */
int64_t qh_features_row(const qh_features *f, int32_t node);

typedef struct qh_local {
    qh_halo *plan;         /* owned */
    qh_model_input input;  /* what it points to is owned: dense [n_local x F], or sparse rows */
    int32_t *label;        /* owned, [n_inner]; NULL when multilabel */
    uint8_t *target;       /* owned, [n_inner x classes]; NULL unless multilabel */
    int8_t *split;         /* owned, [n_inner]: of qh_split, QH_SPLIT_NONE without a label */
    int32_t *train;        /* owned, [n_train]: inner rows to learn from, rising */
    int64_t n_train;       /* here */
    int64_t n_of_split[4]; /* labelled nodes of all ranks */
    bool multilabel;
    qh_features features;
} qh_local;

/* Halo rows of a dense input are zero until the exchange fills them. QH_ERESOURCE. */
qh_status qh_local_init(const qh_dataset *d, const qh_layout *layout, int rank, bool self_loops,
                        qh_local *out);
/* The same from a part of a file, which stays open. */
qh_status qh_local_of_part(const qh_part *p, bool self_loops, qh_local *out);
void qh_local_fini(qh_local *l);

#endif
