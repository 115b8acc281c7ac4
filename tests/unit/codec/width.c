/* Bytes of rows, width tables, and where rows of mixed widths stand. */
#include "src/base/mem.h"
#include "src/codec/codec.h"

#include "tests/support/support.h"

#include <string.h>

static const uint8_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};

START_TEST(row_bytes_are_the_formula)
{
    static const struct {
        int64_t n_cols;
        int width;
        qh_params_format params;
        int64_t bytes;
    } row[] = {{256, 8, QH_PARAMS_BF16, 260}, {256, 8, QH_PARAMS_FP32, 264},
               {256, 2, QH_PARAMS_BF16, 68},  {1, 1, QH_PARAMS_BF16, 5},
               {9, 1, QH_PARAMS_FP32, 10},    {3, 3, QH_PARAMS_BF16, 6},
               {7, 16, QH_PARAMS_BF16, 18},   {7, 32, QH_PARAMS_BF16, 28},
               {7, 32, QH_PARAMS_FP32, 28},   {0, 4, QH_PARAMS_FP32, 8}};

    for (size_t i = 0; i < QH_COUNT(row); i++)
        ck_assert_int_eq(qh_row_bytes(row[i].n_cols, row[i].width, row[i].params), row[i].bytes);
}
END_TEST

START_TEST(valid_widths)
{
    for (int w = -1; w < 40; w++)
        ck_assert_int_eq(qh_width_is_valid(w), w > 0 && memchr(widths, w, sizeof widths) != NULL);
}
END_TEST

START_TEST(tables_travel)
{
    for (int64_t n = 0; n < 40; n++) {
        uint8_t in[40], wire[21], out[41];
        int64_t bytes = qh_width_table_bytes(n);

        ck_assert_int_eq(bytes, (n + 1) / 2);
        for (int64_t i = 0; i < n; i++)
            in[i] = widths[(i * 7 + n) % 10];
        memset(wire, 0xa5, sizeof wire);
        memset(out, 0xa5, sizeof out);
        qh_width_table_pack(in, n, wire);
        ck_assert_int_eq(wire[bytes], 0xa5);
        ck_assert_int_eq(qh_width_table_unpack(wire, n, out), QH_OK);
        ck_assert(memcmp(in, out, (size_t)n) == 0 && out[n] == 0xa5);
    }
}
END_TEST

START_TEST(bad_codes_are_refused)
{
    for (unsigned code = 0; code < 16; code++) {
        uint8_t wire = (uint8_t)(1 | code << 4), out[2] = {77, 77};
        qh_status st = qh_width_table_unpack(&wire, 2, out);

        if (1 <= code && code <= 10) {
            ck_assert_int_eq(st, QH_OK);
        } else {
            ck_assert_int_eq(st, QH_EINTERNAL);
            ck_assert_ptr_nonnull(strstr(qh_error_text(), "message 1"));
            ck_assert(out[0] == 77 && out[1] == 77);
        }
    }
}
END_TEST

/* Rows by width, then by position; no gap, no overlap; params behind in the same order. */
START_TEST(index_orders_by_width_then_position)
{
    enum { N = 53 };
    static const qh_params_format formats[] = {QH_PARAMS_FP32, QH_PARAMS_BF16};

    for (int64_t n = 0; n <= N; n++)
        for (int64_t d = 1; d < 20; d += 3)
            for (size_t f = 0; f < 2; f++) {
                int64_t per_row = formats[f] == QH_PARAMS_FP32 ? 8 : 4, at = 0;
                uint8_t w[N];
                qh_block_index x;

                for (int64_t i = 0; i < n; i++)
                    w[i] = widths[(i * i + d) % 10];
                ck_assert_int_eq(qh_block_index_init(n, &x), QH_OK);
                qh_block_index_set(&x, d, w, formats[f]);
                ck_assert(x.n_rows == n && x.n_cols == d);
                for (int v = 1; v <= 32; v++)
                    for (int64_t i = 0; i < n; i++)
                        if (w[i] == v) {
                            ck_assert_int_eq(x.payload[i], at);
                            at += (d * v + 7) / 8;
                        }
                for (int v = 1; v < 32; v++)
                    for (int64_t i = 0; i < n; i++)
                        if (w[i] == v) {
                            ck_assert_int_eq(x.params[i], at);
                            at += per_row;
                        }
                ck_assert_int_eq(x.bytes, at);
                qh_block_index_fini(&x);
            }
}
END_TEST

START_TEST(index_without_memory)
{
    int64_t held = qh_mem_bytes();
    qh_block_index x = {.bytes = 77};

    for (int n = 1; n <= 2; n++) {
        qh_mem_fail_at(n);
        ck_assert_int_eq(qh_block_index_init(10, &x), QH_ERESOURCE);
        ck_assert(x.bytes == 77 && qh_mem_bytes() == held);
    }
    qh_mem_fail_at(0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("width");
    TCase *t = tcase_create("width");

    tcase_add_test(t, row_bytes_are_the_formula);
    tcase_add_test(t, valid_widths);
    tcase_add_test(t, tables_travel);
    tcase_add_test(t, bad_codes_are_refused);
    tcase_add_test(t, index_orders_by_width_then_position);
    tcase_add_test(t, index_without_memory);
    suite_add_tcase(s, t);
    return s;
}
