/* The frame around the solvers: weights, rounds, evaluation, and the registry. */
#include "src/policy/tradeoff.h"

#include "src/base/mem.h"
#include "src/base/options.h"
#include "src/policy/tradeoff_parts.h"

#include <math.h>
#include <string.h>

struct qh_tradeoff_work {
    int n_devices;
    int64_t n_channels, n_groups, most_groups; /* in all, and in the largest round */
    int64_t *by_round;    /* owned, [n_channels]: channels in the order of their rounds */
    int64_t *round_first; /* owned, [n_devices + 1] */
    int64_t *first_group; /* owned, [n_channels]: where a channel's widths begin */
    qh_trade_round round; /* its arrays are owned, with room for the largest round */
    uint64_t *key;        /* owned, [2 * groups of the largest channel] */
    int32_t *order;       /* owned, [most_groups] */
    float *v;             /* owned, [most_groups] */
    double *sum;          /* owned, [most_groups + channels] */
};

static const qh_tradeoff_solver *const solvers[] = {
    &qh_tradeoff_exact,
    &qh_tradeoff_greedy,
    &qh_tradeoff_sweep,
#if QH_WITH_GLPK
    &qh_tradeoff_glpk,
#endif
};

const qh_tradeoff_solver *qh_tradeoff_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(solvers) ? solvers[i] : NULL;
}

qh_status qh_tradeoff_find(const char *where, const char *name, const qh_tradeoff_solver **out)
{
    const char *names[QH_COUNT(solvers)], *close;

    for (size_t i = 0; i < QH_COUNT(solvers); i++)
        if (strcmp(solvers[i]->name, name) == 0) {
            *out = solvers[i];
            return QH_OK;
        }
    if (strcmp(name, "glpk") == 0)
        return qh_fail(QH_EUSAGE,
                       "%s: glpk is not built in; a build that finds it (Debian: libglpk-dev), or "
                       "exact, is right",
                       where);
    for (size_t i = 0; i < QH_COUNT(solvers); i++)
        names[i] = solvers[i]->name;
    close = qh_did_you_mean(name, names, QH_COUNT(solvers));
    if (close)
        return qh_fail(QH_EUSAGE, "%s: there is no solver '%s'; did you mean %s?", where, name,
                       close);
    return qh_fail(QH_EUSAGE, "%s: there is no solver '%s'; exact, greedy, sweep or glpk is right",
                   where, name);
}

static int round_of(const qh_tradeoff *p, int64_t channel)
{
    const qh_tradeoff_channel *c = &p->channel[channel];

    return (int)(((int64_t)c->dst - c->src + p->n_devices) % p->n_devices);
}

static void check_channel(const qh_tradeoff *p, const qh_tradeoff_channel *c)
{
    QH_ASSERT(0 <= c->src && c->src < p->n_devices && 0 <= c->dst && c->dst < p->n_devices);
    QH_ASSERT(c->src != c->dst && 0 <= c->n_groups && c->n_groups <= INT32_MAX);
    QH_ASSERT(0 <= c->theta && c->theta < INFINITY && 0 <= c->gamma && c->gamma < INFINITY);
    QH_ASSERT(c->n_groups == 0 || (c->group_size >= 1 && c->last_size >= 1));
    for (int k = 0; k < p->n_widths; k++)
        QH_ASSERT(c->bytes[k] >= 0);
}

static void check(const qh_tradeoff *p)
{
    QH_ASSERT(p->n_devices >= 1 && p->n_channels >= 0 && 0 <= p->lambda && p->lambda <= 1);
    QH_ASSERT(1 <= p->n_widths && p->n_widths <= QH_MAX_WIDTHS);
    for (int k = 0; k < p->n_widths; k++)
        QH_ASSERT(qh_bits_is_width(p->width[k]) && (k == 0 || p->width[k - 1] < p->width[k]));
    for (int64_t i = 0; i < p->n_channels; i++)
        check_channel(p, &p->channel[i]);
}

/* --- room --- */

static qh_status order_channels(const qh_tradeoff *p, qh_tradeoff_work *w)
{
    int64_t *place = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&w->by_round, p->n_channels));
    QH_TRY(st, QH_NEW_ARRAY(&w->first_group, p->n_channels));
    QH_TRY(st, QH_NEW_ARRAY(&w->round_first, p->n_devices + 1));
    QH_TRY(st, QH_NEW_ARRAY(&place, p->n_devices));
    for (int64_t i = 0; i < p->n_channels; i++) {
        w->first_group[i] = w->n_groups;
        w->n_groups += p->channel[i].n_groups;
        w->round_first[round_of(p, i) + 1]++;
    }
    for (int r = 0; r < p->n_devices; r++) {
        place[r] = w->round_first[r];
        w->round_first[r + 1] += w->round_first[r];
    }
    for (int64_t i = 0; i < p->n_channels; i++)
        w->by_round[place[round_of(p, i)]++] = i;
