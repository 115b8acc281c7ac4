/* Groups of messages: sizes, order, sums, and the variance that shuffled widths would have. */
#include "src/policy/groups.h"

#include "tests/support/support.h"

#include <float.h>
#include <math.h>

enum { N = 211 }; /* a prime */

static const int64_t group_sizes[] = {1, 2, 7, 100, N - 1, N, N + 1, 1000000000};

static void fill(float *v, int64_t n)
{
    qh_key key = qh_rand_key(5, QH_RAND_BITS, 0, 0, 0);

    for (int64_t i = 0; i < n; i++)
        v[i] = (float)qh_rand_below(key, (uint64_t)i, 50); /* many are equal */
}

START_TEST(groups_hold_the_largest_first)
{
    int64_t size = group_sizes[_i], n_groups = qh_group_count(N, size), seen = 0;
    float v[N], sum[N + 1];
    uint64_t key[2 * N];
    int32_t order[N];
    bool there[N] = {false};

    fill(v, N);
    ck_assert_int_eq(n_groups, (N + size - 1) / size);
    sum[n_groups] = -7;
    qh_groups_form(v, N, size, key, order, sum);
    for (int64_t i = 0; i < N; i++) {
        ck_assert(!there[order[i]]);
        there[order[i]] = true;
        if (i > 0)
            ck_assert(v[order[i - 1]] > v[order[i]] ||
                      (v[order[i - 1]] == v[order[i]] && order[i - 1] < order[i]));
    }
    for (int64_t g = 0; g < n_groups; g++) {
        float all = 0;

        for (int64_t i = 0; i < size && seen < N; i++)
            all += v[order[seen++]];
        ck_assert_float_eq(sum[g], all); /* small whole numbers: exact */
    }
    ck_assert_float_eq(sum[n_groups], -7);
}
END_TEST

START_TEST(every_message_gets_the_width_of_its_group)
{
    int64_t size = group_sizes[_i], n_groups = qh_group_count(N, size);
    uint8_t group_width[N], width[N + 1];
    float v[N], sum[N];
    uint64_t key[2 * N];
    int32_t order[N];

    fill(v, N);
    qh_groups_form(v, N, size, key, order, sum);
    for (int64_t g = 0; g < n_groups; g++)
        group_width[g] = (uint8_t)(1 + g % 8);
    width[N] = 99;
    qh_groups_spread(order, N, size, group_width, width);
    for (int64_t i = 0; i < N; i++)
        ck_assert_int_eq(width[order[i]], 1 + i / size % 8);
    ck_assert_int_eq(width[N], 99);
}
END_TEST

START_TEST(nothing_makes_no_group)
{
    ck_assert_int_eq(qh_group_count(0, 1), 0);
    ck_assert_int_eq(qh_group_count(0, 100), 0);
    qh_groups_form(NULL, 0, 100, NULL, NULL, NULL);
    qh_groups_spread(NULL, 0, 100, NULL, NULL);
}
END_TEST

START_TEST(variance_of_a_message)
{
    ck_assert_float_eq(qh_message_variance(0.5, 12, 9), 0.5F * 12 * 9 / 6);
    ck_assert_float_eq(qh_message_variance(0, 12, INFINITY), 0);
    ck_assert_float_eq(qh_message_variance(2, 1000, FLT_MAX), FLT_MAX);
    ck_assert_float_eq(qh_message_variance(1, 6, INFINITY), FLT_MAX);
}
END_TEST

/* Against the mean over all orders of the full groups' widths. */
START_TEST(shuffled_variance_is_the_mean_over_all_orders)
{
    const float v[5] = {8, 4, 2, 1, 0.5F};
    const uint8_t width[5] = {8, 4, 2, 2, 4};
    qh_tradeoff_channel channel = {.src = 0,
                                   .dst = 1,
                                   .n_groups = 5,
                                   .group_size = 10,
                                   .last_size = _i == 0 ? 10 : 3,
                                   .variance = v};
    qh_tradeoff p = {.n_devices = 2, .n_channels = 1, .channel = &channel};
    int n = _i == 0 ? 5 : 4;
    double want = 0;

    for (int shift = 0; shift < n; shift++) /* each width meets each variance once */
        for (int g = 0; g < n; g++)
            want += v[g] / pow((1 << width[(g + shift) % n]) - 1, 2) / n;
    if (n == 4)
        want += v[4] / pow((1 << width[4]) - 1, 2);
    ck_assert_double_eq_tol(qh_groups_shuffled_variance(&p, width), want, 1e-14);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("groups");
    TCase *t = tcase_create("groups");

    tcase_add_loop_test(t, groups_hold_the_largest_first, 0, (int)QH_COUNT(group_sizes));
    tcase_add_loop_test(t, every_message_gets_the_width_of_its_group, 0,
                        (int)QH_COUNT(group_sizes));
    tcase_add_test(t, nothing_makes_no_group);
    tcase_add_test(t, variance_of_a_message);
    tcase_add_loop_test(t, shuffled_variance_is_the_mean_over_all_orders, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
