/* The n-th allocation fails, for every n: no crash, no leak, and a status that says memory. */
#include "sim/replay.h"
#include "sim/scenario.h"
#include "src/base/mem.h"
#include "src/partition/halo.h"
#include "tests/support/support.h"
#include "traces/import.h"
#include "traces/writer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char spec[] = "sbm,nodes=40,degree=4,features=4,classes=2";
static char folder[64], qhd[96], qhp[96], qht[96];
static qh_dataset *graph; /* made once, for those who only read it */

static void begin(void)
{
    strcpy(folder, "/tmp/qhalo-oom-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(qhd, sizeof qhd, "%s/g.qhd", folder);
    snprintf(qhp, sizeof qhp, "%s/p.qhp", folder);
    snprintf(qht, sizeof qht, "%s/t.qht", folder);
    ck_assert_int_eq(qh_synth_new(spec, &graph), QH_OK);
}

static void end(void)
{
    char command[128];

    qh_dataset_free(graph);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static qh_status make_synthetic(void)
{
    qh_dataset *d = NULL;
    qh_status st = qh_synth_new(spec, &d);

    ck_assert((d != NULL) == (st == QH_OK));
    qh_dataset_free(d);
    return st;
}

static qh_status write_and_open_qhd(void)
{
    qh_dataset *d = NULL;
    qh_status st = qh_qhd_write(graph, qhd);

    if (st == QH_OK)
        st = qh_dataset_open(qhd, &d);
    qh_dataset_free(d);
    return st;
}

static qh_status write_and_open_neutral(void)
{
    qh_dataset *d = NULL;
    qh_status st = qh_neutral_write(graph, folder);

    if (st == QH_OK)
        st = qh_dataset_open(folder, &d);
    if (st == QH_OK)
        st = qh_dataset_normalise(d, QH_NORM_STANDARD);
    qh_dataset_free(d);
    return st;
}

static qh_status partition(void)
{
    const qh_graph *g = graph->graph;
    qh_partition_request r = {.n_parts = 3, .seed = 1};
    qh_partition_figures f;
    qh_status st;
    int32_t *part = NULL, *again = NULL;
    int n_parts;

    QH_TRY(st, QH_NEW_ARRAY(&part, g->n_nodes));
    QH_TRY(st, qh_partition_make(g, "metis", r, part));
    QH_TRY(st, qh_partition_measure(g, part, 3, graph->split, &f));
    QH_TRY(st, qh_partition_write(qhp, g, part, 3, "test"));
    QH_TRY(st, qh_partition_read(qhp, g, &again, &n_parts));
out:
    qh_mem_free(part);
    qh_mem_free(again);
    return st;
}

static qh_status halo(void)
{
    int32_t part[40];
    qh_layout *l = NULL;
    qh_halo *h = NULL;
    qh_status st;

    for (int i = 0; i < 40; i++)
        part[i] = i % 3;
    QH_TRY(st, qh_layout_new(graph->graph, part, 3, &l));
    QH_TRY(st, qh_halo_new(l, 1, true, &h));
out:
    qh_halo_free(h);
    qh_layout_free(l);
    return st;
}

static qh_status train_by(const char *clock, const char *model, const char *method,
                          const char *devices)
{
    const char *const options[][2] = {
        {"model", model},     {"method", method},
        {"devices", devices}, {"layers", "2"},
        {"hidden", "4"},      {"epochs", "2"},
        {"clock", clock},     {"compute", strcmp(clock, "real") == 0 ? "measured" : "modeled"}};
    qh_settings s;
    qh_result r = {0};
    qh_status st;

    QH_TRY(st, qh_settings_init(&s));
    for (size_t i = 0; i < QH_COUNT(options); i++)
        QH_TRY(st, qh_options_set(qh_scenario_options, &s, "test", options[i][0], options[i][1]));
    QH_TRY(st, qh_scenario_run(&s, graph, NULL, &r));
out:
    qh_result_fini(&r);
    qh_settings_fini(&s);
    return st;
}

static qh_status train(const char *model, const char *method, const char *devices)
{
    return train_by("virtual", model, method, devices);
}

static qh_status train_real(void)
{
    return train_by("real", "gcn", "adaqp", "2");
}

static qh_status train_alone(void)
{
    return train("gcn", "vanilla", "1");
}

static qh_status train_int(void)
{
    return train("sage", "int4", "2");
}

static qh_status train_mixed(void)
{
    return train("gin", "random", "3");
}

static qh_status train_late(void)
{
    return train("gcn", "pipegcn-gf", "3");
}

static qh_status train_skipping(void)
{
    return train("sage", "sancus", "2");
}

static qh_status train_sampled(void)
{
    return train("gcn", "bns:0.5", "3");
}

/* A trace of two devices, written; and read and replayed. */
static qh_status write_trace(void)
{
    qh_trace_writer *w = NULL;
    qh_epoch_metrics m = {.rate = 1};
    qh_time span[2] = {5, 6};
    qh_record r[3] = {{.op = QH_OP_SEND, .layer = 1, .peer = 1, .round = 1, .bytes = 9},
                      {.op = QH_OP_RECV, .layer = 1, .peer = 1, .round = 1, .bytes = 9},
                      {.op = QH_OP_EPOCH_END, .peer = -1}};
    uint8_t width[5] = {2, 2, 4, 8, 8};
    qh_status st;

    QH_TRY(st, qh_trace_writer_open(qht, 2, &w));
    QH_TRY(st, qh_trace_writer_begin(w, "{}"));
    for (m.epoch = 0; m.epoch < 3; m.epoch++) {
        for (int d = 0; d < 2; d++) {
            r[0].peer = r[1].peer = 1 - d;
            r[0].epoch = r[1].epoch = r[2].epoch = m.epoch;
            QH_TRY(st, qh_trace_writer_widths(w, d, r, width, 5));
            QH_TRY(st, qh_trace_writer_records(w, d, m.epoch, r, 3));
        }
        QH_TRY(st, qh_trace_writer_epoch(w, &m));
        QH_TRY(st, qh_trace_writer_times(w, m.epoch, span));
    }
    QH_TRY(st, qh_trace_writer_close(&w));
out:
    qh_trace_writer_abandon(&w);
    return st;
}

static qh_status replay_trace(void)
{
    qh_netmodel *net[2] = {NULL, NULL};
    qh_accelerator *accelerator = NULL;
    qh_trace *t = NULL;
    qh_replay_result result[2];
    qh_replay_config c[2] = {{.bytes_scale = 2}, {.order = QH_EXCHANGE_ROUNDS}};
    qh_status st;

    QH_TRY(st, write_trace());
    QH_TRY(st, qh_trace_open(qht, false, &t));
    QH_TRY(st, qh_accelerator_open("v100", &accelerator));
    for (int i = 0; i < 2; i++) {
        QH_TRY(st, qh_netmodel_open("switch-10g", 2, &net[i]));
        c[i].trace = t;
        c[i].net = net[i];
        c[i].accelerator = accelerator;
    }
    QH_TRY(st, qh_replay_all(c, 2, 1, result));
out:
    qh_netmodel_close(net[0]);
    qh_netmodel_close(net[1]);
    qh_accelerator_free(accelerator);
    qh_trace_close(t);
    return st;
}

/* A program of another tool, read and written as a trace. */
static qh_status import(const char *format, const char *text)
{
    qh_import_options o = {.flops_per_s = 1e9};
    const qh_import_ops *ops = NULL;
    qh_foreign *f = NULL;
    char path[96];
    FILE *to;
    qh_status st;

    snprintf(path, sizeof path, "%s/program", folder);
    to = fopen(path, "w");
    ck_assert_ptr_nonnull(to);
    fputs(text, to);
    fclose(to);
    QH_TRY(st, qh_import_find("--format", format, &ops));
    QH_TRY(st, qh_import_read(ops, path, &o, &f));
    QH_TRY(st, qh_foreign_write(f, "{}", qht));
out:
    qh_foreign_free(f);
    return st;
}

static qh_status import_smpi(void)
{
    return import("smpi", "0 isend 1 3 100\n0 compute 5\n0 waitall\n0 allreduce 8 1\n"
                          "# epoch 0 ends\n1 recv 0 3 100\n1 allreduce 8 1\n0 alltoall 1 1\n"
                          "1 alltoall 1 1\n");
}

static qh_status import_goal(void)
{
    return import("goal", "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\nb: calc 5\n"
                          "b requires a\n}\nrank 1 {\na: recv 8b from 0 tag 3\nb: calc 1\n"
                          "b irequires a\n}\n");
}

static qh_status train_thinned(void)
{
    return train("gcn", "varco", "3");
}

static qh_status train_fed_back(void)
{
    return train("sage", "ef-int2", "2");
}

static const struct {
    const char *name;
    qh_status (*run)(void);
} jobs[] = {
    {"synthetic data", make_synthetic},
    {".qhd", write_and_open_qhd},
    {"neutral layout", write_and_open_neutral},
    {"partition", partition},
    {"halo", halo},
    {"training on 1 device", train_alone},
    {"training in real time", train_real},
    {"training, int:4", train_int},
    {"training, random bits", train_mixed},
    {"training, late messages", train_late},
    {"training, skipped blocks", train_skipping},
    {"training, a sampled boundary", train_sampled},
    {"writing a trace", write_trace},
    {"replaying a trace", replay_trace},
    {"importing smpi", import_smpi},
    {"importing goal", import_goal},
    {"training, a part of the columns", train_thinned},
    {"training, error feedback", train_fed_back},
};

START_TEST(the_nth_allocation_fails)
{
    int64_t held, n;
    qh_status st = QH_ERESOURCE;

    ck_assert_msg(jobs[_i].run() == QH_OK, "%s: %s", jobs[_i].name, qh_error_text());
    held = qh_mem_bytes(); /* what is kept for good is there now */
    for (n = 1; st != QH_OK; n++) {
        qh_mem_fail_at(n);
        st = jobs[_i].run();
        qh_mem_fail_at(0);
        ck_assert_msg(st == QH_OK || st == QH_ERESOURCE, "%s: allocation %lld: status %d: %s",
                      jobs[_i].name, (long long)n, st, qh_error_text());
        ck_assert_msg(st == QH_OK || *qh_error_text(), "%s: allocation %lld: no text",
                      jobs[_i].name, (long long)n);
        ck_assert_msg(qh_mem_bytes() == held, "%s: allocation %lld: %lld bytes are lost",
                      jobs[_i].name, (long long)n, (long long)(qh_mem_bytes() - held));
    }
    ck_assert_int_gt(n, 3); /* something was allocated at all */
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("oom");
    TCase *t = tcase_create("oom");

    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, the_nth_allocation_fails, 0, QH_COUNT(jobs));
    suite_add_tcase(s, t);
    return s;
}