out:
    qh_mem_free(place);
    return st;
}

static int leaves_for(int n_channels)
{
    int leaves = 1;

    while (leaves < n_channels)
        leaves *= 2;
    return leaves;
}

static qh_status make_room(const qh_tradeoff *p, qh_tradeoff_work *w)
{
    int64_t most_channels = 0, longest = 0, lanes;
    qh_trade_round *r = &w->round;
    qh_status st;

    for (int i = 0; i < p->n_devices; i++) {
        int64_t groups = 0, n = w->round_first[i + 1] - w->round_first[i];

        for (int64_t k = w->round_first[i]; k < w->round_first[i + 1]; k++) {
            int64_t mine = p->channel[w->by_round[k]].n_groups;

            groups += mine;
            longest = mine > longest ? mine : longest;
        }
        w->most_groups = groups > w->most_groups ? groups : w->most_groups;
        most_channels = n > most_channels ? n : most_channels;
    }
    lanes = most_channels * QH_MAX_WIDTHS;
    QH_ASSERT(lanes <= INT32_MAX / 2);
    QH_TRY(st, QH_NEW_ARRAY(&r->channel, most_channels));
    QH_TRY(st, QH_NEW_ARRAY(&r->lane, lanes));
    QH_TRY(st, QH_NEW_ARRAY(&r->heap, lanes));
    QH_TRY(st, QH_NEW_ARRAY(&r->tree, 2 * leaves_for((int)most_channels)));
    QH_TRY(st, QH_NEW_ARRAY(&r->mu, 2 * most_channels));
    QH_TRY(st, QH_NEW_ARRAY(&r->point, QH_TRADE_POINTS));
    QH_TRY(st, QH_NEW_ARRAY(&w->key, 2 * longest));
    QH_TRY(st, QH_NEW_ARRAY(&w->order, w->most_groups));
    QH_TRY(st, QH_NEW_ARRAY(&w->v, w->most_groups));
    QH_TRY(st, QH_NEW_ARRAY(&w->sum, w->most_groups + most_channels));
out:
    return st;
}

qh_status qh_tradeoff_work_new(const qh_tradeoff *p, qh_tradeoff_work **out)
{
    qh_tradeoff_work *w = NULL;
    qh_status st;

    check(p);
    QH_TRY(st, QH_NEW(&w));
    w->n_devices = p->n_devices;
    w->n_channels = p->n_channels;
    QH_TRY(st, order_channels(p, w));
    QH_TRY(st, make_room(p, w));
    *out = w;
    w = NULL;
out:
    qh_tradeoff_work_free(w);
    return st;
}

void qh_tradeoff_work_free(qh_tradeoff_work *w)
{
    if (!w)
        return;
    qh_mem_free(w->sum);
    qh_mem_free(w->v);
    qh_mem_free(w->order);
    qh_mem_free(w->key);
    qh_mem_free(w->round.point);
    qh_mem_free(w->round.mu);
    qh_mem_free(w->round.tree);
    qh_mem_free(w->round.heap);
    qh_mem_free(w->round.lane);
    qh_mem_free(w->round.channel);
    qh_mem_free(w->first_group);
    qh_mem_free(w->round_first);
    qh_mem_free(w->by_round);
    qh_mem_free(w);
}

/* --- what is weighed --- */

static int64_t messages_of(const qh_tradeoff_channel *c)
{
    return c->n_groups ? (c->n_groups - 1) * c->group_size + c->last_size : 0;
}

/* The sum of a channel's variances. */
static qh_status sum_variance(const qh_tradeoff_channel *c, double *out)
{
    double sum = 0;

    for (int64_t g = 0; g < c->n_groups; g++) {
        if (!(0 <= c->variance[g] && c->variance[g] < INFINITY))
            return qh_fail(QH_EINPUT,
                           "tradeoff: channel %d to %d, group %lld has the variance %g; a finite "
                           "one >= 0 is right",
                           c->src, c->dst, (long long)g, (double)c->variance[g]);
        sum += (double)c->variance[g];
    }
    *out = sum;
    return QH_OK;
}

