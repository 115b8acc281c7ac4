#include "tools/compare.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4, EPOCHS = 10 };

/* A result with these figures an epoch. */
static qh_result result(double metric, double sim_s, int64_t bytes, double codec_s)
{
    qh_result r = {.sim_end = qh_time_of_seconds(sim_s * EPOCHS),
                   .bytes_sent = bytes * EPOCHS,
                   .fp32_bytes = 8000 * EPOCHS,
                   .mean = {.quantize = codec_s}};

    r.train.epochs = EPOCHS;
    r.train.metric[QH_SPLIT_TEST] = metric;
    return r;
}

/* vanilla: 8000 bytes and no codec; int4: 1000 bytes for 1 ms of codec; free: fewer bytes for no
 * time; more: more bytes. */
static void fill(qh_comparison *c)
{
    static char vanilla[] = "vanilla", int4[] = "int4", none[] = "free", more[] = "more";
    static char *names[] = {vanilla, int4, none, more};
    const qh_result runs[] = {result(0.80, 2, 8000, 0),    result(0.82, 2, 8000, 0),
                              result(0.79, 1, 1000, 1e-3), result(0.81, 1, 1000, 1e-3),
                              result(0.80, 4, 4000, 0),    result(0.80, 1, 9000, 0)};
    const int64_t method[] = {0, 0, 1, 1, 2, 3};

    *c = (qh_comparison){.dataset = "d", .metric = "accuracy", .devices = DEVICES, .first_seed = 1};
    ck_assert_int_eq(qh_comparison_init(c, names, 4, 2), QH_OK);
    for (size_t i = 0; i < QH_COUNT(runs); i++)
        qh_comparison_add(c, method[i], &runs[i]);
}

START_TEST(figures)
{
    qh_comparison c;

    fill(&c);
    ck_assert_double_eq_tol(qh_method_mean(&c.method[0], offsetof(qh_sample, test_metric)), 0.81,
                            1e-12);
    /* Two values 0.02 apart: sqrt(2 * 0.01^2 / 1). */
    ck_assert_double_eq_tol(qh_method_std(&c.method[0], offsetof(qh_sample, test_metric)),
                            0.01 * sqrt(2), 1e-12);
    ck_assert_double_eq(qh_method_std(&c.method[2], offsetof(qh_sample, test_metric)), 0);
    ck_assert_double_eq_tol(qh_method_speedup(&c, 1), 2, 1e-12);
    ck_assert_double_eq_tol(qh_method_speedup(&c, 2), 0.5, 1e-12);
    /* (8000 - 1000) / 4 devices bytes saved in 1 ms of codec. */
    ck_assert_double_eq_tol(qh_method_break_even(&c, 1), 7000.0 / DEVICES / 1e-3, 1e-3);
    ck_assert(isinf(qh_method_break_even(&c, 2)));
    ck_assert(isnan(qh_method_break_even(&c, 3)));
    ck_assert(isnan(qh_method_break_even(&c, 0)));
    qh_comparison_fini(&c);
}
END_TEST

START_TEST(forms)
{
    qh_comparison c;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *o;

    fill(&c);
    c.method[3].n = 0; /* as after Ctrl-C */
    ck_assert_int_eq(qh_comparison_print(&c, out), QH_OK);
    qh_comparison_csv(&c, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "81.00 ± 1.41"));
    ck_assert_ptr_nonnull(strstr(text, "1.75 MB/s"));
    ck_assert_ptr_nonnull(strstr(text, "any rate"));
    ck_assert_ptr_nonnull(strstr(text, "\nint4,2,0.8,"));
    ck_assert_ptr_null(strstr(text, "more"));
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
    o = qh_comparison_json(&c);
    ck_assert_int_eq(json_array_size(json_object_get(o, "methods")), 3);
    text = json_dumps(o, 0);
    ck_assert_ptr_nonnull(text);
    free(text);
    json_decref(o);
    qh_comparison_fini(&c);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("compare");
    TCase *t = tcase_create("compare");

    tcase_add_test(t, figures);
    tcase_add_test(t, forms);
    suite_add_tcase(s, t);
    return s;
}
