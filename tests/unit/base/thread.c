#include "src/base/thread.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- team --- */

typedef struct job {
    atomic_int *times; /* a count for each item */
    atomic_llong sum;
} job;

static void count_item(void *ctx, int64_t item)
{
    job *j = ctx;

    atomic_fetch_add(&j->times[item], 1);
    atomic_fetch_add(&j->sum, item);
}

static const struct {
    int threads;
    int64_t items;
} teams[] = {{1, 0}, {1, 5}, {2, 0}, {2, 1}, {2, 2}, {2, 97}, {3, 2}, {5, 1000}, {16, 1009}};

START_TEST(each_item_runs_once)
{
    int64_t n = teams[_i].items;
    qh_team *team = NULL;
    atomic_int *times = NULL;

    ck_assert_int_eq(qh_team_new(teams[_i].threads, NULL, &team), QH_OK);
    ck_assert_int_eq(qh_team_size(team), teams[_i].threads);
    for (int repeat = 0; repeat < 300; repeat++) {
        job j = {0};

        ck_assert_int_eq(QH_NEW_ARRAY(&times, n), QH_OK);
        j.times = times;
        qh_team_run(team, n, count_item, &j);
        ck_assert_int_eq(atomic_load(&j.sum), n * (n - 1) / 2);
        for (int64_t i = 0; i < n; i++)
            ck_assert_int_eq(atomic_load(&times[i]), 1);
        qh_mem_free(times);
    }
    qh_team_free(team);
}
END_TEST

START_TEST(no_team_is_a_loop_in_order)
{
    atomic_int times[3] = {0};
    job j = {.times = times};

    ck_assert_int_eq(qh_team_size(NULL), 1);
    qh_team_run(NULL, 3, count_item, &j);
    ck_assert_int_eq(atomic_load(&j.sum), 3);
    ck_assert_int_eq(qh_team_helpers_cpu_ns(NULL), 0);
    qh_team_free(NULL);
}
END_TEST

/* Plain (not atomic) writes of a job must be seen by the leader afterwards, and the leader's by the
 * next job: what the thread sanitizer watches here. */
static void double_entry(void *ctx, int64_t item)
{
    ((int64_t *)ctx)[item] *= 2;
}

START_TEST(writes_of_a_job_are_seen_after_it)
{
    enum { N = 64, ROUNDS = 40 };
    int64_t value[N];
    qh_team *team = NULL;

    for (int i = 0; i < N; i++)
        value[i] = i;
    ck_assert_int_eq(qh_team_new(4, NULL, &team), QH_OK);
    for (int r = 0; r < ROUNDS; r++) {
        qh_team_run(team, N, double_entry, value);
        for (int i = 0; i < N; i++)
            ck_assert_int_eq(value[i], (int64_t)i << (r + 1));
    }
    qh_team_free(team);
}
END_TEST

static void where_am_i(void *ctx, int64_t item)
{
    int *cpu = ctx;
    struct timespec rest = {.tv_nsec = 2000000};

    nanosleep(&rest, NULL); /* so that every thread gets an item */
    cpu[item] = sched_getcpu();
}

START_TEST(helpers_stay_in_their_cpu_set)
{
    cpu_set_t allowed, sets[3];
    int cpu[12], first = 0;
    qh_team *team = NULL;

    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    while (!CPU_ISSET(first, &allowed))
        first++;
    for (int i = 0; i < 3; i++) {
        CPU_ZERO(&sets[i]);
        CPU_SET(first, &sets[i]);
    }
    ck_assert_int_eq(sched_setaffinity(0, sizeof sets[0], &sets[0]), 0);
    ck_assert_int_eq(qh_team_new(3, sets, &team), QH_OK);
    qh_team_run(team, 12, where_am_i, cpu);
    for (int i = 0; i < 12; i++)
        ck_assert_int_eq(cpu[i], first);
    qh_team_free(team);
}
END_TEST

START_TEST(a_cpu_that_is_not_there_is_an_error)
{
    cpu_set_t sets[2];
    qh_team *team = NULL;

    CPU_ZERO(&sets[0]);
    CPU_ZERO(&sets[1]); /* an empty set is refused by the system */
    ck_assert_int_eq(qh_team_new(2, sets, &team), QH_ERESOURCE);
    ck_assert_ptr_null(team);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "helper 1"));
}
END_TEST

static void burn(void *ctx, int64_t item)
{
    volatile double x = (double)item;

    (void)ctx;
    for (int i = 0; i < 3000000; i++)
        x = x * 1.0000001 + 1;
}

