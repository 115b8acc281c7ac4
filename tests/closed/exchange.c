/* Exchanges over alpha-beta by hand. alpha = 5 us, beta = 1 GB/s: 1000 bytes travel for 1 us. */
#include "tests/support/program.h"
#include "tests/support/support.h"

static const char net[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n";
static const char staged[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\nstaging: true\n";

enum { US = 1000000 };

static outcome o;

/* compute before, exchange of bytes with everybody, central compute, wait, compute after. */
static void one_epoch(program *p, int64_t bytes, qh_time before, qh_time central, qh_time after)
{
    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < p->n_devices; d++) {
        program_compute(p, d, QH_OP_QUANTIZE, before);
        program_exchange(p, d, bytes);
        program_compute(p, d, QH_OP_SPMM, central);
        program_wait(p, d);
        program_compute(p, d, QH_OP_GEMM, after);
        program_end(p, d);
    }
}

/* Device 0 computes 10 us first; then everybody exchanges 1000 bytes with everybody. */
static void late_device(program *p)
{
    program_at(0, 1, QH_BACKWARD);
    program_compute(p, 0, QH_OP_GEMM, 10 * US);
    for (int d = 0; d < p->n_devices; d++) {
        program_exchange(p, d, 1000);
        program_wait(p, d);
        program_end(p, d);
    }
}

static const int n_devices_of[] = {2, 3, 8, 13};
static const int64_t bytes_of[] = {0, 1000, 7000};
static const qh_time central_of[] = {0, 3 * US, 6 * US, 20 * US};

/* The exchange takes alpha + bytes / beta whatever N is, since nothing is shared; central work
 * hides min(exchange, central) of it. */
START_TEST(all_to_all_and_overlap)
{
    program p = {.n_devices = n_devices_of[_i / 12]};
    int64_t bytes = bytes_of[_i / 4 % 3];
    qh_time central = central_of[_i % 4], comm = 5 * US + bytes * 1000;
    qh_time exposed = comm > central ? comm - central : 0;
    const qh_breakdown *b = &o.sums[0][p.n_devices - 1];

    one_epoch(&p, bytes, 2 * US, central, 4 * US);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.n_epochs, 1);
    ck_assert_int_eq(b->total, 6 * US + central + exposed);
    ck_assert_int_eq(b->comm, comm);
    ck_assert_int_eq(b->exposed_comm, exposed);
    ck_assert_int_eq(b->idle, 0);
    ck_assert_int_eq(b->quantize, 2 * US);
    ck_assert_int_eq(b->compute, central + 4 * US);
    program_fini(&p);
}
END_TEST

/* N - 1 rounds of alpha + bytes / beta each, all devices being alike. */
START_TEST(rounds_go_one_after_the_other)
{
    program p = {.n_devices = n_devices_of[_i]};
    qh_time want = (qh_time)(p.n_devices - 1) * 7 * US;

    one_epoch(&p, 2000, 0, 0, 0);
    program_run(&p, &(run_options){.net = net, .order = QH_EXCHANGE_ROUNDS}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.sums[0][0].total, want);
    ck_assert_int_eq(o.sums[0][0].exposed_comm, want);
    program_fini(&p);
}
END_TEST

/* Device 0 of three comes at 10 us; blocks take 6 us. Device 1 sends to 2 in round 1 (0..6) and
 * receives from 0 (10..16), so its round 2 (to 0) goes 16..22. Device 2 receives from 1 by 6 and
 * sends to 0 (0..6): its round 2 (to 1) goes 6..12. Device 0: round 1 to 1 (10..16), from 2 there
 * since 6; round 2 to 2 (16..22). */
START_TEST(a_late_device_holds_up_a_round)
{
    program p = {.n_devices = 3};

    late_device(&p);
    program_run(&p, &(run_options){.net = net, .order = QH_EXCHANGE_ROUNDS}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[0], 22 * US);
    ck_assert_int_eq(o.now[1], 16 * US); /* from 0 at 16, from 2 at 12 */
    ck_assert_int_eq(o.now[2], 22 * US); /* from 1 at 6, from 0 at 22 */
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 6 * US);
    ck_assert_int_eq(o.sums[0][0].idle, 6 * US); /* until device 1 begins its round 2 */
    program_fini(&p);
}
END_TEST

/* Devices 1 and 2 wait from 0 on. Their blocks from each other fly 0..6, nothing flies 6..10,
 * device 0's fly 10..16. */
