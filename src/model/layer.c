/* Driving a layer: its steps, the hidden part, the order of calls of model.h. */
#include "src/model/layer.h"

#include <string.h>

qh_mat qh_layer_value(const qh_model *m, const qh_layer *l, int place)
{
    return qh_params_value(m->params, l->first_param + place);
}

qh_mat qh_layer_grad(const qh_model *m, const qh_layer *l, int place)
{
    return qh_params_grad(m->params, l->first_param + place);
}

qh_mat qh_layer_output(const qh_model *m, const qh_layer *l)
{
    return l->last ? l->result : m->layer[l->index + 1].input;
}

qh_mat qh_layer_gradient(const qh_model *m, const qh_layer *l)
{
    return l->last ? m->logits_gradient : m->layer[l->index + 1].input;
}

qh_rows qh_model_inner(const qh_model *m)
{
    return (qh_rows){0, m->graph.n_inner};
}

qh_step qh_step_gemm(void (*run)(void *ctx, qh_rows rows), qh_rows rows, int64_t k, int64_t f,
                     bool accumulate)
{
    int64_t n = rows.end - rows.first;

    return (qh_step){run, QH_OP_GEMM, 2 * n * k * f,
                     4 * (n * k + k * f + (accumulate ? 2 : 1) * n * f)};
}

qh_step qh_step_rows(void (*run)(void *ctx, qh_rows rows), qh_rows rows, int64_t f, int n_passes)
{
    int64_t n = (rows.end - rows.first) * f;

    return (qh_step){run, QH_OP_ELEMENTWISE, n * n_passes, 4 * n * n_passes};
}

/* --- hidden part --- */

static qh_hidden hidden_of(const qh_model *m, const qh_layer *l)
{
    qh_hidden h = {.norm = l->norm,
                   .keep = m->keep,
                   .key = qh_rand_key(m->config.seed, QH_RAND_DROPOUT, (uint32_t)m->epoch,
                                      (uint32_t)l->index, 0),
                   .node = m->graph.node};

    if (l->norm) {
        h.gain = qh_params_value(m->params, l->gain).data;
        h.bias = qh_params_value(m->params, l->gain + 1).data;
    }
    return h;
}

static void hidden_forward(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;
    qh_layer *l = ref->l;
    qh_hidden h = hidden_of(ref->m, l);

    ref->m->exec->kernels->hidden_forward(&h, l->result, rows.first, rows.end,
                                          qh_layer_output(ref->m, l), l->mean, l->rstd,
                                          h.keep < 65536 ? l->kept : NULL, l->kept_stride);
}

/* Three sums a chunk: gradients of LayerNorm's gain and bias and of the result's bias. */
static void hidden_backward(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;
    qh_layer *l = ref->l;
    const qh_kernels *k = ref->m->exec->kernels;
    qh_hidden h = hidden_of(ref->m, l);
    float *sum = qh_exec_partial(ref->m->exec, rows.first, QH_LAYER_CHUNK, 3 * l->n_out);

    k->hidden_backward(&h, l->result, l->mean, l->rstd, h.keep < 65536 ? l->kept : NULL,
                       l->kept_stride, rows.first, rows.end, ref->gradient, sum, sum + l->n_out);
    k->colsum(ref->gradient, rows.first, rows.end, sum + 2 * l->n_out);
}

void qh_layer_run(qh_model *m, qh_layer *l, qh_rows rows, const qh_step *step, int n_steps)
{
    qh_step all[QH_MAX_STEPS + 1];
    qh_layer_ref ref = {.m = m, .l = l};

    QH_ASSERT(n_steps <= QH_MAX_STEPS);
    for (int s = 0; s < n_steps; s++)
        all[s] = step[s];
    if (!l->last)
        all[n_steps++] = qh_step_rows(hidden_forward, rows, l->n_out, m->keep < 65536 ? 3 : 2);
    if (n_steps)
        qh_exec_steps(m->exec, l->index, QH_FORWARD, rows, QH_LAYER_CHUNK, all, n_steps, &ref);
}

