/* Flows that share links, against a simulation of the test's own: textbook filling, long doubles.
 */
#include "netmodel/fairshare.h"

#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, MOST_LINKS = 8, MOST_FLOWS = 24, LONGEST = 4, SETS = 1000 };

typedef struct world {
    int n_links, n_flows, n_hops[DEVICES][DEVICES], hop[DEVICES][DEVICES][LONGEST];
    double bytes_per_s[MOST_LINKS];
    qh_time latency[MOST_LINKS];
    qh_flow flow[MOST_FLOWS];
    qh_time start[MOST_FLOWS], finish[MOST_FLOWS];
    long double begin[MOST_FLOWS], left[MOST_FLOWS], rate[MOST_FLOWS], end[MOST_FLOWS];
} world;

static qh_key key;
static uint64_t drawn;

static int64_t below(int64_t n)
{
    return (int64_t)qh_rand_below(key, drawn++, (uint64_t)n);
}

static void make_routes(world *w)
{
    for (int src = 0; src < DEVICES; src++)
        for (int dst = 0; dst < DEVICES; dst++) {
            int most = w->n_links < LONGEST ? w->n_links : LONGEST, n = 1 + (int)below(most);

            for (int i = 0; i < n; i++) {
                int l = (int)below(w->n_links);
                bool used = false;

                for (int k = 0; k < w->n_hops[src][dst]; k++)
                    used |= w->hop[src][dst][k] == l;
                if (!used)
                    w->hop[src][dst][w->n_hops[src][dst]++] = l;
            }
        }
}

/* Odd seeds have few rates, sizes and instants, so that much happens at once. */
static void make_world(world *w, uint64_t seed)
{
    bool few = seed % 2;

    key = qh_rand_key(seed, QH_RAND_SAMPLE, 7, 0, 0);
    drawn = 0;
    memset(w, 0, sizeof *w);
    w->n_links = 1 + (int)below(MOST_LINKS);
    w->n_flows = 1 + (int)below(MOST_FLOWS);
    for (int l = 0; l < w->n_links; l++) {
        w->bytes_per_s[l] = few ? 1e9 * (double)(1 + below(3)) : 1e6 * (double)(1 + below(4000));
        w->latency[l] = few ? 1000000 * below(2) : below(5000000);
    }
    make_routes(w);
    for (int f = 0; f < w->n_flows; f++) {
        int32_t src = (int32_t)below(DEVICES);

        w->flow[f] = (qh_flow){.id = f,
                               .src = src,
                               .dst = (int32_t)((src + 1 + below(DEVICES - 1)) % DEVICES),
                               .bytes = few ? 1000 * below(4) : below(3000000)};
        w->start[f] = f ? w->start[f - 1] + (few ? 500000 * below(3) : below(400000000)) : 0;
    }
}

/* --- the test's own simulation --- */

static bool uses(const world *w, int f, int l)
{
    const qh_flow *p = &w->flow[f];

    for (int i = 0; i < w->n_hops[p->src][p->dst]; i++)
        if (w->hop[p->src][p->dst][i] == l)
            return true;
    return false;
}

static void pour(world *w, const bool *flies)
{
    bool open[MOST_FLOWS];

    memcpy(open, flies, sizeof open);
    for (int f = 0; f < w->n_flows; f++)
        w->rate[f] = 0;
    for (;;) {
        long double level = INFINITY;
        int full = -1;

        for (int l = 0; l < w->n_links; l++) {
            long double left = w->bytes_per_s[l];
            int n = 0;

            for (int f = 0; f < w->n_flows; f++)
                if (flies[f] && uses(w, f, l)) {
                    n += open[f];
                    left -= open[f] ? 0 : w->rate[f];
                }
            if (n > 0 && left / n < level) {
                level = left / n;
                full = l;
            }
        }
        if (full < 0)
            return;
        for (int f = 0; f < w->n_flows; f++)
            if (open[f] && uses(w, f, full)) {
                open[f] = false;
                w->rate[f] = level;
            }
    }
}

