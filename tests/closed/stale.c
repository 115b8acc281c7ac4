/* Messages that are K epochs late, over alpha-beta by hand. With c the work of an epoch behind its
 * wait and m the time of an exchange, posted when the epoch begins, epoch t ends at
 *     e(t) = max(e(t - 1), e(t - K - 1) + m) + c,    e(t) = 0 for t < 0:
 * c an epoch where m <= K c (all is hidden), else (m + c) / (K + 1) on the average. */
#include "tests/support/program.h"
#include "tests/support/support.h"

static const char net[] = "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n";

enum { US = 1000000, EPOCHS = 13 };

static outcome o;

static void late_epochs(program *p, int stale, int64_t bytes, qh_time work)
{
    for (int t = 0; t < EPOCHS; t++)
        for (int d = 0; d < p->n_devices; d++) {
            program_at(t, 1, QH_FORWARD);
            program_exchange(p, d, bytes);
            if (t >= stale) {
                program_at(t - stale, 1, QH_FORWARD);
                program_wait(p, d);
                program_at(t, 1, QH_FORWARD);
            }
            program_compute(p, d, QH_OP_SPMM, work);
            program_end(p, d);
        }
}

static const qh_time work_of[] = {1 * US, 3 * US, 6 * US, 7 * US, 20 * US};

START_TEST(an_exchange_has_k_epochs_to_come)
{
    int stale = 1 + _i / 5;
    qh_time work = work_of[_i % 5], comm = 5 * US + 1000 * 1000, end[EPOCHS], ends = 0;
    program p = {.n_devices = 3};

    late_epochs(&p, stale, 1000, work);
    program_run(&p, &(run_options){.net = net, .feed = FEED_EPOCHS}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(o.n_epochs, EPOCHS);
    for (int t = 0; t < EPOCHS; t++) {
        qh_time before = t > 0 ? end[t - 1] : 0, posted = t > stale ? end[t - stale - 1] : 0;
        qh_time there = t >= stale ? posted + comm : 0;
        const qh_breakdown *b = &o.sums[t][2];

        end[t] = (before > there ? before : there) + work;
        ck_assert_int_eq(o.epoch[t].end, end[t]);
        ck_assert_int_eq(b->total, end[t] - before);
        ck_assert_int_eq(b->exposed_comm, end[t] - before - work);
        ck_assert_int_eq(b->idle, 0);
        ends = end[t];
    }
    if (comm <= stale * work) /* hidden but for the first, which have less than K epochs */
        ck_assert_int_eq(end[EPOCHS - 1] - end[EPOCHS - 2], work);
    if (comm > stale * work)
        ck_assert_int_eq(ends - end[EPOCHS - 2 - stale], comm + work);
    program_fini(&p);
}
END_TEST

/* Whole epochs of two layers, both directions and an all-reduce: nothing is exposed. */
START_TEST(hidden_behind_a_whole_epoch)
{
    program p = {.n_devices = 4};

    for (int t = 0; t < EPOCHS; t++)
        for (int d = 0; d < p.n_devices; d++) {
            for (int i = 0; i < 4; i++) {
                int layer = i < 2 ? i : 3 - i;
                qh_direction dir = i < 2 ? QH_FORWARD : QH_BACKWARD;

                program_at(t, layer, dir);
                program_compute(&p, d, QH_OP_QUANTIZE, US);
                program_exchange(&p, d, 2000); /* 7 us; the same place comes again after 8 */
                program_at(t - 1, layer, dir);
                if (t > 0)
                    program_wait(&p, d);
                program_at(t, layer, dir);
                program_compute(&p, d, QH_OP_SPMM, US);
            }
            program_end(&p, d);
        }
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_msg(o.status == QH_OK, "%s", qh_error_text());
    for (int t = 0; t < EPOCHS; t++) {
        ck_assert_int_eq(o.sums[t][1].total, 8 * US);
        ck_assert_int_eq(o.sums[t][1].exposed_comm, 0);
        ck_assert_int_eq(o.sums[t][1].idle, 0);
        ck_assert_int_eq(o.sums[t][1].comm, t > 0 ? 8 * US : 7 * US);
    }
    program_fini(&p);
}
END_TEST

/* A block that never comes is waited for K epochs later, and named by its own epoch. */
START_TEST(a_missing_block_is_named_by_its_epoch)
{
    program p = {.n_devices = 2};

    for (int t = 0; t < 3; t++)
        for (int d = 0; d < 2; d++) {
            program_at(t, 0, QH_FORWARD);
            if (d == 0 || t == 0)
                program_send(&p, d, 1 - d, 1000);
            program_recv(&p, d, 1 - d, 1000);
            program_at(t - 1, 0, QH_FORWARD);
            if (t > 0)
                program_wait(&p, d);
            program_at(t, 0, QH_FORWARD);
            program_end(&p, d);
        }
    program_run(&p, &(run_options){.net = net}, &o);
    ck_assert_int_eq(o.status, QH_EINPUT);
    ck_assert_str_eq(qh_error_text(),
                     "deadlock: device 0 waits for device 1 (epoch 1, layer 0, forward)");
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("stale");
    TCase *t = tcase_create("stale");

    tcase_add_loop_test(t, an_exchange_has_k_epochs_to_come, 0, 15);
    tcase_add_test(t, hidden_behind_a_whole_epoch);
    tcase_add_test(t, a_missing_block_is_named_by_its_epoch);
    suite_add_tcase(s, t);
    return s;
}