qh_status qh_layer_hidden_backward(qh_model *m, qh_layer *l)
{
    qh_exec *x = m->exec;
    qh_rows inner = qh_model_inner(m);
    qh_layer_ref ref = {.m = m, .l = l, .gradient = qh_layer_gradient(m, l)};
    int64_t n_chunks = qh_exec_n_chunks(x, inner, QH_LAYER_CHUNK), f = l->n_out;
    float *bias = qh_params_grad(m->params, l->bias).data;
    qh_step step = qh_step_rows(hidden_backward, inner, f, 3);
    qh_status st;

    if (l->last)
        return qh_exec_colsum_add(x, l->index, QH_BACKWARD, ref.gradient, inner, bias);
    QH_TRY(st, qh_exec_reserve(x, n_chunks * 3 * f));
    qh_exec_steps(x, l->index, QH_BACKWARD, inner, QH_LAYER_CHUNK, &step, 1, &ref);
    if (l->norm) {
        qh_exec_add_partials(x, n_chunks, 3 * f, 0, f, qh_params_grad(m->params, l->gain).data);
        qh_exec_add_partials(x, n_chunks, 3 * f, f, f, qh_params_grad(m->params, l->gain + 1).data);
    }
    qh_exec_add_partials(x, n_chunks, 3 * f, 2 * f, f, bias);
out:
    return st;
}

/* --- the order of calls --- */

static qh_layer *layer_of(qh_model *m, int layer)
{
    QH_ASSERT(layer >= 0 && layer < m->config.n_layers);
    return &m->layer[layer];
}

void qh_model_begin(qh_model *m, int32_t epoch, bool training)
{
    m->epoch = epoch;
    m->training = training;
    m->keep = training ? qh_model_keep(m->config.dropout) : 65536;
    m->halo_product_done = false;
    if (training)
        memset(m->params->grad, 0, (size_t)m->params->n_values * sizeof *m->params->grad);
}

void qh_model_prepare(qh_model *m, int layer)
{
    if (layer == 0)
        qh_input_prepare(m);
    qh_conv_prepare(m, layer_of(m, layer));
}

qh_status qh_model_forward(qh_model *m, int layer, qh_rows rows)
{
    qh_layer *l = layer_of(m, layer);
    qh_status st = QH_OK;

    QH_ASSERT(rows.first >= 0 && rows.end <= m->graph.n_inner);
    if (l->form == QH_FORM_SPARSE && rows.end > m->graph.n_central && !m->halo_product_done) {
        QH_TRY(st, qh_conv_halo_product(m, l));
        m->halo_product_done = true;
    }
    if (rows.first < rows.end)
        m->ops->forward(m, l, rows);
out:
    return st;
}

qh_status qh_model_backward_begin(qh_model *m, int layer)
{
    qh_layer *l = layer_of(m, layer);
    qh_status st;

    QH_ASSERT(m->training);
    QH_TRY(st, qh_layer_hidden_backward(m, l));
    QH_TRY(st, m->ops->backward_begin(m, l));
out:
    return st;
}

bool qh_model_has_gradient(const qh_model *m, int layer)
{
    return layer > 0 || m->layer[0].form == QH_FORM_TRANSFORM;
}

void qh_model_backward_spread(qh_model *m, int layer, qh_rows rows)
{
    QH_ASSERT(qh_model_has_gradient(m, layer) && rows.first >= 0 && rows.end <= m->graph.n_local);
    qh_conv_backward_spread(m, layer_of(m, layer), rows);
}

qh_status qh_model_backward_finish(qh_model *m, int layer)
{
    QH_ASSERT(qh_model_has_gradient(m, layer));
    return m->ops->backward_finish(m, layer_of(m, layer));
}

qh_mat qh_model_logits(qh_model *m)
{
    return m->layer[m->config.n_layers - 1].result;
}

qh_mat qh_model_logits_gradient(qh_model *m)
{
    return m->logits_gradient;
}

int64_t qh_model_message_cols(const qh_model *m, int layer)
{
    const qh_layer *l = &m->layer[layer];

    return l->form == QH_FORM_TRANSFORM ? l->n_mid : l->n_in;
}

qh_mat qh_model_message(qh_model *m, int layer)
{
    qh_layer *l = layer_of(m, layer);

    return l->form == QH_FORM_SPARSE ? (qh_mat){0} : l->message;
}

qh_mat qh_model_gradient(qh_model *m, int layer)
{
    QH_ASSERT(qh_model_has_gradient(m, layer));
    return layer_of(m, layer)->message;
}
