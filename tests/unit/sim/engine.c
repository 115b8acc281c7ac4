/* The engine: impossible records refused, deadlocks told, empty and odd programs. */
#include "tests/support/program.h"
#include "tests/support/support.h"

#include <string.h>

static const char net[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n";

enum { US = 1000000 };

static outcome o;

static void expect(const program *p, const run_options *options, const char *text)
{
    program_run(p, options, &o);
    ck_assert_int_eq(o.status, QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), text) != NULL, "'%s' lacks '%s'", qh_error_text(), text);
}

/* One odd record at device 1 of three, after one good one. */
static const struct {
    qh_record record;
    qh_exchange_order order;
    const char *error;
} bad[] = {
    {{.op = QH_OP_SEND, .peer = 3}, 0, "device 1, record 1 (send, epoch 0, layer 0, forward): pee"},
    {{.op = QH_OP_SEND, .peer = -1}, 0, "peer -1"},
    {{.op = QH_OP_RECV, .peer = 77}, 0, "peer 77"},
    {{.op = QH_OP_SEND, .peer = 1}, 0, "itself"},
    {{.op = QH_OP_RECV, .peer = 1}, 0, "itself"},
    {{.op = QH_OP_SEND, .peer = 0, .bytes = -1}, 0, "-1 bytes"},
    {{.op = QH_OP_GEMM, .bytes = -1}, 0, "-1 bytes"},
    {{.op = QH_OP_GEMM, .flops = -1}, 0, "negative"},
    {{.op = QH_OP_GEMM, .host_ns = -1}, 0, "negative"},
    {{.op = 0}, 0, "no operation 0"},
    {{.op = QH_OP_COUNT}, 0, "no operation"},
    {{.op = 255}, 0, "no operation 255"},
    {{.op = QH_OP_SEND, .peer = 0, .round = 0}, QH_EXCHANGE_ROUNDS, "round 0"},
    {{.op = QH_OP_RECV, .peer = 0, .round = 3}, QH_EXCHANGE_ROUNDS, "rounds go from 1 to 2"},
    {{.op = QH_OP_GEMM, .flops = INT64_MAX}, 0, "106 days"},
    {{.op = QH_OP_SEND, .peer = 0, .bytes = INT64_MAX}, 0, "106 days"},
};

START_TEST(impossible_records)
{
    program p = {.n_devices = 3};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 1, QH_OP_SPMM, INT64_C(5000000000000000000));
    ck_assert_int_eq(qh_record_list_add(&p.device[1], &bad[_i].record), QH_OK);
    expect(&p, &(run_options){.net = net, .order = bad[_i].order}, bad[_i].error);
    program_fini(&p);
}
END_TEST

START_TEST(sizes_that_differ)
{
    for (int late = 0; late < 2; late++) {
        program p = {.n_devices = 2};

        program_at(4, 2, QH_BACKWARD);
        program_compute(&p, late, QH_OP_SPMM, US);
        program_send(&p, 0, 1, 100);
        program_recv(&p, 1, 0, 101);
        expect(&p, &(run_options){.net = net},
               late
                   ? "device 1, record 1 (recv, epoch 4, layer 2, backward): 101 bytes from device "
                     "0 to device 1, where the other side has 100"
                   : "device 0, record 1 (send, epoch 4, layer 2, backward): 100 bytes");
        program_fini(&p);
    }
}
END_TEST

START_TEST(all_reduces_and_epochs_that_differ)
{
    program p = {.n_devices = 2}, q = {.n_devices = 2};

    program_at(1, 0, QH_FORWARD);
    program_reduce(&p, 0, 64);
    program_reduce(&p, 1, 65);
    expect(&p, &(run_options){.net = net}, "65 bytes, where the other devices have 64");
    program_end(&q, 0);
    program_at(2, 0, QH_FORWARD);
    program_end(&q, 1);
    expect(&q, &(run_options){.net = net}, "ends epoch 2, where the other devices end epoch 1");
    program_fini(&q);
    program_fini(&p);
}
END_TEST

START_TEST(a_ring_of_waits_is_told)
{
    program p = {.n_devices = 3};

    program_at(3, 1, QH_FORWARD);
    for (int d = 0; d < 3; d++) { /* each sends only after it has received */
        program_recv(&p, d, (d + 2) % 3, 10);
        program_wait(&p, d);
        program_send(&p, d, (d + 1) % 3, 10);
    }
    expect(&p, &(run_options){.net = net},
           "deadlock: device 0 waits for device 2 (epoch 3, layer 1, forward); device 1 waits for "
           "device 0 (epoch 3, layer 1, forward); device 2 waits for device 1");
    program_fini(&p);
}
END_TEST

