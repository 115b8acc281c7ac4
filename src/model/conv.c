/* U = agg(H) W in three forms, and the way back:
 *   aggregate-first  M = agg(H), U = M W;   dW = M^T dU, dM = dU W^T, dH = agg^T(dM)
 *   transform-first  P = H W, U = agg(P);   dP = agg^T(dU), dW = H^T dP, dH = dP W^T
 *   sparse           P = X W, U = agg(P);   dP = agg^T(dU), dW = X^T dP
 * The sparse form takes P over the halo rows too, and dP over them: each rank's dW then holds the
 * part that goes through its own U, and the sum over ranks is the whole. */
#include "src/model/layer.h"

static qh_mat weight(const qh_model *m, const qh_layer *l)
{
    return qh_params_value(m->params, l->weight);
}

static qh_mat weight_grad(const qh_model *m, const qh_layer *l)
{
    return qh_params_grad(m->params, l->weight);
}

static qh_rows halo_rows(const qh_model *m)
{
    return (qh_rows){m->graph.n_inner, m->graph.n_local};
}

void qh_conv_prepare(qh_model *m, qh_layer *l)
{
    if (l->form == QH_FORM_TRANSFORM)
        qh_exec_gemm_nn(m->exec, l->index, QH_FORWARD, l->input, weight(m, l), NULL,
                        qh_model_inner(m), l->message, false);
    else if (l->form == QH_FORM_SPARSE)
        qh_exec_spmm(m->exec, l->index, QH_FORWARD, qh_input_inner(m), weight(m, l),
                     qh_model_inner(m), l->message, false);
}

void qh_conv_aggregate(qh_model *m, qh_layer *l, qh_rows rows, bool accumulate, qh_mat out)
{
    qh_exec_spmm(m->exec, l->index, QH_FORWARD, m->in, l->message, rows, out, accumulate);
}

qh_status qh_conv_halo_product(qh_model *m, qh_layer *l)
{
    qh_csr x;
    qh_status st;

    QH_TRY(st, qh_input_rows(m, &x));
    qh_exec_spmm(m->exec, l->index, QH_FORWARD, x, weight(m, l), halo_rows(m), l->message, false);
out:
    return st;
}

void qh_conv_multiply(qh_model *m, qh_layer *l, qh_rows rows, const float *bias, bool accumulate,
                      qh_mat out)
{
    m->exec->kernels->gemm_nn(l->aggregate, weight(m, l), bias, rows.first, rows.end, out,
                              accumulate);
}

/* The aggregation is linear in its self factor: its gradient is <P, gradient of agg(P)>. */
static qh_status self_factor_gradient(qh_model *m, qh_layer *l, qh_mat gradient, float *out)
{
    qh_mat own = qh_mat_sub(l->message, qh_model_inner(m));
    double sum;
    qh_status st;

    QH_TRY(st, qh_exec_dot(m->exec, l->index, QH_BACKWARD, own, gradient, qh_model_inner(m), &sum));
    *out += (float)sum;
out:
    return st;
}

static qh_status sparse_backward(qh_model *m, qh_layer *l)
{
    qh_csr x;
    qh_status st;

    qh_conv_backward_spread(m, l, (qh_rows){0, m->graph.n_local});
    QH_TRY(st, qh_input_rows(m, &x));
    qh_exec_spmm_tn(m->exec, l->index, QH_BACKWARD, x, l->message, weight_grad(m, l));
out:
    return st;
}

qh_status qh_conv_backward_begin(qh_model *m, qh_layer *l, qh_mat gradient, float *self_gradient)
{
    qh_rows inner = qh_model_inner(m);
    qh_status st = QH_OK;

    m->source = gradient;
    if (l->form == QH_FORM_AGGREGATE) {
        QH_TRY(st, qh_exec_gemm_tn_add(m->exec, l->index, QH_BACKWARD, l->aggregate, gradient,
                                       inner, weight_grad(m, l)));
        m->source = l->aggregate;
        if (l->index > 0 || self_gradient)
            qh_exec_gemm_nt(m->exec, l->index, QH_BACKWARD, gradient, weight(m, l), inner,
                            l->aggregate, false);
    }
    if (self_gradient)
        QH_TRY(st, self_factor_gradient(m, l, m->source, self_gradient));
    if (l->form == QH_FORM_SPARSE)
        QH_TRY(st, sparse_backward(m, l));
out:
    return st;
}

static void add_self(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->axpy(ref->m->source, ref->m->ops->self_factor(ref->m, ref->l),
                                rows.first, rows.end, ref->l->message, true);
}

void qh_conv_backward_spread(qh_model *m, qh_layer *l, qh_rows rows)
{
    qh_rows own = {rows.first, rows.end < m->graph.n_inner ? rows.end : m->graph.n_inner};

    qh_exec_spmm(m->exec, l->index, QH_BACKWARD, m->out, m->source, rows, l->message, false);
    if (m->ops->self_factor && own.first < own.end) {
        qh_layer_ref ref = {.m = m, .l = l};
        qh_step step = qh_step_rows(add_self, own, m->source.cols, 3);

        qh_exec_steps(m->exec, l->index, QH_BACKWARD, own, QH_LAYER_CHUNK, &step, 1, &ref);
    }
}

qh_status qh_conv_backward_finish(qh_model *m, qh_layer *l)
{
    qh_rows inner = qh_model_inner(m);
    qh_status st = QH_OK;

    if (l->form != QH_FORM_TRANSFORM)
        return QH_OK;
    QH_TRY(st, qh_exec_gemm_tn_add(m->exec, l->index, QH_BACKWARD, l->input, l->message, inner,
                                   weight_grad(m, l)));
    if (l->index > 0)
        qh_exec_gemm_nt(m->exec, l->index, QH_BACKWARD, l->message, weight(m, l), inner, l->input,
                        false);
out:
    return st;
}
