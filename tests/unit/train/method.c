#include "src/train/settings.h"

#include "src/base/mem.h"
#include "src/train/strategy.h"
#include "tests/support/support.h"

#include <string.h>

/* The schedule opens, with an argument in the place of its letter. */
static void check_rate(const qh_method *m)
{
    const qh_rate_run run = {.epochs = 10, .n_layers = 2};
    char text[QH_PART_BYTES];
    qh_rate *rate = NULL;

    if (!m->rate)
        return;
    ck_assert_int_eq(qh_method_part("--method", m->rate, "4", text), QH_OK);
    ck_assert_msg(qh_rate_open("--method", text, &run, &rate) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(strcmp(m->rate, text) == 0, m->rate[strlen(m->rate) - 1] != ':');
    qh_rate_close(rate);
}

START_TEST(arguments_of_parts)
{
    char text[QH_PART_BYTES], *longest = NULL;

    ck_assert_int_eq(qh_method_part("--method", "const:", "16", text), QH_OK);
    ck_assert_str_eq(text, "const:16");
    ck_assert_int_eq(qh_method_part("--method", "linear:128:1:5", "16", text), QH_OK);
    ck_assert_str_eq(text, "linear:128:1:5");
    ck_assert_int_eq(qh_method_part("--method", NULL, "16", text), QH_OK);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(QH_NEW_ARRAY(&longest, QH_PART_BYTES + 1), QH_OK);
    memset(longest, '1', QH_PART_BYTES);
    ck_assert_int_eq(qh_method_part("--method", "const:", longest, text), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "--method: '1111111111"));
    qh_mem_free(longest);
}
END_TEST

/* Every method of the table can be built: its codec, assigner and strategy exist and fit. */
START_TEST(every_method_has_its_parts)
{
    char names[QH_METHODS_NAMES_BYTES], *rest = names, *name;
    int n = 0;

    qh_methods_names(names);
    while ((name = strsep(&rest, "|"))) {
        const qh_method *line = qh_method_at(n);
        qh_method chosen, *m = &chosen;
        qh_codec codec;

        ck_assert_ptr_nonnull(line);
        ck_assert_str_eq(line->name, name);
        ck_assert_int_eq(qh_method_choose("--method", name, m), QH_OK);
        ck_assert_ptr_eq(m->name, line->name);
        ck_assert_str_eq(m->argument, strchr(name, ':') ? strchr(name, ':') + 1 : "");
        ck_assert_int_eq(qh_codec_init(m->codec, QH_PARAMS_BF16, qh_kernels_find("ref"), &codec),
                         QH_OK);
        ck_assert(codec.ops->takes_widths == (m->assign != NULL));
        ck_assert(!m->assign || qh_bits_find(m->assign));
        check_rate(m);
        ck_assert_ptr_nonnull(qh_strategy_find(m->strategy));
        ck_assert(m->help && *m->help);
        n++;
    }
    ck_assert_int_ge(n, 7);
    ck_assert_ptr_null(qh_method_at(n));
    ck_assert_ptr_null(qh_method_at(-1));
}
END_TEST

static const struct row {
    const char *name, *text;
} rows[] = {
    {"adaqpq", "--method: there is no method 'adaqpq'; did you mean adaqp"},
    {"fixed", "--method: method 'fixed' lacks its argument; fixed:R, a random"},
    {"fixed:", "--method: method 'fixed:' lacks its argument; fixed:R, a random"},
    {"varco:2", "--method: method 'varco:2': varco takes no argument"},
    {"vaco", "--method: there is no method 'vaco'; did you mean varco?"},
    {"bns", "--method: method 'bns' lacks its argument; bns:P, "},
    {"vanilla:2", "--method: method 'vanilla:2': vanilla takes no argument"},
    {"int8:", "--method: method 'int8:': int8 takes no argument"},
    {"vanila", "--method: there is no method 'vanila'; did you mean vanilla?"},
    {"xyzzy", "--method: there is no method 'xyzzy'; it has to be one of vanilla|"},
    {"", "--method: there is no method ''; it has to be one of vanilla|"},
};

START_TEST(other_names_are_told_apart)
{
    qh_method m = {.name = "untouched"};

    ck_assert_int_eq(qh_method_choose("--method", rows[_i].name, &m), QH_EUSAGE);
    ck_assert_str_eq(m.name, "untouched");
    ck_assert_msg(strncmp(qh_error_text(), rows[_i].text, strlen(rows[_i].text)) == 0, "%s",
                  qh_error_text());
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("method");
    TCase *t = tcase_create("method");

    tcase_add_test(t, every_method_has_its_parts);
    tcase_add_test(t, arguments_of_parts);
    tcase_add_loop_test(t, other_names_are_told_apart, 0, (int)QH_COUNT(rows));
    suite_add_tcase(s, t);
    return s;
}
