/* Some columns of a row, fast against ref, to the bit. */
#include "tests/parity/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xa5, ROOM = 16 };

/* Every s-th column from the last one down to 0 or above, rising. */
static int64_t every(int64_t n, int64_t s, int32_t *column)
{
    int64_t k = 0;

    for (int64_t c = (n - 1) % s; c < n; c += s)
        column[k++] = (int32_t)c;
    return k;
}

static void check_columns(int table, int64_t n, int64_t s)
{
    const qh_kernels *want = qh_kernels_list(0), *got = qh_kernels_list(table);
    size_t room = ((size_t)n + ROOM) * sizeof(float);
    float *a = malloc(room), *b = malloc(room), *back_a = malloc(room), *back_b = malloc(room);
    int32_t *column = malloc(room);
    qh_mat x = fixture_mat(1, n, (uint64_t)(n + s));
    int64_t k;

    ck_assert(a && b && back_a && back_b && column);
    k = n == 0 ? 0 : every(n, s, column);
    memset(a, GUARD, room);
    memset(b, GUARD, room);
    memset(back_a, GUARD, room);
    memset(back_b, GUARD, room);
    want->gather_cols(x.data, column, k, a);
    got->gather_cols(x.data, column, k, b);
    ck_assert_msg(memcmp(a, b, room) == 0, "gather of table %d: %lld of %lld", table, (long long)k,
                  (long long)n);
    for (int64_t i = 0; i < k; i++)
        ck_assert(a[i] == x.data[column[i]]);
    want->scatter_cols(a, column, k, 1.7F, n, back_a);
    got->scatter_cols(a, column, k, 1.7F, n, back_b);
    ck_assert_msg(memcmp(back_a, back_b, room) == 0, "scatter of table %d: %lld of %lld", table,
                  (long long)k, (long long)n);
    free(a);
    free(b);
    free(back_a);
    free(back_b);
    free(column);
    fixture_free(&x);
}

START_TEST(columns_are_the_same_to_the_bit)
{
    for (int64_t s = 1; s < 40; s = 2 * s + 1) {
        for (int64_t n = 0; n < 150; n++)
            check_columns(_i, n, s);
        for (int i = 0; i < n_fixture_cols; i++)
            check_columns(_i, fixture_cols[i], s);
    }
}
END_TEST

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Against a sort of the magnitudes; kind 1 has many equal ones, kind 2 only zeros of both signs. */
START_TEST(kth_magnitude_is_that_of_a_sort)
{
    for (int64_t n = 1; n < 200; n += n < 40 ? 1 : 7)
        for (int kind = 0; kind < 4; kind++) {
            qh_mat x = fixture_mat(1, n, (uint64_t)n);
            uint32_t *bits = malloc((size_t)n * sizeof *bits);

            ck_assert_ptr_nonnull(bits);
            for (int64_t i = 0; i < n; i++) {
                if (kind == 1)
                    x.data[i] = (float)(i * 7 % 5 - 2);
                if (kind == 2)
                    x.data[i] = i % 2 ? 0.0F : -0.0F;
                if (kind == 3)
                    x.data[i] *= i % 3 ? 3.4e38F : 1e-45F;
                memcpy(bits + i, x.data + i, sizeof *bits);
                bits[i] &= 0x7fffffff;
            }
            qsort(bits, (size_t)n, sizeof *bits, rising);
            for (int64_t k = 1; k <= n; k++)
                ck_assert_msg(qh_kernels_list(_i)->kth_magnitude(x.data, n, k) == bits[n - k],
                              "table %d, kind %d: number %lld of %lld", _i, kind, (long long)k,
                              (long long)n);
            free(bits);
            fixture_free(&x);
        }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("parity of columns");
    TCase *t = tcase_create("columns");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, columns_are_the_same_to_the_bit, 1, fixture_tables());
    tcase_add_loop_test(t, kth_magnitude_is_that_of_a_sort, 0, fixture_tables());
    suite_add_tcase(s, t);
    return s;
}
