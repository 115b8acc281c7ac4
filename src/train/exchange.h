/* The halo exchange of one rank: begin (gather, encode, post), finish (wait, decode, scatter).
 *
 * Forward: rows of the owners fill the halo rows of their neighbours. Backward: halo rows of a
 * gradient go home and are added to the owner's rows, in rank order of the senders. */
#ifndef QH_TRAIN_EXCHANGE_H
#define QH_TRAIN_EXCHANGE_H

#include "src/model/model.h"
#include "src/partition/halo.h"
#include "src/train/local.h"
#include "src/train/settings.h"
#include "src/transport/transport.h"

typedef struct qh_exchange qh_exchange; /* buffers and width tables of one rank */

/* All arguments are borrowed and outlive it; the dense input's halo rows (layer 0 of in the model's
 * message) are filled from f where that is what would travel. Everything is allocated
 * here. QH_EUSAGE: more rows than a block may have. QH_ERESOURCE. */
qh_status qh_exchange_new(const qh_train_settings *s, const qh_features *f, const qh_halo *plan,
                          qh_transport *t, qh_model *m, qh_exec *exec, qh_exchange **out);

/* Blocks sent stand in its buffers until they are taken: first qh_exchange_drain, or the
 * transport's abort. NULL is fine. */
void qh_exchange_free(qh_exchange *x);

/* Exchanges the rows of another plan from now on: the same ranks and inner rows, no more messages
 * on any channel. Borrowed. Nothing may be under way. */
void qh_exchange_use_plan(qh_exchange *x, const qh_halo *plan);

/* Before anything else of an epoch, by every rank: bit-widths that are chosen for all channels
 * together, where the assigner does so and the epoch is one. Leaves records. */
qh_status qh_exchange_assign(qh_exchange *x, int32_t epoch);

/* The last such choice, over all layers and directions; known to rank 0. */
typedef struct qh_assign_result {
    int64_t n_assignments;    /* 0: there was none */
    double objective;         /* mean over layers and directions */
    double gap;               /* certified, the largest */
    double variance;          /* sum of beta D R^2 / 6 / (2^b - 1)^2 */
    double shuffled_variance; /* to expect of the same widths dealt out at random in each channel */
    double seconds;           /* of an epoch's exchanges, by theta and gamma, round by round */
} qh_assign_result;
qh_assign_result qh_exchange_assign_result(const qh_exchange *x);

/* Leaves QUANTIZE, SEND and RECV records. A value that is not finite: QH_EINTERNAL naming node,
 * layer, direction and epoch. */
qh_status qh_exchange_begin(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);
/* Leaves WAIT and DEQUANTIZE records. */
qh_status qh_exchange_finish(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);

/* Full-precision forward exchange for evaluation: not counted (the caller has taken the sink away).
 * Layer 0 takes its rows from the data set. */
qh_status qh_exchange_exact(qh_exchange *x, int layer);

/* Waits until every block sent has been taken. */
qh_status qh_exchange_drain(qh_exchange *x);

/* The compression rate of an epoch, mean over layers: 1 where the codec takes none. */
double qh_exchange_rate(const qh_exchange *x, int32_t epoch);

/* What this rank will send in an epoch, to the byte, before anything is sent: wire bytes, width
 * tables and what an assigner needs, and its messages as 32-bit rows; as if no block were skipped.
 * Not for epochs in which widths are chosen from what was sent. Collective of no one: it looks at
 * the plan alone. */
typedef struct qh_volume {
    int64_t bytes, messages, fp32_bytes;
} qh_volume;
qh_status qh_exchange_volume(qh_exchange *x, int32_t epoch, qh_volume *out);

#endif
