/* Max-min rates against a water-filling of the test's own, and solving in parts against solving
 * everything anew. */
#include "netmodel/maxmin.h"

#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINKS = 40, MOST_FLOWS = 120, LONGEST = 6 };

typedef struct world {
    int n_links, n_flows;
    int64_t capacity[MOST_LINKS];
    int n_hops[MOST_FLOWS];
    int32_t hop[MOST_FLOWS][LONGEST];
    bool there[MOST_FLOWS];
    double rate[MOST_FLOWS];
} world;

static qh_key key;
static uint64_t drawn;

static int64_t below(int64_t n)
{
    return (int64_t)qh_rand_below(key, drawn++, (uint64_t)n);
}

/* Routes of a random length over random links; capacities of few values, so that levels tie, or of
 * many. */
static void make_world(world *w, uint64_t seed)
{
    key = qh_rand_key(seed, QH_RAND_SAMPLE, 1, 2, 3);
    drawn = 0;
    memset(w, 0, sizeof *w);
    w->n_links = 1 + (int)below(MOST_LINKS);
    w->n_flows = 1 + (int)below(MOST_FLOWS);
    for (int l = 0; l < w->n_links; l++)
        w->capacity[l] =
            seed % 2 ? (INT64_C(1) + below(3)) << 40 : INT64_C(1000000) + below(INT64_C(1) << 45);
    for (int f = 0; f < w->n_flows; f++) {
        int most = w->n_links < LONGEST ? w->n_links : LONGEST, n = 1 + (int)below(most);

        for (int i = 0; i < n; i++) {
            int32_t l = (int32_t)below(w->n_links);
            bool used = false;

            for (int k = 0; k < w->n_hops[f]; k++)
                used |= w->hop[f][k] == l;
            if (!used)
                w->hop[f][w->n_hops[f]++] = l;
        }
    }
}

/* Progressive filling as the textbook has it, in doubles: raise all open flows together until a
 * link is full, close the flows of that link, go on. */
