#include "src/base/yaml.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <string.h>

static qh_status parse(const char *text, qh_yaml **out)
{
    return qh_yaml_parse("net.yaml", text, (int64_t)strlen(text), QH_EINPUT, out);
}

static const struct {
    const char *text, *error;
} broken[] = {
    {"", "net.yaml:1: holds nothing"},
    {"# only a comment\n", "net.yaml:1: holds nothing"},
    {"a: 1\nb: 2\na: 3\n", "net.yaml:3: 'a' stands here again (first at net.yaml:1)"},
    {"a: [1, 2\n", "net.yaml:2: is not well-formed"},
    {"a: 1\n b: 2\n", "net.yaml:1: is not well-formed"},
    {"a: 1\nb: 2\nc: }\n", "net.yaml:3: is not well-formed"},
    {"a: &x 1\nb: *x\n", "net.yaml:2: aliases"},
    {"a: 1\n---\nb: 2\n", "net.yaml:2: a second document"},
    {"? [a, b]\n: 1\n", "net.yaml:1: a key is no plain word"},
    {"a: \"x\\0y\"\n", "net.yaml:1: the text holds a zero byte"},
};

START_TEST(broken_texts_are_refused_with_their_line)
{
    qh_yaml *y = NULL;

    ck_assert_int_eq(parse(broken[_i].text, &y), QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), broken[_i].error) == qh_error_text(), "%s",
                  qh_error_text());
    ck_assert_ptr_null(y);
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
    char text[2001];
    qh_yaml *y = NULL;

    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    text[2000] = '\0';
    ck_assert_int_eq(parse(text, &y), QH_EINPUT);
    ck_assert_ptr_null(y);
}
END_TEST

START_TEST(tree_and_lines)
{
    static const char *const keys[] = {"name", "links", "about", "empty"};
    qh_yaml *y = NULL;
    const qh_yaml_node *root, *links;
    const char *text;

    ck_assert_int_eq(parse("name: star\n"
                           "links:\n"
                           "  - {from: 0, to: 1}\n"
                           "  - [a, b, c]\n"
                           "about: >\n"
                           "  two lines\n"
                           "  folded\n"
                           "empty:\n",
                           &y),
                     QH_OK);
    root = qh_yaml_root(y);
    ck_assert_int_eq(qh_yaml_size(root), 4);
    ck_assert_int_eq(qh_yaml_check_keys(y, root, keys, 4), QH_OK);
    ck_assert_str_eq(qh_yaml_key(y, root, 1), "links");
    links = qh_yaml_get(root, "links");
    ck_assert_ptr_eq(links, qh_yaml_value(root, 1));
    ck_assert(qh_yaml_is_sequence(links) && qh_yaml_size(links) == 2);
    ck_assert_str_eq(qh_yaml_where(y, qh_yaml_item(links, 1)), "net.yaml:4");
    ck_assert_int_eq(qh_yaml_size(qh_yaml_item(links, 1)), 3);
    ck_assert_int_eq(qh_yaml_text(y, qh_yaml_get(root, "about"), "about", &text), QH_OK);
    ck_assert_str_eq(text, "two lines folded\n");
    ck_assert_int_eq(qh_yaml_text(y, qh_yaml_get(root, "empty"), "empty", &text), QH_OK);
    ck_assert_str_eq(text, "");
    ck_assert(qh_yaml_is_scalar(qh_yaml_get(root, "empty")));
    ck_assert_int_eq(qh_yaml_text(y, links, "links", &text), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(), "net.yaml:3: links is a list; a single value is wanted");
    ck_assert_ptr_null(qh_yaml_get(root, "absent"));
    ck_assert_int_eq(qh_yaml_check_keys(y, root, keys, 3), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(),
                     "net.yaml:8: the key 'empty' is unknown here; one that is known: name");
    qh_yaml_free(y);
}
END_TEST

