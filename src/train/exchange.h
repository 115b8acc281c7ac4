/* The halo exchange of one rank: begin (gather, encode, post), finish (wait, decode, scatter).
 *
 * Forward: rows of the owners fill the halo rows of their neighbours. Backward: halo rows of a
 * gradient go home and are added to the owner's rows, in rank order of the senders. */
#ifndef QH_TRAIN_EXCHANGE_H
#define QH_TRAIN_EXCHANGE_H

#include "src/model/model.h"
#include "src/partition/halo.h"
#include "src/train/settings.h"
#include "src/transport/transport.h"

typedef struct qh_exchange qh_exchange; /* buffers and width tables of one rank */

qh_status qh_exchange_new(const qh_train_settings *s, const qh_halo *plan, qh_transport *t,
                          qh_model *m, qh_exec *exec, qh_exchange **out);
void qh_exchange_free(qh_exchange *x);

/* Leaves QUANTIZE, SEND and RECV records. A value that is not finite: QH_EINTERNAL naming node,
 * layer, direction and epoch. */
qh_status qh_exchange_begin(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);
/* Leaves WAIT and DEQUANTIZE records. */
qh_status qh_exchange_finish(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);

/* Full-precision forward exchange for evaluation: no records, not counted. */
qh_status qh_exchange_exact(qh_exchange *x, int layer);

#endif