static void simulate(world *w)
{
    bool flies[MOST_FLOWS] = {0}, ended[MOST_FLOWS] = {0};
    long double now = 0;

    for (int f = 0; f < w->n_flows; f++) {
        const qh_flow *p = &w->flow[f];

        w->begin[f] = w->start[f];
        for (int i = 0; i < w->n_hops[p->src][p->dst]; i++)
            w->begin[f] += w->latency[w->hop[p->src][p->dst][i]];
        w->left[f] = w->flow[f].bytes;
    }
    for (;;) {
        long double next = INFINITY;

        pour(w, flies);
        for (int f = 0; f < w->n_flows; f++) {
            long double at = flies[f] ? now + 1e12L * w->left[f] / w->rate[f] : w->begin[f];

            if (!ended[f] && at < next)
                next = at;
        }
        if (next == INFINITY)
            return;
        for (int f = 0; f < w->n_flows; f++) {
            if (flies[f])
                w->left[f] -= 1e-12L * (next - now) * w->rate[f];
            if (!ended[f] && !flies[f] && w->begin[f] <= next)
                flies[f] = true;
            if (flies[f] && w->left[f] < 1e-9L) {
                flies[f] = false;
                ended[f] = true;
                w->end[f] = next;
            }
        }
        now = next;
    }
}

/* --- the model --- */

static qh_netmodel *open_world(const world *w)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    qh_netmodel *m = NULL;

    fprintf(out, "model: fairshare\nlinks:\n");
    for (int l = 0; l < w->n_links; l++)
        fprintf(out, "- {id: l%d, bandwidth: %.0fB/s, latency: %lldps}\n", l, w->bytes_per_s[l],
                (long long)w->latency[l]);
    fprintf(out, "routes:\n");
    for (int src = 0; src < DEVICES; src++)
        for (int dst = 0; dst < DEVICES; dst++) {
            if (src == dst)
                continue;
            fprintf(out, "- {src: %d, dst: %d, links: [", src, dst);
            for (int i = 0; i < w->n_hops[src][dst]; i++)
                fprintf(out, "%sl%d", i ? ", " : "", w->hop[src][dst][i]);
            fprintf(out, "]}\n");
        }
    fclose(out);
    if (qh_netmodel_open_text("world", text, DEVICES, &m) < 0)
        ck_abort_msg("%s\n%s", qh_error_text(), text);
    free(text);
    return m;
}

typedef struct meter {
    long double carried[MOST_LINKS]; /* bytes, as rates times durations */
    qh_time since;
} meter;

/* Up to `now` the rates are what they were: no link above its capacity, and what crosses it. */
static void count(qh_netmodel *m, meter *c, qh_time now, uint64_t seed)
{
    const qh_maxmin *r = qh_fairshare_rates(m);

    for (int l = 0; l < r->n_links; l++) {
        if (r->link[l].load > r->link[l].capacity)
            ck_abort_msg("seed %llu: link %d is above 100 %%", (unsigned long long)seed, l);
        c->carried[l] += (long double)r->link[l].load * qh_fairshare_unit(m) * 1e-12L *
                         (long double)(now - c->since);
    }
    c->since = now;
}

static void deliver(qh_netmodel *m, world *w, meter *c, qh_time until, uint64_t seed)
{
    int64_t done[MOST_FLOWS], n;

    while (m->ops->next(m) <= until && m->ops->next(m) != QH_TIME_NEVER) {
        qh_time now = m->ops->next(m);

        count(m, c, now, seed);
        while ((n = m->ops->advance(m, now, done, MOST_FLOWS)) > 0)
            for (int64_t i = 0; i < n; i++)
                w->finish[done[i]] = now;
    }
}

static void play(world *w, qh_netmodel *m, const int *order, meter *c, uint64_t seed)
{
    for (int f = 0; f < w->n_flows; f++) {
        qh_time now = w->start[order[f]];

        deliver(m, w, c, now, seed);
        count(m, c, now, seed);
        if (m->ops->start(m, now, &w->flow[order[f]]) < 0)
            ck_abort_msg("%s", qh_error_text());
    }
    deliver(m, w, c, QH_TIME_NEVER - 1, seed);
}

static void check_world(const world *w, const meter *c, uint64_t seed)
{
    for (int f = 0; f < w->n_flows; f++) {
        long double off = fabsl((long double)w->finish[f] - w->end[f]);

        if (off > 1e-9L * w->end[f] + 1)
            ck_abort_msg("seed %llu, flow %d ends at %lld, not %.3Lf", (unsigned long long)seed, f,
                         (long long)w->finish[f], w->end[f]);
    }
    for (int l = 0; l < w->n_links; l++) {
        long double bytes = 0;

        for (int f = 0; f < w->n_flows; f++)
            bytes += uses(w, f, l) ? w->flow[f].bytes : 0;
        if (fabsl(bytes - c->carried[l]) > 1e-9L * bytes + 1)
            ck_abort_msg("seed %llu, link %d carried %.3Lf of %.0Lf bytes",
                         (unsigned long long)seed, l, c->carried[l], bytes);
    }
}

