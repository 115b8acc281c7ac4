/* The relaxation: steps may be taken in part, so a channel takes them in the order of gain a byte,
 * and what a round loses is convex in its deadline. From it come a lower bound and the deadlines
 * that are worth a look. */
#include "src/policy/tradeoff_parts.h"

#include <math.h>
#include <string.h>

/* How many of v[lo .. hi-1], times q, are at least e (or more than e); counted from 0. */
static int64_t count_from(const qh_trade_stream *s, int64_t lo, int64_t hi, double e, bool equal)
{
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        double x = (double)s->v[mid] * s->per_byte;

        if (x > e || (equal && x == e))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int64_t qh_trade_count_above(const qh_trade_stream *s, double per_byte)
{
    return count_from(s, 0, s->n, per_byte, false);
}

static double cost_of(const qh_trade_stream *stream, int n, const int64_t *count)
{
    double bytes = 0;

    for (int k = 0; k < n; k++)
        bytes += (double)(stream[k].bytes * count[k]);
    return bytes;
}

static double gain_of(const qh_trade_stream *stream, int n, const int64_t *count)
{
    double gain = 0;

    for (int k = 0; k < n; k++)
        gain += stream[k].gain * stream[k].sum[count[k]];
    return gain;
}

/* A selection in the union of sorted arrays: the first lo[k] of each are in, those from hi[k] on
 * are out, and the middle of the widest open range decides. */
double qh_trade_relaxed(const qh_trade_stream *stream, int n_streams, double bytes, double *slope,
                        int64_t *count)
{
    int64_t lo[QH_TRADE_STREAMS] = {0}, hi[QH_TRADE_STREAMS], with[QH_TRADE_STREAMS];
    double rest = 0;

    for (int k = 0; k < n_streams; k++)
        hi[k] = stream[k].n;
    for (*slope = 0;;) {
        int widest = 0;
        double e;

        for (int k = 1; k < n_streams; k++)
            if (hi[k] - lo[k] > hi[widest] - lo[widest])
                widest = k;
        if (n_streams == 0 || lo[widest] == hi[widest])
            break;
        e = (double)stream[widest].v[lo[widest] + (hi[widest] - lo[widest]) / 2] *
            stream[widest].per_byte;
        for (int k = 0; k < n_streams; k++)
            with[k] = count_from(&stream[k], lo[k], hi[k], e, true);
        if (cost_of(stream, n_streams, with) <= bytes) {
            memcpy(lo, with, sizeof lo);
            continue;
        }
        for (int k = 0; k < n_streams; k++)
            with[k] = count_from(&stream[k], lo[k], with[k], e, false);
        if (cost_of(stream, n_streams, with) > bytes) {
            memcpy(hi, with, sizeof hi);
            continue;
        }
        memcpy(lo, with, sizeof lo); /* the money ends among steps that are all alike */
        *slope = e;
        rest = fmax(0, bytes - cost_of(stream, n_streams, lo)) * e;
        break;
    }
    if (count)
        memcpy(count, lo, (size_t)n_streams * sizeof *count);
    return gain_of(stream, n_streams, lo) + rest;
}

double qh_trade_first_deadline(const qh_trade_round *r)
{
    double z = 0;

    for (int i = 0; i < r->n_channels; i++)
        z = fmax(z, qh_trade_time(&r->channel[i], r->channel[i].base_bytes));
    return z;
}

static double last_deadline(const qh_trade_round *r)
{
    double z = 0;

    for (int i = 0; i < r->n_channels; i++) {
        const qh_trade_channel *c = &r->channel[i];
        int64_t bytes = c->base_bytes;

        for (int k = 0; k < c->n_streams; k++)
            bytes += c->stream[k].bytes * c->stream[k].n;
        z = fmax(z, qh_trade_time(c, bytes));
    }
    return z;
}

/* A channel's relaxed gain at a deadline, and the worth of a moment more: weight.variance * gain.
 */
static double relaxed_channel(const qh_trade_round *r, const qh_trade_channel *c, double z,
                              double *mu)
{
    double bytes =
        c->of->theta > 0 ? (z - c->of->gamma) / c->of->theta - (double)c->base_bytes : INFINITY;
    double slope, gain = qh_trade_relaxed(c->stream, c->n_streams, fmax(bytes, 0), &slope, NULL);

    *mu = c->of->theta > 0 ? r->weight.variance * slope / c->of->theta : 0;
    return gain;
}

/* The relaxed value at z, and mu[n_channels] there; *slope of the value, to the right. */
static double relaxed_round(const qh_trade_round *r, double z, double *mu, double *slope)
{
    double gain = 0;

    *slope = r->weight.time;
    for (int i = 0; i < r->n_channels; i++) {
        gain += relaxed_channel(r, &r->channel[i], z, &mu[i]);
        *slope -= mu[i];
    }
    return r->weight.time * z - r->weight.variance * gain;
}

/* The least wants to be sharp, for the bound hangs on it; the window only gets a little wider. */
enum { LEAST_HALVINGS = 36, EDGE_HALVINGS = 18 };

void qh_trade_least(const qh_trade_round *r, double *below, double *above)
{
    double lo = qh_trade_first_deadline(r), hi = last_deadline(r), slope;

    relaxed_round(r, lo, r->mu, &slope);
    if (slope >= 0)
        hi = lo;
    for (int i = 0; i < LEAST_HALVINGS && lo < hi; i++) {
        double mid = lo + (hi - lo) / 2;

        if (mid <= lo || mid >= hi)
            break;
        relaxed_round(r, mid, r->mu, &slope);
        if (slope >= 0)
            hi = mid;
        else
            lo = mid;
    }
    *below = lo;
    *above = hi;
}

/* min over assignments of weight.variance * variance + mu * time: a step is taken where it gains
 * more than it costs. */
static double priced_channel(const qh_trade_round *r, const qh_trade_channel *c, double mu)
{
    double price = mu * c->of->theta / r->weight.variance, gain = 0, bytes = 0;

    for (int k = 0; k < c->n_streams; k++) {
        const qh_trade_stream *s = &c->stream[k];
        int64_t n = qh_trade_count_above(s, price);

        gain += s->gain * s->sum[n];
        bytes += (double)(s->bytes * n);
    }
    return r->weight.variance * (c->base_var - gain) +
           mu * (c->of->theta * ((double)c->base_bytes + bytes) + c->of->gamma);
}

/* Any mu >= 0 whose sum is weight.time gives a bound: Z is no less than their mean of the times.
 * Between the two sides of the least, mu passes weight.time; the mixture with that sum is the best.
 * Where the least is the first deadline, the channel that sets it takes what is left. */
double qh_trade_bound(qh_trade_round *r, double below, double above)
{
    int n = r->n_channels, slowest = 0;
    double *lo = r->mu, *hi = r->mu + n, slope_lo, slope_hi, sum = 0, bound = 0;

    relaxed_round(r, below, lo, &slope_lo);
    relaxed_round(r, above, hi, &slope_hi);
    if (slope_hi < 0) { /* the last deadline, but for rounding: a moment more is worth nothing */
        memset(hi, 0, (size_t)n * sizeof *hi);
        slope_hi = r->weight.time;
    }
    for (int i = 0; i < n; i++) {
        const qh_trade_channel *c = &r->channel[i], *s = &r->channel[slowest];

        if (slope_lo < 0)
            hi[i] += slope_hi / (slope_hi - slope_lo) * (lo[i] - hi[i]);
        if (qh_trade_time(c, c->base_bytes) > qh_trade_time(s, s->base_bytes))
            slowest = i;
        sum += hi[i];
    }
    if (sum > r->weight.time)
        for (int i = 0; i < n; i++)
            hi[i] *= r->weight.time / sum;
    else if (slope_lo >= 0)
        hi[slowest] += r->weight.time - sum;
    for (int i = 0; i < n; i++)
        bound += priced_channel(r, &r->channel[i], hi[i]);
    /* Where prices overflow (a theta near the least double), no variance and the first deadline. */
    return isfinite(bound) ? bound : r->weight.time * qh_trade_first_deadline(r);
}

/* The last point between in (value not above) and out (above it) that is surely out, or in. */
static double edge(const qh_trade_round *r, double in, double out, double value)
{
    double slope;

    for (int i = 0; i < EDGE_HALVINGS && in != out; i++) {
        double mid = in + (out - in) / 2;

        if (mid == in || mid == out)
            break;
        if (relaxed_round(r, mid, r->mu, &slope) > value)
            out = mid;
        else
            in = mid;
    }
    return out;
}

void qh_trade_window(const qh_trade_round *r, double below, double above, double value, double *lo,
                     double *hi)
{
    double first = qh_trade_first_deadline(r), last = last_deadline(r), size = 0, slope;

    for (int i = 0; i < r->n_channels; i++)
        size += r->channel[i].base_var;
    value += 1e-12 * (r->weight.time * last + r->weight.variance * size);
    *lo = relaxed_round(r, first, r->mu, &slope) > value ? edge(r, below, first, value) : first;
    *hi = relaxed_round(r, last, r->mu, &slope) > value ? edge(r, above, last, value) : last;
}
