/* The ring all-reduce by hand: 2 (N - 1) (alpha + bytes / (N beta)). */
#include "tests/support/program.h"
#include "tests/support/support.h"

enum { US = 1000000 };

static const char net[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n";
static outcome o;

static void reduce_all(program *p, int64_t bytes)
{
    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < p->n_devices; d++) {
        program_reduce(p, d, bytes);
        program_end(p, d);
    }
}

START_TEST(ring_formula)
{
    static const int n_devices[] = {1, 2, 3, 5, 8, 16};
    int n = n_devices[_i];
    program p = {.n_devices = n};
    qh_time want = (qh_time)2 * (n - 1) * (5 * US + 7000 * 1000);

    reduce_all(&p, INT64_C(7000) * n); /* chunks of 7000 bytes: 7 us */
    program_run(&p, &(run_options){.net = net, .intervals = 1}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    for (int d = 0; d < n; d++) {
        ck_assert_int_eq(o.sums[0][d].total, want);
        ck_assert_int_eq(o.sums[0][d].allreduce, want);
        ck_assert_int_eq(o.sums[0][d].idle, 0);
        ck_assert_int_eq(o.sums[0][d].comm, 0);
    }
    ck_assert_int_eq(o.n_intervals, n > 1 ? n : 0);
    program_fini(&p);
}
END_TEST

/* 5 bytes in chunks of 2, 2, 1 without latency at 1 us a byte. In step s rank r sends chunk r - s:
 * rank 0 sends 2 1 2 2 bytes, rank 1 2 2 1 2, rank 2 1 2 2 1. A step ends when the longer of what a
 * device sends and takes is done: all ranks at 2, 4, 6, 8 us. */
START_TEST(uneven_chunks_conserve_the_bytes)
{
    program p = {.n_devices = 3};

    reduce_all(&p, 5);
    program_run(&p, &(run_options){.net = "model: alphabeta\nlatency: 0us\nbandwidth: 1MB/s\n"},
                &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    for (int d = 0; d < 3; d++)
        ck_assert_int_eq(o.now[d], 8 * US);
    program_fini(&p);
}
END_TEST

START_TEST(nothing_to_reduce_costs_the_latencies)
{
    program p = {.n_devices = 4};

    reduce_all(&p, 0);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[3], 30 * US);
    program_fini(&p);
}
END_TEST

/* Two devices, chunks of 1000 bytes, steps of 6 us, device 1 20 us late. Device 0's first block
 * flies 0..6; then nothing until 20; then device 1's two steps 20..26 and 26..32, beside which
 * device 0's second flow goes 26..32, since it needs device 1's first block. */
START_TEST(a_late_device_makes_the_others_idle)
{
    program p = {.n_devices = 2};

    program_at(0, 0, QH_FORWARD);
    program_compute(&p, 1, QH_OP_GEMM, 20 * US);
    reduce_all(&p, 2000);
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.sums[0][0].allreduce, 18 * US);
    ck_assert_int_eq(o.sums[0][0].idle, 14 * US);
    ck_assert_int_eq(o.sums[0][1].allreduce, 12 * US);
    ck_assert_int_eq(o.sums[0][1].idle, 0);
    ck_assert_int_eq(o.now[0], 32 * US);
    program_fini(&p);
}
END_TEST

