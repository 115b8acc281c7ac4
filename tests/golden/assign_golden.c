/* The proven optima of bit-assignment problems, at every lambda that the file gives, by each solver
 * that finds optima; and its normalisation and the objectives of one width for all. */
#include "tools/instance.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Some optima are 0, and are met to the rounding of the terms that cancel. */
static void close_to(const char *what, double got, double wanted)
{
    ck_assert_msg(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-15, "%s: %.17g, not %.17g", what,
                  got, wanted);
}

static double number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);

    ck_assert_msg(json_is_number(value), "no %s", key);
    return json_number_value(value);
}

typedef struct room {
    qh_tradeoff_work *work;
    uint8_t *width;
    double z[16];
    qh_tradeoff_answer answer;
} room;

static void solve(const char *solver, const qh_instance *x, room *r)
{
    const qh_tradeoff_solver *s = NULL;

    ck_assert_int_eq(qh_tradeoff_find("test", solver, &s), QH_OK);
    ck_assert_int_eq(s->solve(&x->problem, r->work, r->width, r->z, &r->answer), QH_OK);
}

static void check_lambda(const char *solver, qh_instance *x, double lambda, double optimum, room *r)
{
    char what[128];

    x->problem.lambda = lambda;
    solve(solver, x, r);
    snprintf(what, sizeof what, "%s, %s, lambda %g", x->name, solver, lambda);
    close_to(what, r->answer.objective, optimum);
    ck_assert_msg(r->answer.optimal && r->answer.lower_bound <= r->answer.objective, "%s", what);
}

static void check_solver(const char *solver, qh_instance *x, const json_t *o, room *r)
{
    const json_t *optimum = json_object_get(o, "optimum");
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(o, "other_lambda_optima"), key, value)
        check_lambda(solver, x, atof(key), json_number_value(value), r);
    check_lambda(solver, x, number(o, "lambda"), number(optimum, "objective"), r);
}

static void check_normalisation(const qh_instance *x, const json_t *o, const room *r)
{
    const json_t *n = json_object_get(o, "normalisation");

    close_to(x->name, r->answer.var_nadir, number(n, "var_nadir"));
    close_to(x->name, r->answer.var_utopia, number(n, "var_utopia"));
    close_to(x->name, r->answer.time_nadir, number(n, "time_nadir"));
    close_to(x->name, r->answer.time_utopia, number(n, "time_utopia"));
}

static void check_uniform(const qh_instance *x, const json_t *o, room *r)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(o, "uniform_bits_objective"), key, value)
    {
        memset(r->width, atoi(key), (size_t)x->n_groups);
        ck_assert_int_eq(qh_tradeoff_evaluate(&x->problem, r->work, r->width, r->z, &r->answer),
                         QH_OK);
        close_to(key, r->answer.objective, json_number_value(value));
    }
}

/* The assignment that the file shows, evaluated. */
static void check_shown(const qh_instance *x, const json_t *o, room *r)
{
    const json_t *shown = json_object_get(json_object_get(o, "optimum"), "one_optimal_assignment");
    int64_t at = 0;

    for (size_t i = 0; i < json_array_size(shown); i++)
        for (const char *c = json_string_value(json_array_get(shown, i)); *c; c++)
            r->width[at++] = (uint8_t)(*c - '0');
    ck_assert_int_eq(at, x->n_groups);
    ck_assert_int_eq(qh_tradeoff_evaluate(&x->problem, r->work, r->width, r->z, &r->answer), QH_OK);
    close_to(x->name, r->answer.objective, number(json_object_get(o, "optimum"), "objective"));
}

START_TEST(optima)
{
    qh_instances file = {0};

    ck_assert_msg(qh_instances_open(test_shared_path("golden/assign_golden.json"), &file) == QH_OK,
                  "%s", qh_error_text());
    ck_assert_uint_ge(json_array_size(file.list), 4);
    for (size_t i = 0; i < json_array_size(file.list); i++) {
        const json_t *o = json_array_get(file.list, i);
        qh_instance x = {0};
        room r = {0};

        ck_assert_msg(qh_instance_read(&file, o, &x) == QH_OK, "%s", qh_error_text());
        ck_assert_int_le(x.problem.n_devices, 16);
        ck_assert_int_eq(qh_tradeoff_work_new(&x.problem, &r.work), QH_OK);
        ck_assert_int_eq(QH_NEW_ARRAY(&r.width, x.n_groups), QH_OK);
        check_solver("exact", &x, o, &r);
        check_normalisation(&x, o, &r);
        check_solver("sweep", &x, o, &r);
        check_uniform(&x, o, &r);
        check_shown(&x, o, &r);
        qh_mem_free(r.width);
        qh_tradeoff_work_free(r.work);
        qh_instance_fini(&x);
    }
    qh_instances_close(&file);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("assign_golden");
    TCase *t = tcase_create("assign_golden");

    if (!test_shared())
        return NULL;
    tcase_add_test(t, optima);
    suite_add_tcase(s, t);
    return s;
}
