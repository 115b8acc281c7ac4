/* Central nodes need no message: they are computed while messages travel, the marginal ones after
 * (AdaQP, arXiv 2306.01381, section 3.3). Backward, the rows that travel are made first. The sums
 * within a row and their order are those of `sync`, so the bits are too. */
#include "src/train/strategy.h"

extern const qh_strategy_ops qh_strategy_overlap;

static qh_status forward(qh_pass *p, int layer)
{
    qh_status st;

    qh_model_prepare(p->model, layer);
    QH_TRY(st, qh_exchange_begin(p->exchange, p->epoch, layer, QH_FORWARD));
    QH_TRY(st, qh_model_forward(p->model, layer, qh_halo_central(p->plan)));
    QH_TRY(st, qh_exchange_finish(p->exchange, p->epoch, layer, QH_FORWARD));
    QH_TRY(st, qh_model_forward(p->model, layer, qh_halo_marginal(p->plan)));
out:
    return st;
}

static qh_status backward(qh_pass *p, int layer)
{
    qh_status st;

    QH_TRY(st, qh_model_backward_begin(p->model, layer));
    if (!qh_model_has_gradient(p->model, layer))
        goto out;
    qh_model_backward_spread(p->model, layer, qh_halo_remote(p->plan));
    QH_TRY(st, qh_exchange_begin(p->exchange, p->epoch, layer, QH_BACKWARD));
    qh_model_backward_spread(p->model, layer, qh_halo_inner(p->plan));
    QH_TRY(st, qh_exchange_finish(p->exchange, p->epoch, layer, QH_BACKWARD));
    QH_TRY(st, qh_model_backward_finish(p->model, layer));
out:
    return st;
}

const qh_strategy_ops qh_strategy_overlap = {
    .name = "overlap",
    .help = "central nodes are computed while messages travel",
    .forward = forward,
    .backward = backward,
};