START_TEST(a_missing_device_is_told)
{
    program p = {.n_devices = 16};

    program_at(7, 0, QH_FORWARD);
    for (int d = 0; d < 16; d++)
        if (d != 5)
            program_reduce(&p, d, 1000);
    expect(&p, &(run_options){.net = net}, "deadlock: device 0 waits for device 15 (epoch 7, all-");
    ck_assert_msg(strstr(qh_error_text(), "more devices") != NULL, "%s", qh_error_text());
    program_fini(&p);
}
END_TEST

START_TEST(halves_of_blocks_are_refused)
{
    program p = {.n_devices = 2}, q = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_send(&p, 0, 1, 5);
    expect(&p, &(run_options){.net = net}, "device 1: has no receive for 5 bytes that device 0");
    program_recv(&q, 0, 1, 5);
    expect(&q, &(run_options){.net = net}, "device 1: sends nothing for a receive of 5 bytes");
    program_fini(&q);
    program_fini(&p);
}
END_TEST

START_TEST(empty_programs)
{
    static const int n_devices[] = {1, 2, 16};

    for (size_t i = 0; i < QH_COUNT(n_devices); i++) {
        program p = {.n_devices = n_devices[i]};

        program_run(&p, &(run_options){.net = net}, &o);
        ck_assert_int_eq(o.status, QH_OK);
        ck_assert_int_eq(o.now[0], 0);
        ck_assert_int_eq(o.n_epochs, 0);
        program_at(0, 0, QH_FORWARD);
        for (int d = 0; d < p.n_devices; d++) {
            program_wait(&p, d); /* for nothing */
            program_end(&p, d);
        }
        program_run(&p, &(run_options){.net = net, .intervals = 1}, &o);
        ck_assert_int_eq(o.status, QH_OK);
        ck_assert_int_eq(o.n_epochs, 1);
        ck_assert_int_eq(o.epoch[0].end, 0);
        ck_assert_int_eq(o.n_intervals, n_devices[i]);
        program_fini(&p);
    }
}
END_TEST

START_TEST(blocks_may_overtake_and_be_early)
{
    /* A large block and then a small one on one channel; the receives are posted when both have
     * come. The first RECV meets the first SEND. */
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_send(&p, 0, 1, 50000); /* 0..55 us */
    program_at(0, 1, QH_FORWARD);
    program_send(&p, 0, 1, 0); /* 0..5 us */
    program_compute(&p, 1, QH_OP_SPMM, 10 * US);
    program_at(0, 0, QH_FORWARD);
    program_recv(&p, 1, 0, 50000);
    program_at(0, 1, QH_FORWARD);
    program_recv(&p, 1, 0, 0);
    program_wait(&p, 1); /* the small one is there */
    program_end(&p, 1);
    program_at(0, 0, QH_FORWARD);
    program_wait(&p, 1);
    program_end(&p, 1);
    for (int i = 0; i < 2; i++)
        program_end(&p, 0);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.sums[0][1].total, 10 * US);
    ck_assert_int_eq(o.sums[0][1].comm, 10 * US);
    ck_assert_int_eq(o.sums[1][1].exposed_comm, 45 * US);
    program_fini(&p);
}
END_TEST

START_TEST(a_fast_device_may_be_many_epochs_ahead)
{
    program p = {.n_devices = 2};

    for (int t = 0; t < 23; t++)
        for (int d = 0; d < 2; d++) {
            program_at(t, 0, QH_FORWARD);
            program_compute(&p, d, QH_OP_SPMM, d ? 1000 * US : (t + 1) * US);
            program_end(&p, d);
        }
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.n_epochs, 23);
    for (int t = 0; t < 23; t++) {
        ck_assert_int_eq(o.epoch[t].epoch, t);
        ck_assert_int_eq(o.epoch[t].start, (qh_time)t * 1000 * US);
        ck_assert_int_eq(o.epoch[t].end, (qh_time)(t + 1) * 1000 * US);
        ck_assert_int_eq(o.sums[t][0].compute, (t + 1) * US);
        ck_assert_int_eq(o.sums[t][1].compute, 1000 * US);
    }
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("engine");
    TCase *t = tcase_create("engine");

    tcase_add_loop_test(t, impossible_records, 0, (int)QH_COUNT(bad));
    tcase_add_test(t, sizes_that_differ);
    tcase_add_test(t, all_reduces_and_epochs_that_differ);
    tcase_add_test(t, a_ring_of_waits_is_told);
    tcase_add_test(t, a_missing_device_is_told);
    tcase_add_test(t, halves_of_blocks_are_refused);
    tcase_add_test(t, empty_programs);
    tcase_add_test(t, blocks_may_overtake_and_be_early);
    tcase_add_test(t, a_fast_device_may_be_many_epochs_ahead);
    suite_add_tcase(s, t);
    return s;
}
