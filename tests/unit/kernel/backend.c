#include "src/kernel/backend.h"
#include "src/base/status.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(tables_are_found_by_name)
{
    ck_assert_ptr_eq(qh_kernels_find("ref"), qh_kernels_list(0));
    ck_assert_ptr_nonnull(qh_kernels_find("fast"));
    ck_assert_str_eq(qh_kernels_find("fast")->name, "fast");
    ck_assert_ptr_null(qh_kernels_find("FAST"));
    ck_assert_ptr_null(qh_kernels_find(""));
}
END_TEST

START_TEST(every_entry_of_every_table_is_there)
{
    int n = 0;

    for (const qh_kernels *k; (k = qh_kernels_list(n)); n++) {
        void (*entry[sizeof *k / sizeof(void (*)(void))])(void);

        memcpy(entry, k, sizeof *k);
        for (size_t i = 0; i < QH_COUNT(entry); i++)
            ck_assert_msg(entry[i] != NULL, "entry %zu of table %d is missing", i, n);
    }
    ck_assert_int_ge(n, 2); /* ref and at least one fast */
    ck_assert_ptr_null(qh_kernels_list(n + 1));
}
END_TEST

START_TEST(fast_is_the_first_that_runs)
{
    ck_assert_ptr_eq(qh_kernels_find("fast"), qh_kernels_list(1));
    ck_assert(strcmp(qh_kernels_isa(), "x86-64-v4") == 0 ||
              strcmp(qh_kernels_isa(), "x86-64-v3") == 0 ||
              strcmp(qh_kernels_isa(), "generic") == 0);
}
END_TEST

START_TEST(bf16_rounds_to_its_side)
{
    const float values[] = {0,      -0.0F,   1,          -1,          1.0000001F, -1.0000001F,
                            3e38F,  -3e38F,  3.3895e38F, -3.3895e38F, 3.4e38F,    -3.4e38F,
                            1e-40F, -1e-40F, 1e-45F,     -1e-45F,     0.1F,       123456.7F};

    for (size_t i = 0; i < QH_COUNT(values); i++) {
        float x = values[i], down = qh_bf16_down(x), up = qh_bf16_up(x);
        const float both[] = {down, up};

        for (int s = 0; s < 2; s++) {
            uint32_t u;

            memcpy(&u, &both[s], sizeof u);
            ck_assert_uint_eq(u & 0xffff, 0);
            ck_assert(isfinite(both[s]));
        }
        if (fabsf(x) < 3.389e38F) { /* inside bf16's range: neighbours, or x itself */
            ck_assert(down <= x && x <= up);
            ck_assert_double_le((double)up - (double)down, fmax(fabs((double)x) / 127, 1e-40));
        }
    }
    ck_assert(qh_bf16_down(1) == 1 && qh_bf16_up(1) == 1);
    ck_assert(qh_bf16_up(1.0000001F) == 1.0078125F && qh_bf16_down(1.0000001F) == 1);
    ck_assert(qh_bf16_down(-1.0000001F) == -1.0078125F && qh_bf16_up(-1.0000001F) == -1);
    ck_assert(qh_bf16_up(3.4e38F) == 0x1.fep127F && qh_bf16_down(-3.4e38F) == -0x1.fep127F);
}
END_TEST

/* The advice for spmm covers every shape, and names ranges that are not empty. */
START_TEST(spmm_cut_is_usable)
{
    const int64_t sizes[] = {0, 1, 7, 3000, 200000};

    for (size_t i = 0; i < QH_COUNT(sizes); i++)
        for (int64_t degree = 0; degree <= 500; degree += 100)
            for (int64_t cols = 0; cols <= 602; cols += 43) {
                int64_t n = sizes[i], ptr_end = n * degree;
                int64_t *ptr = calloc((size_t)n + 1, sizeof *ptr);
                qh_spmm_cut cut;

                ck_assert_ptr_nonnull(ptr);
                ptr[n] = n ? ptr_end : 0;
                cut = qh_spmm_cut_of((qh_csr){.n_rows = n, .n_cols = n, .ptr = ptr}, cols);
                ck_assert(cut.rows >= 1);
                ck_assert(cut.cols == cols || (cut.cols > 0 && cut.cols % 16 == 0));
                free(ptr);
            }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("backend");
    TCase *t = tcase_create("backend");

    tcase_add_test(t, tables_are_found_by_name);
    tcase_add_test(t, every_entry_of_every_table_is_there);
    tcase_add_test(t, fast_is_the_first_that_runs);
    tcase_add_test(t, bf16_rounds_to_its_side);
    tcase_add_test(t, spmm_cut_is_usable);
    suite_add_tcase(s, t);
    return s;
}
