/* GIN (Xu, Hu, Leskovec, Jegelka, ICLR 2019): Z = ReLU(((1 + eps) H + sum N(v)) Wa + ba) Wb + bb
 * with a learned eps. */
#include "src/model/layer.h"

enum { EPS, WA, BA, WB, BB, N_PARAMS };

static void parameters(const qh_layer *l, qh_param *list)
{
    list[EPS] = (qh_param){.name = "eps#", .rows = 1, .cols = 1, .init = QH_INIT_ZERO};
    list[WA] = (qh_param){.name = "W#a", .rows = l->n_in, .cols = l->n_mid, .init = QH_INIT_GLOROT};
    list[BA] = (qh_param){.name = "b#a", .rows = 1, .cols = l->n_mid, .init = QH_INIT_ZERO};
    list[WB] =
        (qh_param){.name = "W#b", .rows = l->n_mid, .cols = l->n_out, .init = QH_INIT_GLOROT};
    list[BB] = (qh_param){.name = "b#b", .rows = 1, .cols = l->n_out, .init = QH_INIT_ZERO};
}

static float self_factor(const qh_model *m, const qh_layer *l)
{
    return 1 + *qh_layer_value(m, l, EPS).data;
}

static void add_self(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;
    qh_layer *l = ref->l;

    ref->m->exec->kernels->axpy(l->message, self_factor(ref->m, l), rows.first, rows.end,
                                l->form == QH_FORM_AGGREGATE ? l->aggregate : l->mid, true);
}

static void multiply_a(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    qh_conv_multiply(ref->m, ref->l, rows, qh_layer_value(ref->m, ref->l, BA).data, false,
                     ref->l->mid);
}

static void add_bias_a(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->add_bias(qh_layer_value(ref->m, ref->l, BA).data, rows.first, rows.end,
                                    ref->l->mid);
}

static void relu(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->relu(ref->l->mid, rows.first, rows.end, ref->l->mid);
}

static void multiply_b(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->gemm_nn(ref->l->mid, qh_layer_value(ref->m, ref->l, WB),
                                   qh_layer_value(ref->m, ref->l, BB).data, rows.first, rows.end,
                                   ref->l->result, false);
}

static void forward(qh_model *m, qh_layer *l, qh_rows rows)
{
    bool aggregate_first = l->form == QH_FORM_AGGREGATE;
    qh_step step[] = {
        qh_step_rows(add_self, rows, l->message.cols, 3),
        aggregate_first ? qh_step_gemm(multiply_a, rows, l->n_in, l->n_mid, false)
                        : qh_step_rows(add_bias_a, rows, l->n_mid, 2),
        qh_step_rows(relu, rows, l->n_mid, 2),
        qh_step_gemm(multiply_b, rows, l->n_mid, l->n_out, false),
    };

    qh_conv_aggregate(m, l, rows, false, aggregate_first ? l->aggregate : l->mid);
    qh_layer_run(m, l, rows, step, QH_COUNT(step));
}

static void relu_backward(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->relu_backward(ref->l->mid, rows.first, rows.end, ref->gradient);
}

static void multiply_b_backward(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->gemm_nt(qh_layer_gradient(ref->m, ref->l),
                                   qh_layer_value(ref->m, ref->l, WB), rows.first, rows.end,
                                   ref->gradient, false);
}

static qh_status backward_begin(qh_model *m, qh_layer *l)
{
    qh_mat g = qh_layer_gradient(m, l);
    qh_rows inner = qh_model_inner(m);
    qh_layer_ref ref = {.m = m, .l = l, .gradient = m->scratch};
    qh_step step[] = {qh_step_gemm(multiply_b_backward, inner, l->n_out, l->n_mid, false),
                      qh_step_rows(relu_backward, inner, l->n_mid, 3)};
    qh_status st;

    QH_TRY(st, qh_exec_gemm_tn_add(m->exec, l->index, QH_BACKWARD, l->mid, g, inner,
                                   qh_layer_grad(m, l, WB)));
    qh_exec_steps(m->exec, l->index, QH_BACKWARD, inner, QH_LAYER_CHUNK, step, QH_COUNT(step),
                  &ref);
    QH_TRY(st, qh_exec_colsum_add(m->exec, l->index, QH_BACKWARD, m->scratch, inner,
                                  qh_layer_grad(m, l, BA).data));
    QH_TRY(st, qh_conv_backward_begin(m, l, m->scratch, qh_layer_grad(m, l, EPS).data));
out:
    return st;
}

const qh_model_ops qh_model_gin = {
    .name = "gin",
    .help = "MLP((1 + eps) H + sum of neighbours), eps learned",
    .keeps_message = true,
    .has_mid = true,
    .n_params = N_PARAMS,
    .weight = WA,
    .bias = BB,
    .parameters = parameters,
    .forward = forward,
    .backward_begin = backward_begin,
    .backward_finish = qh_conv_backward_finish,
    .self_factor = self_factor,
};