START_TEST(misspelt_key_gets_a_suggestion)
{
    static const char *const keys[] = {"latency", "bandwidth"};
    qh_yaml *y = NULL;

    ck_assert_int_eq(parse("latency: 5us\nbandwith: 10Gbit/s\n", &y), QH_OK);
    ck_assert_int_eq(qh_yaml_check_keys(y, qh_yaml_root(y), keys, 2), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(),
                     "net.yaml:2: the key 'bandwith' is unknown; did you mean 'bandwidth'?");
    qh_yaml_free(y);
}
END_TEST

START_TEST(values_with_units)
{
    qh_yaml *y = NULL;
    const qh_yaml_node *map;
    double rate = 0, flops = 0, real = 7;
    int64_t ps = 0, n = 0;
    bool yes = false;

    ck_assert_int_eq(parse("rate: 10 Gbit/s\nlatency: 5us\npeak: 2TFLOP/s\nports: 48\n"
                           "loss: 0.25\nstaging: true\nbare: 10\n",
                           &y),
                     QH_OK);
    map = qh_yaml_root(y);
    ck_assert_int_eq(qh_yaml_rate(y, map, "rate", true, &rate), QH_OK);
    ck_assert_int_eq(qh_yaml_duration(y, map, "latency", true, &ps), QH_OK);
    ck_assert_int_eq(qh_yaml_flops(y, map, "peak", true, &flops), QH_OK);
    ck_assert_int_eq(qh_yaml_int(y, map, "ports", true, 1, 64, &n), QH_OK);
    ck_assert_int_eq(qh_yaml_bool(y, map, "staging", true, &yes), QH_OK);
    ck_assert_double_eq(rate, 1.25e9);
    ck_assert_int_eq(ps, 5000000);
    ck_assert_double_eq(flops, 2e12);
    ck_assert_int_eq(n, 48);
    ck_assert(yes);
    ck_assert_int_eq(qh_yaml_real(y, map, "absent", false, 0, 1, &real), QH_OK);
    ck_assert_double_eq(real, 7);
    ck_assert_int_eq(qh_yaml_real(y, map, "loss", false, 0, 1, &real), QH_OK);
    ck_assert_double_eq(real, 0.25);

    ck_assert_int_eq(qh_yaml_rate(y, map, "bare", true, &rate), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(),
                     "net.yaml:7: bare: '10' has no unit; write it like 10Gbit/s or 1.25GB/s");
    ck_assert_int_eq(qh_yaml_int(y, map, "ports", true, 1, 32, &n), QH_EINPUT);
    ck_assert_int_eq(qh_yaml_rate(y, map, "absent", true, &rate), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(), "net.yaml:1: the key 'absent' is missing");
    ck_assert_double_eq(rate, 1.25e9);
    qh_yaml_free(y);
}
END_TEST

START_TEST(failed_allocation_is_reported_and_leaks_nothing)
{
    qh_status st = QH_ERESOURCE;
    int64_t held = qh_mem_bytes();

    for (int64_t n = 1; st != QH_OK; n++) {
        qh_yaml *y = NULL;

        qh_mem_fail_at(n);
        st = parse("a: [1, 2, {b: c}]\nd: e\n", &y);
        qh_mem_fail_at(0);
        ck_assert(st == QH_OK || st == QH_ERESOURCE);
        ck_assert(n < 1000);
        qh_yaml_free(y);
        ck_assert_int_eq(qh_mem_bytes(), held);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("yaml");
    TCase *t = tcase_create("yaml");

    tcase_add_loop_test(t, broken_texts_are_refused_with_their_line, 0, QH_COUNT(broken));
    tcase_add_test(t, deep_nesting_is_refused);
    tcase_add_test(t, tree_and_lines);
    tcase_add_test(t, misspelt_key_gets_a_suggestion);
    tcase_add_test(t, values_with_units);
    tcase_add_test(t, failed_allocation_is_reported_and_leaks_nothing);
    suite_add_tcase(s, t);
    return s;
}
