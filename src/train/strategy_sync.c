/* Exchange, then compute: what most systems do. */
#include "src/train/strategy.h"

extern const qh_strategy_ops qh_strategy_sync;

static qh_status forward(qh_pass *p, int layer)
{
    qh_status st;

    qh_model_prepare(p->model, layer);
    QH_TRY(st, qh_exchange_begin(p->exchange, p->epoch, layer, QH_FORWARD));
    QH_TRY(st, qh_exchange_finish(p->exchange, p->epoch, layer, QH_FORWARD));
    QH_TRY(st, qh_model_forward(p->model, layer, qh_halo_inner(p->plan)));
out:
    return st;
}

static qh_status backward(qh_pass *p, int layer)
{
    qh_status st;

    QH_TRY(st, qh_model_backward_begin(p->model, layer));
    if (!qh_model_has_gradient(p->model, layer))
        goto out;
    qh_model_backward_spread(p->model, layer, (qh_rows){0, p->plan->n_local});
    QH_TRY(st, qh_exchange_begin(p->exchange, p->epoch, layer, QH_BACKWARD));
    QH_TRY(st, qh_exchange_finish(p->exchange, p->epoch, layer, QH_BACKWARD));
    QH_TRY(st, qh_model_backward_finish(p->model, layer));
out:
    return st;
}

const qh_strategy_ops qh_strategy_sync = {
    .name = "sync",
    .help = "exchange, then compute",
    .forward = forward,
    .backward = backward,
};
