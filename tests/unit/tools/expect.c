#include "tools/expect.h"

#include "tests/support/support.h"
#include "tools/json.h"

#include <math.h>
#include <string.h>

static const char sample_text[] =
    "{\"test_metric\": 0.75, \"bytes_per_epoch\": 100000000, \"val_metric\": null, \"method\": "
    "\"int4\", \"breakdown\": {\"compute\": 0.5}, \"bits_histogram\": {\"4\": 12}}";

typedef enum outcome { HOLDS, FAILS, MALFORMED, UNKNOWN } outcome;

static const struct {
    const char *text;
    outcome outcome;
    const char *error;
} rows[] = {
    {"test_metric>=0.75", HOLDS, NULL},
    {"test_metric >= 0.75", HOLDS, NULL},
    {" test_metric>0.7 ", HOLDS, NULL},
    {"test_metric<=0.75", HOLDS, NULL},
    {"test_metric==0.75", HOLDS, NULL},
    {"test_metric!=0.75", FAILS, NULL},
    {"test_metric>0.75", FAILS, "--expect: test_metric>0.75 does not hold; test_metric is 0.75"},
    {"test_metric<0.75", FAILS, NULL},
    {"test_metric>=-1e3", HOLDS, NULL},
    {"bytes_per_epoch<1e8", FAILS,
     "--expect: bytes_per_epoch<1e8 does not hold; bytes_per_epoch is "
     "100000000"},
    {"bytes_per_epoch<=1e8", HOLDS, NULL},
    {"breakdown.compute<1", HOLDS, NULL},
    {"val_metric>0", FAILS, "--expect: val_metric>0 does not hold; val_metric has no value"},
    {"val_metric!=0", FAILS, NULL},
    {"bits_histogram.4==12", HOLDS, NULL},
    {"bits_histogram.2==0", HOLDS, NULL},
    {"bits_histogram.2>0", FAILS, NULL},
    {"breakdown>1", UNKNOWN, "--expect: 'breakdown' is no number of the summary"},
    {"breakdown.comput>1", UNKNOWN, NULL},
    {"method==4", UNKNOWN, NULL},
    {"accuracy>1", UNKNOWN, NULL},
    {"", MALFORMED, "--expect: '' is not NAME OP NUMBER"},
    {"test_metric", MALFORMED, NULL},
    {"test_metric=0.75", MALFORMED, NULL},
    {"test_metric>=", MALFORMED, NULL},
    {"test_metric>=x", MALFORMED, NULL},
    {"test_metric>=0.5x", MALFORMED, NULL},
    {"test_metric>=0.5 0.6", MALFORMED, NULL},
    {"test_metric>=nan", MALFORMED, NULL},
    {">=0.5", MALFORMED, NULL},
    {"test metric>1", MALFORMED, NULL},
};

START_TEST(one_expression)
{
    json_t *sample = json_loads(sample_text, 0, NULL);
    char *text = (char *)(uintptr_t)rows[_i].text;
    const qh_text_list list = {.item = &text, .n = 1};
    qh_status syntax = qh_expect_check(&list, NULL), names = qh_expect_check(&list, sample);

    ck_assert_int_eq(syntax, rows[_i].outcome == MALFORMED ? QH_EUSAGE : QH_OK);
    ck_assert_int_eq(names, rows[_i].outcome >= MALFORMED ? QH_EUSAGE : QH_OK);
    if (rows[_i].outcome < MALFORMED)
        ck_assert_int_eq(qh_expect_hold(&list, sample),
                         rows[_i].outcome == HOLDS ? QH_OK : QH_EEXPECT);
    if (rows[_i].error)
        ck_assert_msg(strstr(qh_error_text(), rows[_i].error) == qh_error_text(), "%s",
                      qh_error_text());
    json_decref(sample);
}
END_TEST

START_TEST(all_must_hold)
{
    json_t *sample = json_loads(sample_text, 0, NULL);
    char first[] = "test_metric>0.9", second[] = "test_metric>0.7";
    char *text[] = {first, second};
    const qh_text_list list = {.item = text, .n = 2};

    ck_assert_int_eq(qh_expect_hold(&list, sample), QH_EEXPECT);
    json_decref(sample);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("expect");
    TCase *t = tcase_create("expect");

    tcase_add_loop_test(t, one_expression, 0, QH_COUNT(rows));
    tcase_add_test(t, all_must_hold);
    suite_add_tcase(s, t);
    return s;
}
