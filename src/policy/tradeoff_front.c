/* Steps without a common measure have a time for every byte, and hardly any of these times is of
 * use. For a window of deadlines this lists the plans of each lane that are.
 *
 * Take the chord of the channel's relaxed gain over the window, gain >= g0 + price * bytes. In an
 * optimum of the round no channel stays behind its relaxed gain by more than the round's slack, so
 * a plan of use has gain - price * bytes >= g0 - slack. The left side is a sum over the steps, and
 * each step's term falls away on both sides of its best count: what the plan may lose is a budget,
 * spent step by step. */
#include "src/policy/tradeoff_parts.h"

#include <math.h>

typedef struct search {
    qh_trade_round *round;
    const qh_trade_channel *channel;
    double price;
    int64_t best[QH_TRADE_STEPS],
        count[QH_TRADE_STEPS]; /* of each step: the best, and this plan's */
    double from, to;           /* bytes above the lane's base: from < bytes <= to */
    int64_t tries;             /* still allowed */
    bool full;                 /* there was no room for all, or they ran out */
} search;

/* Many steps have more plans than are worth listing. */
enum { MOST_TRIES = 200000 };

/* What x groups in a step are worth at the price. */
static double worth(const search *s, int step, int64_t x)
{
    const qh_trade_stream *t = &s->channel->stream[step];

    return t->gain * t->sum[x] - s->price * (double)(t->bytes * x);
}

/* The plan as it stands, if it lies in the window. Sums as the search inside a channel does, so
 * that both give the same bits. */
static void keep(search *s)
{
    const qh_trade_channel *c = s->channel;
    qh_trade_round *r = s->round;
    qh_trade_point p = {.gain = c->stream[0].gain * c->stream[0].sum[s->count[0]]};

    for (int k = 0; k < c->n_steps; k++)
        p.bytes += c->stream[k].bytes * s->count[k];
    if (!(s->from < (double)p.bytes && (double)p.bytes <= s->to))
        return;
    for (int k = 1; k < c->n_steps; k++)
        p.gain = c->stream[k].gain * c->stream[k].sum[s->count[k]] + p.gain;
    if (r->n_points < QH_TRADE_POINTS)
        r->point[r->n_points++] = p;
    else
        s->full = true;
}

/* Counts of the first step, given those of the others, that lose no more than the budget: only
 * those whose bytes lie in the window are looked at. */
static void spend_last(search *s, int64_t least, double budget)
{
    const qh_trade_channel *c = s->channel;
    double needed = worth(s, 0, s->best[0]) - budget, others = 0;
    double d = (double)c->stream[0].bytes, first, end, start;

    for (int k = 1; k < c->n_steps; k++)
        others += (double)(c->stream[k].bytes * s->count[k]);
    first = fmax((double)least, floor((s->from - others) / d));
    end = fmin((double)c->n_pos, floor((s->to - others) / d));
    start = fmax(first, fmin(end, (double)s->best[0]));
    for (int up = 0; up < 2; up++)
        for (double x = start + up; first <= x && x <= end; x += up ? 1 : -1) {
            s->count[0] = (int64_t)x;
            s->full = s->full || --s->tries < 0;
            if (worth(s, 0, s->count[0]) < needed || s->full)
                break;
            keep(s);
        }
}

/* Counts of the steps from `step` down that lose no more than the budget, none below `least`. */
static void spend(search *s, int step, int64_t least, double budget)
{
    double top = worth(s, step, s->best[step]);
    int64_t start = s->best[step] > least ? s->best[step] : least;

    for (int up = 0; up < 2; up++)
        for (int64_t x = start + up; least <= x && x <= s->channel->n_pos; x += up ? 1 : -1) {
            double left = budget - (top - worth(s, step, x));

            s->full = s->full || --s->tries < 0;
            if (left < 0 || s->full)
                break;
            s->count[step] = x;
            if (step > 1)
                spend(s, step - 1, x, left);
            else
                spend_last(s, x, left);
        }
}

