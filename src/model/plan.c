/* What a model's layers look like and the memory they take: planned once, then taken or counted. */
#include "src/base/mem.h"
#include "src/model/layer.h"

/* --- shapes --- */

/* The form in which less travels: rows of n_in, or rows of n_mid, forward and back; the first layer
 * has no way back when it aggregates first. So also less is aggregated. */
static qh_form form_of(const qh_model_config *c, bool sparse, int index, int64_t n_in,
                       int64_t n_mid)
{
    if (index == 0 && sparse)
        return QH_FORM_SPARSE;
    if (c->order == QH_ORDER_AUTO)
        return (index == 0 ? 2 * n_mid : n_mid) < n_in ? QH_FORM_TRANSFORM : QH_FORM_AGGREGATE;
    return c->order == QH_TRANSFORM_FIRST ? QH_FORM_TRANSFORM : QH_FORM_AGGREGATE;
}

qh_layer qh_layer_plan(const qh_model_ops *ops, const qh_model_config *c, bool sparse, int index)
{
    qh_layer l = {.index = index,
                  .last = index == c->n_layers - 1,
                  .n_in = index == 0 ? c->n_features : c->n_hidden};
    int64_t per_layer = ops->n_params + (c->norm ? 2 : 0);

    l.norm = c->norm && !l.last;
    l.n_out = l.last ? c->n_classes : c->n_hidden;
    l.n_mid = ops->has_mid ? c->n_hidden : l.n_out;
    l.form = form_of(c, sparse, index, l.n_in, l.n_mid);
    l.first_param = index * per_layer;
    l.weight = l.first_param + ops->weight;
    l.bias = l.first_param + ops->bias;
    l.gain = l.first_param + ops->n_params;
    return l;
}

static int64_t message_cols(const qh_layer *l)
{
    return l->form == QH_FORM_AGGREGATE ? l->n_in : l->n_mid;
}

/* The earlier layer whose message matrix serves this one too, or -1. Where P is not needed on the
 * way back, aggregate-first layers take turns with two matrices (a layer reads its own while it
 * writes the next one's), transform-first ones use one. */
static int lender(const qh_model_ops *ops, const qh_model_config *c, bool sparse, const qh_layer *l)
{
    for (int i = 0; i < l->index && !ops->keeps_message; i++) {
        qh_layer earlier = qh_layer_plan(ops, c, sparse, i);

        if (earlier.form == l->form && message_cols(&earlier) == message_cols(l) &&
            (l->form == QH_FORM_TRANSFORM || (i > 0 && (l->index - i) % 2 == 0)))
            return i;
    }
    return -1;
}

/* --- memory --- */

/* Allocates, or only counts what it would. */
typedef struct purse {
    bool dry;
    int64_t bytes;
} purse;

static qh_status take(purse *p, int64_t count, size_t size, void **out)
{
    p->bytes += count * (int64_t)size;
    return p->dry ? QH_OK : qh_mem_alloc(out, count, size);
}

#define TAKE(purse, pointer, n) take(purse, n, sizeof **(pointer), (void **)(pointer))

static qh_status take_mat(purse *p, int64_t rows, int64_t cols, qh_mat *out)
{
    int64_t lines = (cols + 15) / 16; /* as qh_mat_new lays rows out */

    p->bytes += 64 * rows * (lines > 1 ? lines | 1 : lines);
    return p->dry ? QH_OK : qh_mat_new(rows, cols, out);
}

/* Own: nobody lends a message matrix. */
static qh_status take_layer(purse *p, const qh_model_ops *ops, const qh_model_config *c,
                            int64_t n_inner, int64_t n_local, bool own, qh_layer *l)
{
    qh_status st = QH_OK;

    if (own && (l->index > 0 || l->form != QH_FORM_AGGREGATE)) {
        QH_TRY(st, take_mat(p, n_local, message_cols(l), &l->message));
        l->owns_message = true;
    }
    if (l->index > 0 && l->form == QH_FORM_TRANSFORM) {
        QH_TRY(st, take_mat(p, n_inner, l->n_in, &l->input));
        l->owns_input = true;
    } else if (l->index > 0) {
        l->input = l->message;
        l->input.rows = n_inner;
    }
    if (l->form == QH_FORM_AGGREGATE)
        QH_TRY(st, take_mat(p, n_inner, l->n_in, &l->aggregate));
    if (ops->has_mid)
        QH_TRY(st, take_mat(p, n_inner, l->n_mid, &l->mid));
    QH_TRY(st, take_mat(p, n_inner, l->n_out, &l->result));
    if (l->norm) {
        QH_TRY(st, TAKE(p, &l->mean, n_inner));
        QH_TRY(st, TAKE(p, &l->rstd, n_inner));
    }
    if (l->norm && c->dropout > 0) {
        l->kept_stride = (l->n_out + 7) / 8;
        QH_TRY(st, TAKE(p, &l->kept, n_inner * l->kept_stride));
    }
out:
    return st;
}

