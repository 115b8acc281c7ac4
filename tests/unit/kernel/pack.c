/* ref's packing against its words in backend.h; the parity tests carry this to the other tables. */
#include "src/base/status.h"
#include "src/kernel/backend.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static const qh_kernels *ref(void)
{
    return qh_kernels_find("ref");
}

START_TEST(bits_lie_as_said)
{
    /* With zero 0, inverse 1 and whole numbers below 2^bits - 1, u < 1 never reaches the next. */
    const float x[] = {1, 2, 3, 0, 1, 2, 0, 3, 1};
    uint8_t out[9];

    ref()->quantize(x, 9, 2, 0, 1, (qh_key){1, 2}, 3, out);
    ck_assert_uint_eq(out[0], 1 | 2 << 2 | 3 << 4 | 0 << 6);
    ck_assert_uint_eq(out[1], 1 | 2 << 2 | 0 << 4 | 3 << 6);
    ck_assert_uint_eq(out[2], 1); /* the last bits are 0 */
    ref()->quantize(x, 9, 3, 0, 1, (qh_key){1, 2}, 3, out);
    ck_assert_uint_eq(out[0], (1 | 2 << 3 | 3 << 6) & 255);
    ck_assert_uint_eq(out[1], (3 >> 2 | 0 << 1 | 1 << 4 | 2 << 7) & 255);
    ck_assert_uint_eq(out[3], 1);
    ref()->quantize(x, 9, 8, 0, 1, (qh_key){1, 2}, 3, out);
    for (int i = 0; i < 9; i++)
        ck_assert_uint_eq(out[i], (unsigned)x[i]);
}
END_TEST

/* E[decoded] = x: the mean over many rows of noise, within five deviations. */
START_TEST(rounding_has_no_bias)
{
    enum { ROWS = 20000, COLS = 7 };
    const float x[COLS] = {0, 0.1F, 0.25F, 0.5F, 0.77F, 0.99F, 1};
    float most = (float)((1 << _i) - 1), out[COLS];
    double sum[COLS] = {0};
    uint8_t q[COLS];

    for (uint64_t r = 0; r < ROWS; r++) {
        ref()->quantize(x, COLS, _i, 0, most, (qh_key){5, 6}, r, q);
        ref()->dequantize(q, COLS, _i, 0, 1 / most, out);
        for (int c = 0; c < COLS; c++)
            sum[c] += (double)out[c];
    }
    for (int c = 0; c < COLS; c++) {
        double p = (double)x[c] * (double)most - floor((double)x[c] * (double)most);
        double sigma = sqrt(p * (1 - p) / ROWS) / (double)most;

        /* u has 16 bits, so a step may be off by 2^-17 of itself. */
        ck_assert_double_le(fabs(sum[c] / ROWS - (double)x[c]),
                            5 * sigma + 0x1p-16 / (double)most + 2e-7);
    }
}
END_TEST

START_TEST(top_level_does_not_wrap)
{
    enum { N = 1000 };
    float x[N];
    uint8_t q[N];

    for (int i = 0; i < N; i++)
        x[i] = 1;
    for (int bits = 1; bits <= 8; bits++) {
        unsigned most = (1U << bits) - 1;

        /* A hair above the top: what rounding of scale and zero may give. */
        ref()->quantize(x, N, bits, 0, (float)most * 1.0000002F, (qh_key){5, 6}, 1, q);
        for (int i = 0; i < N * bits / 8; i++)
            ck_assert_uint_eq(q[i], 255);
    }
}
END_TEST

START_TEST(flat_row_gives_its_zero_point)
{
    const float x[] = {5, 5, 5};
    float out[3];
    uint8_t q[3] = {1, 2, 3};

    for (int bits = 1; bits <= 8; bits++) {
        ref()->quantize(x, 3, bits, 5, 0, (qh_key){5, 6}, 1, q);
        ref()->dequantize(q, 3, bits, 5, 0, out);
        ck_assert(out[0] == 5 && out[1] == 5 && out[2] == 5);
    }
}
END_TEST

START_TEST(noise_differs_by_row_and_key)
{
    enum { N = 256 };
    float x[N];
    uint8_t a[N / 8], b[N / 8];

    for (int i = 0; i < N; i++)
        x[i] = 0.5F;
    ref()->quantize(x, N, 1, 0, 1, (qh_key){5, 6}, 1, a);
    ref()->quantize(x, N, 1, 0, 1, (qh_key){5, 6}, 2, b);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
    ref()->quantize(x, N, 1, 0, 1, (qh_key){5, 7}, 1, b);
    ck_assert_int_ne(memcmp(a, b, sizeof a), 0);
}
END_TEST

