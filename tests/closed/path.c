/* Critical paths that can be seen by eye. */
#include "tests/support/program.h"
#include "tests/support/support.h"

enum { US = 1000000 };

/* A block of b bytes takes 5 us + b ns. */
static const char net[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n";

static void expect(const program *p, qh_exchange_order order, qh_time compute, qh_time codec,
                   qh_time transfer, qh_time allreduce)
{
    static outcome o;

    program_run(p, &(run_options){.net = net, .order = order, .path = true}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.path.part[QH_PATH_COMPUTE], compute);
    ck_assert_int_eq(o.path.part[QH_PATH_CODEC], codec);
    ck_assert_int_eq(o.path.part[QH_PATH_TRANSFER], transfer);
    ck_assert_int_eq(o.path.part[QH_PATH_ALLREDUCE], allreduce);
}

/* Device 1 waits for device 0's block: its own computing is not on the path. */
START_TEST(through_another_device)
{
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 0, QH_OP_SPMM, 7 * US);
    program_compute(&p, 0, QH_OP_QUANTIZE, 2 * US);
    program_send(&p, 0, 1, 1000);
    program_end(&p, 0);
    program_recv(&p, 1, 0, 1000);
    program_compute(&p, 1, QH_OP_SPMM, 10 * US);
    program_wait(&p, 1);
    program_compute(&p, 1, QH_OP_DEQUANTIZE, 3 * US);
    program_end(&p, 1);
    expect(&p, QH_EXCHANGE_POSTED, 7 * US, 5 * US, 6 * US, 0);
    program_fini(&p);
}
END_TEST

/* It computes for so long that the block is there: only its own computing is. */
START_TEST(hidden_transfer)
{
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 0, QH_OP_SPMM, 7 * US);
    program_send(&p, 0, 1, 1000);
    program_end(&p, 0);
    program_recv(&p, 1, 0, 1000);
    program_compute(&p, 1, QH_OP_SPMM, 20 * US);
    program_wait(&p, 1);
    program_compute(&p, 1, QH_OP_DEQUANTIZE, 3 * US);
    program_end(&p, 1);
    expect(&p, QH_EXCHANGE_POSTED, 20 * US, 3 * US, 0, 0);
    program_fini(&p);
}
END_TEST

/* The all-reduce begins when the slow device comes: 2 (N - 1) steps of 5 us + a third of 3000. */
START_TEST(the_slow_device)
{
    program p = {.n_devices = 3};

    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < 3; d++) {
        program_compute(&p, d, QH_OP_GEMM, d == 1 ? 50 * US : 10 * US);
        program_reduce(&p, d, 3000);
        program_end(&p, d);
    }
    expect(&p, QH_EXCHANGE_POSTED, 50 * US, 0, 0, 4 * 6 * US);
    program_fini(&p);
}
END_TEST

/* In rounds a block waits for the block of the round before it: both are on the path. */
START_TEST(round_after_round)
{
    program p = {.n_devices = 3};

    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < 3; d++) {
        program_compute(&p, d, QH_OP_GEMM, 4 * US);
        program_exchange(&p, d, 2000);
        program_wait(&p, d);
        program_end(&p, d);
    }
    expect(&p, QH_EXCHANGE_POSTED, 4 * US, 0, 7 * US, 0);
    expect(&p, QH_EXCHANGE_ROUNDS, 4 * US, 0, 14 * US, 0);
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("critical path");
    TCase *t = tcase_create("path");

    tcase_add_test(t, through_another_device);
    tcase_add_test(t, hidden_transfer);
    tcase_add_test(t, the_slow_device);
    tcase_add_test(t, round_after_round);
    suite_add_tcase(s, t);
    return s;
}
