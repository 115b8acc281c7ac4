#include "src/train/boundary.h"

enum { DRAW_FLOPS = 64 }; /* of a draw: ten rounds of Philox */

qh_model_graph qh_plan_graph(const qh_halo *p)
{
    return (qh_model_graph){.n_central = p->n_central,
                            .n_inner = p->n_inner,
                            .n_local = p->n_local,
                            .node = p->node,
                            .in_ptr = p->in_ptr,
                            .out_ptr = p->out_ptr,
                            .in_col = p->in_col,
                            .out_col = p->out_col,
                            .in_deg = p->in_deg,
                            .out_deg = p->out_deg};
}

qh_status qh_boundary_init(const qh_train_settings *s, const qh_halo *full, qh_model *m,
                           qh_exchange *x, qh_exec *exec, qh_boundary *out)
{
    qh_boundary b = {.full = full, .model = m, .exchange = x, .exec = exec};
    qh_status st = QH_OK;

    if (s->relax.sample > 0)
        QH_TRY(st, qh_sample_new(full, qh_model_coefficients(m, QH_FORWARD),
                                 qh_model_coefficients(m, QH_BACKWARD), s->relax.sample, s->seed,
                                 &b.sample));
    *out = b;
out:
    return st;
}

void qh_boundary_fini(qh_boundary *b)
{
    qh_sample_free(b->sample);
    *b = (qh_boundary){0};
}

static void use(qh_boundary *b, const qh_halo *plan, const float *in_val, const float *out_val)
{
    qh_model_graph g = qh_plan_graph(plan);

    qh_model_use_graph(b->model, &g, in_val, out_val);
    qh_exchange_use_plan(b->exchange, plan);
}

/* A draw looks at every message, and at every edge that could go: a column and a value are read,
 * and written where they stay. */
static void record(const qh_boundary *b)
{
    const qh_halo *f = b->full, *h = qh_sample_plan(b->sample);
    int64_t n_messages = f->n_halo + f->send_ptr[f->n_ranks];
    int64_t n_in = f->n_edges - f->in_ptr[f->n_central],
            n_out = f->n_edges - f->out_ptr[f->n_inner];

    qh_exec_record(b->exec, QH_OP_ELEMENTWISE, 0, QH_FORWARD, DRAW_FLOPS * n_messages,
                   8 * (2 * (n_in + n_out) - 2 * (f->n_edges - h->n_edges)));
}

const qh_halo *qh_boundary_draw(qh_boundary *b, int32_t epoch)
{
    if (!b->sample)
        return b->full;
    qh_sample_draw(b->sample, epoch);
    use(b, qh_sample_plan(b->sample), qh_sample_in_values(b->sample),
        qh_sample_out_values(b->sample));
    if (b->full->n_ranks > 1)
        record(b);
    return qh_sample_plan(b->sample);
}

const qh_halo *qh_boundary_all(qh_boundary *b)
{
    if (b->sample)
        use(b, b->full, qh_model_coefficients(b->model, QH_FORWARD),
            qh_model_coefficients(b->model, QH_BACKWARD));
    return b->full;
}
