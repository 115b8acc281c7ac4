/* Traces that no run could have left: each is told for what it is, at once. */
#include "sim/replay.h"

#include "tests/support/program.h"
#include "tests/support/support.h"
#include "traces/writer.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char path[64];

static void begin(void)
{
    strcpy(path, "/tmp/qhalo-bad-XXXXXX");
    close(mkstemp(path));
}

static void end(void)
{
    unlink(path);
}

/* The program as a trace of one epoch. */
static void write_trace(const program *p)
{
    qh_trace_writer *w = NULL;
    qh_epoch_metrics m = {.rate = 1};

    ck_assert_int_eq(qh_trace_writer_open(path, p->n_devices, &w), QH_OK);
    ck_assert_int_eq(qh_trace_writer_begin(w, "{}"), QH_OK);
    for (int d = 0; d < p->n_devices; d++)
        ck_assert_int_eq(qh_trace_writer_records(w, d, 0, p->device[d].item, p->device[d].n),
                         QH_OK);
    ck_assert_int_eq(qh_trace_writer_epoch(w, &m), QH_OK);
    ck_assert_int_eq(qh_trace_writer_close(&w), QH_OK);
}

static qh_status replay(int n_devices, qh_replay_result *r)
{
    qh_accelerator *a = test_accelerator(test_plain_accelerator);
    qh_netmodel *net = test_net("model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n", n_devices);
    qh_replay_config c = {.net = net, .accelerator = a};
    qh_trace *t = NULL;
    qh_status st;

    ck_assert_msg(qh_trace_open(path, false, &t) == QH_OK, "%s", qh_error_text());
    c.trace = t;
    st = qh_replay(&c, r);
    qh_trace_close(t);
    qh_netmodel_close(net);
    qh_accelerator_free(a);
    return st;
}

/* Of 4 devices, each with an exchange, what goes wrong at one of them. */
static void build(program *p, int fault)
{
    *p = (program){.n_devices = 4};
    program_at(0, 1, QH_FORWARD);
    for (int d = 0; d < 4; d++) {
        program_compute(p, d, QH_OP_SPMM, 1000);
        for (int r = 1; r < 4; r++)
            if (!(fault == 1 && d == 2 && r == 1)) /* 2 sends nothing to 3 */
                program_send(p, d, (d + r) % 4, fault == 2 && d == 1 ? 77 : 100);
        for (int r = 1; r < 4; r++)
            if (!(fault == 3 && d == 0 && r == 2)) /* 0 expects nothing of 2 */
                program_recv(p, d, (d - r + 4) % 4, 100);
        program_wait(p, d);
        if (!(fault == 4 && d == 3))
            program_reduce(p, d, fault == 5 && d == 3 ? 9 : 64);
        if (fault == 6 && d == 1)
            program_at(7, 0, QH_FORWARD);
        if (!(fault == 7 && d == 1))
            program_end(p, d);
        program_at(0, 1, QH_FORWARD);
    }
}

static const char *const says[] = {
    NULL,
    "deadlock: .*device 3 waits for device 2 .*epoch 0, layer 1, forward",
    "device 1, record 3 .send, .*: 77 bytes from device 1 to device 0, where the other side",
    "device 0: has no receive for 100 bytes that device 2 sent",
    "deadlock: device 0 waits for device 3 .epoch 0, all-reduce",
    "9 bytes, where the other devices have 64",
    "epoch 7",
    "end 0 epochs, where 1 are marked",
};

static bool matches(const char *text, const char *pattern)
{
    regex_t re;
    bool found;

    ck_assert_int_eq(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return found;
}

START_TEST(told_at_once)
{
    struct timespec from, to;
    qh_replay_result r;
    program p;
    qh_status st;

    build(&p, _i);
    write_trace(&p);
    clock_gettime(CLOCK_MONOTONIC, &from);
    st = replay(4, &r);
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_int_le(to.tv_sec - from.tv_sec, 1);
    if (!says[_i]) {
        ck_assert_msg(st == QH_OK, "%s", qh_error_text());
        ck_assert_int_eq(r.blocks, 12);
    } else {
        ck_assert_int_eq(st, QH_EINPUT);
        ck_assert_msg(matches(qh_error_text(), says[_i]), "'%s', which is not '%s'",
                      qh_error_text(), says[_i]);
    }
    program_fini(&p);
}
END_TEST

/* A device that is far ahead when another's records begin is fed no more than it needs. */
START_TEST(devices_of_unequal_length)
{
    enum { EPOCHS = 40 };
    qh_trace_writer *w = NULL;
    qh_replay_result r;

    ck_assert_int_eq(qh_trace_writer_open(path, 2, &w), QH_OK);
    ck_assert_int_eq(qh_trace_writer_begin(w, "{}"), QH_OK);
    for (int e = 0; e < EPOCHS; e++) {
        qh_record one[2] = {{.op = QH_OP_SPMM, .flops = 5, .epoch = e, .peer = -1},
                            {.op = QH_OP_EPOCH_END, .epoch = e, .peer = -1}};

        ck_assert_int_eq(qh_trace_writer_records(w, 0, e, one + 1, 1), QH_OK);
        ck_assert_int_eq(qh_trace_writer_records(w, 1, e, one, 2), QH_OK);
        ck_assert_int_eq(qh_trace_writer_epoch(w, &(qh_epoch_metrics){.epoch = e}), QH_OK);
    }
    ck_assert_int_eq(qh_trace_writer_close(&w), QH_OK);
    ck_assert_msg(replay(2, &r) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(r.n_epochs, EPOCHS);
    ck_assert_int_eq(r.end, 5 * EPOCHS);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("replay");
    TCase *t = tcase_create("replay");

    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, told_at_once, 0, (int)QH_COUNT(says));
    tcase_add_test(t, devices_of_unequal_length);
    suite_add_tcase(s, t);
    return s;
}
