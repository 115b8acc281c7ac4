/* GraphSAGE with the mean aggregator (Hamilton, Ying, Leskovec, NeurIPS 2017), self loop in the
 * mean: Z = H Wself + mean(N(v) and v) Wneigh + b. */
#include "src/model/layer.h"

enum { WSELF, WNEIGH, B, N_PARAMS };

static double coefficient(int32_t out_deg, int32_t in_deg)
{
    (void)out_deg;
    return 1 / ((double)in_deg + 1);
}

static void parameters(const qh_layer *l, qh_param *list)
{
    list[WSELF] =
        (qh_param){.name = "Wself#", .rows = l->n_in, .cols = l->n_out, .init = QH_INIT_GLOROT};
    list[WNEIGH] =
        (qh_param){.name = "Wneigh#", .rows = l->n_in, .cols = l->n_out, .init = QH_INIT_GLOROT};
    list[B] = (qh_param){.name = "b#", .rows = 1, .cols = l->n_out, .init = QH_INIT_ZERO};
}

static void multiply_self(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->gemm_nn(ref->l->input, qh_layer_value(ref->m, ref->l, WSELF),
                                   qh_layer_value(ref->m, ref->l, B).data, rows.first, rows.end,
                                   ref->l->result, false);
}

static void multiply_neigh(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    qh_conv_multiply(ref->m, ref->l, rows, NULL, true, ref->l->result);
}

static void add_bias(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->add_bias(qh_layer_value(ref->m, ref->l, B).data, rows.first, rows.end,
                                    ref->l->result);
}

static void forward(qh_model *m, qh_layer *l, qh_rows rows)
{
    qh_step step[2];

    if (l->form == QH_FORM_AGGREGATE) {
        qh_conv_aggregate(m, l, rows, false, l->aggregate);
        step[0] = qh_step_gemm(multiply_self, rows, l->n_in, l->n_out, false);
        step[1] = qh_step_gemm(multiply_neigh, rows, l->n_in, l->n_out, true);
        qh_layer_run(m, l, rows, step, 2);
    } else if (l->form == QH_FORM_TRANSFORM) {
        qh_exec_gemm_nn(m->exec, l->index, QH_FORWARD, l->input, qh_layer_value(m, l, WSELF),
                        qh_layer_value(m, l, B).data, rows, l->result, false);
        qh_conv_aggregate(m, l, rows, true, l->result);
        qh_layer_run(m, l, rows, NULL, 0);
    } else {
        qh_exec_spmm(m->exec, l->index, QH_FORWARD, qh_input_inner(m), qh_layer_value(m, l, WSELF),
                     rows, l->result, false);
        qh_conv_aggregate(m, l, rows, true, l->result);
        step[0] = qh_step_rows(add_bias, rows, l->n_out, 2);
        qh_layer_run(m, l, rows, step, 1);
    }
}

static qh_status backward_begin(qh_model *m, qh_layer *l)
{
    qh_mat g = qh_layer_gradient(m, l), grad = qh_layer_grad(m, l, WSELF);
    qh_status st = QH_OK;

    /* Before the convolution: it may leave a gradient where H is. */
    if (l->form == QH_FORM_SPARSE)
        qh_exec_spmm_tn(m->exec, l->index, QH_BACKWARD, qh_input_inner(m), g, grad);
    else
        QH_TRY(st, qh_exec_gemm_tn_add(m->exec, l->index, QH_BACKWARD, l->input, g,
                                       qh_model_inner(m), grad));
    QH_TRY(st, qh_conv_backward_begin(m, l, g, NULL));
out:
    return st;
}

static qh_status backward_finish(qh_model *m, qh_layer *l)
{
    qh_status st = qh_conv_backward_finish(m, l);

    if (st == QH_OK && l->index > 0)
        qh_exec_gemm_nt(m->exec, l->index, QH_BACKWARD, qh_layer_gradient(m, l),
                        qh_layer_value(m, l, WSELF), qh_model_inner(m), l->input, true);
    return st;
}

const qh_model_ops qh_model_sage = {
    .name = "sage",
    .help = "H Wself + mean(neighbours and self) Wneigh + b",
    .self_loops = true,
    .keeps_message = true,
    .n_params = N_PARAMS,
    .weight = WNEIGH,
    .bias = B,
    .coefficient = coefficient,
    .parameters = parameters,
    .forward = forward,
    .backward_begin = backward_begin,
    .backward_finish = backward_finish,
};
