/* The bit-assignment trade-off: order, scale and ties; edges; what is refused. */
#include "src/base/mem.h"
#include "tests/support/support.h"
#include "tests/support/tradeoff.h"

#include <math.h>
#include <string.h>

/* Groups of a channel in another order (all but a smaller last one), and variances of another
 * size, change nothing but the order of the widths. */
START_TEST(order_and_scale_do_not_matter)
{
    static test_tradeoff x, y;
    static test_answer a, b;

    for (uint64_t s = 4000; s < 4040; s++) {
        int64_t at = 0;

        test_tradeoff_make(&x, s, 3, 40, 64);
        y = x;
        y.problem.channel = y.channel;
        for (int64_t i = 0; i < x.problem.n_channels; i++) {
            qh_tradeoff_channel *c = &y.channel[i];
            int64_t n = c->n_groups - (c->last_size != c->group_size);

            c->variance = y.variance + at;
            for (int64_t g = 0; g < n; g++)
                y.variance[at + g] = x.variance[at + n - 1 - g];
            at += c->n_groups;
        }
        for (int64_t g = 0; g < y.n_groups; g++)
            y.variance[g] *= 0x1p20F;
        test_tradeoff_solve("exact", &x, &a);
        test_tradeoff_solve("exact", &y, &b);
        ck_assert_msg(fabs(a.a.objective - b.a.objective) <= 1e-13 * a.a.objective,
                      "seed %d: %.17g, turned %.17g", (int)s, a.a.objective, b.a.objective);
        ck_assert_msg(fabs(a.a.lower_bound - b.a.lower_bound) <= 1e-12, "seed %d", (int)s);
    }
}
END_TEST

START_TEST(ties_go_to_lower_indices)
{
    static test_tradeoff x;
    static test_answer a, b;

    for (uint64_t s = 5000; s < 5030; s++) {
        int64_t at = 0;

        test_tradeoff_make(&x, s, 2, 50, 256);
        test_tradeoff_set_widths(&x, "2,4,8");
        for (int64_t i = 0; i < x.problem.n_channels; i++)
            test_tradeoff_set_bytes(&x, &x.channel[i], 256);
        for (int64_t g = 0; g < x.n_groups; g++)
            x.variance[g] = 1;
        test_tradeoff_solve("exact", &x, &a);
        test_tradeoff_solve("exact", &x, &b);
        ck_assert_mem_eq(&a.a, &b.a, sizeof a.a);
        ck_assert_mem_eq(a.width, b.width, sizeof a.width);
        for (int64_t i = 0; i < x.problem.n_channels; at += x.channel[i++].n_groups)
            for (int64_t g = 1; g < x.channel[i].n_groups - 1; g++)
                ck_assert_msg(a.width[at + g] <= a.width[at + g - 1], "seed %d", (int)s);
    }
}
END_TEST

/* --- edges: two devices, one channel there and one back --- */

typedef struct edge_case {
    const char *what;
    double lambda, theta;
    float variance[4];
    int64_t n_groups, group_size, last_size;
    const char *widths; /* wanted, a digit a group */
} edge_case;

static const edge_case edges[] = {
    {"lambda 0: all narrowest", 0, 1, {1, 2, 3, 4}, 4, 10, 10, "2222"},
    {"lambda 1: all widest", 1, 1, {1, 2, 3, 4}, 4, 10, 10, "8888"},
    {"lambda 1: no variance, no bits", 1, 1, {1, 0, 3, 0}, 4, 10, 10, "8282"},
    {"lambda 1: a smaller last group", 1, 1, {1, 0, 3, 4}, 4, 10, 1, "8288"},
    {"no variance at all", 0.5, 1, {0, 0, 0, 0}, 4, 10, 3, "2222"},
    {"time that does not depend on bytes", 0.5, 0, {1, 2, 3, 0}, 4, 10, 10, "8882"},
    {"such time, and lambda 0", 0, 0, {1, 2, 3, 0}, 4, 10, 10, "2222"},
    {"one group, larger than the channel", 1, 1, {5}, 1, 100, 7, "8"},
    {"one message", 0.999, 1e-6, {5}, 1, 1, 1, "8"},
    {"nothing", 0.5, 1, {0}, 0, 10, 10, ""},
};

