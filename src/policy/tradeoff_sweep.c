/* Deadlines of one round in the order of time. The best one is a time that some channel can take,
 * for between two such times no channel can buy more. A heap holds the next time of each lane; a
 * binary tree of fixed shape holds the sum of the channels' gains, so that the sum depends on the
 * state alone and not on where the sweep began. */
#include "src/policy/tradeoff_parts.h"

#include <math.h>

static bool earlier(const qh_trade_round *r, int a, int b)
{
    return r->lane[a].next < r->lane[b].next || (r->lane[a].next == r->lane[b].next && a < b);
}

static void sift_down(qh_trade_round *r, int n, int i)
{
    int lane = r->heap[i];

    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && earlier(r, r->heap[child + 1], r->heap[child]))
            child++;
        if (!earlier(r, r->heap[child], lane))
            break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = lane;
}

/* The time of a lane's next plan. */
static double next_point(const qh_trade_channel *c, const qh_trade_lane *l)
{
    return l->at < l->n_points ? qh_trade_time(c, l->base_bytes + l->point[l->at].bytes) : INFINITY;
}

/* The lane's gain with the units it has, and the time of one more. */
static void refresh(qh_trade_round *r, qh_trade_lane *l)
{
    const qh_trade_channel *c = &r->channel[l->channel];
    int64_t count[QH_TRADE_STEPS];

    l->gain = l->units < 0 ? -1 : l->base_gain + qh_trade_best(r, c, l->units, &l->hint, count);
    l->next = l->units < c->n_units
                  ? qh_trade_time(c, l->base_bytes + (l->units + 1) * c->unit_bytes)
                  : INFINITY;
}

static double channel_gain(const qh_trade_round *r, int channel)
{
    const qh_trade_channel *c = &r->channel[channel];
    double gain = 0;

    for (int i = c->first_lane; i < c->first_lane + c->n_lanes; i++)
        gain = fmax(gain, r->lane[i].gain);
    return gain;
}

static void set_leaf(qh_trade_round *r, int channel)
{
    int i = r->leaves + channel;

    r->tree[i] = channel_gain(r, channel);
    for (i /= 2; i > 0; i /= 2)
        r->tree[i] = r->tree[2 * i] + r->tree[2 * i + 1];
}

/* Every lane with the units that z pays for; returns the time that the slowest of them takes. */
static double start(qh_trade_round *r, double z)
{
    double last = 0;

    for (int i = 0; i < r->n_lanes; i++) {
        qh_trade_lane *l = &r->lane[i];
        const qh_trade_channel *c = &r->channel[l->channel];

        l->units = qh_trade_units(c, l, z);
        if (l->units >= 0)
            last = fmax(last, qh_trade_time(c, l->base_bytes + l->units * c->unit_bytes));
        l->hint = 0;
        refresh(r, l);
        if (l->point) {
            for (l->at = 0; (l->next = next_point(c, l)) <= z;)
                l->at++;
        }
        r->heap[i] = i;
    }
    for (int i = 0; i < 2 * r->leaves; i++)
        r->tree[i] = 0;
    for (int i = 0; i < r->n_channels; i++)
        r->tree[r->leaves + i] = channel_gain(r, i);
    for (int i = r->leaves - 1; i > 0; i--)
        r->tree[i] = r->tree[2 * i] + r->tree[2 * i + 1];
    for (int i = r->n_lanes / 2; i-- > 0;)
        sift_down(r, r->n_lanes, i);
    return last;
}

static void advance(qh_trade_round *r)
{
    qh_trade_lane *l = &r->lane[r->heap[0]];

    if (l->point) {
        l->gain = fmax(l->gain, l->base_gain + l->point[l->at++].gain);
        l->next = next_point(&r->channel[l->channel], l);
    } else {
        l->units++;
        refresh(r, l);
    }
    set_leaf(r, l->channel);
    sift_down(r, r->n_lanes, 0);
}

qh_trade_best_deadline qh_trade_sweep(qh_trade_round *r, double lo, double hi)
{
    qh_trade_best_deadline best = {.z = start(r, lo)};

    best.value = r->weight.time * best.z - r->weight.variance * r->tree[1];
    r->candidates++;
    for (double z; (z = r->lane[r->heap[0]].next) <= hi && z < INFINITY && !r->truncated;) {
        double value;

        while (r->lane[r->heap[0]].next <= z)
            advance(r);
        value = r->weight.time * z - r->weight.variance * r->tree[1];
        r->candidates++;
        if (value < best.value)
            best = (qh_trade_best_deadline){z, value};
    }
    return best;
}
