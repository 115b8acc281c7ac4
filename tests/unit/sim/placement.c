#include "sim/placement.h"

#include "sim/cpu_list.h"
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
    ck_assert_int_eq(
        qh_placement_new(rows[_i].devices, rows[_i].threads, rows[_i].pin ? "on" : "off", &p),
        QH_OK);
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

/* --- lists --- */

static const struct {
    const char *text;
    int n, list[8];    /* n 0: refused */
    const char *error; /* then */
} lists[] = {
    {"0", 1, {0}, NULL},
    {"4,0,2", 3, {4, 0, 2}, NULL}, /* the order is kept */
    {"0,2,4-7", 6, {0, 2, 4, 5, 6, 7}, NULL},
    {"3-3", 1, {3}, NULL},
    {"", 0, {0}, "on, off, or CPUs"},
    {"yes", 0, {0}, "'yes' has to be on, off, or CPUs such as 0,2,4-7"},
    {"1,", 0, {0}, "on, off, or CPUs"},
    {",1", 0, {0}, "on, off, or CPUs"},
    {"1,,2", 0, {0}, "on, off, or CPUs"},
    {"1-", 0, {0}, "on, off, or CPUs"},
    {"-1", 0, {0}, "on, off, or CPUs"},
    {"1 2", 0, {0}, "on, off, or CPUs"},
    {"0-3x", 0, {0}, "on, off, or CPUs"},
    {"00000000000000000000000000000000000000001", 0, {0}, "on, off, or CPUs"},
    {"2-1", 0, {0}, "--pin"},
    {"0-1024", 0, {0}, "--pin"},
    {"99999999999999", 0, {0}, "--pin"},
    {"1,2,1", 0, {0}, "CPU 1 stands there twice"},
    {"0-4,3", 0, {0}, "CPU 3 stands there twice"},
};

START_TEST(lists_are_read)
{
    int list[CPU_SETSIZE], n = 0;
    qh_status st = qh_cpu_list(lists[_i].text, list, &n);

    ck_assert_int_eq(qh_placement_check(lists[_i].text), st);
    ck_assert_int_eq(st, lists[_i].error ? QH_EUSAGE : QH_OK);
    if (lists[_i].error) {
        ck_assert_msg(strstr(qh_error_text(), lists[_i].error) != NULL, "%s", qh_error_text());
        return;
    }
    ck_assert_int_eq(n, lists[_i].n);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(list[i], lists[_i].list[i]);
}
END_TEST

START_TEST(sets_are_written)
{
    cpu_set_t set;
    char buf[64], small[20];

    CPU_ZERO(&set);
    ck_assert_str_eq(qh_cpu_text(&set, buf, sizeof buf), "");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu += cpu % 3 == 1 ? 2 : 1)
        CPU_SET(cpu, &set);
    ck_assert_int_eq(strncmp(qh_cpu_text(&set, buf, sizeof buf), "0-1,3-4,6-7,", 12), 0);
    ck_assert_str_eq(buf + strlen(buf) - 3, "...");
    ck_assert_str_eq(qh_cpu_text(&set, small, sizeof small), "0-1,3-4...");
    CPU_ZERO(&set);
    CPU_SET(5, &set);
    CPU_SET(CPU_SETSIZE - 1, &set);
    ck_assert_str_eq(qh_cpu_text(&set, buf, sizeof buf), "5,1023");
}
END_TEST

/* Threads sit where the list says, the last of the list first. */
START_TEST(a_list_is_kept_to)
{
    char pin[64], cpu[32];
    int allowed[CPU_SETSIZE], n = 0, other = 0;
    qh_placement *p = NULL;
    cpu_set_t now;

    ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &now))
            allowed[n++] = i;
        else
            other = i;
    }
    snprintf(pin, sizeof pin, n > 1 ? "%d,%d" : "%d", allowed[n - 1], allowed[0]);
    ck_assert_int_eq(qh_placement_new(1, 0, pin, &p), QH_OK);
    ck_assert_int_eq(p->team_size[0], n > 1 ? 2 : 1);
    ck_assert(p->pinned && !p->shared && CPU_COUNT(&p->cpu_sets[0][0]) == 1);
    ck_assert(CPU_ISSET(allowed[n - 1], &p->cpu_sets[0][0]));
    ck_assert(CPU_ISSET(allowed[0], &p->cpu_sets[0][p->team_size[0] - 1]));
    qh_placement_free(p);
    ck_assert_int_eq(qh_placement_new(1, 1, pin, &p), QH_OK);
    snprintf(cpu, sizeof cpu, "%d", allowed[n - 1]);
    ck_assert_str_eq(qh_placement_text(p, 0, pin, sizeof pin), cpu);
    qh_placement_free(p);
    ck_assert_int_eq(qh_placement_new(2, 0, cpu, &p), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), "has 1 CPUs for 2 devices"), "%s", qh_error_text());
    ck_assert_int_eq(qh_placement_new(1, 3, cpu, &p), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), "has 1 CPUs for 3 threads"), "%s", qh_error_text());
    snprintf(cpu, sizeof cpu, "%d", other);
    ck_assert_int_eq(qh_placement_new(1, 0, cpu, &p), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), "that this process may use"), "%s", qh_error_text());
}
END_TEST

START_TEST(want_of_memory_is_reported)
{
    qh_status st = QH_ERESOURCE;
    int64_t held = qh_mem_bytes();

    for (int64_t n = 1; st != QH_OK; n++) {
        qh_placement *p = NULL;

        qh_mem_fail_at(n);
        st = qh_placement_new(3, 0, NULL, &p);
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
    tcase_add_loop_test(t, lists_are_read, 0, QH_COUNT(lists));
    tcase_add_test(t, sets_are_written);
    tcase_add_test(t, a_list_is_kept_to);
    tcase_add_test(t, want_of_memory_is_reported);
    suite_add_tcase(s, t);
    return s;
}
