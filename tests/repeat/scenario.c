/* The same settings give the same run, whatever the threads, their places and what watches. */
#include "sim/scenario.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <sched.h>
#include <string.h>

enum { EPOCHS = 5 };

typedef struct rows {
    qh_epoch_row row[EPOCHS];
    int n;
} rows;

static qh_status keep(void *ctx, const qh_epoch_row *row)
{
    rows *r = ctx;

    r->row[r->n++] = *row;
    return QH_OK;
}

static void run(const qh_dataset *d, const char *method, const char *const extra[2], rows *seen,
                qh_result *r)
{
    static const char *const base[][2] = {
        {"devices", "3"},      {"layers", "3"},          {"hidden", "20"}, {"epochs", "5"},
        {"assign-every", "2"}, {"partitioner", "metis"}, {"threads", "1"}};
    qh_observer o = {.epoch = keep, .ctx = seen};
    qh_settings s;

    *seen = (rows){0};
    ck_assert_int_eq(qh_settings_init(&s), QH_OK);
    for (size_t i = 0; i < QH_COUNT(base); i++)
        ck_assert_int_eq(qh_options_set(qh_scenario_options, &s, "test", base[i][0], base[i][1]),
                         QH_OK);
    ck_assert_int_eq(qh_options_set(qh_scenario_options, &s, "test", "method", method), QH_OK);
    if (extra[0])
        ck_assert_int_eq(qh_options_set(qh_scenario_options, &s, "test", extra[0], extra[1]),
                         QH_OK);
    ck_assert_msg(qh_scenario_run(&s, d, &o, r) == QH_OK, "%s", qh_error_text());
    qh_settings_fini(&s);
}

static void same(const rows *a, const qh_result *x, const rows *b, const qh_result *y)
{
    ck_assert(x->train.digest == y->train.digest);
    ck_assert_int_eq(x->sim_end, y->sim_end);
    ck_assert_int_eq(a->n, b->n);
    ck_assert(memcmp(a->row, b->row, sizeof a->row) == 0);
    ck_assert(memcmp(&x->mean, &y->mean, sizeof x->mean) == 0);
    ck_assert(memcmp(&x->max, &y->max, sizeof x->max) == 0);
    ck_assert_int_eq(x->n_traffic, y->n_traffic);
    ck_assert(memcmp(x->traffic, y->traffic, (size_t)x->n_traffic * sizeof *x->traffic) == 0);
}

static const char *const ways[][2] = {
    {NULL, NULL}, {"threads", "2"}, {"threads", "0"}, {"pin", "off"}};
static const char *const methods[] = {"vanilla", "random", "adaqp-p", "int2"};

START_TEST(threads_and_pinning)
{
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 401, .degree = 8, .features = 30, .classes = 4, .sparse = _i % 2, .seed = 9});
    rows a, b;
    qh_result x, y;

    run(d, methods[_i], ways[0], &a, &x);
    for (size_t w = 0; w < QH_COUNT(ways); w++) {
        run(d, methods[_i], ways[w], &b, &y);
        same(&a, &x, &b, &y);
        qh_result_fini(&y);
    }
    qh_result_fini(&x);
    tiny_free(d);
}
END_TEST

/* As under `taskset -c 0`: one core of those that the process may use. */
START_TEST(one_allowed_core)
{
    qh_dataset *d =
        tiny_new((tiny_spec){.nodes = 150, .degree = 6, .features = 9, .classes = 3, .seed = 2});
    cpu_set_t all, one;
    rows a, b;
    qh_result x, y;

    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    run(d, methods[_i], ways[2], &a, &x);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&one) == 0; c++)
        if (CPU_ISSET(c, &all))
            CPU_SET(c, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    run(d, methods[_i], ways[2], &b, &y);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
    same(&a, &x, &b, &y);
    ck_assert_int_eq(y.cores, 1);
    ck_assert(y.cores_shared);
    qh_result_fini(&x);
    qh_result_fini(&y);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("scenario");
    TCase *t = tcase_create("scenario");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, threads_and_pinning, 0, (int)QH_COUNT(methods));
    tcase_add_loop_test(t, one_allowed_core, 0, (int)QH_COUNT(methods));
    suite_add_tcase(s, t);
    return s;
}
