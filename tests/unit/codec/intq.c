/* Stochastic integers: error within a step, no bias, no wrap, mixed rows as rows alone. */
#include "src/codec/scale.h"
#include "tests/unit/codec/fixture.h"

#include <float.h>
#include <stdio.h>

static const struct {
    double offset, spread;
} kinds[] = {{-1, 2},       {1000, 0.01},       {-1023.95, 0.1}, {1e-40, 1e-41},
             {1e6, 0.05},   {-3e38, 6e38},      {3.3e38, 1e37},  {-3.4e38, 1e36},
             {1e-30, 1e30}, {FLT_MAX * 0.5, 0}, {1.001, 0}};

static qh_codec int_codec(int width, qh_params_format f, const char *kernels)
{
    char text[8];

    snprintf(text, sizeof text, "int:%d", width);
    return make_codec(text, f, kernels);
}

/* The parameters of row i of an int block, read from where intq.c says they are. */
static qh_scale scale_of(const fixture *t, int width, int64_t i)
{
    int64_t per_row = t->codec.params == QH_PARAMS_BF16 ? 4 : 8;
    int64_t payload = (t->block.n_cols * width + 7) / 8;

    return qh_scale_get(t->codec.params, t->wire + t->block.n_rows * payload + i * per_row);
}

static void check_error(const fixture *t, int64_t i, qh_scale s)
{
    /* u and the single-precision quotient have an error of up to 2^-14 of a step. */
    double step = qh_scale_step(s), bound = step * (1 + 0x1p-14);

    for (int64_t j = 0; j < t->block.n_cols; j++) {
        double x = qh_mat_row(t->rows, i)[j], y = qh_mat_row(t->back, i)[j];

        ck_assert_msg(fabs(x - y) <= bound, "%s format %d, %lld columns: %a became %a, step %a",
                      t->codec.kernels->name, (int)t->codec.params, (long long)t->block.n_cols, x,
                      y, step);
    }
}

START_TEST(error_is_within_a_step)
{
    for (size_t k = 0; k < QH_COUNT(kernel_names); k++)
        for (size_t f = 0; f < QH_COUNT(formats); f++)
            for (int width = 1; width <= 8; width++)
                for (int64_t d = 1; d <= 300; d += d < 40 ? 1 : 13) {
                    size_t kind = (size_t)(d + width) % QH_COUNT(kinds);
                    fixture t;

                    fixture_init(&t, int_codec(width, formats[f], kernel_names[k]), 3, d,
                                 kinds[kind].offset, kinds[kind].spread);
                    ck_assert_int_eq(t.bytes, 3 * qh_row_bytes(d, width, formats[f]));
                    ck_assert_int_eq(fixture_encode(&t), QH_OK);
                    fixture_decode(&t);
                    for (int64_t i = 0; i < 3; i++)
                        check_error(&t, i, scale_of(&t, width, i));
                    check_guards(&t);
                    fixture_fini(&t);
                }
}
END_TEST

/* Every width of mixed, 16 and 32 among them, for every kind of row. */
START_TEST(mixed_error_is_within_a_step)
{
    for (size_t k = 0; k < QH_COUNT(kernel_names); k++)
        for (size_t f = 0; f < QH_COUNT(formats); f++)
            for (size_t kind = 0; kind < QH_COUNT(kinds); kind++) {
                fixture t;

                fixture_init(&t, make_codec("mixed", formats[f], kernel_names[k]), 20, 133,
                             kinds[kind].offset, kinds[kind].spread);
                ck_assert_int_eq(fixture_encode(&t), QH_OK);
                fixture_decode(&t);
                for (int64_t i = 0; i < 20; i++)
                    if (t.width[i] == 32)
                        ck_assert_mem_eq(qh_mat_row(t.rows, i), qh_mat_row(t.back, i),
                                         133 * sizeof(float));
                    else
                        check_error(&t, i, qh_scale_get(formats[f], t.wire + t.index.params[i]));
                fixture_fini(&t);
            }
}
END_TEST

/* A row of a mixed block is the row sent alone by int:B, and one width is the block of int:B. */
START_TEST(mixed_rows_are_rows_alone)
{
    for (size_t f = 0; f < QH_COUNT(formats); f++) {
        fixture t;
        int64_t bytes = 0;

        fixture_init(&t, make_codec("mixed", formats[f], "fast"), 30, 71, -2, 5);
        ck_assert_int_eq(fixture_encode(&t), QH_OK);
        for (int64_t i = 0; i < 30; i++) {
            int64_t payload = (71 * t.width[i] + 7) / 8, bad;
            qh_mat row = qh_mat_sub(t.rows, (qh_rows){i, i + 1});
            qh_block alone = {.n_rows = 1, .n_cols = 71, .key = t.block.key};
            _Alignas(64) uint8_t wire[71 + 8];
            qh_codec c;

            bytes += qh_row_bytes(71, t.width[i], formats[f]);
            if (t.width[i] > 8)
                continue;
            c = int_codec(t.width[i], formats[f], "fast");
            ck_assert_int_eq(c.ops->encode(&c, &alone, row, NULL, t.node + i, 0, 1, wire, &bad),
                             QH_OK);
            ck_assert_mem_eq(wire, t.wire + t.index.payload[i], (size_t)payload);
            ck_assert_mem_eq(wire + payload, t.wire + t.index.params[i],
                             formats[f] == QH_PARAMS_BF16 ? 4 : 8);
        }
        ck_assert_int_eq(t.bytes, bytes);
        fixture_fini(&t);
        for (int width = 1; width <= 8; width++) {
            fixture u, m;

            fixture_init(&u, int_codec(width, formats[f], "fast"), 19, 45, -2, 5);
            fixture_init(&m, make_codec("mixed", formats[f], "fast"), 19, 45, -2, 5);
            fixture_set_width(&m, width);
            ck_assert_int_eq(m.bytes, u.bytes);
            ck_assert_int_eq(fixture_encode(&u), QH_OK);
            ck_assert_int_eq(fixture_encode(&m), QH_OK);
            ck_assert_mem_eq(u.wire, m.wire, (size_t)u.bytes);
            fixture_fini(&m);
            fixture_fini(&u);
        }
    }
}
END_TEST