/* A channel's times with all groups at the dearest and at the cheapest width. */
static void time_limits(const qh_tradeoff *p, const qh_tradeoff_channel *c, double *dearest,
                        double *cheapest)
{
    int64_t most = c->bytes[0], least = c->bytes[0];

    for (int k = 1; k < p->n_widths; k++) {
        most = c->bytes[k] > most ? c->bytes[k] : most;
        least = c->bytes[k] < least ? c->bytes[k] : least;
    }
    *dearest = c->theta * (double)(most * messages_of(c)) + c->gamma;
    *cheapest = c->theta * (double)(least * messages_of(c)) + c->gamma;
}

static qh_status set_limits(const qh_tradeoff *p, const qh_tradeoff_work *w,
                            qh_tradeoff_answer *out)
{
    double narrowest = qh_trade_variance_of_width(p->width[0]);
    double widest = qh_trade_variance_of_width(p->width[p->n_widths - 1]);
    double nadir = 0, utopia = 0, slowest = 0, fastest = 0;
    qh_status st = QH_OK;

    for (int r = 1; r < p->n_devices; r++) {
        double most = 0, least = INFINITY;

        for (int64_t i = w->round_first[r]; i < w->round_first[r + 1]; i++) {
            const qh_tradeoff_channel *c = &p->channel[w->by_round[i]];
            double sum = 0, dearest, cheapest;

            if (c->n_groups == 0)
                continue;
            QH_TRY(st, sum_variance(c, &sum));
            nadir += narrowest * sum;
            utopia += widest * sum;
            time_limits(p, c, &dearest, &cheapest);
            most = fmax(most, dearest);
            least = fmin(least, cheapest);
        }
        slowest += most;
        fastest += least < INFINITY ? least : 0;
    }
    out->var_nadir = nadir;
    out->var_utopia = utopia;
    out->time_nadir = slowest;
    out->time_utopia = fastest;
out:
    return st;
}

static qh_trade_weights weights_of(const qh_tradeoff *p, const qh_tradeoff_answer *a)
{
    double variance = a->var_nadir - a->var_utopia, time = a->time_nadir - a->time_utopia;
    qh_trade_weights w = {.variance = variance > 0 ? p->lambda / variance : 0,
                          .time = time > 0 ? (1 - p->lambda) / time : 0};

    w.offset = w.variance * a->var_utopia + w.time * a->time_utopia;
    return w;
}

/* Sums by width: where all groups have one width, the variance is to the bit that of the limits. */
static void evaluate_channel(const qh_tradeoff *p, const qh_tradeoff_channel *c,
                             const uint8_t *width, double *variance, double *time)
{
    double sum[33] = {0};
    int64_t count[33] = {0}, bytes = 0;

    for (int64_t g = 0; g < c->n_groups; g++) {
        sum[width[g]] += (double)c->variance[g];
        count[width[g]]++;
    }
    for (int k = 0; k < p->n_widths; k++) {
        int b = p->width[k];

        *variance += qh_trade_variance_of_width(b) * sum[b];
        bytes += count[b] * c->group_size * c->bytes[k];
        if (width[c->n_groups - 1] == b)
            bytes += (c->last_size - c->group_size) * c->bytes[k];
    }
    *time = c->theta * (double)bytes + c->gamma;
}

static void evaluate(const qh_tradeoff *p, const qh_tradeoff_work *w, const uint8_t *width,
                     double *z, qh_tradeoff_answer *out)
{
    double variance = out->var_nadir - out->var_utopia, time = out->time_nadir - out->time_utopia;

    out->objective = out->var_sum = out->time_sum = 0;
    for (int r = 0; r < p->n_devices; r++) {
        z[r] = 0;
        for (int64_t i = w->round_first[r]; i < w->round_first[r + 1]; i++) {
            int64_t channel = w->by_round[i];
            const qh_tradeoff_channel *c = &p->channel[channel];
            double t;

            if (c->n_groups == 0)
                continue;
            evaluate_channel(p, c, width + w->first_group[channel], &out->var_sum, &t);
            z[r] = fmax(z[r], t);
        }
        out->time_sum += z[r];
    }
    if (variance > 0)
        out->objective += p->lambda * ((out->var_sum - out->var_utopia) / variance);
    if (time > 0)
        out->objective += (1 - p->lambda) * ((out->time_sum - out->time_utopia) / time);
}

/* The work is for problems of one shape. */
static void check_shape(const qh_tradeoff *p, const qh_tradeoff_work *w)
{
    int64_t n_groups = 0;

    check(p);
    QH_ASSERT(p->n_devices == w->n_devices && p->n_channels == w->n_channels);
    for (int64_t i = 0; i < p->n_channels; i++) {
        QH_ASSERT(w->first_group[i] == n_groups);
        n_groups += p->channel[i].n_groups;
    }
    QH_ASSERT(n_groups == w->n_groups);
}

