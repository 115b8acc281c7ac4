/* One channel under a deadline: how many groups take which step. By exchange, widths never rise
 * along falling variance, so a plan is a count for each step, falling from step to step, and its
 * gain is sum_k gain[k] * S(count[k]), S the sums of the largest variances. */
#include "src/policy/tradeoff_parts.h"

#include <string.h>

double qh_trade_time(const qh_trade_channel *c, int64_t bytes)
{
    return c->of->theta * (double)bytes + c->of->gamma;
}

static double time_of(const qh_trade_channel *c, const qh_trade_lane *l, int64_t units)
{
    return qh_trade_time(c, l->base_bytes + units * c->unit_bytes);
}

/* The division only guesses; the time itself decides, so that a deadline which is a time is met. */
int64_t qh_trade_units(const qh_trade_channel *c, const qh_trade_lane *l, double z)
{
    double guess =
        ((z - c->of->gamma) / c->of->theta - (double)l->base_bytes) / (double)c->unit_bytes;
    int64_t units;

    if (!(time_of(c, l, 0) <= z))
        return -1;
    if (time_of(c, l, c->n_units) <= z)
        return c->n_units;
    units = guess > 0 ? (guess < (double)c->n_units ? (int64_t)guess : c->n_units) : 0;
    while (time_of(c, l, units) > z)
        units--;
    while (time_of(c, l, units + 1) <= z)
        units++;
    return units;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- two steps, the second `ratio` times the first --- */

/* What the p + 1st second step adds when its units are taken from the first steps. It falls with p,
 * after rounding too: each term does. */
static double exchange_gain(const qh_trade_channel *c, int64_t units, int64_t ratio, int64_t p)
{
    int64_t x = units - ratio * p, left = x - ratio;
    double lost = 0;

    for (int64_t i = least_of(x, c->n_pos) - 1; i >= left && i >= 0; i--)
        lost += c->stream[0].v[i];
    return c->step_gain[1] * c->stream[1].v[p] - c->step_gain[0] * lost;
}

/* The first p whose exchange does not pay. The hint, the answer for a deadline close by, says where
 * to begin: from there the steps double. */
static int64_t second_steps(const qh_trade_channel *c, int64_t units, int64_t ratio, int64_t hint)
{
    int64_t lo = 0, hi = least_of(c->n_pos, units / (ratio + 1)), at = least_of(hint, hi);

    if (at < hi && exchange_gain(c, units, ratio, at) > 0) {
        lo = at + 1;
        for (int64_t step = 1; lo < hi; step *= 2) {
            int64_t probe = least_of(lo + step, hi) - 1;

            if (exchange_gain(c, units, ratio, probe) > 0) {
                lo = probe + 1;
                continue;
            }
            hi = probe;
            break;
        }
    } else {
        hi = at;
        for (int64_t step = 1; lo < hi; step *= 2) {
            int64_t probe = hi > step ? hi - step : 0;

            if (exchange_gain(c, units, ratio, probe) > 0) {
                lo = probe + 1;
                break;
            }
            hi = probe;
        }
    }
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;

        if (exchange_gain(c, units, ratio, mid) > 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* --- equal steps: the relaxation is whole, but for ties at its end --- */

static bool equal_steps(const qh_trade_channel *c)
{
    for (int k = 0; k < c->n_steps; k++)
        if (c->step_units[k] != 1)
            return false;
    return true;
}

static bool is_multiple(const qh_trade_channel *c)
{
    return c->n_steps <= 1 || (c->n_steps == 2 && c->step_units[0] == 1);
}

bool qh_trade_has_mixed_steps(const qh_trade_channel *c)
{
    return !is_multiple(c) && !equal_steps(c);
}

/* The units left over go to steps that gain just as much as the first one that was not taken. No
 * count passes the one below it, whose step of the same group gains more. */
static double fill_equal(const qh_trade_channel *c, int64_t units, int64_t *count)
{
    double slope, gain = 0;

    qh_trade_relaxed(c->stream, c->n_steps, (double)(units * c->unit_bytes), &slope, count);
    for (int k = 0; k < c->n_steps; k++)
        units -= count[k];
    for (int k = 0; k < c->n_steps; k++) {
        const qh_trade_stream *s = &c->stream[k];

        while (units > 0 && count[k] < s->n && (double)s->v[count[k]] * s->per_byte == slope) {
            count[k]++;
            units--;
        }
        gain += s->gain * s->sum[count[k]];
    }
    return gain;
}

/* --- any steps: depth first from the last step down, cut by the relaxation --- */

typedef struct search {
    qh_trade_round *round;
    const qh_trade_channel *channel;
} search;

/* The most that steps 0 .. n_steps-1 gain with so many units and at least `least` groups in each,
 * if it beats `floor`; else floor. */
static double search_steps(search *s, int n_steps, int64_t units, int64_t least, double floor,
                           int64_t *count);

static double relaxed_rest(const search *s, int n_steps, int64_t units)
{
    const qh_trade_channel *c = s->channel;
    double slope;

    return qh_trade_relaxed(c->stream, n_steps, (double)(units * c->unit_bytes), &slope, NULL);
}

/* Tries x groups in the top step; false: nothing beyond x can beat *best. The first try of all is
 * always made, so that there is an answer when the nodes run out. */
static bool try_count(search *s, int top, int64_t units, int64_t x, double *best, int64_t *count,
                      bool first)
{
    const qh_trade_stream *t = &s->channel->stream[top];
    int64_t rest = units - x * s->channel->step_units[top], below[QH_TRADE_STEPS];
    double mine = t->gain * t->sum[x], floor = *best - mine, gain;

    if (!first && s->round->nodes <= 0) {
        s->round->truncated = true;
        return false;
    }
    s->round->nodes--;
    if (!(mine + relaxed_rest(s, top, rest) > *best * (1 + 1e-15)))
        return false;
    gain = search_steps(s, top, rest, x, floor, below);
    if (gain > floor) {
        memcpy(count, below, (size_t)top * sizeof *count);
        count[top] = x;
        *best = mine + gain;
    }
    return true;
}

static double search_steps(search *s, int n_steps, int64_t units, int64_t least, double floor,
                           int64_t *count)
{
    const qh_trade_channel *c = s->channel;
    int top = n_steps - 1;
    int64_t whole[QH_TRADE_STREAMS], all = 0, most, start;
    double slope, best = floor;

    for (int k = 0; k < n_steps; k++)
        all += c->step_units[k];
    most = least_of(c->n_pos, units / all); /* a group has all the steps below its last */
    if (most < least)
        return floor;
    if (top == 0) {
        count[0] = least_of(c->n_pos, units / c->step_units[0]);
        return c->step_gain[0] * c->stream[0].sum[count[0]];
    }
    qh_trade_relaxed(c->stream, n_steps, (double)(units * c->unit_bytes), &slope, whole);
    start = whole[top] < most ? (whole[top] > least ? whole[top] : least) : most;
    for (int64_t x = start; x >= least && try_count(s, top, units, x, &best, count, x == start);
         x--)
        continue;
    for (int64_t x = start + 1; x <= most && try_count(s, top, units, x, &best, count, false); x++)
        continue;
    return best;
}

double qh_trade_best(qh_trade_round *r, const qh_trade_channel *c, int64_t units, int64_t *hint,
                     int64_t *count)
{
    search s = {r, c};
    int64_t ratio;

    memset(count, 0, QH_TRADE_STEPS * sizeof *count);
    if (c->n_steps == 0 || c->n_pos == 0)
        return 0;
    if (c->n_steps == 1) {
        count[0] = least_of(c->n_pos, units);
        return c->step_gain[0] * c->stream[0].sum[count[0]];
    }
    ratio = c->step_units[1];
    if (is_multiple(c)) {
        count[1] = *hint = second_steps(c, units, ratio, *hint);
        count[0] = least_of(c->n_pos, units - ratio * count[1]);
        return c->step_gain[0] * c->stream[0].sum[count[0]] +
               c->step_gain[1] * c->stream[0].sum[count[1]];
    }
    if (equal_steps(c))
        return fill_equal(c, units, count);
    return search_steps(&s, c->n_steps, units, 0, 0, count);
}

void qh_trade_plan_at(qh_trade_round *r, const qh_trade_channel *c, double z, qh_trade_plan *out)
{
    qh_trade_plan best = {.gain = -1};

    for (int i = c->first_lane; i < c->first_lane + c->n_lanes; i++) {
        const qh_trade_lane *l = &r->lane[i];
        qh_trade_plan plan = {.last_level = l->last_level};
        int64_t units = qh_trade_units(c, l, z), hint = 0;

        if (units < 0)
            continue;
        plan.gain = l->base_gain + qh_trade_best(r, c, units, &hint, plan.count);
        if (plan.gain > best.gain)
            best = plan;
    }
    QH_ASSERT(best.gain >= 0);
    *out = best;
}

void qh_trade_emit(const qh_trade_channel *c, const qh_trade_plan *plan)
{
    int64_t i = c->n_full;

    while (i > c->n_pos)
        c->width[c->order[--i]] = c->narrow;
    for (int level = 0; level <= c->n_steps; level++) {
        int64_t to = level < c->n_steps ? plan->count[level] : 0;

        while (i > to)
            c->width[c->order[--i]] = c->level_width[level];
    }
    if (c->n_full < c->of->n_groups)
        c->width[c->n_full] = c->has_last ? c->level_width[plan->last_level] : c->narrow;
}
