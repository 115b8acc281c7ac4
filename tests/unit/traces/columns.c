/* Records to columns and back, whatever their fields, and bytes that are no columns. */
#include "traces/columns.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/records.h"
#include "tests/support/support.h"
#include "traces/format.h"

#include <string.h>

static uint64_t value[QH_TRACE_MAX_RECORDS];
static qh_record in[QH_TRACE_MAX_RECORDS], out[QH_TRACE_MAX_RECORDS];

static const int sizes[] = {0, 1, 2, 7, 127, 128, 129, 1009, QH_TRACE_MAX_RECORDS};
static const int devices[] = {1, 2, 3, 64, 4096};

START_TEST(there_and_back)
{
    int n = sizes[_i % (int)QH_COUNT(sizes)], n_devices = devices[_i / (int)QH_COUNT(sizes)];
    qh_columns_scope s = {.device = n_devices / 2, .n_devices = n_devices, .epoch = 1000000};
    qh_bytes b = {0};

    for (int wild = 0; wild < 2; wild++) {
        for (int i = 0; i < n; i++)
            in[i] = records_draw((uint64_t)_i, s.device, n_devices, s.epoch, i, wild);
        b.n = 0;
        ck_assert_int_eq(qh_columns_put(&s, in, n, value, &b), QH_OK);
        memset(out, 0x5a, sizeof out);
        ck_assert_ptr_null(qh_columns_get(&s, b.data, b.n, n, value, out));
        for (int i = 0; i < n; i++)
            ck_assert_msg(records_same(&in[i], &out[i]), "record %d of %d", i, n);
    }
    qh_bytes_fini(&b);
}
END_TEST

/* Any end is found. */
START_TEST(cut_anywhere)
{
    qh_columns_scope s = {.device = 1, .n_devices = 4, .epoch = 3};
    enum { N = 50 };
    qh_bytes b = {0};

    for (int i = 0; i < N; i++)
        in[i] = records_draw(5, s.device, s.n_devices, s.epoch, i, true);
    ck_assert_int_eq(qh_columns_put(&s, in, N, value, &b), QH_OK);
    for (int64_t size = 0; size < b.n; size++) {
        uint8_t *copy = NULL; /* of its own size, so that a read too far is seen */

        ck_assert_int_eq(QH_NEW_ARRAY(&copy, size), QH_OK);
        memcpy(copy, b.data, (size_t)size);
        ck_assert_ptr_nonnull(qh_columns_get(&s, copy, size, N, value, out));
        qh_mem_free(copy);
    }
    ck_assert_int_eq(qh_bytes_reserve(&b, 1), QH_OK);
    b.data[b.n] = 0;
    ck_assert_ptr_nonnull(qh_columns_get(&s, b.data, b.n + 1, N, value, out));
    qh_bytes_fini(&b);
}
END_TEST

/* Bytes that say anything: fields stay in range or it is refused. */
START_TEST(any_bytes)
{
    qh_key key = qh_rand_key((uint64_t)_i, QH_RAND_SAMPLE, 0, 0, 0);
    qh_columns_scope s = {.device = 0, .n_devices = 3, .epoch = 0};
    uint8_t bytes[300];

    for (int round = 0; round < 300; round++) {
        int64_t size = (int64_t)qh_rand_below(key, (uint64_t)round * 1000, sizeof bytes);
        const char *wrong;

        for (int64_t i = 0; i < size; i++) {
            uint64_t at = (uint64_t)round * 1000 + 1 + (uint64_t)i;

            bytes[i] = (uint8_t)qh_rand_below(key, at, round % 2 ? 256 : 4);
        }
        wrong = qh_columns_get(&s, bytes, size, 5, value, out);
        for (int i = 0; i < 5 && !wrong; i++) {
            ck_assert(out[i].op > 0 && out[i].op < QH_OP_COUNT &&
                      out[i].direction <= QH_ASSIGNMENT);
            ck_assert(out[i].peer >= -1 && out[i].peer < 3 && out[i].bytes >= 0);
        }
    }
}
END_TEST

/* What a small run leaves is mostly foretold. */
START_TEST(regular_records_are_short)
{
    qh_columns_scope s = {.device = 2, .n_devices = 8, .epoch = 9};
    qh_bytes b = {0};
    int n = 0;

    for (int r = 1; r < 8; r++)
        for (int recv = 0; recv < 2; recv++) {
            in[n] = (qh_record){.op = recv ? QH_OP_RECV : QH_OP_SEND,
                                .epoch = 9,
                                .layer = 1,
                                .peer = (recv ? 2 - r + 8 : 2 + r) % 8,
                                .round = r,
                                .bytes = 100};
            if (!recv)
                in[n].messages[7] = 10;
            n++;
        }
    ck_assert_int_eq(qh_columns_put(&s, in, n, value, &b), QH_OK);
    ck_assert_int_le(b.n, 18 + 4 * n); /* op, layer, bytes and messages; all else is one byte */
    qh_bytes_fini(&b);
}
END_TEST

START_TEST(varints)
{
    static const uint64_t v[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    uint8_t bytes[QH_TRACE_MAX_VARINT];
    const uint8_t *from;
    uint64_t got;

    for (size_t i = 0; i < QH_COUNT(v); i++) {
        int n = qh_varint_put(bytes, v[i]);

        from = bytes;
        ck_assert(qh_varint_get(&from, bytes + n, &got));
        ck_assert_uint_eq(got, v[i]);
        ck_assert_ptr_eq(from, bytes + n);
        from = bytes;
        ck_assert(!qh_varint_get(&from, bytes + n - 1, &got));
        ck_assert_int_eq(qh_unzigzag(qh_zigzag((int64_t)v[i])), (int64_t)v[i]);
    }
    from = too_long;
    ck_assert(!qh_varint_get(&from, too_long + sizeof too_long, &got));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("columns");
    TCase *t = tcase_create("columns");

    tcase_add_loop_test(t, there_and_back, 0, (int)(QH_COUNT(sizes) * QH_COUNT(devices)));
    tcase_add_test(t, cut_anywhere);
    tcase_add_loop_test(t, any_bytes, 0, 8);
    tcase_add_test(t, regular_records_are_short);
    tcase_add_test(t, varints);
    suite_add_tcase(s, t);
    return s;
}