START_TEST(edge_cases)
{
    static test_tradeoff x;
    static test_answer got;

    for (size_t i = 0; i < QH_COUNT(edges); i++) {
        const edge_case *e = &edges[i];

        memset(&x, 0, sizeof x);
        test_tradeoff_set_widths(&x, "2,4,8");
        x.problem.n_devices = 2;
        x.problem.lambda = e->lambda;
        x.problem.channel = x.channel;
        x.problem.n_channels = 2; /* the second has no messages */
        for (int32_t k = 0; k < 2; k++) {
            x.channel[k] =
                (qh_tradeoff_channel){.src = k, .dst = 1 - k, .theta = e->theta, .gamma = k};
            test_tradeoff_set_bytes(&x, &x.channel[k], 256);
        }
        x.channel[0].n_groups = e->n_groups;
        x.channel[0].group_size = e->group_size;
        x.channel[0].last_size = e->last_size;
        x.channel[0].variance = e->variance;
        for (int k = 0; qh_tradeoff_at(k); k++) {
            test_tradeoff_solve(qh_tradeoff_at(k)->name, &x, &got);
            for (int64_t g = 0; g < e->n_groups; g++)
                ck_assert_msg(got.width[g] == e->widths[g] - '0', "%s, %s: group %d has %d bits",
                              e->what, qh_tradeoff_at(k)->name, (int)g, got.width[g]);
            ck_assert_msg(got.a.gap >= 0 && got.a.lower_bound <= got.a.objective, "%s", e->what);
        }
    }
}
END_TEST

START_TEST(one_device_and_no_channels)
{
    static test_tradeoff x;
    static test_answer got;

    memset(&x, 0, sizeof x);
    test_tradeoff_set_widths(&x, "2,4,8");
    x.problem.n_devices = 1;
    x.problem.lambda = 0.5;
    test_tradeoff_solve("exact", &x, &got);
    ck_assert(got.a.objective == 0 && got.a.gap == 0 && got.a.optimal && got.a.time_sum == 0);
    x.problem.n_devices = 5;
    test_tradeoff_solve("exact", &x, &got);
    ck_assert(got.a.objective == 0 && got.a.var_sum == 0);
}
END_TEST

START_TEST(evaluation_of_other_widths)
{
    static test_tradeoff x;
    static test_answer got;
    qh_tradeoff_work *w = NULL;

    test_tradeoff_make(&x, 6001, 4, 40, 61);
    ck_assert_int_eq(qh_tradeoff_work_new(&x.problem, &w), QH_OK);
    for (int64_t g = 0; g < x.n_groups; g++)
        got.width[g] = x.problem.width[test_tradeoff_below(x.problem.n_widths)];
    got.a.gap = 0.25;
    ck_assert_int_eq(qh_tradeoff_evaluate(&x.problem, w, got.width, got.z, &got.a), QH_OK);
    ck_assert_double_eq_tol(got.a.objective, test_tradeoff_objective(&x, got.width), 1e-12);
    ck_assert(got.a.gap == 0.25);
    qh_tradeoff_work_free(w);
}
END_TEST

START_TEST(what_is_refused)
{
    static const float bad[] = {-1, INFINITY, NAN};
    static test_tradeoff x;
    static test_answer got;
    const qh_tradeoff_solver *s = NULL;
    qh_tradeoff_work *w = NULL;

    test_tradeoff_make(&x, 6000, 3, 20, 64);
    ck_assert_int_eq(qh_tradeoff_work_new(&x.problem, &w), QH_OK);
    ck_assert_int_eq(qh_tradeoff_find("--solver", "exact", &s), QH_OK);
    for (size_t i = 0; i < QH_COUNT(bad); i++) {
        x.variance[0] = bad[i];
        got.a.objective = 77;
        ck_assert_int_eq(s->solve(&x.problem, w, got.width, got.z, &got.a), QH_EINPUT);
        ck_assert_ptr_nonnull(strstr(qh_error_text(), "group 0"));
        ck_assert(got.a.objective == 77);
    }
    qh_tradeoff_work_free(w);
    ck_assert_int_eq(qh_tradeoff_find("--solver", "exakt", &s), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "did you mean exact?"));
    ck_assert_int_eq(qh_tradeoff_find("--solver", "", &s), QH_EUSAGE);
}
END_TEST

START_TEST(no_memory)
{
    static test_tradeoff x;
    int64_t held = qh_mem_bytes();
    qh_status st = QH_ERESOURCE;
    qh_tradeoff_work *w = NULL;

    test_tradeoff_make(&x, 7000, 4, 20, 64);
    for (int n = 1; st == QH_ERESOURCE; n++) {
        ck_assert_int_lt(n, 40);
        qh_mem_fail_at(n);
        st = qh_tradeoff_work_new(&x.problem, &w);
        ck_assert(st == QH_OK || qh_mem_bytes() == held);
    }
    qh_mem_fail_at(0);
    qh_tradeoff_work_free(w);
    ck_assert_int_eq(qh_mem_bytes(), held);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("tradeoff_edges");
    TCase *t = tcase_create("tradeoff_edges");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, order_and_scale_do_not_matter);
    tcase_add_test(t, ties_go_to_lower_indices);
    tcase_add_test(t, edge_cases);
    tcase_add_test(t, one_device_and_no_channels);
    tcase_add_test(t, evaluation_of_other_widths);
    tcase_add_test(t, what_is_refused);
    tcase_add_test(t, no_memory);
    suite_add_tcase(s, t);
    return s;
}
