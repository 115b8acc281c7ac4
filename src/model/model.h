/* One rank's model: parameters, activations and gradients, worked in row ranges so that strategies
 * can order computation around communication.
 *
 * Layer l, forward, in the order of calls:
 *   qh_model_prepare(l)            the inner rows of the message matrix are ready
 *   <the exchange fills the halo rows of qh_model_message(l)>
 *   qh_model_forward(l, rows)      aggregate, dense part, dropout, LayerNorm, ReLU of these rows
 * Backward, from the last layer down:
 *   qh_model_backward_begin(l)     hidden part, parameter gradients, gradient of the aggregate
 *   qh_model_backward_spread(l, rows)  A^T of it for these local rows (halo first, if you like)
 *   <halo rows of qh_model_gradient(l) go to their owners, which add them to theirs>
 *   qh_model_backward_finish(l)    gradient of the layer below's output
 * Central rows may be forwarded before the halo rows have come; marginal rows not. The bits do not
 * depend on whether the inner rows are done at once or central and marginal apart.
 *
 * Memory: a gradient lives in the matrix whose value it is the gradient of (the value is not needed
 * any more by then), so message(l) and gradient(l) are the same rows, and halo rows do not outlive
 * the pass: who wants to use them again keeps them.
 *
 * Aggregation P -> A P, with P = H (aggregate-first) or H W (transform-first). Layer 0 with sparse
 * features keeps them sparse: messages are the raw rows, the product X W is taken over inner and
 * halo rows before aggregation, A (X W) = (A X) W. Formulas: DESIGN section 5; Kipf and Welling
 * 2017, Hamilton et al. 2017, Xu et al. 2019. */
#ifndef QH_MODEL_MODEL_H
#define QH_MODEL_MODEL_H

#include "src/base/view.h"
#include "src/model/exec.h"
#include "src/model/param.h"

#include <stdbool.h>

typedef enum qh_order { QH_AGGREGATE_FIRST, QH_TRANSFORM_FIRST, QH_ORDER_AUTO } qh_order;

typedef struct qh_model_config {
    const char *name; /* "gcn", "sage", "gin" */
    int n_layers;     /* >= 1 */
    int64_t n_features, n_hidden, n_classes;
    double dropout, input_dropout; /* [0, 1) */
    bool norm;
    qh_order order;
    uint64_t seed;
} qh_model_config;

/* The rank's part of the graph, borrowed by the model (all arrays outlive it). Numbering as in
 * src/partition/halo.h: inner rows first, then halo rows. */
typedef struct qh_model_graph {
    int64_t n_central, n_inner, n_local;
    const int32_t *node;             /* [n_local] */
    const int64_t *in_ptr, *out_ptr; /* [n_inner + 1], [n_local + 1] */
    const int32_t *in_col, *out_col; /* self loops included when qh_model_self_loops() */
    const int32_t *in_deg, *out_deg; /* [n_local] global degrees, self loops not counted */
} qh_model_graph;

/* The rank's input rows: dense [n_local x F] (inner rows filled, halo rows to be received), or
 * sparse rows of the inner nodes. Borrowed; the model makes what copies it needs. */
typedef struct qh_model_input {
    bool sparse;
    qh_mat dense;
    qh_csr inner; /* [n_inner x F] */
} qh_model_input;

typedef struct qh_model qh_model;

bool qh_model_known(const char *name);
/* Whether the model's aggregation includes the node itself as an edge (GCN, SAGE). */
bool qh_model_self_loops(const char *name);

/* Allocates everything it will ever need (but for halo rows of sparse features, see
 * qh_model_put_row), scratch of exec included. Same seed, same initial weights on every rank.
 * exec is borrowed and gets its cut from here. QH_EUSAGE, QH_ERESOURCE. */
qh_status qh_model_new(const qh_model_config *c, const qh_model_graph *g, const qh_model_input *in,
                       qh_exec *exec, qh_model **out);
