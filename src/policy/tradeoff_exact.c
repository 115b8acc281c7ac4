/* exact and sweep: the best deadline of each round, and the best plan of each channel within it.
 * sweep tries every deadline; exact only those whose relaxed value is no more than the value of a
 * deadline near the relaxed optimum. Both give the same widths. */
#include "src/policy/tradeoff_parts.h"

#include <math.h>

static void emit_at(qh_trade_round *r, double z)
{
    bool truncated = r->truncated;

    r->nodes += 100000; /* so that the plan that was valued is found again */
    for (int i = 0; i < r->n_channels; i++) {
        qh_trade_plan plan;

        qh_trade_plan_at(r, &r->channel[i], z, &plan);
        qh_trade_emit(&r->channel[i], &plan);
    }
    r->truncated = truncated;
}

static qh_status sweep_round(qh_trade_round *r, double below, double above)
{
    (void)below;
    (void)above;
    r->nodes = INT64_MAX / 2; /* an oracle has time */
    emit_at(r, qh_trade_sweep(r, qh_trade_first_deadline(r), INFINITY).z);
    return QH_OK;
}

/* The time of the longest unit: about so far from the relaxed optimum lie deadlines that come close
 * to it. */
static double longest_unit(const qh_trade_round *r)
{
    double longest = 0;

    for (int i = 0; i < r->n_channels; i++)
        longest = fmax(longest, r->channel[i].of->theta * (double)r->channel[i].unit_bytes);
    return longest;
}

static qh_status exact_round(qh_trade_round *r, double below, double above)
{
    double near = 2 * longest_unit(r), first = qh_trade_first_deadline(r), lo, hi;
    qh_trade_best_deadline best = qh_trade_sweep(r, fmax(first, below - near), above + near);

    qh_trade_window(r, below, above, best.value, &lo, &hi);
    qh_trade_list_fronts(r, lo, hi, best.value);
    emit_at(r, qh_trade_sweep(r, lo, hi).z);
    return QH_OK;
}

static qh_status solve_exact(const qh_tradeoff *p, qh_tradeoff_work *w, uint8_t *width, double *z,
                             qh_tradeoff_answer *out)
{
    return qh_trade_run(p, w, exact_round, true, width, z, out);
}

static qh_status solve_sweep(const qh_tradeoff *p, qh_tradeoff_work *w, uint8_t *width, double *z,
                             qh_tradeoff_answer *out)
{
    return qh_trade_run(p, w, sweep_round, true, width, z, out);
}

const qh_tradeoff_solver qh_tradeoff_exact = {
    .name = "exact",
    .help = "the optimum: the deadlines that the relaxation leaves open",
    .solve = solve_exact,
};

const qh_tradeoff_solver qh_tradeoff_sweep = {
    .name = "sweep",
    .help = "the optimum again, by every deadline: slow, for checking exact",
    .solve = solve_sweep,
};
