#include "sim/placement.h"

#include "src/base/log.h"
#include "src/base/mem.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

/* --- the order, on made-up machines --- */

static const struct {
    const char *cores;   /* a letter for each CPU: its core, '-' for unknown */
    const char *allowed; /* 'x' where the CPU is allowed */
    int n_cores, n;
    int order[8];
} machines[] = {
    {"a", "x", 1, 1, {0}},
    {"ab", "xx", 2, 2, {0, 1}},
    {"aabb", "xxxx", 2, 4, {0, 2, 1, 3}}, /* hyper-threads side by side */
    {"abab", "xxxx", 2, 4, {0, 1, 2, 3}}, /* hyper-threads in the second half */
    {"aabb", ".xxx", 2, 3, {1, 2, 3}},    /* the first of core a is not ours */
    {"aabb", "..xx", 1, 2, {2, 3}},
    {"abcdabcd", ".x.x.x.x", 2, 4, {1, 3, 5, 7}},
    {"bbaa", "xxxx", 2, 4, {2, 0, 3, 1}}, /* cores come in hwloc's order */
    {"aaab", "xxxx", 2, 4, {0, 3, 1, 2}}, /* unequal cores */
    {"--", "xx", 2, 2, {0, 1}},           /* nothing is known */
};

START_TEST(cores_come_before_hyper_threads)
{
    int core[CPU_SETSIZE], order[CPU_SETSIZE], n_cores = 0;
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        core[cpu] = -1;
    for (int cpu = 0; machines[_i].cores[cpu]; cpu++) {
        core[cpu] = machines[_i].cores[cpu] == '-' ? -1 : machines[_i].cores[cpu] - 'a';
        if (machines[_i].allowed[cpu] == 'x')
            CPU_SET(cpu, &allowed);
    }
    ck_assert_int_eq(qh_placement_order(&allowed, core, order, &n_cores), machines[_i].n);
    ck_assert_int_eq(n_cores, machines[_i].n_cores);
    for (int i = 0; i < machines[_i].n; i++)
        ck_assert_int_eq(order[i], machines[_i].order[i]);
}
END_TEST

/* --- placements on this machine, whole and restricted --- */

static char notes[4096];

static void keep_note(qh_log_level level, const char *text, void *ctx)
{
    (void)level;
    (void)ctx;
    strncat(notes, text, sizeof notes - strlen(notes) - 1);
}

/* Allows the first n CPUs of those that are allowed, or one of them when n is 1 and last is set. */
static int restrict_cpus(int n, bool last)
{
    cpu_set_t now, fewer;
    int left;

    ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
    left = CPU_COUNT(&now);
    CPU_ZERO(&fewer);
    for (int cpu = last ? CPU_SETSIZE - 1 : 0; cpu >= 0 && cpu < CPU_SETSIZE && n > 0;
         cpu += last ? -1 : 1)
        if (CPU_ISSET(cpu, &now)) {
            CPU_SET(cpu, &fewer);
            n--;
        }
    ck_assert_int_eq(sched_setaffinity(0, sizeof fewer, &fewer), 0);
    return left < CPU_COUNT(&fewer) ? left : CPU_COUNT(&fewer);
}

static const struct {
    int allowed; /* CPUs left by sched_setaffinity */
    bool last;   /* the last ones instead of the first */
    int devices, threads;
    bool pin;
} rows[] = {
    {1, false, 1, 0, true},   {1, true, 1, 0, true},   {1, true, 8, 0, true},
    {1, false, 3, 5, true},   {2, false, 1, 0, true},  {2, false, 2, 0, true},
    {2, false, 1, 1, true},   {2, false, 3, 0, true},  {2, false, 2, 1, true},
    {64, false, 1, 0, false}, {64, true, 5, 2, false}, {64, false, 7, 0, true},
};

START_TEST(threads_stay_inside_the_allowed_cpus)
{
    int n_allowed = restrict_cpus(rows[_i].allowed, rows[_i].last), n_threads = 0, n_used;
    qh_placement *p = NULL;
    cpu_set_t allowed, used;

    qh_log_set_sink(keep_note, NULL);
    ck_assert_int_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    ck_assert_int_eq(qh_placement_new(rows[_i].devices, rows[_i].threads, rows[_i].pin, &p), QH_OK);
    CPU_ZERO(&used);
    for (int d = 0; d < p->n_devices; d++) {
        ck_assert_int_ge(p->team_size[d], 1);
        n_threads += p->team_size[d];
        for (int i = 0; i < p->team_size[d]; i++) {
            cpu_set_t both;

            CPU_AND(&both, &p->cpu_sets[d][i], &allowed);
            ck_assert(CPU_EQUAL(&both, &p->cpu_sets[d][i]));
            ck_assert_int_eq(CPU_COUNT(&p->cpu_sets[d][i]), rows[_i].pin ? 1 : p->n_cores);
            CPU_OR(&used, &used, &p->cpu_sets[d][i]);
        }
    }
    n_used = CPU_COUNT(&used);
    ck_assert_int_eq(n_used, p->n_cores);
    ck_assert_int_le(n_used, n_allowed);
    if (rows[_i].threads > 0)
        ck_assert_int_eq(n_used, rows[_i].threads < n_allowed ? rows[_i].threads : n_allowed);
    else
        ck_assert_int_ge(n_used, qh_placement_cores());
    ck_assert_int_eq(p->shared, rows[_i].devices > n_used);
    ck_assert_int_eq(n_threads, p->shared ? p->n_devices : n_used);
    ck_assert_int_eq(strstr(notes, "devices share") != NULL, p->shared);
    ck_assert_int_eq(strstr(notes, "are asked for") != NULL, rows[_i].threads > n_allowed);
    qh_placement_free(p);
}
END_TEST

START_TEST(binding_binds)
{
    cpu_set_t one, now;

    restrict_cpus(1, true);
    ck_assert_int_eq(sched_getaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(qh_placement_cores(), 1);
    ck_assert_int_eq(qh_placement_bind(&one), QH_OK);
    ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
    ck_assert(CPU_EQUAL(&one, &now));
    CPU_ZERO(&one);
    ck_assert_int_eq(qh_placement_bind(&one), QH_EINTERNAL);
}
END_TEST

START_TEST(want_of_memory_is_reported)
{
    qh_status st = QH_ERESOURCE;
    int64_t held = qh_mem_bytes();

    for (int64_t n = 1; st != QH_OK; n++) {
        qh_placement *p = NULL;

        qh_mem_fail_at(n);
        st = qh_placement_new(3, 0, true, &p);
        qh_mem_fail_at(0);
        ck_assert(st == QH_OK || st == QH_ERESOURCE);
        ck_assert((p != NULL) == (st == QH_OK));
        qh_placement_free(p);
        ck_assert_int_eq(qh_mem_bytes(), held);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("placement");
    TCase *t = tcase_create("placement");

    tcase_add_loop_test(t, cores_come_before_hyper_threads, 0, QH_COUNT(machines));
    tcase_add_loop_test(t, threads_stay_inside_the_allowed_cpus, 0, QH_COUNT(rows));
    tcase_add_test(t, binding_binds);
    tcase_add_test(t, want_of_memory_is_reported);
    suite_add_tcase(s, t);
    return s;
}