static bool comes_before(const qh_trade_point *a, const qh_trade_point *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->gain > b->gain;
}

static void sink(qh_trade_point *p, int64_t n, int64_t i)
{
    qh_trade_point moved = p[i];

    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && comes_before(&p[child], &p[child + 1]))
            child++;
        if (!comes_before(&moved, &p[child]))
            break;
        p[i] = p[child];
    }
    p[i] = moved;
}

/* In the order of bytes: a heap sort, for it needs no memory. */
static void sort(qh_trade_point *p, int64_t n)
{
    for (int64_t i = n / 2; i-- > 0;)
        sink(p, n, i);
    for (int64_t end = n - 1; end > 0; end--) {
        qh_trade_point last = p[end];

        p[end] = p[0];
        p[0] = last;
        sink(p, end, 0);
    }
}

/* The points that gain more than all before them. */
static int64_t rising(qh_trade_point *p, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || p[i].gain > p[kept - 1].gain)
            p[kept++] = p[i];
    return kept;
}

/* The lane's front; g0 less the slack is what its worth must reach. */
static void list_lane(search *s, qh_trade_lane *l, double from, double to, double least_worth)
{
    const qh_trade_channel *c = s->channel;
    double offset = (double)(l->base_bytes - c->base_bytes);
    double budget = l->base_gain - s->price * offset - least_worth;
    qh_trade_round *r = s->round;

    s->from = from - offset;
    s->to = to - offset;
    for (int k = 0; k < c->n_steps; k++)
        budget += worth(s, k, s->best[k]);
    l->point = r->point + r->n_points;
    if (s->to >= 0 && budget >= 0)
        spend(s, c->n_steps - 1, 0, budget);
    l->n_points = r->point + r->n_points - l->point;
    sort(l->point, l->n_points);
    l->n_points = rising(l->point, l->n_points);
    r->n_points = l->point + l->n_points - r->point;
}

static void list_channel(qh_trade_round *r, const qh_trade_channel *c, double lo, double hi,
                         double slack)
{
    double from = (lo - c->of->gamma) / c->of->theta - (double)c->base_bytes;
    double to = (hi - c->of->gamma) / c->of->theta - (double)c->base_bytes;
    double slope, low = qh_trade_relaxed(c->stream, c->n_streams, fmax(from, 0), &slope, NULL);
    double high = qh_trade_relaxed(c->stream, c->n_streams, fmax(to, 0), &slope, NULL);
    int64_t first_point = r->n_points;
    double least_worth;
    search s = {.round = r, .channel = c, .tries = MOST_TRIES};

    s.price = to > from ? (high - low) / (to - from) : slope;
    for (int k = 0; k < c->n_steps; k++)
        s.best[k] = qh_trade_count_above(&c->stream[k], s.price);
    least_worth = low - s.price * fmax(from, 0) - slack - 1e-12 * (high + c->base_var);
    /* A time is rounded, and so is the byte that it pays for. */
    from -= 1e-9 * (1 + fabs(from));
    to += 1e-9 * (1 + fabs(to));
    for (int i = c->first_lane; i < c->first_lane + c->n_lanes; i++)
        list_lane(&s, &r->lane[i], from, to, least_worth);
    if (!s.full)
        return;
    for (int i = c->first_lane; i < c->first_lane + c->n_lanes; i++)
        r->lane[i].point = NULL; /* then every unit is tried */
    r->n_points = first_point;
}

void qh_trade_list_fronts(qh_trade_round *r, double lo, double hi, double value)
{
    double base = 0;

    for (int i = 0; i < r->n_channels; i++)
        base += r->weight.variance * r->channel[i].base_var;
    r->n_points = 0;
    for (int i = 0; i < r->n_channels; i++) {
        const qh_trade_channel *c = &r->channel[i];

        if (c->of->theta > 0 && c->n_pos > 0 && qh_trade_has_mixed_steps(c))
            list_channel(r, c, lo, hi, fmax(0, value - (r->bound - base)) / r->weight.variance);
    }
}
