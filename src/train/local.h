/* A rank's part of the data set: its plan, and features, labels and splits by local row. */
#ifndef QH_TRAIN_LOCAL_H
#define QH_TRAIN_LOCAL_H

#include "src/graph/dataset.h"
#include "src/model/model.h"
#include "src/partition/halo.h"

typedef struct qh_local {
    qh_halo *plan;         /* owned */
    qh_model_input input;  /* what it points to is owned: dense [n_local x F], or sparse rows */
    int32_t *label;        /* owned, [n_inner]; NULL when multilabel */
    uint8_t *target;       /* owned, [n_inner x classes]; NULL unless multilabel */
    int8_t *split;         /* owned, [n_inner]: of qh_split, QH_SPLIT_NONE without a label */
    int32_t *train;        /* owned, [n_train]: inner rows to learn from, rising */
    int64_t n_train;       /* here */
    int64_t n_of_split[4]; /* labelled nodes of all ranks */
} qh_local;

/* Halo rows of a dense input are zero until the exchange fills them. QH_ERESOURCE. */
qh_status qh_local_init(const qh_dataset *d, const qh_layout *layout, int rank, bool self_loops,
                        qh_local *out);
void qh_local_fini(qh_local *l);

#endif
