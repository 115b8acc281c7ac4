/* From widths and sizes to levels, steps and sorted groups. */
#include "src/base/sort.h"
#include "src/policy/tradeoff_parts.h"

#include <math.h>

double qh_trade_variance_of_width(int width)
{
    double levels = ldexp(1, width) - 1;

    return width == 32 ? 0 : 1 / (levels * levels);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Does the step from level b to d gain more a byte than the one from a to b? */
static bool off_hull(const qh_tradeoff *p, const int64_t *bytes, int a, int b, int d)
{
    double va = qh_trade_variance_of_width(p->width[a]);
    double vb = qh_trade_variance_of_width(p->width[b]);
    double vd = qh_trade_variance_of_width(p->width[d]);

    return (vb - vd) * (double)(bytes[b] - bytes[a]) > (va - vb) * (double)(bytes[d] - bytes[b]);
}

/* Widths that a wider one undercuts or equals in bytes are of no use (rows of few columns fill the
 * same bytes at several widths). Of the others, those off the convex hull of variance over bytes
 * are left out too; no bytes of real rows have such, as each bit more divides the variance by four
 * and more. */
void qh_trade_set_levels(const qh_tradeoff *p, qh_trade_channel *c)
{
    const int64_t *bytes = c->of->bytes;
    int level[QH_MAX_WIDTHS], n = 0;

    c->whole = true;
    c->narrow = p->width[0];
    for (int k = 0, cheapest = 0; k < p->n_widths; k++) {
        while (n > 0 && bytes[level[n - 1]] >= bytes[k])
            n--;
        while (n > 1 && off_hull(p, bytes, level[n - 2], level[n - 1], k)) {
            n--;
            c->whole = false;
        }
        level[n++] = k;
        if (bytes[k] < bytes[cheapest]) {
            cheapest = k;
            c->narrow = p->width[k];
        }
    }
    c->n_steps = n - 1;
    c->unit_bytes = 0;
    for (int k = 0; k < n; k++) {
        c->level_width[k] = p->width[level[k]];
        if (k == 0)
            continue;
        c->step_bytes[k - 1] = bytes[level[k]] - bytes[level[k - 1]];
        c->step_gain[k - 1] = qh_trade_variance_of_width(c->level_width[k - 1]) -
                              qh_trade_variance_of_width(c->level_width[k]);
        c->unit_bytes = common_divisor(c->step_bytes[k - 1], c->unit_bytes);
    }
    for (int k = 0; k < c->n_steps; k++)
        c->step_units[k] = c->step_bytes[k] / c->unit_bytes;
    c->n_full = c->of->n_groups - (c->of->last_size != c->of->group_size);
    c->base_bytes = bytes[level[0]] * (c->n_full * c->of->group_size +
                                       (c->of->n_groups - c->n_full) * c->of->last_size);
    c->unit_bytes = c->n_steps ? c->unit_bytes * c->of->group_size : 1;
}

static qh_trade_stream stream_of(const qh_trade_channel *c, int step, int64_t size)
{
    double bytes = (double)(c->step_bytes[step] * size);

    return (qh_trade_stream){.bytes = c->step_bytes[step] * size,
                             .gain = c->step_gain[step],
                             .per_byte = c->step_gain[step] / bytes};
}

static void set_streams(qh_trade_channel *c, const float *v, const double *sum)
{
    c->n_streams = c->n_steps * (c->has_last ? 2 : 1);
    for (int k = 0; k < c->n_streams; k++) {
        bool last = k >= c->n_steps;
        qh_trade_stream *s = &c->stream[k];

        *s = stream_of(c, k % c->n_steps, last ? c->of->last_size : c->of->group_size);
        s->v = last ? &c->last : v;
        s->sum = last ? c->last_sum : sum;
        s->n = last ? 1 : c->n_pos;
    }
}

void qh_trade_set_groups(qh_trade_channel *c, uint64_t *key, int32_t *order, float *v, double *sum)
{
    const float *variance = c->of->variance;
    int64_t n = c->n_full;

    qh_sort_falling(variance, n, key, order);
    c->order = order;
    sum[0] = 0;
    for (c->n_pos = 0; c->n_pos < n && variance[order[c->n_pos]] > 0; c->n_pos++) {
        v[c->n_pos] = variance[order[c->n_pos]];
        sum[c->n_pos + 1] = sum[c->n_pos] + v[c->n_pos];
    }
    c->last = n < c->of->n_groups ? variance[n] : 0;
    c->has_last = c->last > 0;
    c->last_sum[0] = 0;
    c->last_sum[1] = c->last;
    c->base_var = qh_trade_variance_of_width(c->level_width[0]) * (sum[c->n_pos] + c->last);
    c->n_units = 0;
    for (int k = 0; k < c->n_steps; k++)
        c->n_units += c->step_units[k] * c->n_pos;
    set_streams(c, v, sum);
}