static void pour(world *w)
{
    bool open[MOST_FLOWS];

    for (int f = 0; f < w->n_flows; f++) {
        open[f] = w->there[f];
        w->rate[f] = 0;
    }
    for (;;) {
        double level = INFINITY;
        int full = -1;

        for (int l = 0; l < w->n_links; l++) {
            double left = (double)w->capacity[l];
            int n = 0;

            for (int f = 0; f < w->n_flows; f++)
                for (int i = 0; w->there[f] && i < w->n_hops[f]; i++)
                    if (w->hop[f][i] == l) {
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
            for (int i = 0; open[f] && i < w->n_hops[f]; i++)
                if (w->hop[f][i] == full) {
                    open[f] = false;
                    w->rate[f] = level;
                }
    }
}

static qh_maxmin *build(const world *w, int way)
{
    qh_maxmin *m = NULL;

    ck_assert_int_eq(qh_maxmin_new(w->n_links, w->capacity, LONGEST, &m), QH_OK);
    ck_assert_int_eq(qh_maxmin_reserve(m, MOST_FLOWS), QH_OK);
    m->way = way;
    return m;
}

static void set_there(qh_maxmin *m, const world *w, int f, bool there)
{
    if (there) {
        if (qh_maxmin_promise(m, f, w->hop[f], w->n_hops[f]) < 0)
            ck_abort_msg("%s", qh_error_text());
        qh_maxmin_add(m, f);
    } else {
        qh_maxmin_remove(m, f);
    }
}

/* No link is above its capacity, to the unit, and each flow has its rate. (An assertion of Check
 * costs a system call, so they are few.) */
static void check(const qh_maxmin *m, const world *w)
{
    for (int l = 0; l < w->n_links; l++) {
        int64_t load = 0;

        for (int f = 0; f < w->n_flows; f++)
            for (int i = 0; w->there[f] && i < w->n_hops[f]; i++)
                load += w->hop[f][i] == l ? qh_maxmin_rate(m, f) : 0;
        if (load > w->capacity[l] || load != m->link[l].load)
            ck_abort_msg("way %d, link %d: %lld of %lld, counted as %lld", (int)m->way, l,
                         (long long)load, (long long)w->capacity[l], (long long)m->link[l].load);
    }
    for (int f = 0; f < w->n_flows; f++)
        if (w->there[f] &&
            fabs((double)qh_maxmin_rate(m, f) - w->rate[f]) > 1e-12 * w->rate[f] + MOST_FLOWS)
            ck_abort_msg("way %d, flow %d: %lld for %.3f", (int)m->way, f,
                         (long long)qh_maxmin_rate(m, f), w->rate[f]);
}

/* Flows come and go, one or several at a time; after each change the rates are those of a filling
 * from nothing, whichever way they were found, and the two ways agree to the unit. */
START_TEST(random_sets)
{
    static world w;

    for (uint64_t seed = (uint64_t)_i * 100; seed < (uint64_t)_i * 100 + 100; seed++) {
        qh_maxmin *parts, *whole, *adapt;
        int n_changes;

        make_world(&w, seed);
        for (int f = 0; f < w.n_flows; f++)
            w.there[f] = below(2);
        parts = build(&w, QH_MAXMIN_PARTS);
        whole = build(&w, QH_MAXMIN_WHOLE);
        adapt = build(&w, QH_MAXMIN_ADAPT);
        for (int f = 0; f < w.n_flows; f++)
            if (w.there[f]) {
                set_there(parts, &w, f, true);
                set_there(whole, &w, f, true);
                set_there(adapt, &w, f, true);
            }
        n_changes = 12 + w.n_flows / 4;
        for (int c = 0; c < n_changes; c++) {
            int f = (int)below(w.n_flows);

            w.there[f] = !w.there[f];
            set_there(parts, &w, f, w.there[f]);
            set_there(whole, &w, f, w.there[f]);
            set_there(adapt, &w, f, w.there[f]);
            if (below(3) == 0)
                continue;
            qh_maxmin_solve(parts);
            qh_maxmin_solve(whole);
            qh_maxmin_solve(adapt);
            pour(&w);
            check(parts, &w);
            check(whole, &w);
            check(adapt, &w);
            for (int g = 0; g < w.n_flows; g++)
                if (w.there[g] &&
                    llabs(qh_maxmin_rate(parts, g) - qh_maxmin_rate(whole, g)) > MOST_FLOWS)
                    ck_abort_msg("seed %llu: the two ways differ", (unsigned long long)seed);
        }
        qh_maxmin_free(adapt);
        qh_maxmin_free(whole);
        qh_maxmin_free(parts);
    }
}
END_TEST

/* The same set, whatever the order in which it came: the same bits. */
START_TEST(the_order_of_adding_does_not_matter)
{
    static world w;

    for (uint64_t seed = 0; seed < 200; seed++) {
        qh_maxmin *up, *down;

        make_world(&w, seed);
        up = build(&w, QH_MAXMIN_PARTS);
        down = build(&w, QH_MAXMIN_PARTS);
        for (int f = 0; f < w.n_flows; f++) {
            set_there(up, &w, f, true);
            set_there(down, &w, w.n_flows - 1 - f, true);
        }
        qh_maxmin_solve(up);
        qh_maxmin_solve(down);
        for (int f = 0; f < w.n_flows; f++)
            if (qh_maxmin_rate(up, f) != qh_maxmin_rate(down, f))
                ck_abort_msg("seed %llu, flow %d", (unsigned long long)seed, f);
        qh_maxmin_free(down);
        qh_maxmin_free(up);
    }
}
END_TEST

START_TEST(capacities_change)
{
    static world w;

    for (uint64_t seed = 0; seed < 200; seed++) {
        qh_maxmin *m;

        make_world(&w, seed);
        m = build(&w, QH_MAXMIN_ADAPT);
        for (int f = 0; f < w.n_flows; f++) {
            w.there[f] = true;
            set_there(m, &w, f, true);
        }
        qh_maxmin_solve(m);
        for (int c = 0; c < 20; c++) {
            int l = (int)below(w.n_links);

            w.capacity[l] = below(4) ? below(INT64_C(1) << 42) : 0;
            qh_maxmin_set_capacity(m, l, w.capacity[l]);
            if (below(3) == 0)
                continue;
            qh_maxmin_solve(m);
            pour(&w);
            check(m, &w);
        }
        qh_maxmin_free(m);
    }
}
END_TEST

START_TEST(nothing_to_share)
{
    const int64_t capacity[] = {8, 0};
    const int32_t first = 0, second = 1;
    qh_maxmin *m = NULL;

    ck_assert_int_eq(qh_maxmin_new(0, NULL, 1, &m), QH_OK);
    qh_maxmin_solve(m);
    qh_maxmin_free(m);
    ck_assert_int_eq(qh_maxmin_new(2, capacity, 1, &m), QH_OK);
    ck_assert_int_eq(qh_maxmin_reserve(m, 2), QH_OK);
    qh_maxmin_solve(m);
    ck_assert_int_eq(qh_maxmin_promise(m, 0, &first, 1), QH_OK);
    ck_assert_int_eq(qh_maxmin_promise(m, 1, &second, 1), QH_OK);
    qh_maxmin_add(m, 0);
    qh_maxmin_add(m, 1);
    qh_maxmin_solve(m);
    ck_assert_int_eq(qh_maxmin_rate(m, 0), 8);
    ck_assert_int_eq(qh_maxmin_rate(m, 1), 0); /* a link that is out carries nothing */
    qh_maxmin_remove(m, 0);
    qh_maxmin_remove(m, 1);
    qh_maxmin_solve(m);
    ck_assert_int_eq(m->link[0].load, 0);
    qh_maxmin_free(m);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("max-min rates");
    TCase *t = tcase_create("maxmin");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, random_sets, 0, 10);
    tcase_add_test(t, the_order_of_adding_does_not_matter);
    tcase_add_test(t, capacities_change);
    tcase_add_test(t, nothing_to_share);
    suite_add_tcase(s, t);
    return s;
}
