/* All parameters of a model in one flat buffer (and gradients, and Adam's moments in three more),
 * with named views: one all-reduce, one optimizer call, one digest. */
#ifndef QH_MODEL_PARAM_H
#define QH_MODEL_PARAM_H

#include "src/base/status.h"
#include "src/base/view.h"
#include "src/kernel/backend.h"

typedef struct qh_param {
    char name[16]; /* "W0", "b0", "ln_gain0", "Wself1", "Wneigh1", "eps0", "W0a", ... */
    int64_t offset, rows, cols; /* into the flat buffers; vectors are 1 x n */
    int layer;
    enum { QH_INIT_GLOROT, QH_INIT_ZERO, QH_INIT_ONE } init;
} qh_param;

typedef struct qh_params {
    qh_param *item; /* owned */
    int64_t n;
    int64_t n_values;            /* floats in each buffer (packed: view ld = cols) */
    float *value, *grad, *m, *v; /* owned */
    int64_t step;                /* optimizer steps taken */
} qh_params;

/* From a list of n shapes (offsets are filled in). QH_ERESOURCE. */
qh_status qh_params_new(const qh_param *list, int64_t n, qh_params **out);
void qh_params_free(qh_params *p);

/* Glorot uniform in +-sqrt(6 / (rows + cols)), zeros, ones; drawn by (seed, parameter, element). */
void qh_params_init(qh_params *p, uint64_t seed);

/* Views; -1 / assert when the name is unknown. */
int64_t qh_params_find(const qh_params *p, const char *name);
qh_mat qh_params_value(const qh_params *p, int64_t i);
qh_mat qh_params_grad(const qh_params *p, int64_t i);

/* One Adam step on everything; weight decay on all parameters, or on those of layer 0 only
 * (decay_first), as in Kipf and Welling. */
void qh_params_adam(qh_params *p, const qh_kernels *k, double lr, double weight_decay,
                    bool decay_first);

/* Hash of the values (and names and shapes). */
uint64_t qh_params_digest(const qh_params *p);

#endif