/* Rows of least and greatest values only: the top level with the largest draw must not wrap, nor
 * spill into its neighbours in the byte. */
START_TEST(top_level_never_wraps)
{
    for (size_t k = 0; k < QH_COUNT(kernel_names); k++)
        for (size_t f = 0; f < QH_COUNT(formats); f++)
            for (int width = 1; width <= 8; width++)
                for (size_t kind = 0; kind < QH_COUNT(kinds); kind++) {
                    fixture t;

                    fixture_init(&t, int_codec(width, formats[f], kernel_names[k]), 40, 67,
                                 kinds[kind].offset, 0);
                    for (int64_t i = 0; i < 40; i++)
                        for (int64_t j = 0; j < 67; j++)
                            if ((i + j) % 3)
                                qh_mat_row(t.rows, i)[j] =
                                    (float)(kinds[kind].offset + kinds[kind].spread);
                    ck_assert_int_eq(fixture_encode(&t), QH_OK);
                    fixture_decode(&t);
                    for (int64_t i = 0; i < 40; i++)
                        check_error(&t, i, scale_of(&t, width, i));
                    fixture_fini(&t);
                }
}
END_TEST

START_TEST(constant_rows_are_exact)
{
    static const float value[] = {0, 1, -2.5F, 1e-45F, 1.001F, -FLT_MAX, FLT_MAX, 1e-39F};

    for (size_t v = 0; v < QH_COUNT(value); v++)
        for (int width = 1; width <= 16; width += width == 8 ? 8 : 1)
            for (size_t f = 0; f < QH_COUNT(formats); f++) {
                fixture t;

                if (v > 2 && formats[f] == QH_PARAMS_BF16)
                    continue; /* these have no bf16 */
                fixture_init(&t, make_codec("mixed", formats[f], "fast"), 3, 29, value[v], 0);
                fixture_set_width(&t, width);
                ck_assert_int_eq(fixture_encode(&t), QH_OK);
                fixture_decode(&t);
                for (int64_t i = 0; i < 3; i++)
                    ck_assert_mem_eq(qh_mat_row(t.rows, i), qh_mat_row(t.back, i),
                                     29 * sizeof(float));
                fixture_fini(&t);
            }
}
END_TEST

/* The mean over many keys is the value. A value between two levels has a standard deviation of at
 * most half a step; five standard errors, and what u (2^-16) and the floats may add. */
START_TEST(no_bias)
{
    static const struct {
        double offset, spread;
    } rows[] = {{1000, 0.01}, {-1023.95, 0.1}, {0.3, 1}, {1.001, 0}};
    enum { KEYS = 1500, N = 2, D = 24 };

    for (size_t f = 0; f < QH_COUNT(formats); f++)
        for (size_t r = 0; r < QH_COUNT(rows); r++)
            for (int width = 1; width <= 16; width += width == 8 ? 8 : 1) {
                double sum[N][D] = {{0}};
                fixture t;

                fixture_init(&t, make_codec("mixed", formats[f], "fast"), N, D, rows[r].offset,
                             rows[r].spread);
                fixture_set_width(&t, width);
                for (uint32_t key = 0; key < KEYS; key++) {
                    t.block.key = qh_rand_key(9, QH_RAND_QUANTIZE, key, 0, 0);
                    ck_assert_int_eq(fixture_encode(&t), QH_OK);
                    fixture_decode(&t);
                    for (int64_t i = 0; i < N; i++)
                        for (int64_t j = 0; j < D; j++)
                            sum[i][j] +=
                                (double)qh_mat_row(t.back, i)[j] - (double)qh_mat_row(t.rows, i)[j];
                }
                for (int64_t i = 0; i < N; i++) {
                    double step =
                        qh_scale_step(qh_scale_get(formats[f], t.wire + t.index.params[i]));

                    for (int64_t j = 0; j < D; j++)
                        ck_assert_msg(
                            fabs(sum[i][j] / KEYS) <= step * (5 * 0.5 / sqrt(KEYS) + 0x1p-14),
                            "width %d format %d offset %g: the mean is %g, a step %g", width,
                            (int)formats[f], rows[r].offset, sum[i][j] / KEYS, step);
                }
                fixture_fini(&t);
            }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("intq");
    TCase *t = tcase_create("intq");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, error_is_within_a_step);
    tcase_add_test(t, mixed_error_is_within_a_step);
    tcase_add_test(t, mixed_rows_are_rows_alone);
    tcase_add_test(t, top_level_never_wraps);
    tcase_add_test(t, constant_rows_are_exact);
    tcase_add_test(t, no_bias);
    suite_add_tcase(s, t);
    return s;
}
