#include "src/base/options.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bool quiet;
    int64_t layers, any;
    double lr;
    int model;
    char *method, *out;
    qh_text_list expect;
} settings;

static const qh_option table[] = {
    {"quiet", QH_OPT_FLAG, offsetof(settings, quiet), .help = "no progress", .group = "Output"},
    {"layers", QH_OPT_INT, offsetof(settings, layers), .min = 1, .max = 64, .def = 3, .value = "N",
     .help = "layers", .group = "Model"},
    {"any", QH_OPT_INT, offsetof(settings, any), .def = -1, .help = "no limits"},
    {"lr", QH_OPT_REAL, offsetof(settings, lr), .min = 0, .max = 10, .def = 0.01,
     .help = "step size"},
    {"model", QH_OPT_CHOICE, offsetof(settings, model), .choices = "gcn|sage|gin", .def = 1,
     .help = "layer kind"},
    {"method", QH_OPT_TEXT, offsetof(settings, method), .def_text = "vanilla", .value = "NAME",
     .help = "bundle"},
    {"out", QH_OPT_TEXT, offsetof(settings, out), .value = "DIR", .help = "run folder"},
    {"expect", QH_OPT_LIST, offsetof(settings, expect), .value = "EXPR", .help = "must hold"},
    {0}};

static settings fresh(void)
{
    settings s = {0};

    ck_assert_int_eq(qh_options_default(table, &s), QH_OK);
    return s;
}

START_TEST(defaults)
{
    settings s = fresh();

    ck_assert(!s.quiet && s.layers == 3 && s.any == -1 && s.lr == 0.01 && s.model == 1);
    ck_assert_str_eq(s.method, "vanilla");
    ck_assert_ptr_null(s.out);
    ck_assert_int_eq(s.expect.n, 0);
    qh_options_free(table, &s);
    ck_assert_ptr_null(s.method);
}
END_TEST

/* error NULL: set, and printed again as shown. */
static const struct {
    const char *name, *text, *shown, *error;
} rows[] = {
    {"quiet", NULL, "true", NULL},
    {"quiet", "true", "true", NULL},
    {"quiet", "false", "false", NULL},
    {"quiet", "maybe", NULL, "--x: 'maybe' is neither true nor false"},
    {"layers", "1", "1", NULL},
    {"layers", "64", "64", NULL},
    {"layers", "65", NULL, "--x: 65 is out of range; 1 to 64 is allowed"},
    {"layers", "0", NULL, "--x: 0 is out of range"},
    {"layers", "3x", NULL, "--x: '3x' is not a whole number"},
    {"layers", "", NULL, "--x: '' is not a whole number"},
    {"layers", " 3", NULL, "--x: ' 3' is not a whole number"},
    {"layers", NULL, NULL, "--x: a value is missing; --layers N is wanted"},
    {"any", "-9223372036854775808", "-9223372036854775808", NULL},
    {"any", "9223372036854775808", NULL, "--x: 9223372036854775808 is out of range"},
    {"lr", "0.1", "0.1", NULL},
    {"lr", "1e-3", "0.001", NULL},
    {"lr", "nan", NULL, "--x: 'nan' is not a number"},
    {"lr", "inf", NULL, "--x: 'inf' is not a number"},
    {"lr", "0x10", NULL, "--x: '0x10' is not a number"},
    {"lr", "-0.1", NULL, "--x: -0.1 is out of range"},
    {"lr", "11", NULL, "--x: 11 is out of range"},
    {"model", "gin", "gin", NULL},
    {"model", "gcn", "gcn", NULL},
    {"model", "gc", NULL, "--x: 'gc' is not one of the choices; gcn|sage|gin is wanted"},
    {"model", "", NULL, "--x: '' is not one"},
    {"method", "int4", "int4", NULL},
    {"method", "", "", NULL},
    {"expect", "a<1", "a<1", NULL},
    {"layer", "1", NULL, "--x: there is no option 'layer'; did you mean --layers?"},
    {"zzzzzz", "1", NULL, "--x: there is no option 'zzzzzz'; --help lists"},
};

START_TEST(set_and_print)
{
    settings s = fresh();
    qh_status st = qh_options_set(table, &s, "--x", rows[_i].name, rows[_i].text);
    char *shown = NULL;

    if (rows[_i].error) {
        ck_assert_int_eq(st, QH_EUSAGE);
        ck_assert_msg(strstr(qh_error_text(), rows[_i].error) == qh_error_text(), "%s",
                      qh_error_text());
    } else {
        ck_assert_int_eq(st, QH_OK);
        ck_assert_int_eq(qh_options_print(qh_options_find(table, rows[_i].name), &s, &shown),
                         QH_OK);
        ck_assert_str_eq(shown, rows[_i].shown);
    }
    qh_mem_free(shown);
    qh_options_free(table, &s);
}
END_TEST

START_TEST(lists_gather_and_texts_replace)
{
    settings s = fresh();
    char *shown = NULL;
    int64_t held;

    ck_assert_int_eq(qh_options_set(table, &s, "--expect", "expect", "a<1"), QH_OK);
    ck_assert_int_eq(qh_options_set(table, &s, "--expect", "expect", "b>2"), QH_OK);
    ck_assert_int_eq(s.expect.n, 2);
    ck_assert_int_eq(qh_options_print(qh_options_find(table, "expect"), &s, &shown), QH_OK);
    ck_assert_str_eq(shown, "a<1,b>2");
    qh_mem_free(shown);
    ck_assert_int_eq(qh_options_set(table, &s, "--out", "out", "one"), QH_OK);
    held = qh_mem_bytes();
    ck_assert_int_eq(qh_options_set(table, &s, "--out", "out", "two"), QH_OK);
    ck_assert_int_eq(qh_mem_bytes(), held);
    ck_assert_str_eq(s.out, "two");
    qh_options_free(table, &s);
}
END_TEST

START_TEST(help_has_one_line_an_option)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    qh_options_help(table, f);
    fclose(f);
    ck_assert_ptr_nonnull(strstr(text, "  --layers N                  layers [3]\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --model gcn|sage|gin        layer kind [sage]\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --quiet                     no progress\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nModel:\n"));
    free(text);
}
END_TEST

static const struct {
    const char *word, *answer;
} close_words[] = {
    {"bandwith", "bandwidth"},
    {"latnecy", "latency"},
    {"latency", "latency"},
    {"x", NULL},
    {"band", NULL},
    {"", NULL},
    {"lat", NULL},
};

START_TEST(did_you_mean)
{
    static const char *const names[] = {"bandwidth", "latency"};
    const char *answer = qh_did_you_mean(close_words[_i].word, names, 2);

    if (close_words[_i].answer)
        ck_assert_str_eq(answer, close_words[_i].answer);
    else
        ck_assert_ptr_null(answer);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");

    tcase_add_test(t, defaults);
    tcase_add_loop_test(t, set_and_print, 0, QH_COUNT(rows));
    tcase_add_test(t, lists_gather_and_texts_replace);
    tcase_add_test(t, help_has_one_line_an_option);
    tcase_add_loop_test(t, did_you_mean, 0, QH_COUNT(close_words));
    suite_add_tcase(s, t);
    return s;
}
