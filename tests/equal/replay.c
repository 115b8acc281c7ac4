/* A replay under the network and accelerator of the run takes its time to the picosecond: every
 * epoch of every device, for every method, on every network, posted and in rounds. */
#include "sim/replay.h"
#include "sim/scenario.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"
#include "traces/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 4 };

typedef struct setting {
    const char *name, *value;
} setting;

typedef struct recorder {
    qh_trace_writer *writer;
    int n_devices, n_tables;
} recorder;

static qh_status widths(void *ctx, int device, const qh_record *send, const uint8_t *width,
                        int64_t n)
{
    return qh_trace_writer_widths(((recorder *)ctx)->writer, device, send, width, n);
}

static qh_status records(void *ctx, int device, int32_t epoch, const qh_record *r, int64_t n)
{
    return qh_trace_writer_records(((recorder *)ctx)->writer, device, epoch, r, n);
}

static qh_status trained(void *ctx, const qh_epoch_metrics *m)
{
    return qh_trace_writer_epoch(((recorder *)ctx)->writer, m);
}

static qh_status times(void *ctx, const qh_epoch_times *t)
{
    const recorder *r = ctx;
    qh_time span[DEVICES];

    for (int d = 0; d < r->n_devices; d++)
        span[d] = t->device[d].total;
    return qh_trace_writer_times(r->writer, t->epoch, span);
}

static char path[64];

static void begin(void)
{
    strcpy(path, "/tmp/qhalo-replay-XXXXXX");
    close(mkstemp(path));
}

static void end(void)
{
    unlink(path);
}

static void settings(qh_settings *s, const setting *more)
{
    static const setting base[] = {{"devices", "4"}, {"layers", "3"},       {"hidden", "12"},
                                   {"epochs", "4"},  {"assign-every", "2"}, {"partitioner", "hash"},
                                   {"threads", "1"}, {"net", "switch-1g"}};

    ck_assert_int_eq(qh_settings_init(s), QH_OK);
    for (size_t i = 0; i < QH_COUNT(base); i++)
        ck_assert_int_eq(
            qh_options_set(qh_scenario_options, s, "test", base[i].name, base[i].value), QH_OK);
    for (; more->name; more++)
        ck_assert_msg(qh_options_set(qh_scenario_options, s, "test", more->name, more->value) ==
                          QH_OK,
                      "%s", qh_error_text());
}

static void record(const qh_settings *s, const qh_dataset *d, qh_result *out)
{
    recorder r = {.n_devices = (int)s->devices};
    qh_observer o = {
        .widths = widths, .records = records, .trained = trained, .times = times, .ctx = &r};

    ck_assert_int_eq(qh_trace_writer_open(path, r.n_devices, &r.writer), QH_OK);
    ck_assert_int_eq(qh_trace_writer_begin(r.writer, "{}"), QH_OK);
    ck_assert_msg(qh_scenario_run(s, d, &o, out) == QH_OK, "%s", qh_error_text());
    ck_assert_msg(qh_trace_writer_close(&r.writer) == QH_OK, "%s", qh_error_text());
}

