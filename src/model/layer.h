/* What the files of this folder share: a layer, the model behind qh_model, the family of models.
 *
 * Every layer holds one product U = agg(H) W, with agg linear over nodes (A, plus (1 + eps) I for
 * GIN), so that agg and W commute: conv.c does it in three forms. What stands around it is a
 * model's own. */
#ifndef QH_MODEL_LAYER_H
#define QH_MODEL_LAYER_H

#include "src/model/model.h"

enum {
    QH_LAYER_CHUNK = 1024, /* rows of a fused pass: some 1 MB a matrix, at home in L2 */
    QH_MAX_STEPS = 4,
    QH_MAX_LAYER_PARAMS = 8
};

typedef enum qh_form {
    QH_FORM_AGGREGATE, /* U = agg(H) W, H travels */
    QH_FORM_TRANSFORM, /* U = agg(H W), H W travels */
    QH_FORM_SPARSE     /* U = agg(X W), X stays sparse and travels as it is */
} qh_form;

typedef struct qh_layer {
    int index;
    bool last, norm; /* norm: not in the last layer */
    qh_form form;
    int64_t n_in, n_mid, n_out;              /* columns of H, of U, of the result */
    int64_t first_param, weight, bias, gain; /* indices: W of U; bias of the result; LayerNorm's */
    /* Gradients take the place of values: H's that of H, P's that of P, agg(H)'s that of it. */
    qh_mat message;     /* P [n_local x n_in or n_mid]; sparse: X W. Owned when owns_message, else
                           the input's or that of a layer before */
    qh_mat input;       /* H [n_inner x n_in]: rows of the message, of the input, or owned
                           (owns_input); none when sparse */
    qh_mat aggregate;   /* owned, agg(H) [n_inner x n_in]: aggregate-first only */
    qh_mat mid;         /* owned, [n_inner x n_mid]: models with something behind U */
    qh_mat result;      /* owned, [n_inner x n_out]: the convolution's, then after dropout */
    float *mean, *rstd; /* owned, [n_inner] */
    uint8_t *kept;      /* owned: bits of dropout */
    int64_t kept_stride;
    bool owns_message, owns_input;
} qh_layer;

/* Input rows of layer 0. */
typedef struct qh_input {
    bool sparse;
    uint32_t keep;  /* of input dropout, of 65536 */
    qh_mat dense;   /* borrowed */
    qh_mat dropped; /* owned, [n_local x F] or [n_inner x F]: dense rows after dropout */
    qh_csr raw;     /* borrowed, [n_inner x F] */
    /* The sparse rows in use, inner and halo, owned; none where raw serves as it is. */
    int64_t *ptr; /* [n_local + 1] */
    int32_t *col;
    float *val;
    int64_t capacity, used; /* values */
    int64_t n_closed;       /* rows whose end is in ptr */
    bool settled;           /* room for the sets to come was made */
} qh_input;

typedef struct qh_model_ops {
    const char *name, *help;
    bool self_loops;
    bool keeps_message; /* P is needed on the way back */
    bool has_mid;
    int n_params; /* of a layer, without LayerNorm's */
    int weight, bias;
    /* alpha(u, v) by u's out-degree and v's in-degree (self loops not counted); NULL: 1. */
    double (*coefficient)(int32_t out_deg, int32_t in_deg);
    /* Fills the layer's parameters, n_params of them; '#' in a name stands for the layer. */
    void (*parameters)(const qh_layer *l, qh_param *list);
    /* The result of these rows, then (unless last) the hidden part. */
    void (*forward)(qh_model *m, qh_layer *l, qh_rows rows);
    /* From the gradient of the result (qh_layer_gradient) to qh_conv_backward_begin. */
    qh_status (*backward_begin)(qh_model *m, qh_layer *l);
    /* Completes the gradient of H once that of P is. */
    qh_status (*backward_finish)(qh_model *m, qh_layer *l);
    /* Factor of the node itself beside A, given the parameters; NULL: 0. */
    float (*self_factor)(const qh_model *m, const qh_layer *l);
} qh_model_ops;

extern const qh_model_ops qh_model_gcn, qh_model_sage, qh_model_gin;