/* What is not a layer's. */
static qh_status take_shared(purse *p, const qh_model_ops *ops, const qh_model_config *c,
                             int64_t n_inner, int64_t n_local, int64_t n_edges, qh_model *m)
{
    qh_status st = QH_OK;

    QH_TRY(st, take_mat(p, n_inner, c->n_classes, &m->logits_gradient));
    if (ops->has_mid)
        QH_TRY(st, take_mat(p, n_inner, c->n_hidden, &m->scratch));
    if (ops->coefficient) {
        QH_TRY(st, TAKE(p, &m->in_val, n_edges));
        QH_TRY(st, TAKE(p, &m->out_val, n_edges));
    }
    for (int d = 0; d < 2; d++)
        QH_TRY(st, TAKE(p, &m->beta[d], n_local));
out:
    return st;
}

qh_status qh_model_take_memory(qh_model *m, int64_t n_edges)
{
    purse p = {0};
    int64_t n_inner = m->graph.n_inner, n_local = m->graph.n_local;
    qh_status st = QH_OK;

    for (int i = 0; i < m->config.n_layers; i++) {
        qh_layer *l = &m->layer[i];
        int from = lender(m->ops, &m->config, m->input.sparse, l);

        if (from >= 0)
            l->message = m->layer[from].message;
        QH_TRY(st, take_layer(&p, m->ops, &m->config, n_inner, n_local, from < 0, l));
    }
    QH_TRY(st, take_shared(&p, m->ops, &m->config, n_inner, n_local, n_edges, m));
out:
    return st;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t qh_layer_scratch(const qh_layer *l, int64_t n_inner, int64_t n_chunks)
{
    int64_t tn = more(qh_exec_gemm_tn_scratch(n_inner, l->n_in, l->n_mid),
                      qh_exec_gemm_tn_scratch(n_inner, l->n_mid, l->n_out));

    return more(tn, n_chunks * 3 * more(l->n_mid, l->n_out));
}

int64_t qh_model_estimate_bytes(const qh_model_config *c, int64_t n_inner, int64_t n_halo,
                                int64_t n_edges, bool sparse)
{
    const qh_model_ops *ops = qh_model_find(c->name);
    qh_param list[QH_MAX_LAYER_PARAMS];
    purse p = {.dry = true};
    int64_t scratch = 0, n_values = 0, n_local = n_inner + n_halo;
    qh_model none = {0};

    QH_ASSERT(ops);
    for (int i = 0; i < c->n_layers; i++) {
        qh_layer l = qh_layer_plan(ops, c, sparse, i);

        ops->parameters(&l, list);
        for (int j = 0; j < ops->n_params; j++)
            n_values += list[j].rows * list[j].cols;
        n_values += l.norm ? 2 * l.n_out : 0;
        scratch = more(scratch, qh_layer_scratch(&l, n_inner, n_inner / QH_LAYER_CHUNK + 2));
        (void)take_layer(&p, ops, c, n_inner, n_local, lender(ops, c, sparse, &l) < 0, &l);
        if (i == 0 && !sparse && c->input_dropout > 0)
            (void)take_mat(&p, l.form == QH_FORM_AGGREGATE ? n_local : n_inner, l.n_in, &l.input);
    }
    (void)take_shared(&p, ops, c, n_inner, n_local, n_edges + (ops->self_loops ? n_inner : 0),
                      &none);
    return p.bytes + 4 * (4 * n_values + scratch);
}
