/* One rank's training: epochs of forward, loss, backward, all-reduce, optimizer, evaluation.
 * It never reads a clock; it leaves records in the sink. */
#ifndef QH_TRAIN_TRAINER_H
#define QH_TRAIN_TRAINER_H

#include "src/graph/dataset.h"
#include "src/partition/halo.h"
#include "src/record/record.h"
#include "src/train/settings.h"
#include "src/transport/transport.h"

/* What a rank works with; all borrowed and outliving the trainer. */
typedef struct qh_rank_context {
    const qh_train_settings *settings;
    const qh_dataset *dataset; /* read-only, shared */
    const qh_layout *layout;   /* read-only, shared */
    int rank;
    qh_transport *transport;
    qh_team *team; /* NULL: one thread */
    qh_sink *sink;
} qh_rank_context;

/* What training ends with; the same on every rank but for the counts. */
typedef struct qh_train_result {
    int64_t epochs;     /* done */
    int64_t best_epoch; /* of the best validation metric, the first of equals; the last epoch when
                           no validation node exists */
    double metric[4];   /* by split, at best_epoch; NaN: no such node */
    double final_loss;
    uint64_t digest;             /* of the final weights */
    int64_t halo_nodes, n_inner; /* of this rank */
    int64_t allocations_after_first_epoch;
} qh_train_result;

/* Trains on this rank; every rank of the transport calls it at once, from its own thread. A failure
 * aborts the transport, so that the others end with QH_EINTERRUPT. */
qh_status qh_train(const qh_rank_context *c, qh_train_result *out);

#endif