struct qh_model {
    const qh_model_ops *ops;
    qh_model_config config;
    qh_model_graph graph;    /* in use */
    int64_t most_local;      /* rows that it may have */
    qh_exec *exec;           /* borrowed */
    qh_params *params;       /* owned */
    qh_layer *layer;         /* owned, [n_layers] */
    qh_csr in, out;          /* A [n_inner x n_local] and its transpose, in use */
    float *in_val, *out_val; /* owned: coefficients of the first graph; NULL: all 1 */
    float *beta[2];          /* owned, [n_local] by direction */
    qh_input input;
    qh_mat logits_gradient; /* owned */
    qh_mat scratch;         /* owned, [n_inner x n_mid]: gradient of U, models with a mid */
    qh_mat source;          /* of the spread under way: gradient of agg(H) or of U */
    uint32_t keep;          /* of dropout in this pass, of 65536 */
    int32_t epoch;
    bool training, halo_product_done;
};

const qh_model_ops *qh_model_find(const char *name); /* NULL: unknown */

/* --- plan.c --- */
/* The shapes of a layer; no memory yet. */
qh_layer qh_layer_plan(const qh_model_ops *ops, const qh_model_config *c, bool sparse, int index);
/* Floats of exec's scratch that a layer wants. */
int64_t qh_layer_scratch(const qh_layer *l, int64_t n_inner, int64_t n_chunks);
/* All matrices of the planned layers and what is shared; freed by qh_model_free. QH_ERESOURCE. */
qh_status qh_model_take_memory(qh_model *m, int64_t n_edges);

/* --- layer.c --- */
/* Parameter of a layer, by its place in the model's list. */
qh_mat qh_layer_value(const qh_model *m, const qh_layer *l, int place);
qh_mat qh_layer_grad(const qh_model *m, const qh_layer *l, int place);

/* Where the layer's output goes (the next layer's H, or the logits), and where its gradient is. */
qh_mat qh_layer_output(const qh_model *m, const qh_layer *l);
qh_mat qh_layer_gradient(const qh_model *m, const qh_layer *l);

qh_rows qh_model_inner(const qh_model *m);

/* Kept elements of 65536. */
uint32_t qh_model_keep(double dropout);

/* Steps for qh_exec_steps: costs of a product [n x k][k x f], of n_passes passes over [n x f]. */
qh_step qh_step_gemm(void (*run)(void *ctx, qh_rows rows), qh_rows rows, int64_t k, int64_t f,
                     bool accumulate);
qh_step qh_step_rows(void (*run)(void *ctx, qh_rows rows), qh_rows rows, int64_t f, int n_passes);

/* A step's ctx. */
typedef struct qh_layer_ref {
    qh_model *m;
    qh_layer *l;
    qh_mat gradient; /* steps of the way back: of U or of the result */
} qh_layer_ref;

/* Runs steps on rows of a layer, forward, with the hidden part behind them unless it is the last
 * layer. n_steps <= QH_MAX_STEPS. */
void qh_layer_run(qh_model *m, qh_layer *l, qh_rows rows, const qh_step *step, int n_steps);

/* The way back through the hidden part, and the gradients of LayerNorm and of the result's bias. */
qh_status qh_layer_hidden_backward(qh_model *m, qh_layer *l);

/* --- conv.c --- */
/* P of the inner rows, where it is not H. */
void qh_conv_prepare(qh_model *m, qh_layer *l);
/* P of the halo rows, sparse form only. QH_ERESOURCE. */
qh_status qh_conv_halo_product(qh_model *m, qh_layer *l);
/* Rows of A P (+ out when accumulate): the aggregate, or U without its self term. */
void qh_conv_aggregate(qh_model *m, qh_layer *l, qh_rows rows, bool accumulate, qh_mat out);
/* A chunk of U = aggregate W + bias (+ U): aggregate-first only. */
void qh_conv_multiply(qh_model *m, qh_layer *l, qh_rows rows, const float *bias, bool accumulate,
                      qh_mat out);
/* Gradients of W and of the self factor from that of U, whose matrix must stay as it is until the
 * spread is done; then what the spread starts from. */
qh_status qh_conv_backward_begin(qh_model *m, qh_layer *l, qh_mat gradient, float *self_gradient);
void qh_conv_backward_spread(qh_model *m, qh_layer *l, qh_rows rows);
/* Gradient of W, then that of H through U (into H): transform-first; nothing for the others. */
qh_status qh_conv_backward_finish(qh_model *m, qh_layer *l);

/* --- input.c --- */
qh_status qh_input_init(qh_model *m, const qh_model_input *in);
void qh_input_fini(qh_model *m);
/* Drops the inner rows of this pass and points layer 0 at them. */
void qh_input_prepare(qh_model *m);
/* Sparse rows: [n_local x F], complete. QH_ERESOURCE. */
qh_status qh_input_rows(qh_model *m, qh_csr *out);
/* The inner ones alone. */
qh_csr qh_input_inner(const qh_model *m);

#endif
