/* GCN (Kipf and Welling, ICLR 2017): Z = A_hat H W + b, A_hat = D^-1/2 (A + I) D^-1/2. Directed
 * graphs: out-degree of the source, in-degree of the target. */
#include "src/model/layer.h"

#include <math.h>

enum { W, B, N_PARAMS };

static double coefficient(int32_t out_deg, int32_t in_deg)
{
    return 1 / sqrt(((double)out_deg + 1) * ((double)in_deg + 1));
}

static void parameters(const qh_layer *l, qh_param *list)
{
    list[W] = (qh_param){.name = "W#", .rows = l->n_in, .cols = l->n_out, .init = QH_INIT_GLOROT};
    list[B] = (qh_param){.name = "b#", .rows = 1, .cols = l->n_out, .init = QH_INIT_ZERO};
}

static void multiply(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    qh_conv_multiply(ref->m, ref->l, rows, qh_layer_value(ref->m, ref->l, B).data, false,
                     ref->l->result);
}

static void add_bias(void *ctx, qh_rows rows)
{
    qh_layer_ref *ref = ctx;

    ref->m->exec->kernels->add_bias(qh_layer_value(ref->m, ref->l, B).data, rows.first, rows.end,
                                    ref->l->result);
}

static void forward(qh_model *m, qh_layer *l, qh_rows rows)
{
    qh_step step;

    if (l->form == QH_FORM_AGGREGATE) {
        qh_conv_aggregate(m, l, rows, false, l->aggregate);
        step = qh_step_gemm(multiply, rows, l->n_in, l->n_out, false);
    } else {
        qh_conv_aggregate(m, l, rows, false, l->result);
        step = qh_step_rows(add_bias, rows, l->n_out, 2);
    }
    qh_layer_run(m, l, rows, &step, 1);
}

static qh_status backward_begin(qh_model *m, qh_layer *l)
{
    return qh_conv_backward_begin(m, l, qh_layer_gradient(m, l), NULL);
}

const qh_model_ops qh_model_gcn = {
    .name = "gcn",
    .help = "A_hat H W + b, degree-normalised with self loops",
    .self_loops = true,
    .n_params = N_PARAMS,
    .weight = W,
    .bias = B,
    .coefficient = coefficient,
    .parameters = parameters,
    .forward = forward,
    .backward_begin = backward_begin,
    .backward_finish = qh_conv_backward_finish,
};
