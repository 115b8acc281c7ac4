/* The bit-assignment trade-off: against brute force, against its own full sweep, and what must hold
 * of any answer. */
#include "tests/support/tradeoff.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* The least objective of all assignments. */
static double brute_force(const test_tradeoff *x)
{
    const qh_tradeoff *p = &x->problem;
    int digit[32] = {0};
    uint8_t width[32];
    double best = INFINITY;

    for (;;) {
        int64_t g = 0;

        for (int64_t i = 0; i < x->n_groups; i++)
            width[i] = p->width[digit[i]];
        best = fmin(best, test_tradeoff_objective(x, width));
        while (g < x->n_groups && ++digit[g] == p->n_widths)
            digit[g++] = 0;
        if (g == x->n_groups)
            return best;
    }
}

static bool is_tiny(const test_tradeoff *x)
{
    return pow(x->problem.n_widths, (double)x->n_groups) <= 20000;
}

START_TEST(brute_force_finds_nothing_better)
{
    static const int64_t cols[] = {256, 1, 2, 3, 10, 50, 61, 7};
    static test_tradeoff x;
    static test_answer got;
    int done = 0;

    for (uint64_t s = 1; done < 600; s++) {
        double least;

        test_tradeoff_make(&x, s, 2 + (int)(s % 3), s % 3 == 0 ? 6 : 2,
                           cols[s / 3 % QH_COUNT(cols)]);
        if (!is_tiny(&x))
            continue;
        done++;
        least = brute_force(&x);
        test_tradeoff_solve("exact", &x, &got);
        ck_assert_msg(fabs(got.a.objective - least) <= 1e-12, "seed %d: %.17g, brute force %.17g",
                      (int)s, got.a.objective, least);
        ck_assert_msg(got.a.optimal, "seed %d", (int)s);
    }
}
END_TEST

/* What holds of the answer of any solver. */
static void check_answer(const test_tradeoff *x, const test_answer *got, uint64_t s)
{
    double total = 0;

    ck_assert_msg(fabs(test_tradeoff_objective(x, got->width) - got->a.objective) <= 1e-12,
                  "seed %d", (int)s);
    ck_assert_msg(got->a.lower_bound <= got->a.objective, "seed %d", (int)s);
    ck_assert_msg(got->a.gap >= 0, "seed %d", (int)s);
    for (int r = 0; r < x->problem.n_devices; r++)
        total += got->z[r];
    ck_assert_msg(fabs(total - got->a.time_sum) <= 1e-12 * total, "seed %d", (int)s);
}

START_TEST(window_equals_full_sweep)
{
    static const int64_t cols[] = {256, 256, 64, 50, 61, 33, 3};
    static test_tradeoff x;
    static test_answer exact, sweep;

    for (uint64_t s = 1000; s < 1150; s++) {
        test_tradeoff_make(&x, s, 2 + (int)(s % 4), s % 2 ? 12 : 60, cols[s % QH_COUNT(cols)]);
        test_tradeoff_solve("exact", &x, &exact);
        test_tradeoff_solve("sweep", &x, &sweep);
        ck_assert_msg(memcmp(exact.width, sweep.width, (size_t)x.n_groups) == 0 &&
                          exact.a.objective == sweep.a.objective &&
                          memcmp(exact.z, sweep.z, sizeof exact.z) == 0,
                      "seed %d: %.17g, full sweep %.17g", (int)s, exact.a.objective,
                      sweep.a.objective);
        check_answer(&x, &exact, s);
    }
}
END_TEST

/* --- what must hold --- */

START_TEST(every_solver_keeps_its_bound)
{
    static test_tradeoff x;
    static test_answer exact, got;

    for (uint64_t s = 2000; s < 2200; s++) {
        test_tradeoff_make(&x, s, 2 + (int)(s % 4), s % 3 == 0 ? 2 : s % 3 == 1 ? 12 : 60, 256);
        test_tradeoff_solve("exact", &x, &exact);
        for (int i = 0; qh_tradeoff_at(i); i++) {
            if (strcmp(qh_tradeoff_at(i)->name, "glpk") == 0)
                continue;
            test_tradeoff_solve(qh_tradeoff_at(i)->name, &x, &got);
            check_answer(&x, &got, s);
            ck_assert_msg(got.a.lower_bound <= exact.a.objective + 1e-14,
                          "seed %d: %s has the bound %.17g, the optimum is %.17g", (int)s,
                          qh_tradeoff_at(i)->name, got.a.lower_bound, exact.a.objective);
            ck_assert_msg(exact.a.objective <= got.a.objective * (1 + 1e-12) + 1e-15, "seed %d, %s",
                          (int)s, qh_tradeoff_at(i)->name);
        }
    }
}
END_TEST

/* Where GLPK is built in, a general solver agrees. */
START_TEST(a_general_solver_agrees)
{
    const qh_tradeoff_solver *glpk = NULL;
    static test_tradeoff x;
    static test_answer exact, got;

    if (qh_tradeoff_find("test", "glpk", &glpk) < 0) {
        ck_assert_ptr_nonnull(strstr(qh_error_text(), "not built in"));
        return;
    }
    for (uint64_t s = 8000; s < 8040; s++) {
        test_tradeoff_make(&x, s, 2 + (int)(s % 2), 5, 256);
        test_tradeoff_solve("exact", &x, &exact);
        test_tradeoff_solve("glpk", &x, &got);
        check_answer(&x, &got, s);
        if (got.a.optimal) /* to its tolerances */
            ck_assert_msg(fabs(exact.a.objective - got.a.objective) <= 1e-6, "seed %d: %g, glpk %g",
                          (int)s, exact.a.objective, got.a.objective);
    }
}
END_TEST

START_TEST(variance_never_rises_with_lambda)
{
    static test_tradeoff x;
    static test_answer got;

    for (uint64_t s = 3000; s < 3020; s++) {
        double before = INFINITY;

        test_tradeoff_make(&x, s, 4, 40, 256);
        for (int i = 0; i <= 20; i++) {
            x.problem.lambda = i / 20.0;
            test_tradeoff_solve("exact", &x, &got);
            ck_assert_msg(got.a.var_sum <= before * (1 + 1e-12),
                          "seed %d, lambda %g: %.17g > %.17g", (int)s, x.problem.lambda,
                          got.a.var_sum, before);
            before = got.a.var_sum;
        }
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("tradeoff");
    TCase *t = tcase_create("tradeoff");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, brute_force_finds_nothing_better);
    tcase_add_test(t, window_equals_full_sweep);
    tcase_add_test(t, every_solver_keeps_its_bound);
    tcase_add_test(t, a_general_solver_agrees);
    tcase_add_test(t, variance_never_rises_with_lambda);
    suite_add_tcase(s, t);
    return s;
}