static void replay(const qh_settings *s, qh_replay_result *out)
{
    qh_replay_config c = {.compute = (qh_compute_kind)s->compute,
                          .order = (qh_exchange_order)s->exchange};
    qh_accelerator *accelerator = NULL;
    qh_netmodel *net = NULL;
    qh_trace *trace = NULL;

    ck_assert_msg(qh_trace_open(path, false, &trace) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(qh_accelerator_open(s->accelerator, &accelerator), QH_OK);
    if (s->devices > 1)
        ck_assert_int_eq(qh_netmodel_open(s->net, (int)s->devices, &net), QH_OK);
    c.trace = trace;
    c.net = net;
    c.accelerator = accelerator;
    ck_assert_msg(qh_replay(&c, out) == QH_OK, "%s", qh_error_text());
    qh_netmodel_close(net);
    qh_accelerator_free(accelerator);
    qh_trace_close(trace);
}

static void live_and_again(const setting *more)
{
    qh_dataset *d =
        tiny_new((tiny_spec){.nodes = 120, .degree = 6, .features = 9, .classes = 3, .seed = 4});
    qh_replay_result again;
    qh_result live, plain;
    qh_settings s;

    settings(&s, more);
    record(&s, d, &live);
    replay(&s, &again);
    ck_assert_int_eq(again.n_epochs, s.epochs);
    ck_assert_int_eq(again.n_timed, s.epochs);
    ck_assert_msg(again.n_same == s.epochs, "%s: %d epochs of %d", s.method, (int)again.n_same,
                  (int)s.epochs);
    ck_assert_int_eq(again.end, live.sim_end);
    ck_assert_int_eq(again.recorded_end, live.sim_end);
    ck_assert_int_eq(again.bytes, live.bytes_sent);
    ck_assert_int_eq(again.messages, live.messages);
    ck_assert(memcmp(&again.mean, &live.mean, sizeof live.mean) == 0);
    ck_assert(memcmp(&again.max, &live.max, sizeof live.max) == 0);
    ck_assert_mem_eq(again.messages_of_width, live.bits_messages, sizeof live.bits_messages);
    ck_assert_msg(qh_scenario_run(&s, d, NULL, &plain) == QH_OK, "%s", qh_error_text());
    ck_assert(plain.train.digest == live.train.digest); /* whether recorded or not */
    if (s.compute == QH_COMPUTE_MODELED)
        ck_assert_int_eq(plain.sim_end, live.sim_end);
    qh_result_fini(&plain);
    qh_result_fini(&live);
    qh_settings_fini(&s);
    tiny_free(d);
}

/* "bns:0.5" of "bns:P": an argument that the method takes, out of some that may do. */
static const char *with_argument(const char *name, char *buf, size_t room)
{
    static const char *const arguments[] = {"0.5", "4"};
    int before = (int)strcspn(name, ":");

    snprintf(buf, room, "%s", name);
    for (size_t i = 0; name[before] && i < QH_COUNT(arguments); i++) {
        qh_status st;
        qh_settings s;

        snprintf(buf, room, "%.*s:%s", before, name, arguments[i]);
        settings(&s, (setting[]){{"method", buf}, {0}});
        st = qh_settings_check(&s);
        qh_settings_fini(&s);
        if (st == QH_OK)
            break;
    }
    return buf;
}

/* Methods that land later are in the table, and so here. */
START_TEST(every_method)
{
    char name[64];
    setting more[] = {{"method", with_argument(qh_method_at(_i / 2)->name, name, sizeof name)},
                      {"exchange", _i % 2 ? "rounds" : "posted"},
                      {0}};

    live_and_again(more);
}
END_TEST

START_TEST(every_network)
{
    const char *name = qh_net_preset_name(_i);
    qh_netmodel *net = NULL;

    if (qh_netmodel_open(name, DEVICES, &net) == QH_EUSAGE)
        return; /* for another number of devices */
    qh_netmodel_close(net);
    for (int rounds = 0; rounds < 2; rounds++)
        live_and_again((setting[]){
            {"method", "random"}, {"net", name}, {"exchange", rounds ? "rounds" : "posted"}, {0}});
}
END_TEST

static const setting others[][4] = {
    {{"devices", "1"}},
    {{"compute", "measured"}, {"method", "int4"}},
    {{"compute", "measured"}, {"exchange", "rounds"}, {"overlap", NULL}},
    {{"cache-features", NULL}},
    {{"model", "gin"}, {"order", "transform-first"}, {"overlap", NULL}},
    {{"model", "sage"}, {"accelerator", "cpu-core"}, {"method", "int2"}},
};

START_TEST(other_settings)
{
    live_and_again(others[_i]);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("replay is the run");
    TCase *t = tcase_create("replay");
    int n = 0;

    while (qh_method_at(n))
        n++;
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, every_method, 0, 2 * n);
    tcase_add_loop_test(t, every_network, 0, (int)qh_net_preset_count());
    tcase_add_loop_test(t, other_settings, 0, (int)QH_COUNT(others));
    suite_add_tcase(s, t);
    return s;
}
