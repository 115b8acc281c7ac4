#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xa5 };

/* Kinds of rows: what the codec may meet, and what it must never break on. */
enum kind { UNIT, FLAT, SUBNORMAL, HUGE_RANGE, NEGATIVE_ZERO, BAD, N_KINDS };

static void fill(enum kind kind, float *x, int64_t n, float *zero, float *inverse, int bits)
{
    float most = (float)((1 << bits) - 1);
    qh_key key = qh_rand_key(5, QH_RAND_INIT, 0, 0, 0);

    *zero = -1;
    *inverse = most / 2;
    for (int64_t i = 0; i < n; i++) {
        float u = (float)qh_rand_unit(key, (uint64_t)i);

        x[i] = 2 * u - 1;
        if (kind == FLAT) {
            x[i] = 0.3F;
            *zero = 0.3F;
            *inverse = 0;
        } else if (kind == SUBNORMAL) {
            x[i] = u * 1e-40F;
            *zero = 0;
            *inverse = 3e38F;
        } else if (kind == HUGE_RANGE) {
            x[i] = (2 * u - 1) * 3.4e38F; /* x - zero overflows */
            *zero = -3.4e38F;
            *inverse = most / 3.4e38F;
        } else if (kind == NEGATIVE_ZERO) {
            x[i] = i % 2 ? 0.0F : -0.0F;
            *zero = 0;
            *inverse = most;
        } else if (kind == BAD) { /* below zero, not a number: against the contract, yet harmless */
            x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : INFINITY;
        }
    }
}

static void check_quantize(int table, int64_t n, int bits, enum kind kind, uint64_t row)
{
    size_t bytes = (size_t)((n * bits + 7) / 8);
    uint8_t *want = malloc(bytes + 16), *got = malloc(bytes + 16);
    float *x = malloc((size_t)n * sizeof *x + 1), *a = malloc((size_t)n * 4 + 64);
    float *b = malloc((size_t)n * 4 + 64), zero, inverse;
    uint8_t *exact = malloc(bytes + 1); /* no readable byte after the row */
    qh_key key = qh_rand_key(1, QH_RAND_QUANTIZE, 2, 1, 0);

    ck_assert(want && got && x && a && b && exact);
    fill(kind, x, n, &zero, &inverse, bits);
    memset(want, GUARD, bytes + 16);
    memset(got, GUARD, bytes + 16);
    qh_kernels_list(0)->quantize(x, n, bits, zero, inverse, key, row, want);
    qh_kernels_list(table)->quantize(x, n, bits, zero, inverse, key, row, got);
    ck_assert_msg(memcmp(want, got, bytes + 16) == 0,
                  "quantize of table %d differs: %lld values of %d bits, kind %d", table,
                  (long long)n, bits, (int)kind);
    memcpy(exact, want, bytes);
    memset(a, GUARD, (size_t)n * 4 + 64);
    memset(b, GUARD, (size_t)n * 4 + 64);
    qh_kernels_list(0)->dequantize(exact, n, bits, zero, 0.37F, a);
    qh_kernels_list(table)->dequantize(exact, n, bits, zero, 0.37F, b);
    ck_assert_msg(memcmp(a, b, (size_t)n * 4 + 64) == 0,
                  "dequantize of table %d differs: %lld values of %d bits, kind %d", table,
                  (long long)n, bits, (int)kind);
    free(want);
    free(got);
    free(x);
    free(a);
    free(b);
    free(exact);
}

START_TEST(quantize_is_the_same_to_the_bit)
{
    const uint64_t rows[] = {0, 77, 4294967295, 5ULL << 32 | 9};
    int table = _i / 8 + 1, bits = _i % 8 + 1;

    for (int kind = 0; kind < N_KINDS; kind++) {
        for (int64_t n = 0; n < 150; n++)
            check_quantize(table, n, bits, (enum kind)kind, rows[n % 4]);
        for (int i = 0; i < n_fixture_cols; i++)
            check_quantize(table, fixture_cols[i], bits, (enum kind)kind, rows[i % 4]);
    }
}
END_TEST

START_TEST(min_max_is_the_same_to_the_bit)
{
    const float odd[] = {NAN, INFINITY, -INFINITY, 3.4e38F, -3.4e38F, 1e-45F, -0.0F, 0.0F};

    for (int64_t n = 1; n < 300; n++)
        for (size_t o = 0; o <= QH_COUNT(odd); o++) {
            qh_mat x = fixture_mat(1, n, (uint64_t)n);
            float want[2] = {7, 7}, got[2] = {7, 7};
            bool fine, here;

            if (o < QH_COUNT(odd))
                x.data[(n * 31 + (int64_t)o) % n] = odd[o];
            if (o >= 6 && o < QH_COUNT(odd)) /* zeros of both signs only */
                for (int64_t i = 0; i < n; i++)
                    x.data[i] = (i + (int64_t)o) % 2 ? 0.0F : -0.0F;
            fine = qh_kernels_list(0)->min_max(x.data, n, &want[0], &want[1]);
            here = qh_kernels_list(_i)->min_max(x.data, n, &got[0], &got[1]);
            ck_assert_msg(fine == here && memcmp(want, got, sizeof want) == 0,
                          "min_max of table %d differs: %lld values, case %zu", _i, (long long)n,
                          o);
            ck_assert(fine == (o >= 3));
            fixture_free(&x);
        }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of packing");
    TCase *t = tcase_create("pack");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, quantize_is_the_same_to_the_bit, 0, (fixture_tables() - 1) * 8);
    tcase_add_loop_test(t, min_max_is_the_same_to_the_bit, 1, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
