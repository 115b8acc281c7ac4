/* adaptive: AdaQP's assigner (Wan, Zhao, Wu, MLSys 2023, arXiv 2306.01381, section 4). Every
 * --assign-every epochs the widths of all messages of a layer and direction are chosen together, so
 * that the variance which quantization adds to the gradients and the time of the slowest channels
 * are small together: the trade-off of tradeoff.h, weighted by --lambda, over groups of
 * --group-size messages. Variances come from the ranges of the values sent since the last choice,
 * times from the network at hand. Until something has been sent there is nothing to choose from:
 * the width next to 8 is for everybody. */
#include "src/policy/members.h"
#include "src/policy/tradeoff.h"

#include <stdlib.h>
#include <string.h>

static bool changes(const qh_bits_config *c, int32_t epoch)
{
    return epoch % c->assign_every == 0;
}

/* The wider of two that are as near. */
static uint8_t next_to_8(const qh_bits_config *c)
{
    uint8_t best = c->width[0];

    for (int i = 1; i < c->n_widths; i++)
        if (abs(c->width[i] - 8) <= abs(best - 8))
            best = c->width[i];
    return best;
}

static qh_status assign(const qh_bits_config *c, const qh_bits_state *state,
                        const qh_bits_request *r, uint8_t *width)
{
    (void)state;
    memset(width, next_to_8(c), (size_t)r->n_messages);
    return QH_OK;
}

static qh_status solve(const qh_bits_config *c, const qh_tradeoff *problem, qh_tradeoff_work *w,
                       uint8_t *width, double *z, qh_tradeoff_answer *out)
{
    qh_tradeoff p = *problem;
    const qh_tradeoff_solver *exact;
    qh_status st;

    p.lambda = c->lambda;
    QH_TRY(st, qh_tradeoff_find("--assign", "exact", &exact));
    QH_TRY(st, exact->solve(&p, w, width, z, out));
out:
    return st;
}

const qh_bits_ops qh_bits_adaptive = {
    .name = "adaptive",
    .help = "variance against time over all messages, by --lambda, anew every --assign-every "
            "epochs",
    .changes = changes,
    .assign = assign,
    .solve = solve,
};
