/* Parameters of a row: they cover it as the receiver decodes, and decoding is exact. */
#include "src/codec/scale.h"

#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const qh_params_format formats[] = {QH_PARAMS_FP32, QH_PARAMS_BF16};
static const int widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};

static int levels_of(int width)
{
    return (1 << width) - 1;
}

/* As the receiver sees it, through the wire; from any place of a batch. */
static qh_scale travelled(float min, float max, int levels, qh_params_format f)
{
    static int calls;
    int lane = calls++ % QH_SCALE_BATCH;
    float low[QH_SCALE_BATCH] = {0}, high[QH_SCALE_BATCH] = {0};
    int32_t of[QH_SCALE_BATCH] = {1, 3, 7, 15, 255, 65535, 1, 1};
    qh_scale s[QH_SCALE_BATCH], r;
    uint8_t wire[8];

    low[lane] = min;
    high[lane] = max;
    of[lane] = levels;
    qh_scale_choose(low, high, of, lane + 1, f, s);
    qh_scale_put(s[lane], f, wire);
    r = qh_scale_get(f, wire);
    ck_assert_mem_eq(s + lane, &r, sizeof r);
    return r;
}

static void check_covers(float min, float max, int width, qh_params_format f)
{
    int levels = levels_of(width);
    qh_scale s = travelled(min, max, levels, f);
    double zero = qh_scale_zero(s), step = qh_scale_step(s), least, worst = 0;
    float spacing = fmaxf(fabsf(min), fabsf(max));

    ck_assert_msg(zero <= (double)min && step >= 0 && qh_scale_value(s, levels, levels) >= max &&
                      qh_scale_value(s, levels, 0) <= min,
                  "min %a max %a width %d format %d: zero %a step %a", (double)min, (double)max,
                  width, (int)f, zero, step);
    /* No wider than the rounding of both asks for: bf16 keeps 8 bits (zero up to 2^-7 below, step
     * up to 2^-7 more), the grid is at most 4 times the spacing of floats there. */
    spacing = spacing < FLT_MAX ? nextafterf(spacing, INFINITY) - spacing : 0x1p104F;
    least = ((double)max - min) + (f == QH_PARAMS_BF16 ? fabs((double)min) * 0x1p-7 : 0);
    least = least / levels * (f == QH_PARAMS_BF16 ? 1 + 0x1p-6 : 1 + 0x1p-22) +
            (f == QH_PARAMS_BF16 ? 0x1p-132 : 0);
    ck_assert_msg(step <= least + 8.0 * spacing + 4.0 * spacing / levels,
                  "min %a max %a width %d format %d: step %a, %a would do", (double)min,
                  (double)max, width, (int)f, step, least);
    for (int q = 0; q <= levels && qh_scale_is_single(s, levels); q++) {
        double off = fabs(qh_scale_value(s, levels, q) - (zero + q * step));

        worst = off > worst ? off : worst;
    }
    ck_assert_msg(worst <= step * 0x1p-16, "min %a max %a width %d format %d: a level is %a off",
                  (double)min, (double)max, width, (int)f, worst);
}

static void check_all(float min, float max)
{
    for (size_t w = 0; w < QH_COUNT(widths); w++)
        for (size_t f = 0; f < QH_COUNT(formats); f++)
            check_covers(min, max, widths[w], formats[f]);
}

START_TEST(hand_picked_ranges)
{
    static const float edge[] = {0,
                                 FLT_TRUE_MIN,
                                 3 * FLT_TRUE_MIN,
                                 FLT_MIN,
                                 1e-30F,
                                 1e-3F,
                                 1,
                                 1.00000012F,
                                 1.5F,
                                 1000,
                                 1000.01F,
                                 1023.9F,
                                 1023.99994F,
                                 1024,
                                 16777216,
                                 0x1p125F,
                                 0x1.8p126F,
                                 0x1.FEp127F,
                                 0x1.FEFFFEp127F,
                                 FLT_MAX};

    for (size_t i = 0; i < QH_COUNT(edge); i++)
        for (size_t j = 0; j < QH_COUNT(edge); j++) {
            check_all(-edge[i], edge[j]);
            if (edge[i] <= edge[j]) {
                check_all(edge[i], edge[j]);
                check_all(-edge[j], -edge[i]);
            }
        }
}
END_TEST

/* Any two finite bit patterns, and pairs a few bit patterns apart (offset far above the range). */
START_TEST(random_ranges)
{
    qh_key key = qh_rand_key(3, QH_RAND_SAMPLE, 0, 0, 0);

    for (uint64_t i = 0; i < 1500; i++) {
        qh_rand4 r = qh_rand_block(key, i, 0);
        uint32_t bits[2] = {r.v[0], i % 2 ? r.v[1] : r.v[0] + r.v[1] % 5000};
        float x[2];

        memcpy(x, bits, sizeof x);
        if (isfinite(x[0]) && isfinite(x[1]))
            check_all(fminf(x[0], x[1]), fmaxf(x[0], x[1]));
    }
}
END_TEST

START_TEST(constant_rows)
{
    static const float held[] = {0, 1, -2.5F, 0x1.FEp-100F, -0x1p-133F, 0x1.FEp127F};
    static const float not_held[] = {1.001F, -3.14159F, FLT_TRUE_MIN, -FLT_MAX};

    for (size_t i = 0; i < QH_COUNT(held); i++)
        for (size_t f = 0; f < QH_COUNT(formats); f++) {
            qh_scale s = travelled(held[i], held[i], 15, formats[f]);

            ck_assert(s.zero == held[i] && s.step == 0);
        }
    for (size_t i = 0; i < QH_COUNT(not_held); i++) {
        qh_scale s = travelled(not_held[i], not_held[i], 15, QH_PARAMS_FP32);

        ck_assert(s.zero == not_held[i] && s.step == 0);
        s = travelled(not_held[i], not_held[i], 15, QH_PARAMS_BF16);
        ck_assert(qh_scale_zero(s) < (double)not_held[i] && qh_scale_step(s) > 0);
    }
}
END_TEST

START_TEST(widest_row_of_all)
{
    for (size_t f = 0; f < QH_COUNT(formats); f++) {
        qh_scale s = travelled(-FLT_MAX, FLT_MAX, 1, formats[f]);

        ck_assert(!qh_scale_is_single(s, 1));
        ck_assert(qh_scale_value(s, 1, 0) == -FLT_MAX && qh_scale_value(s, 1, 1) == FLT_MAX);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("scale");
    TCase *t = tcase_create("scale");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, hand_picked_ranges);
    tcase_add_test(t, random_ranges);
    tcase_add_test(t, constant_rows);
    tcase_add_test(t, widest_row_of_all);
    suite_add_tcase(s, t);
    return s;
}
