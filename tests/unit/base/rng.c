#include "src/base/rng.h"

#include "tests/support/support.h"

#include <math.h>

START_TEST(every_field_of_a_key_matters)
{
    qh_key a = qh_rand_key(1, QH_RAND_DROPOUT, 2, 3, 0);
    qh_key other[] = {
        qh_rand_key(2, QH_RAND_DROPOUT, 2, 3, 0), qh_rand_key(1, QH_RAND_QUANTIZE, 2, 3, 0),
        qh_rand_key(1, QH_RAND_DROPOUT, 3, 3, 0), qh_rand_key(1, QH_RAND_DROPOUT, 2, 4, 0),
        qh_rand_key(1, QH_RAND_DROPOUT, 2, 3, 1)};

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        ck_assert(a.k0 != other[i].k0 && a.k1 != other[i].k1);
}
END_TEST

/* The published known-answer vector of philox4x32-10 for zero key and counter (Random123's
 * kat_vectors): 6627e8d5 e169c58d bc57ac4c 9b00dbd8. */
START_TEST(philox_known_answer)
{
    qh_rand4 r = qh_rand_block((qh_key){0, 0}, 0, 0);

    ck_assert_uint_eq(r.v[0], 0x6627e8d5);
    ck_assert_uint_eq(r.v[1], 0xe169c58d);
    ck_assert_uint_eq(r.v[2], 0xbc57ac4c);
    ck_assert_uint_eq(r.v[3], 0x9b00dbd8);
}
END_TEST

START_TEST(rand16_is_uniform_and_does_not_repeat)
{
    qh_key key = qh_rand_key(7, QH_RAND_QUANTIZE, 0, 0, 0);
    enum { ROWS = 400, COLS = 300 };
    double sum = 0, lag = 0;
    uint16_t last = 0;

    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLS; c++) {
            uint16_t x = qh_rand16(key, r, c);
            double u = x / 65536.0 - 0.5;

            sum += u;
            lag += u * (last / 65536.0 - 0.5);
            last = x;
        }
    /* Standard deviations: 1/sqrt(12 n) and 1/(12 sqrt(n)); five of them. */
    ck_assert_double_lt(fabs(sum / (ROWS * COLS)), 5 / sqrt(12.0 * ROWS * COLS));
    ck_assert_double_lt(fabs(lag / (ROWS * COLS)), 5 / (12 * sqrt((double)ROWS * COLS)));
}
END_TEST

START_TEST(below_stays_below)
{
    qh_key key = qh_rand_key(7, QH_RAND_SAMPLE, 0, 0, 0);

    for (uint64_t n = 1; n < 50; n++)
        for (uint64_t i = 0; i < 100; i++)
            ck_assert_uint_lt(qh_rand_below(key, i, n), n);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("rng");
    TCase *t = tcase_create("rng");

    tcase_add_test(t, every_field_of_a_key_matters);
    tcase_add_test(t, philox_known_answer);
    tcase_add_test(t, rand16_is_uniform_and_does_not_repeat);
    tcase_add_test(t, below_stays_below);
    suite_add_tcase(s, t);
    return s;
}
