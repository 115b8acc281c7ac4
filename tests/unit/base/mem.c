#include "src/base/mem.h"

#include "tests/support/support.h"

#include <string.h>

static const int64_t counts[] = {0, 1, 63, 64, 65, (4 << 20) - 1, 4 << 20, (4 << 20) + 1};

START_TEST(blocks_are_zero_aligned_and_counted)
{
    int64_t n = counts[_i], held = qh_mem_bytes(), made = qh_mem_count(), wrong = 0;
    unsigned char *p = NULL;

    ck_assert_int_eq(QH_NEW_ARRAY(&p, n), QH_OK);
    ck_assert_uint_eq((uintptr_t)p % (n >= 4 << 20 ? 2 << 20 : 64), 0);
    ck_assert_int_eq(qh_mem_bytes(), held + n);
    ck_assert_int_ge(qh_mem_peak_bytes(), held + n);
    ck_assert_int_eq(qh_mem_count(), made + 1);
    for (int64_t i = 0; i < n; i++)
        wrong += p[i] != 0;
    for (int64_t i = 0; i < n; i++)
        p[i] = 0xa5;
    ck_assert_int_eq(QH_RESIZE(&p, n, n + 5), QH_OK);
    for (int64_t i = 0; i < n + 5; i++)
        wrong += p[i] != (i < n ? 0xa5 : 0);
    ck_assert_int_eq(wrong, 0);
    ck_assert_int_eq(QH_RESIZE(&p, n + 5, n / 2), QH_OK);
    ck_assert_int_eq(qh_mem_bytes(), held + n / 2);
    qh_mem_free(p);
    qh_mem_free(NULL);
    ck_assert_int_eq(qh_mem_bytes(), held);
}
END_TEST

static const struct {
    int64_t count;
    size_t size;
} impossible[] = {
    {-1, 1}, {INT64_MAX, 1}, {INT64_MAX, 8}, {INT64_C(1) << 62, 4}, {3, SIZE_MAX / 2}};

START_TEST(what_cannot_be_had_is_refused)
{
    void *p = NULL;

    ck_assert_int_eq(qh_mem_alloc(&p, impossible[_i].count, impossible[_i].size), QH_ERESOURCE);
    ck_assert_ptr_null(p);
    ck_assert_str_ne(qh_error_text(), "");
}
END_TEST

START_TEST(the_nth_allocation_fails_once)
{
    char *p = NULL, *q = NULL, *r = NULL;

    qh_mem_fail_at(2);
    ck_assert_int_eq(QH_NEW(&p), QH_OK);
    ck_assert_int_eq(qh_mem_strdup("text", &q), QH_ERESOURCE);
    ck_assert_ptr_null(q);
    ck_assert_int_eq(qh_mem_strdup("text", &r), QH_OK);
    ck_assert_str_eq(r, "text");
    qh_mem_fail_at(1);
    ck_assert_int_eq(QH_RESIZE(&r, 5, 50), QH_ERESOURCE);
    ck_assert_str_eq(r, "text");
    qh_mem_free(p);
    qh_mem_free(r);
}
END_TEST

START_TEST(room_is_asked_for_and_not_kept)
{
    int64_t held = qh_mem_bytes();

    ck_assert_int_eq(qh_mem_check_room(0, "nothing"), QH_OK);
    ck_assert_int_eq(qh_mem_check_room(1, "a byte"), QH_OK);
    ck_assert_int_eq(qh_mem_check_room(INT64_C(1) << 62, "the moon"), QH_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "4611686018427387904 bytes"));
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "the moon"));
    qh_mem_fail_at(1);
    ck_assert_int_eq(qh_mem_check_room(1, "a byte"), QH_ERESOURCE);
    ck_assert_int_eq(qh_mem_bytes(), held);
}
END_TEST

/* Lengths of a name around the limit of an error text. */
static const int name_bytes[] = {0, 1, 1000, 1002, 1003, 1004, 1005, 5000, 16000, 40000};

START_TEST(a_long_error_text_keeps_both_ends)
{
    static char name[40001];
    int n = name_bytes[_i];
    const char *text;

    memset(name, 'x', (size_t)n);
    name[n] = '\0';
    ck_assert_int_eq(qh_fail(QH_EINPUT, "%s: what; the end of it", name), QH_EINPUT);
    text = qh_error_text();
    ck_assert_uint_lt(strlen(text), QH_ERROR_TEXT_BYTES);
    ck_assert(n == 0 || text[0] == 'x');
    if (n <= 16000)
        ck_assert_str_eq(text + strlen(text) - 21, ": what; the end of it");
    if (n + 21 < QH_ERROR_TEXT_BYTES)
        ck_assert_uint_eq(strlen(text), (size_t)n + 21);
    else
        ck_assert_uint_eq(strlen(text), QH_ERROR_TEXT_BYTES - 1);
    /* The old text may be part of the new one. */
    ck_assert_int_eq(qh_fail(QH_EINPUT, "again: %.100s", qh_error_text()), QH_EINPUT);
    ck_assert_int_eq(strncmp(qh_error_text(), "again: ", 7), 0);
}
END_TEST

static const struct {
    int64_t rows, cols, ld;
} shapes[] = {{0, 0, 0},   {0, 5, 16},  {3, 1, 16},    {3, 16, 16},  {3, 17, 48},
              {2, 33, 48}, {2, 64, 80}, {2, 256, 272}, {1, 100, 112}};

START_TEST(rows_lie_an_odd_number_of_lines_apart)
{
    qh_mat m;

    ck_assert_int_eq(qh_mat_new(shapes[_i].rows, shapes[_i].cols, &m), QH_OK);
    ck_assert(m.rows == shapes[_i].rows && m.cols == shapes[_i].cols);
    ck_assert_int_eq(m.ld, shapes[_i].ld);
    for (int64_t r = 0; r < m.rows; r++)
        for (int64_t c = 0; c < m.ld; c++)
            ck_assert(qh_mat_row(m, r)[c] == 0);
    qh_mat_free(&m);
    ck_assert_ptr_null(m.data);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("mem");
    TCase *t = tcase_create("mem");

    tcase_add_loop_test(t, blocks_are_zero_aligned_and_counted, 0, QH_COUNT(counts));
    tcase_add_loop_test(t, what_cannot_be_had_is_refused, 0, QH_COUNT(impossible));
    tcase_add_test(t, the_nth_allocation_fails_once);
    tcase_add_test(t, room_is_asked_for_and_not_kept);
    tcase_add_loop_test(t, a_long_error_text_keeps_both_ends, 0, QH_COUNT(name_bytes));
    tcase_add_loop_test(t, rows_lie_an_odd_number_of_lines_apart, 0, QH_COUNT(shapes));
    suite_add_tcase(s, t);
    return s;
}