/* 4000 bytes at 1 GB/s: 4 us out, two steps of 5 + 2 us, 4 us in. */
START_TEST(staging_copies_the_payload_once_each_way)
{
    program p = {.n_devices = 2};

    reduce_all(&p, 4000);
    program_run(
        &p,
        &(run_options){.net = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\nstaging: true\n"},
        &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.now[1], 22 * US);
    ck_assert_int_eq(o.sums[0][1].allreduce, 22 * US);
    program_fini(&p);
}
END_TEST

/* A binomial tree: log2 N steps up and as many down, all of the payload in each. Where N is no
 * power of 2, a device that has no child in a step goes on at once: with 3, both leaves send in the
 * first, and the root sends to one after the other. */
START_TEST(tree_formula)
{
    static const int n_devices[] = {1, 2, 3, 4, 5, 8, 11, 16}, n_steps[] = {0, 2, 3, 4, 5, 6, 7, 8};
    program p = {.n_devices = n_devices[_i]};
    qh_time want = n_steps[_i] * (5 * US + 7 * US);

    reduce_all(&p, 7000);
    program_run(&p, &(run_options){.net = net, .reduce = QH_REDUCE_TREE}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    /* Device 0 has the sum after half of it; the last leaf ends last. */
    ck_assert_int_eq(o.epoch[0].end, want);
    ck_assert_int_le(o.now[0], want);
    program_fini(&p);
}
END_TEST

/* Machines of 4 with 1 GB/s and 5 us inside, 100 MB/s and 50 us between: rings of 4 with a quarter
 * of the payload, rings of the machines with a quarter of it in parts, rings of 4 again. */
START_TEST(hierarchical_formula)
{
    static const char machines[] = "model: alphabeta\nnodes:\n  devices_per_node: 4\n"
                                   "  intra: {latency: 5us, bandwidth: 1GB/s}\n"
                                   "  inter: {latency: 50us, bandwidth: 100MB/s}\n";
    static const int n_devices[] = {4, 8, 12, 16};
    int n = n_devices[_i], m = n / 4;
    program p = {.n_devices = n};
    qh_time inside = 3 * (5 * US + 3000 * (qh_time)1000);
    qh_time between = 2 * (m - 1) * (50 * US + 3000 / m * (qh_time)10000);

    reduce_all(&p, 12000);
    program_run(&p, &(run_options){.net = machines, .reduce = QH_REDUCE_HIERARCHICAL}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    for (int d = 0; d < n; d++) {
        ck_assert_int_eq(o.now[d], inside + between + inside);
        ck_assert_int_eq(o.sums[0][d].idle, 0);
    }
    program_fini(&p);
}
END_TEST

/* What a device sends is what its receiver expects, and each device ends with all of the payload:
 * over all steps a device of a ring sends 2 (N - 1) / N of it, one of a tree its children's and
 * its parent's. */
START_TEST(steps_meet)
{
    static const qh_reduce_plan plan[] = {
        {QH_REDUCE_RING, 7, 0},         {QH_REDUCE_TREE, 13, 0},
        {QH_REDUCE_TREE, 16, 0},        {QH_REDUCE_HIERARCHICAL, 12, 3},
        {QH_REDUCE_HIERARCHICAL, 5, 1}, {QH_REDUCE_HIERARCHICAL, 4, 4},
    };
    const qh_reduce_plan *p = &plan[_i];
    int64_t sent = 0, payload = 1009;

    for (int s = 0; s < qh_reduce_n_steps(p); s++)
        for (int rank = 0; rank < p->n; rank++) {
            qh_reduce_step a = qh_reduce_step_of(p, payload, rank, s), b;

            if (a.to >= 0) {
                b = qh_reduce_step_of(p, payload, a.to, s);
                ck_assert_int_eq(b.from, rank);
                ck_assert_int_eq(b.recv_bytes, a.send_bytes);
                sent += a.send_bytes;
            }
            if (a.from >= 0) {
                b = qh_reduce_step_of(p, payload, a.from, s);
                ck_assert_int_eq(b.to, rank);
            }
        }
    if (p->kind == QH_REDUCE_HIERARCHICAL) /* g - 1 of g inside, twice; the shares between */
        ck_assert_int_eq(sent, p->n / p->per_node * 2 * (p->per_node - 1) * payload +
                                   2 * (p->n / p->per_node - 1) * payload);
    else
        ck_assert_int_eq(sent, 2 * (p->n - 1) * payload);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("closed: all-reduce");
    TCase *t = tcase_create("reduce");

    tcase_add_loop_test(t, ring_formula, 0, 6);
    tcase_add_loop_test(t, tree_formula, 0, 8);
    tcase_add_loop_test(t, hierarchical_formula, 0, 4);
    tcase_add_loop_test(t, steps_meet, 0, 6);
    tcase_add_test(t, uneven_chunks_conserve_the_bytes);
    tcase_add_test(t, nothing_to_reduce_costs_the_latencies);
    tcase_add_test(t, a_late_device_makes_the_others_idle);
    tcase_add_test(t, staging_copies_the_payload_once_each_way);
    suite_add_tcase(s, t);
    return s;
}
