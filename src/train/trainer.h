/* One rank's training: epochs of forward, loss, backward, all-reduce, optimizer, evaluation.
 * It never reads a clock; it leaves records in the sink. */
#ifndef QH_TRAIN_TRAINER_H
#define QH_TRAIN_TRAINER_H

#include "src/graph/dataset.h"
#include "src/partition/halo.h"
#include "src/record/record.h"
#include "src/train/exchange.h"
#include "src/train/settings.h"
#include "src/transport/transport.h"

/* What a rank works with; all borrowed and outliving the trainer. */
typedef struct qh_rank_context {
    const qh_train_settings *settings;
    const qh_dataset *dataset; /* read-only, shared */
    const qh_layout *layout;   /* read-only, shared */
    const qh_part *part;       /* in place of the two above, where a rank has its part alone */
    int rank;
    qh_transport *transport;
    qh_team *team; /* NULL: one thread */
    qh_sink *sink;
} qh_rank_context;

/* One rank's training in steps, for those who want to look between them; qh_train is the loop. */
typedef struct qh_trainer qh_trainer;

/* Builds plan, model and exchange of the rank. No communication. A failure aborts the
 * transport. QH_ERESOURCE, QH_EUSAGE. */
qh_status qh_trainer_new(const qh_rank_context *c, qh_trainer **out);
void qh_trainer_free(qh_trainer *t); /* NULL is fine */

qh_model *qh_trainer_model(qh_trainer *t);
const qh_halo *qh_trainer_plan(const qh_trainer *t);

/* What the rank will send in an epoch; see exchange.h. */
qh_status qh_trainer_volume(qh_trainer *t, int32_t epoch, qh_volume *out);

/* Forward, loss and backward of an epoch, and the sum of the gradients over ranks: the model's
 * gradients are those of the whole graph. *loss: the sum over the training nodes of all ranks /
 * their number. A loss that is not finite: QH_EINTERNAL naming the epoch. */
qh_status qh_trainer_gradient(qh_trainer *t, int32_t epoch, double *loss);
/* One optimizer step. */
void qh_trainer_update(qh_trainer *t, int32_t epoch);
/* Metrics by split of the present weights: full precision, no dropout, no records. Rows that a rank
 * has from others are not counted. */
qh_status qh_trainer_evaluate(qh_trainer *t, double metric[4]);

/* What training ends with; the same on every rank but for the counts
 * and the last choice of widths. */
typedef struct qh_train_result {
    int64_t epochs;     /* done */
    int64_t best_epoch; /* of the best validation metric, the first of equals; the last epoch when
                           no validation node exists */
    double metric[4];   /* by split, at best_epoch; NaN: no such node */
    double final_loss;
    uint64_t digest;             /* of the final weights */
    int64_t halo_nodes, n_inner; /* of this rank */
    int64_t allocations_after_first_epoch;
    qh_assign_result assign; /* the last choice of widths for all channels together, on rank 0 */
} qh_train_result;

/* Trains on this rank; every rank of the transport calls it at once, from its own thread. The
 * trainer is new. A failure aborts the transport, so that the others end with QH_EINTERRUPT. Errors
 * of the numbers: QH_EINTERNAL, naming node, layer, direction and epoch. */
qh_status qh_train(qh_trainer *t, qh_train_result *out);

#endif