qh_status qh_tradeoff_evaluate(const qh_tradeoff *p, const qh_tradeoff_work *w,
                               const uint8_t *width, double *z, qh_tradeoff_answer *out)
{
    qh_tradeoff_answer a = *out;
    qh_status st;

    check_shape(p, w);
    QH_TRY(st, set_limits(p, w, &a));
    evaluate(p, w, width, z, &a);
    *out = a;
out:
    return st;
}

/* --- rounds --- */

static void add_lanes(qh_trade_round *r, int channel)
{
    qh_trade_channel *c = &r->channel[channel];
    qh_trade_lane lane = {.channel = channel, .base_bytes = c->base_bytes};

    c->first_lane = r->n_lanes;
    for (int level = 0; level == 0 || (c->has_last && level <= c->n_steps); level++) {
        lane.last_level = level;
        r->lane[r->n_lanes++] = lane;
        if (level == c->n_steps)
            break;
        lane.base_bytes += c->step_bytes[level] * c->of->last_size;
        lane.base_gain += c->step_gain[level] * (double)c->last;
    }
    c->n_lanes = r->n_lanes - c->first_lane;
}

static void prepare_round(const qh_tradeoff *p, qh_tradeoff_work *w, int number, uint8_t *width)
{
    qh_trade_round *r = &w->round;
    int64_t groups = 0;

    r->n_channels = r->n_lanes = 0;
    for (int64_t i = w->round_first[number]; i < w->round_first[number + 1]; i++) {
        int64_t channel = w->by_round[i];
        qh_trade_channel *c = &r->channel[r->n_channels];

        if (p->channel[channel].n_groups == 0)
            continue;
        *c = (qh_trade_channel){.of = &p->channel[channel],
                                .width = width + w->first_group[channel]};
        qh_trade_set_levels(p, c);
        qh_trade_set_groups(c, w->key, w->order + groups, w->v + groups,
                            w->sum + groups + r->n_channels);
        groups += c->of->n_groups;
        add_lanes(r, r->n_channels++);
    }
    r->leaves = leaves_for(r->n_channels);
    /* Widths of uneven steps are searched; so much for a round, then the gap speaks. */
    r->nodes = 1000000 / p->n_devices + 10000;
}

/* One term weighs nothing: everything at the top, or at the bottom. */
static void emit_extreme(const qh_trade_round *r)
{
    for (int i = 0; i < r->n_channels; i++) {
        const qh_trade_channel *c = &r->channel[i];
        bool top = r->weight.variance > 0;
        qh_trade_plan plan = {.last_level = top ? c->n_steps : 0};

        for (int k = 0; k < c->n_steps; k++)
            plan.count[k] = top ? c->n_pos : 0;
        qh_trade_emit(c, &plan);
    }
}

static void conclude(qh_tradeoff_answer *a, double bound, bool extreme, bool optimal)
{
    a->lower_bound = extreme ? a->objective : fmin(a->objective, bound);
    a->gap = a->lower_bound < a->objective ? (a->objective - a->lower_bound) / a->objective : 0;
    a->optimal = optimal || extreme;
}

qh_status qh_trade_run(const qh_tradeoff *p, qh_tradeoff_work *w, qh_trade_round_fn round,
                       bool exhaustive, uint8_t *width, double *z, qh_tradeoff_answer *out)
{
    qh_trade_round *r = &w->round;
    qh_tradeoff_answer a = {0};
    double bound = 0, below, above;
    bool extreme, optimal = exhaustive;
    qh_status st;

    check_shape(p, w);
    QH_TRY(st, set_limits(p, w, &a));
    r->weight = weights_of(p, &a);
    r->candidates = 0;
    r->n_rounds = p->n_devices - 1;
    r->truncated = false;
    extreme = r->weight.variance == 0 || r->weight.time == 0;
    for (int number = 1; number < p->n_devices; number++) {
        prepare_round(p, w, number, width);
        if (r->n_channels == 0)
            continue;
        for (int i = 0; i < r->n_channels; i++)
            optimal = optimal && r->channel[i].whole;
        if (extreme) {
            emit_extreme(r);
            continue;
        }
        qh_trade_least(r, &below, &above);
        r->bound = qh_trade_bound(r, below, above);
        bound += r->bound;
        QH_TRY(st, round(r, below, above));
    }
    evaluate(p, w, width, z, &a);
    a.candidates = r->candidates;
    conclude(&a, bound - r->weight.offset, extreme, optimal && !r->truncated);
    *out = a;
out:
    return st;
}
