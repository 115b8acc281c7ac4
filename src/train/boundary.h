/* The part of the boundary that takes part in a pass: all of it, or (BNS-GCN, see
 * src/partition/sample.h) a sample drawn for each epoch. Model and exchange are told. */
#ifndef QH_TRAIN_BOUNDARY_H
#define QH_TRAIN_BOUNDARY_H

#include "src/partition/sample.h"
#include "src/train/exchange.h"

typedef struct qh_boundary {
    const qh_halo *full; /* borrowed, as model, exchange and exec */
    qh_model *model;
    qh_exchange *exchange;
    qh_exec *exec;
    qh_sample *sample; /* owned; NULL: all take part, always */
} qh_boundary;

/* The rank's part of the graph, as a model wants it. */
qh_model_graph qh_plan_graph(const qh_halo *plan);

/* QH_ERESOURCE. */
qh_status qh_boundary_init(const qh_train_settings *s, const qh_halo *full, qh_model *m,
                           qh_exchange *x, qh_exec *exec, qh_boundary *out);
void qh_boundary_fini(qh_boundary *b);

/* Those of an epoch, from now on: the plan. Leaves a record where there is a sample. */
const qh_halo *qh_boundary_draw(qh_boundary *b, int32_t epoch);
/* All, for evaluation. */
const qh_halo *qh_boundary_all(qh_boundary *b);

#endif