START_TEST(idle_helpers_cost_no_cpu_time)
{
    struct timespec rest = {.tv_nsec = 100000000};
    qh_team *team = NULL;
    int64_t before, busy;

    ck_assert_int_eq(qh_team_new(4, NULL, &team), QH_OK);
    qh_team_run(team, 16, burn, NULL);
    busy = qh_team_helpers_cpu_ns(team);
    ck_assert_int_gt(busy, 0);
    nanosleep(&rest, NULL);
    before = qh_team_helpers_cpu_ns(team);
    nanosleep(&rest, NULL);
    ck_assert_int_lt(qh_team_helpers_cpu_ns(team) - before, 5000000);
    qh_team_free(team);
}
END_TEST

/* --- barrier --- */

typedef struct crowd {
    qh_barrier *barrier;
    int n, rounds, fail_round;
    int64_t turns; /* changed by the last one only, read by all: no atomic */
    qh_status (*last)(void *ctx);
} crowd;

typedef struct visitor {
    crowd *crowd;
    int id;
    qh_status status;
    char text[QH_ERROR_TEXT_BYTES];
    int64_t seen_wrong;
} visitor;

static qh_status take_turn(void *ctx)
{
    crowd *c = ctx;

    if (++c->turns == c->fail_round)
        return qh_fail(QH_ERESOURCE, "turn %d failed", c->fail_round);
    return QH_OK;
}

static void *visit(void *arg)
{
    visitor *v = arg;
    crowd *c = v->crowd;

    for (int r = 0; r < c->rounds && v->status == QH_OK; r++) {
        v->status = qh_barrier_wait(c->barrier, take_turn, c);
        v->seen_wrong += v->status == QH_OK && c->turns != r + 1;
        if (v->status == QH_OK)
            v->status = qh_barrier_wait(c->barrier, NULL, NULL);
    }
    snprintf(v->text, sizeof v->text, "%s", qh_error_text());
    return NULL;
}

static void run_crowd(crowd *c, visitor *v, int absent)
{
    pthread_t thread[16];

    ck_assert_int_eq(qh_barrier_new(c->n, &c->barrier), QH_OK);
    for (int i = 0; i < c->n - absent; i++) {
        v[i] = (visitor){.crowd = c, .id = i};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, visit, &v[i]), 0);
    }
    if (absent) {
        struct timespec rest = {.tv_nsec = 20000000};

        nanosleep(&rest, NULL);
        qh_barrier_break(c->barrier);
        qh_barrier_break(c->barrier);
    }
    for (int i = 0; i < c->n - absent; i++)
        pthread_join(thread[i], NULL);
}

static const int crowds[] = {1, 2, 3, 16};

START_TEST(rounds_follow_each_other)
{
    crowd c = {.n = crowds[_i], .rounds = 500};
    visitor v[16];

    run_crowd(&c, v, 0);
    ck_assert_int_eq(c.turns, 500);
    for (int i = 0; i < c.n; i++) {
        ck_assert_int_eq(v[i].status, QH_OK);
        ck_assert_int_eq(v[i].seen_wrong, 0);
    }
    qh_barrier_free(c.barrier);
}
END_TEST

START_TEST(a_failure_of_the_last_reaches_all_with_its_text)
{
    crowd c = {.n = crowds[_i], .rounds = 500, .fail_round = 7};
    visitor v[16];

    run_crowd(&c, v, 0);
    ck_assert_int_eq(c.turns, 7);
    for (int i = 0; i < c.n; i++) {
        ck_assert_int_eq(v[i].status, QH_ERESOURCE);
        ck_assert_str_eq(v[i].text, "turn 7 failed");
    }
    qh_barrier_free(c.barrier);
}
END_TEST

START_TEST(a_break_wakes_all_for_good)
{
    crowd c = {.n = crowds[_i], .rounds = 500};
    visitor v[16];

    run_crowd(&c, v, 1);
    ck_assert_int_eq(c.turns, 0);
    for (int i = 0; i < c.n - 1; i++)
        ck_assert_int_eq(v[i].status, QH_EINTERRUPT);
    ck_assert_int_eq(qh_barrier_wait(c.barrier, NULL, NULL), QH_EINTERRUPT);
    qh_barrier_free(c.barrier);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("thread");
    TCase *t = tcase_create("thread");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, each_item_runs_once, 0, QH_COUNT(teams));
    tcase_add_test(t, no_team_is_a_loop_in_order);
    tcase_add_test(t, writes_of_a_job_are_seen_after_it);
    tcase_add_test(t, helpers_stay_in_their_cpu_set);
    tcase_add_test(t, a_cpu_that_is_not_there_is_an_error);
    tcase_add_test(t, idle_helpers_cost_no_cpu_time);
    tcase_add_loop_test(t, rounds_follow_each_other, 0, QH_COUNT(crowds));
    tcase_add_loop_test(t, a_failure_of_the_last_reaches_all_with_its_text, 0, QH_COUNT(crowds));
    tcase_add_loop_test(t, a_break_wakes_all_for_good, 0, QH_COUNT(crowds));
    suite_add_tcase(s, t);
    return s;
}
