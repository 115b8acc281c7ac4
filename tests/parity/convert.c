#include "tests/parity/fixture.h"

#include <stdlib.h>
#include <string.h>

/* Every upper half of a float with lower halves at and around the ties of bf16 and fp16. */
START_TEST(narrow_agrees_over_the_whole_range)
{
    const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N = 65536 };
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    float *x = malloc(N * sizeof *x);
    uint16_t *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);

    ck_assert(x && want && got);
    for (size_t l = 0; l < QH_COUNT(low); l++) {
        for (uint32_t i = 0; i < N; i++) {
            uint32_t u = i << 16 | low[l];

            memcpy(&x[i], &u, sizeof u);
        }
        ref->to_bf16(x, N, want);
        fast->to_bf16(x, N, got);
        ck_assert_mem_eq(want, got, N * sizeof *got);
        ref->to_fp16(x, N, want);
        fast->to_fp16(x, N, got);
        ck_assert_mem_eq(want, got, N * sizeof *got);
    }
    free(x);
    free(want);
    free(got);
}
END_TEST

START_TEST(wide_agrees_for_every_value)
{
    enum { N = 65536 };
    const qh_kernels *ref = qh_kernels_list(0), *fast = qh_kernels_list(_i);
    uint16_t *x = malloc(N * sizeof *x), *back = malloc(N * sizeof *back);
    float *want = malloc(N * sizeof *want), *got = malloc(N * sizeof *got);

    ck_assert(x && back && want && got);
    for (int i = 0; i < N; i++)
        x[i] = (uint16_t)i;
    ref->from_bf16(x, N, want);
    fast->from_bf16(x, N, got);
    ck_assert_mem_eq(want, got, N * sizeof *got);
    ref->from_fp16(x, N, want);
    fast->from_fp16(x, N, got);
    ck_assert_mem_eq(want, got, N * sizeof *got);
    fast->to_fp16(got, N, back); /* and there again: exact, but that a NaN becomes quiet */
    for (int i = 0; i < N; i++)
        ck_assert_uint_eq(back[i], (i & 0x7fff) > 0x7c00 ? i | 0x200 : i);
    free(x);
    free(back);
    free(want);
    free(got);
}
END_TEST

START_TEST(tails_keep_inside)
{
    const qh_kernels *fast = qh_kernels_list(_i);

    for (int64_t n = 0; n < 80; n++)
        for (int64_t shift = 0; shift < 17; shift += 4) {
            qh_mat x = fixture_mat(1, n + shift, 1), y = fixture_mat(1, n + shift, 2);
            uint16_t *half = malloc((size_t)n * 2 + 2), *ref = malloc((size_t)n * 2 + 2);

            ck_assert(half && ref);
            half[n] = ref[n] = 0xa5a5;
            fast->copy(x.data + shift, n, y.data + shift);
            ck_assert(n == 0 || memcmp(x.data + shift, y.data + shift, (size_t)n * 4) == 0);
            fast->to_bf16(x.data + shift, n, half);
            qh_kernels_list(0)->to_bf16(x.data + shift, n, ref);
            ck_assert_mem_eq(half, ref, (size_t)n * 2 + 2);
            fast->from_bf16(half, n, y.data + shift);
            fast->to_fp16(x.data + shift, n, half);
            qh_kernels_list(0)->to_fp16(x.data + shift, n, ref);
            ck_assert_mem_eq(half, ref, (size_t)n * 2 + 2);
            fast->from_fp16(half, n, y.data + shift);
            fixture_check_guards(y, "conversion");
            free(half);
            free(ref);
            fixture_free(&x);
            fixture_free(&y);
        }
}
END_TEST

/* From where copies go past the cache, at every alignment. */
START_TEST(long_copies)
{
    for (int64_t shift = 0; shift < 17; shift++) {
        qh_mat x = fixture_mat(1, 70000, 1), y = fixture_mat(1, 70000, 2);
        int64_t n = 65536 + 3 * shift;

        qh_kernels_list(_i)->copy(x.data + 1, n, y.data + shift);
        ck_assert_mem_eq(x.data + 1, y.data + shift, (size_t)n * 4);
        fixture_check_guards(y, "copy");
        fixture_free(&x);
        fixture_free(&y);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of conversions");
    TCase *t = tcase_create("convert");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, narrow_agrees_over_the_whole_range, 1, fixture_tables());
    tcase_add_loop_test(t, wide_agrees_for_every_value, 1, fixture_tables());
    tcase_add_loop_test(t, long_copies, 1, fixture_tables());
    tcase_add_loop_test(t, tails_keep_inside, 1, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
