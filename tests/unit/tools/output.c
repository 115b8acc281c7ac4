/* Tables, JSON and numbers. */
#include "src/base/mem.h"
#include "tests/support/support.h"
#include "tools/json.h"
#include "tools/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(columns_line_up)
{
    qh_table t = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    qh_table_cell(&t, "method");
    qh_table_cell(&t, "accuracy");
    qh_table_cell(&t, "bytes");
    qh_table_row(&t);
    qh_table_cell(&t, "vanilla");
    qh_table_cell(&t, "81.5 ± 0.8"); /* counted in characters */
    qh_table_cell(&t, "%d", 12);
    qh_table_row(&t);
    qh_table_cell(&t, "int2");
    qh_table_row(&t);
    ck_assert_int_eq(qh_table_print(&t, out), QH_OK);
    fclose(out);
    ck_assert_str_eq(text, "method     accuracy  bytes\n"
                           "vanilla  81.5 ± 0.8     12\n"
                           "int2                      \n");
    free(text);
}
END_TEST

START_TEST(a_table_reports_want_of_memory_when_printed)
{
    int64_t held = qh_mem_bytes();

    for (int64_t n = 1; n <= 4; n++) {
        qh_table t = {0};

        qh_mem_fail_at(n);
        for (int i = 0; i < 3; i++)
            qh_table_cell(&t, "x");
        qh_table_row(&t);
        qh_mem_fail_at(0);
        ck_assert_int_eq(qh_table_print(&t, stdout), QH_ERESOURCE);
        ck_assert_int_eq(qh_mem_bytes(), held);
    }
}
END_TEST

static const struct {
    double value;
    const char *text;
} reals[] = {
    {0, "0"},
    {0.1, "0.1"},
    {1, "1"},
    {0.30000000000000004, "0.30000000000000004"},
    {1e300, "1e+300"},
    {-2.5, "-2.5"},
    {NAN, ""},
    {INFINITY, ""},
    {1.0 / 3, "0.3333333333333333"},
};

START_TEST(reals_are_short_and_exact)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    qh_print_real(reals[_i].value, out);
    fclose(out);
    ck_assert_str_eq(text, reals[_i].text);
    if (*text)
        ck_assert(strtod(text, NULL) == reals[_i].value);
    free(text);
}
END_TEST

START_TEST(json_has_no_infinity)
{
    json_t *o = json_pack("{s:o,s:o,s:o}", "a", qh_json_real(INFINITY), "b", qh_json_real(NAN), "c",
                          qh_json_real(0.815));
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    double value = 0;

    ck_assert_int_eq(qh_json_print(o, out), QH_OK);
    fclose(out);
    ck_assert_str_eq(text, "{\n  \"a\": null,\n  \"b\": null,\n  \"c\": 0.815\n}\n");
    ck_assert(qh_json_number(o, "a", &value) && isnan(value));
    ck_assert(qh_json_number(o, "c", &value) && value == 0.815);
    ck_assert(!qh_json_number(o, "d", &value) && !qh_json_number(o, "c.d", &value));
    ck_assert(!qh_json_number(o, "", &value));
    ck_assert_int_eq(qh_json_print(NULL, stdout), QH_ERESOURCE);
    json_decref(o);
    free(text);
}
END_TEST

typedef struct settings {
    bool flag;
    int64_t n;
    double x;
    int kind;
    char *text, *none;
} settings;

static bool skip_n(const char *name)
{
    return strcmp(name, "n") == 0;
}

START_TEST(settings_keep_their_types)
{
    static const qh_option table[] = {
        {"flag", QH_OPT_FLAG, offsetof(settings, flag), .def = 1},
        {"n", QH_OPT_INT, offsetof(settings, n), .def = 7},
        {"x", QH_OPT_REAL, offsetof(settings, x), .def = 0.5},
        {"kind", QH_OPT_CHOICE, offsetof(settings, kind), .choices = "a|b", .def = 1},
        {"text", QH_OPT_TEXT, offsetof(settings, text), .def_text = "t"},
        {"none", QH_OPT_TEXT, offsetof(settings, none), .help = NULL},
        {0}};
    settings s = {0};
    json_t *all, *less, *wanted;

    ck_assert_int_eq(qh_options_default(table, &s), QH_OK);
    all = qh_json_settings(table, &s, NULL);
    wanted = json_pack("{s:b,s:i,s:f,s:s,s:s,s:n}", "flag", 1, "n", 7, "x", 0.5, "kind", "b",
                       "text", "t", "none");
    ck_assert(json_equal(all, wanted));
    less = qh_json_settings(table, &s, skip_n);
    json_object_del(wanted, "n");
    ck_assert(json_equal(less, wanted));
    json_decref(all);
    json_decref(less);
    json_decref(wanted);
    qh_options_free(table, &s);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("output");
    TCase *t = tcase_create("output");

    tcase_add_test(t, columns_line_up);
    tcase_add_test(t, a_table_reports_want_of_memory_when_printed);
    tcase_add_loop_test(t, reals_are_short_and_exact, 0, QH_COUNT(reals));
    tcase_add_test(t, json_has_no_infinity);
    tcase_add_test(t, settings_keep_their_types);
    suite_add_tcase(s, t);
    return s;
}
