/* LogGP by hand: L = 5 us, o = 2 us, g = 1 us, G = 1 ns a byte. */
#include "tests/support/program.h"
#include "tests/support/support.h"

static const char net[] = "model: loggp\nlatency: 5us\noverhead: 2us\ngap: 1us\nbandwidth: 1GB/s\n";

enum { US = 1000000 };

static outcome o;

/* o + (k - 1) G + L + o, Alexandrov et al. 1995. */
START_TEST(one_message_end_to_end)
{
    static const int64_t sizes[] = {1, 2, 1001, 65537};
    int64_t k = sizes[_i];
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_send(&p, 0, 1, k);
    program_recv(&p, 1, 0, k);
    program_wait(&p, 1);
    for (int d = 0; d < 2; d++)
        program_end(&p, d);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 2 * US); /* o on the compute stream */
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 2 * US);
    ck_assert_int_eq(o.now[1], 9 * US + (k - 1) * 1000);
    ck_assert_int_eq(o.sums[0][1].idle, 2 * US); /* until the sender has paid its o */
    program_fini(&p);
}
END_TEST

/* Three messages of 10001 bytes (10 us) from device 0 to 1, 2, 3. o is paid by 2, 4, 6 us; the port
 * takes them at 2, 13, 24 (10 us, and g = 1, after one another), they are there after 10 + 5, and
 * received after 2. */
START_TEST(messages_queue_for_the_port_of_the_sender)
{
    program p = {.n_devices = 4};

    program_at(0, 0, QH_FORWARD);
    for (int d = 1; d < 4; d++) {
        program_send(&p, 0, d, 10001);
        program_recv(&p, d, 0, 10001);
        program_wait(&p, d);
    }
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 6 * US);
    for (int d = 1; d < 4; d++)
        ck_assert_int_eq(o.now[d], (2 + 11 * (d - 1) + 17) * US);
    program_fini(&p);
}
END_TEST

/* Devices 1, 2, 3 send 10001 bytes to 0 at once: first bytes reach it at 2 + 5 = 7; the port takes
 * them at 7, 18, 29, they are there at 17, 28, 39, each received in 2 us. */
START_TEST(incast_queues_for_the_port_of_the_receiver)
{
    program p = {.n_devices = 4};

    program_at(0, 0, QH_FORWARD);
    for (int d = 1; d < 4; d++) {
        program_send(&p, d, 0, 10001);
        program_recv(&p, 0, d, 10001);
    }
    program_wait(&p, 0);
    for (int d = 0; d < 4; d++)
        program_end(&p, d);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 41 * US);
    ck_assert_int_eq(o.sums[0][0].idle, 2 * US);
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 39 * US);
    ck_assert_int_eq(o.sums[0][0].comm, 37 * US); /* 2..39 */
    program_fini(&p);
}
END_TEST

/* Two blocks are there before the device waits at 100 us: 2 o, exposed. */
START_TEST(what_came_before_the_wait_is_paid_in_it)
{
    program p = {.n_devices = 3};

    program_at(0, 0, QH_FORWARD);
    for (int d = 1; d < 3; d++) {
        program_send(&p, d, 0, 1);
        program_recv(&p, 0, d, 1);
    }
    program_compute(&p, 0, QH_OP_SPMM, 100 * US);
    program_wait(&p, 0);
    for (int d = 0; d < 3; d++)
        program_end(&p, d);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 104 * US);
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 4 * US);
    program_fini(&p);
}
END_TEST

/* Blocks of 1 byte reach device 0 at 7 and 19 us while it waits from 0 on. It pays o 7..9, then
 * nothing flies until device 2 sends at 12 + 2: idle 0..2 and 9..14, paying 7..9 and 19..21. */
START_TEST(overheads_are_paid_as_blocks_come)
{
    program p = {.n_devices = 3};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 2, QH_OP_SPMM, 12 * US);
    for (int d = 1; d < 3; d++) {
        program_send(&p, d, 0, 1);
        program_recv(&p, 0, d, 1);
    }
    program_wait(&p, 0);
    for (int d = 0; d < 3; d++)
        program_end(&p, d);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 21 * US);
    ck_assert_int_eq(o.sums[0][0].idle, 7 * US);
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 14 * US);
    program_fini(&p);
}
END_TEST

/* Two devices, chunks of 1001 bytes: 2 steps of o + 1 us + L + o. */
START_TEST(ring_pays_both_overheads_each_step)
{
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < 2; d++) {
        program_reduce(&p, d, 2002);
        program_end(&p, d);
    }
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 20 * US);
    ck_assert_int_eq(o.sums[0][0].allreduce, 20 * US);
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("closed: LogGP");
    TCase *t = tcase_create("loggp");

    tcase_add_loop_test(t, one_message_end_to_end, 0, 4);
    tcase_add_test(t, messages_queue_for_the_port_of_the_sender);
    tcase_add_test(t, incast_queues_for_the_port_of_the_receiver);
    tcase_add_test(t, what_came_before_the_wait_is_paid_in_it);
    tcase_add_test(t, overheads_are_paid_as_blocks_come);
    tcase_add_test(t, ring_pays_both_overheads_each_step);
    suite_add_tcase(s, t);
    return s;
}