START_TEST(min_max_of_few)
{
    const float x[] = {3, -0.0F, -2, 8}, nan[] = {1, NAN, 2}, inf[] = {1, -INFINITY};
    float lo = 5, hi = 6;

    ck_assert(!ref()->min_max(nan, 3, &lo, &hi) && !ref()->min_max(inf, 2, &lo, &hi));
    ck_assert(lo == 5 && hi == 6);
    ck_assert(ref()->min_max(x, 4, &lo, &hi) && lo == -2 && hi == 8);
    ck_assert(ref()->min_max(x + 1, 1, &lo, &hi) && !signbit(lo) && !signbit(hi));
}
END_TEST

static const struct {
    float x;
    uint16_t bf16, fp16;
} known[] = {
    {0, 0, 0},
    {-0.0F, 0x8000, 0x8000},
    {1, 0x3f80, 0x3c00},
    {-2, 0xc000, 0xc000},
    {1.00390625F, 0x3f80, 0x3c04},    /* 1 + 2^-8: a tie of bf16, to even */
    {1.01171875F, 0x3f82, 0x3c0c},    /* 1 + 3 2^-8: a tie, up to even */
    {1.00048828125F, 0x3f80, 0x3c00}, /* 1 + 2^-11: a tie of fp16, to even */
    {1.00146484375F, 0x3f80, 0x3c02}, /* 1 + 3 2^-11: a tie, up to even */
    {65504, 0x4780, 0x7bff},          /* the largest fp16 */
    {65519.996F, 0x4780, 0x7bff},
    {65520, 0x4780, 0x7c00},         /* rounds to infinity */
    {3.4028235e38F, 0x7f80, 0x7c00}, /* the largest float rounds to infinity */
    {5.9604645e-8F, 0x3380, 0x0001}, /* 2^-24: the least subnormal */
    {2.9802322e-8F, 0x3300, 0x0000}, /* half of it: a tie, to even */
    {2.9802326e-8F, 0x3300, 0x0001}, /* and a hair more */
    {6.1035156e-5F, 0x3880, 0x0400}, /* 2^-14: the least normal */
    {6.0975552e-5F, 0x3880, 0x03ff}, /* 1023 2^-24: the largest subnormal */
    {6.1005354e-5F, 0x3880, 0x0400}, /* half a unit more: a tie, to even */
    {INFINITY, 0x7f80, 0x7c00},
};

START_TEST(halves_are_rounded_to_even)
{
    uint16_t b, h;
    float back;

    for (size_t i = 0; i < QH_COUNT(known); i++) {
        ref()->to_bf16(&known[i].x, 1, &b);
        ref()->to_fp16(&known[i].x, 1, &h);
        ck_assert_msg(b == known[i].bf16 && h == known[i].fp16, "%.9g: %04x %04x",
                      (double)known[i].x, b, h);
    }
    for (int i = 0; i < 65536; i++) { /* wide and narrow again is the same */
        uint16_t x = (uint16_t)i, y, z;

        ref()->from_fp16(&x, 1, &back);
        ref()->to_fp16(&back, 1, &y);
        ref()->from_bf16(&x, 1, &back);
        ref()->to_bf16(&back, 1, &z);
        if ((x & 0x7fff) <= 0x7c00 && y != x)
            ck_abort_msg("fp16 %04x comes back as %04x", x, y);
        if ((x & 0x7fff) <= 0x7f80 && z != x)
            ck_abort_msg("bf16 %04x comes back as %04x", x, z);
    }
    back = NAN;
    ref()->to_bf16(&back, 1, &b);
    ref()->to_fp16(&back, 1, &h);
    ck_assert((b & 0x7fff) > 0x7f80 && (h & 0x7fff) > 0x7c00);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("pack");
    TCase *t = tcase_create("pack");

    tcase_add_test(t, bits_lie_as_said);
    tcase_add_loop_test(t, rounding_has_no_bias, 1, 9);
    tcase_add_test(t, top_level_does_not_wrap);
    tcase_add_test(t, flat_row_gives_its_zero_point);
    tcase_add_test(t, noise_differs_by_row_and_key);
    tcase_add_test(t, min_max_of_few);
    tcase_add_test(t, halves_are_rounded_to_even);
    suite_add_tcase(s, t);
    return s;
}
