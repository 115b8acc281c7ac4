#include "src/train/metric.h"

#include "tests/support/support.h"

#include <math.h>

enum { ROWS = 6, CLASSES = 3 };

static float logit[ROWS * CLASSES] = {
    1,  2,  0,                                 /* class 1 */
    3,  3,  -1,                                /* a tie: class 0 */
    -5, -6, -4, 0, 0, 0.5F, 9, 1, 2, -1, 4, 4, /* a tie: class 1 */
};
static int8_t split[ROWS] = {1, 1, 2, 2, 3, 0};
static int32_t label[ROWS] = {1, 0, 2, 0, 0, 1};
static uint8_t target[ROWS * CLASSES] = {
    1, 1, 0, /* tp 2 */
    1, 0, 1, /* tp 1, fp 1, fn 1 */
    0, 0, 0, /* nothing */
    1, 0, 0, /* fp 1, fn 1: 0 is not above the threshold */
    1, 1, 1, /* tp 3 */
    1, 1, 1,
};
static const qh_mat logits = {logit, ROWS, CLASSES, CLASSES};

static qh_counts count(const qh_local *l, int64_t cut)
{
    qh_counts a = {0}, b = {0};

    qh_counts_add(l, logits, (qh_rows){0, cut}, &a);
    qh_counts_add(l, logits, (qh_rows){cut, ROWS}, &b);
    qh_counts_merge(&b, &a);
    return a;
}

/* However the rows are cut: counts add up. */
START_TEST(accuracy)
{
    qh_local l = {.label = label, .split = split, .n_of_split = {1, 2, 2, 1}};
    qh_counts c = count(&l, _i);
    double m[4];

    qh_counts_metric(&c, l.n_of_split, false, m);
    ck_assert(isnan(m[0]));
    ck_assert_double_eq(m[1], 1.0);
    ck_assert_double_eq(m[2], 0.5);
    ck_assert_double_eq(m[3], 1.0);
    l.n_of_split[2] = 0;
    qh_counts_metric(&c, l.n_of_split, false, m);
    ck_assert(isnan(m[2]));
}
END_TEST

START_TEST(f1_micro)
{
    qh_local l = {.target = target, .split = split, .n_of_split = {1, 2, 2, 1}};
    qh_counts c = count(&l, _i);
    double m[4];

    qh_counts_metric(&c, l.n_of_split, true, m);
    ck_assert_double_eq(m[1], 2.0 * 3 / (2.0 * 3 + 1 + 1));
    ck_assert_double_eq(m[2], 0);
    ck_assert_double_eq(m[3], 1);
    c = (qh_counts){0}; /* nothing to find, nothing found */
    qh_counts_metric(&c, l.n_of_split, true, m);
    ck_assert_double_eq(m[1], 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("metric");
    TCase *t = tcase_create("metric");

    tcase_add_loop_test(t, accuracy, 0, ROWS + 1);
    tcase_add_loop_test(t, f1_micro, 0, ROWS + 1);
    suite_add_tcase(s, t);
    return s;
}