START_TEST(waiting_for_a_slow_device_is_idle)
{
    program p = {.n_devices = 3};

    late_device(&p);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    for (int d = 1; d < 3; d++) {
        ck_assert_int_eq(o.sums[0][d].total, 16 * US);
        ck_assert_int_eq(o.sums[0][d].exposed_comm, 12 * US);
        ck_assert_int_eq(o.sums[0][d].idle, 4 * US);
        ck_assert_int_eq(o.sums[0][d].comm, 12 * US);
    }
    ck_assert_int_eq(o.sums[0][0].total, 10 * US); /* everything is there when it comes */
    ck_assert_int_eq(o.sums[0][0].exposed_comm, 0);
    ck_assert_int_eq(o.sums[0][0].comm, 6 * US);
    ck_assert_int_eq(o.epoch[0].end, 16 * US);
    program_fini(&p);
}
END_TEST

/* Host copies at 1 GB/s: 1000 bytes 1 us. Two devices: copy, flow, copy. Four: the three copies out
 * of a device follow one another, so its blocks leave at 1, 2, 3 us, reach the others at 7, 8, 9,
 * and are copied in by 8, 9, 10. */
START_TEST(staging_copies_before_and_after)
{
    static const struct {
        int n_devices;
        qh_time end;
    } row[] = {{2, 8 * US}, {4, 10 * US}};

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        program p = {.n_devices = row[i].n_devices};

        one_epoch(&p, 1000, 0, 0, 0);
        program_run(&p, &(run_options){.net = staged}, &o);
        ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
        for (int d = 0; d < p.n_devices; d++) {
            ck_assert_int_eq(o.sums[0][d].total, row[i].end);
            ck_assert_int_eq(o.sums[0][d].exposed_comm, row[i].end);
            ck_assert_int_eq(o.sums[0][d].comm, row[i].end);
        }
        program_fini(&p);
    }
}
END_TEST

/* The blocks of epoch t (9 us) are waited for in epoch t + 1, after 10 us of work: nothing is
 * exposed but in the last wait: 25 us of travel, of which 10 lie behind epoch 3's work. */
START_TEST(one_epoch_stale)
{
    program p = {.n_devices = 2};

    for (int t = 0; t <= 4; t++)
        for (int d = 0; d < 2; d++) {
            program_at(t, 0, QH_FORWARD);
            if (t < 4) {
                program_exchange(&p, d, t == 3 ? 20000 : 4000);
                program_compute(&p, d, QH_OP_SPMM, 10 * US);
            }
            program_at(t - 1, 0, QH_FORWARD);
            program_wait(&p, d);
            program_at(t, 0, QH_FORWARD);
            program_end(&p, d);
        }
    program_run(&p, &(run_options){.net = net, .feed = FEED_EPOCHS}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.n_epochs, 5);
    for (int t = 0; t < 4; t++) {
        ck_assert_int_eq(o.sums[t][0].total, 10 * US);
        ck_assert_int_eq(o.sums[t][0].exposed_comm, 0);
        ck_assert_int_eq(o.sums[t][0].comm, t == 3 ? 10 * US : 9 * US);
    }
    ck_assert_int_eq(o.sums[4][1].exposed_comm, 15 * US);
    ck_assert_int_eq(o.sums[4][1].comm, 15 * US);
    ck_assert_int_eq(o.epoch[4].end, 55 * US);
    program_fini(&p);
}
END_TEST

/* launch 2 us; 4e6 flops at 1e12 * 0.5 = 8 us against 3e5 bytes at 1e11 * 0.5 = 6 us. */
START_TEST(roofline_through_the_engine)
{
    static const char acc[] = "peak: 1TFLOP/s\nmemory_bandwidth: 100GB/s\nlaunch: 2us\n"
                              "efficiency: {spmm: 0.5, gemm: 0.5, elementwise: 0.5, loss: 0.5, "
                              "optimizer: 0.5, quantize: 0.5, dequantize: 0.5, assign: 0.5}\n";
    program p = {.n_devices = 1};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 0, QH_OP_GEMM, 4000000);
    p.device[0].item[0].bytes = 300000;
    program_compute(&p, 0, QH_OP_DEQUANTIZE, 0);
    program_end(&p, 0);
    program_run(&p, &(run_options){.accelerator = acc}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.sums[0][0].compute, 10 * US);
    ck_assert_int_eq(o.sums[0][0].dequantize, 2 * US);
    ck_assert_int_eq(o.now[0], 12 * US);
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("closed: exchange");
    TCase *t = tcase_create("exchange");

    tcase_add_loop_test(t, all_to_all_and_overlap, 0, 4 * 3 * 4);
    tcase_add_loop_test(t, rounds_go_one_after_the_other, 0, 4);
    tcase_add_test(t, a_late_device_holds_up_a_round);
    tcase_add_test(t, waiting_for_a_slow_device_is_idle);
    tcase_add_test(t, staging_copies_before_and_after);
    tcase_add_test(t, one_epoch_stale);
    tcase_add_test(t, roofline_through_the_engine);
    suite_add_tcase(s, t);
    return s;
}