void qh_model_free(qh_model *m);

/* Works on another part of the graph from now on, g and its arrays borrowed: the same inner rows,
 * no more halo rows or edges than qh_model_new had, and coefficients by edge of in_col and of
 * out_col (NULL: all 1). Between passes. */
void qh_model_use_graph(qh_model *m, const qh_model_graph *g, const float *in_val,
                        const float *out_val);
/* The coefficients of the graph that qh_model_new had, by edge of in_col (forward) or of out_col;
 * borrowed; NULL: all 1. */
const float *qh_model_coefficients(const qh_model *m, qh_direction dir);

int qh_model_n_layers(const qh_model *m);
qh_params *qh_model_params(qh_model *m); /* borrowed: weights and gradients, flat */
const qh_model_config *qh_model_settings(const qh_model *m);

/* Begins a pass of epoch t: zeroes gradients when training; dropout is off when not training. */
void qh_model_begin(qh_model *m, int32_t epoch, bool training);

/* --- forward --- */
void qh_model_prepare(qh_model *m, int layer);
qh_status qh_model_forward(qh_model *m, int layer, qh_rows rows); /* rows within the inner rows */
qh_mat qh_model_logits(qh_model *m);                              /* [n_inner x classes] */

/* Width of the messages of a layer. */
int64_t qh_model_message_cols(const qh_model *m, int layer);
/* The rows that travel before layer l aggregates: [n_local x cols], to be asked for in each pass
 * after prepare (input dropout has a matrix of its own). data is NULL for layer 0 with
 * sparse features, whose rows go through get_row and put_row. */
qh_mat qh_model_message(qh_model *m, int layer);
/* Row of layer 0, dense, out [cols]: an inner row, after input dropout. */
void qh_model_get_row(const qh_model *m, int64_t row, float *out);
/* Begins a new set of halo rows; then halo rows are put in rising order (those left out are zero,
 * and with no put at all every halo row is). Memory grows only when a set holds many more values
 * than the first that was used. QH_ERESOURCE. */
void qh_model_put_begin(qh_model *m);
qh_status qh_model_put_row(qh_model *m, int64_t row, const float *in);
/* The same of a row's n values that are not 0, columns rising; val NULL: all are 1. */
qh_status qh_model_put_values(qh_model *m, int64_t row, int64_t n, const int32_t *col,
                              const float *val);

/* --- loss and backward --- */
/* Where the loss leaves d loss / d logits, [n_inner x classes]. Zero to begin with and never
 * written here: as long as the loss writes the same rows each time, nobody need zero it. */
qh_mat qh_model_logits_gradient(qh_model *m);
qh_status qh_model_backward_begin(qh_model *m, int layer);
/* False: no gradient rows travel for this layer (layer 0, but for transform-first on dense
 * features; with sparse features backward_begin does the local A^T itself). Then spread and finish
 * must not be called. */
bool qh_model_has_gradient(const qh_model *m, int layer);
void qh_model_backward_spread(qh_model *m, int layer, qh_rows rows); /* within [0, n_local) */
qh_mat qh_model_gradient(qh_model *m, int layer);                    /* [n_local x message cols] */
qh_status qh_model_backward_finish(qh_model *m, int layer);
/* For AdaQP's variance weights: the sum of alpha^2 over the receiver's neighbours of a message's
 * node, as the receiver knows it; [n_local] by local row, borrowed. Forward: alpha(row, v) over the
 * local targets v of the row (receivers look at their halo rows). Backward: alpha(u, row) over the
 * row's in-edges (receivers look at their inner rows; 0 for halo rows). */
const float *qh_model_beta(qh_model *m, qh_direction dir);

/* Bytes that qh_model_new would allocate, for estimates before a run. n_edges: local edges, self
 * loops not counted. */
int64_t qh_model_estimate_bytes(const qh_model_config *c, int64_t n_inner, int64_t n_halo,
                                int64_t n_edges, bool sparse);

#endif
