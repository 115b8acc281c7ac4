/* Strategies: one epoch's forward and backward pass of one rank, written in the verbs of exchange.h
 * and model.h. Overlap is an order of lines. */
#ifndef QH_TRAIN_STRATEGY_H
#define QH_TRAIN_STRATEGY_H

#include "src/train/exchange.h"

typedef struct qh_pass {
    qh_model *model;
    qh_exchange *exchange;
    const qh_halo *plan;
    int32_t epoch;
} qh_pass;

typedef struct qh_strategy_ops {
    const char *name, *help;
    qh_status (*forward)(qh_pass *p, int layer);  /* exchange and compute layer's output */
    qh_status (*backward)(qh_pass *p, int layer); /* down to the gradient of its input */
} qh_strategy_ops;

const qh_strategy_ops *qh_strategy_find(const char *name); /* NULL: unknown */

#endif
