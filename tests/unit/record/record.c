#include "src/record/record.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <string.h>

START_TEST(every_operation_and_width_has_its_name)
{
    for (int op = 1; op < QH_OP_COUNT; op++) {
        ck_assert_str_ne(qh_op_name(op), "unknown");
        for (int other = 1; other < op; other++)
            ck_assert_str_ne(qh_op_name(op), qh_op_name(other));
    }
    ck_assert_str_eq(qh_op_name(0), "unknown");
    ck_assert_str_eq(qh_op_name(QH_OP_COUNT), "unknown");
    ck_assert_str_eq(qh_direction_name(QH_FORWARD), "forward");
    ck_assert_str_eq(qh_direction_name(QH_BACKWARD), "backward");
    for (int i = 0; i < QH_N_WIDTHS; i++) {
        ck_assert_int_eq(qh_width_index(qh_width_of_index[i]), i);
        ck_assert(i == 0 || qh_width_of_index[i] > qh_width_of_index[i - 1]);
    }
    ck_assert_int_eq(qh_width_index(0), -1);
    ck_assert_int_eq(qh_width_index(9), -1);
}
END_TEST

static const int64_t lengths[] = {0, 1, 255, 256, 257, 1009};

START_TEST(lists_keep_what_they_are_given)
{
    qh_record_list list = {0};
    int64_t held = qh_mem_bytes();

    for (int64_t i = 0; i < lengths[_i]; i++)
        ck_assert_int_eq(qh_record_list_add(&list, &(qh_record){.op = QH_OP_SEND, .bytes = i}),
                         QH_OK);
    ck_assert_int_eq(list.n, lengths[_i]);
    for (int64_t i = 0; i < list.n; i++)
        ck_assert_int_eq(list.item[i].bytes, i);
    qh_record_list_fini(&list);
    qh_record_list_fini(&list);
    ck_assert_int_eq(qh_mem_bytes(), held);
}
END_TEST

START_TEST(a_list_survives_want_of_memory)
{
    qh_record_list list = {0};

    qh_mem_fail_at(2);
    for (int64_t i = 0; i < 256; i++)
        ck_assert_int_eq(qh_record_list_add(&list, &(qh_record){.bytes = i}), QH_OK);
    ck_assert_int_eq(qh_record_list_add(&list, &(qh_record){.bytes = 256}), QH_ERESOURCE);
    ck_assert_int_eq(list.n, 256);
    ck_assert_int_eq(qh_record_list_add(&list, &(qh_record){.bytes = 256}), QH_OK);
    ck_assert_int_eq(list.item[255].bytes, 255);
    qh_record_list_fini(&list);
}
END_TEST

START_TEST(the_null_sink_takes_all)
{
    int stop = 0;

    qh_sink_null.emit(&qh_sink_null, 0, &(qh_record){0});
    ck_assert_int_eq(qh_sink_null.end_epoch(&qh_sink_null, 0, &(qh_epoch_metrics){0}, &stop),
                     QH_OK);
    ck_assert_int_eq(stop, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("record");
    TCase *t = tcase_create("record");

    tcase_add_test(t, every_operation_and_width_has_its_name);
    tcase_add_loop_test(t, lists_keep_what_they_are_given, 0, QH_COUNT(lengths));
    tcase_add_test(t, a_list_survives_want_of_memory);
    tcase_add_test(t, the_null_sink_takes_all);
    suite_add_tcase(s, t);
    return s;
}