/* Every finish, no link above 100 % at any instant, and every byte of every flow over every link of
 * its route: 1000 sets. */
START_TEST(random_sets)
{
    static world w;

    for (uint64_t seed = (uint64_t)_i * SETS / 10; seed < (uint64_t)(_i + 1) * SETS / 10; seed++) {
        meter c = {0};
        int order[MOST_FLOWS];
        qh_netmodel *m;

        make_world(&w, seed);
        simulate(&w);
        for (int f = 0; f < w.n_flows; f++)
            order[f] = f;
        m = open_world(&w);
        play(&w, m, order, &c, seed);
        check_world(&w, &c, seed);
        qh_netmodel_close(m);
    }
}
END_TEST

/* Flows of one instant, started in any order: the same finish, to the picosecond. */
START_TEST(simultaneous_starts)
{
    static world w;

    for (uint64_t seed = 0; seed < 200; seed++) {
        qh_time finish[MOST_FLOWS];
        meter c = {0}, d = {0};
        int order[MOST_FLOWS];
        qh_netmodel *m, *n;

        make_world(&w, seed);
        for (int f = 0; f < w.n_flows; f++) {
            w.start[f] = w.start[f] / 300000000 * 300000000;
            order[f] = f;
        }
        m = open_world(&w);
        play(&w, m, order, &c, seed);
        memcpy(finish, w.finish, sizeof finish);
        for (int f = 0; f + 1 < w.n_flows; f++)
            for (int g = f + 1; g < w.n_flows && w.start[order[g]] == w.start[order[f]]; g++)
                if (below(2)) {
                    int was = order[f];

                    order[f] = order[g];
                    order[g] = was;
                }
        n = open_world(&w);
        play(&w, n, order, &d, seed);
        for (int f = 0; f < w.n_flows; f++)
            if (finish[f] != w.finish[f])
                ck_abort_msg("seed %llu, flow %d: %lld and %lld", (unsigned long long)seed, f,
                             (long long)finish[f], (long long)w.finish[f]);
        qh_netmodel_close(n);
        qh_netmodel_close(m);
    }
}
END_TEST

/* Far apart in bandwidth, up to the end of time, and no route at all. */
START_TEST(edges)
{
    qh_netmodel *m = NULL;
    qh_flow f = {.id = 5, .src = 0, .dst = 1, .bytes = INT64_C(1) << 50};
    int64_t done;

    ck_assert_int_eq(qh_netmodel_open_text("x",
                                           "model: fairshare\ntopology: star\n"
                                           "link: {latency: 0us, bandwidth: 1PB/s}\n",
                                           3, &m),
                     QH_EINPUT); /* there is no such unit */
    ck_assert_int_eq(qh_netmodel_open_text("x",
                                           "model: fairshare\ntopology: star\n"
                                           "link: {latency: 0us, bandwidth: 1000TB/s}\n",
                                           3, &m),
                     QH_OK);
    ck_assert_int_eq(m->ops->start(m, 0, &f), QH_OK);
    ck_assert_int_eq(m->ops->advance(m, 0, &done, 1), 0);
    ck_assert_int_eq(m->ops->advance(m, m->ops->next(m), &done, 1), 0);
    ck_assert_int_eq(m->ops->next(m), INT64_C(1125899906843)); /* 2^50 B / 10^15 B/s, up */
    ck_assert_int_eq(m->ops->advance(m, m->ops->next(m), &done, 1), 1);
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER);
    qh_netmodel_close(m);
    ck_assert_int_eq(
        qh_netmodel_open_text("x",
                              "model: fairshare\nlinks: [{id: a, bandwidth: 1TB/s, latency: 0us}, "
                              "{id: b, bandwidth: 1bit/s, latency: 0us}]\n"
                              "routes: [{src: 0, dst: 1, links: [a]}, {src: 1, dst: 0, links: "
                              "[b]}]\n",
                              2, &m),
        QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), "link 'b'") != NULL, "%s", qh_error_text());
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("fair sharing");
    TCase *t = tcase_create("fairshare");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, random_sets, 0, 10);
    tcase_add_test(t, simultaneous_starts);
    tcase_add_test(t, edges);
    suite_add_tcase(s, t);
    return s;
}
