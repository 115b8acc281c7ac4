/* greedy: the relaxed optimum of each round, rounded down. No more is lost than the one step that
 * each channel had taken in part; the bound says how much at most. */
#include "src/policy/tradeoff_parts.h"

#include <math.h>

static qh_status round_down(qh_trade_round *r, double below, double above)
{
    (void)below;
    for (int i = 0; i < r->n_channels; i++) {
        const qh_trade_channel *c = &r->channel[i];
        int64_t whole[QH_TRADE_STREAMS];
        qh_trade_plan plan = {0};
        double slope, bytes = c->of->theta > 0 ? (above - c->of->gamma) / c->of->theta : INFINITY;

        qh_trade_relaxed(c->stream, c->n_streams, fmax(0, bytes - (double)c->base_bytes), &slope,
                         whole);
        for (int k = 0; k < c->n_steps; k++) {
            plan.count[k] = whole[k];
            plan.last_level += c->has_last && whole[c->n_steps + k] > 0;
        }
        qh_trade_emit(c, &plan);
    }
    r->candidates++;
    return QH_OK;
}

static qh_status solve(const qh_tradeoff *p, qh_tradeoff_work *w, uint8_t *width, double *z,
                       qh_tradeoff_answer *out)
{
    return qh_trade_run(p, w, round_down, false, width, z, out);
}

const qh_tradeoff_solver qh_tradeoff_greedy = {
    .name = "greedy",
    .help = "the relaxed optimum, rounded down: the fastest, with its gap",
    .solve = solve,
};
