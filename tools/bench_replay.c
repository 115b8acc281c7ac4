#include "tools/bench_replay.h"

#include "sim/replay.h"
#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/runfolder.h"
#include "tools/table.h"
#include "traces/writer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXCHANGES = 4 }; /* in an epoch */

static const char ACCELERATOR[] = "v100";

typedef struct replay_case {
    const char *name, *about, *net;
    int n_devices;
    qh_exchange_order order;
    int64_t messages; /* at least; one epoch is the least there is */
} replay_case;

#define STAR "model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 10Gbit/s}\n"
#define TWO_LEVEL                                                                                  \
    "model: fairshare\ntopology: two-level\ndevices_per_node: 8\n"                                 \
    "device: {latency: 1us, bandwidth: 12GB/s}\nnic: {latency: 4us, bandwidth: 100Gbit/s}\n"
#define ALPHA_BETA "model: alphabeta\nlatency: 10us\nbandwidth: 10Gbit/s\n"
#define LOGGP      "model: loggp\nlatency: 10us\nbandwidth: 10Gbit/s\noverhead: 0us\ngap: 1us\n"

static const replay_case cases[] = {
    {"alphabeta-8", "no contention", ALPHA_BETA, 8, QH_EXCHANGE_POSTED, 1000000},
    {"alphabeta-64", "no contention", ALPHA_BETA, 64, QH_EXCHANGE_POSTED, 1000000},
    {"alphabeta-256", "no contention", ALPHA_BETA, 256, QH_EXCHANGE_POSTED, 10000000},
    {"loggp-8", "a port each", LOGGP, 8, QH_EXCHANGE_POSTED, 1000000},
    {"loggp-64", "a port each", LOGGP, 64, QH_EXCHANGE_POSTED, 1000000},
    {"loggp-256", "a port each", LOGGP, 256, QH_EXCHANGE_POSTED, 3000000},
    {"star-8", "one switch, in rounds", STAR, 8, QH_EXCHANGE_ROUNDS, 20000},
    {"star-64", "one switch, in rounds", STAR, 64, QH_EXCHANGE_ROUNDS, 40000},
    {"star-256", "one switch, in rounds", STAR, 256, QH_EXCHANGE_ROUNDS, 200000},
    {"nodes-64", "nodes of 8, in rounds", TWO_LEVEL, 64, QH_EXCHANGE_ROUNDS, 40000},
    {"nodes-256", "nodes of 8, in rounds", TWO_LEVEL, 256, QH_EXCHANGE_ROUNDS, 200000},
    {"posted-64", "one switch, all at once", STAR, 64, QH_EXCHANGE_POSTED, 4000},
};

typedef struct figures {
    int64_t messages, epochs, file_bytes;
    double seconds; /* CPU: of opening the trace and replaying it */
    qh_time end;
} figures;

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 50 kB to 150 kB, as parts of a graph have. */
static int64_t size_of(int src, int dst, int layer)
{
    qh_key key = qh_rand_key(1, QH_RAND_SAMPLE, (uint32_t)layer, 0, 0);

    return 50000 + (int64_t)qh_rand_below(key, (uint64_t)src * 65536 + (uint64_t)dst, 100000);
}

/* A device's epoch: exchanges with every other one, a little work before each. */
static int64_t make_records(const replay_case *c, int rank, int32_t epoch, qh_record *out)
{
    int n = c->n_devices;
    int64_t k = 0;

    for (int layer = 0; layer < EXCHANGES; layer++) {
        qh_record at = {.epoch = epoch, .layer = (uint16_t)layer, .peer = -1};

        out[k] = at;
        out[k].op = QH_OP_SPMM;
        out[k++].flops = 100000000 + 1000000 * (int64_t)rank;
        for (int round = 1; round < n; round++)
            for (int recv = 0; recv < 2; recv++) {
                int peer = recv ? (rank - round + n) % n : (rank + round) % n;
                qh_record *r = &out[k++];

                *r = at;
                r->op = recv ? QH_OP_RECV : QH_OP_SEND;
                r->peer = peer;
                r->round = round;
                r->bytes = recv ? size_of(peer, rank, layer) : size_of(rank, peer, layer);
                r->messages[9] = recv ? 0 : (int32_t)(r->bytes / 1024);
            }
        out[k] = at;
        out[k++].op = QH_OP_WAIT;
    }
    out[k++] = (qh_record){.op = QH_OP_EPOCH_END, .epoch = epoch, .peer = -1};
    return k;
}

/* With what it was "recorded" on, so that all commands take the trace. *out is to be freed. */
static qh_status head_of(const replay_case *c, char **out)
{
    char *accelerator = NULL;
    json_t *head = NULL;
    qh_status st;

    QH_TRY(st, qh_accelerator_describe(ACCELERATOR, &accelerator));
    head =
        json_pack("{s:s,s:s,s:{s:s},s:{s:s,s:s},s:{s:s,s:s}}", "schema", "qhalo.trace/1", "method",
                  c->name, "configuration", "exchange",
                  c->order == QH_EXCHANGE_ROUNDS ? "rounds" : "posted", "network", "name", c->name,
                  "text", c->net, "accelerator", "name", ACCELERATOR, "text", accelerator);
    *out = head ? json_dumps(head, JSON_COMPACT) : NULL;
    if (!*out)
        st = qh_fail(QH_ERESOURCE, "out of memory");
out:
    json_decref(head);
    qh_mem_free(accelerator);
    return st;
}

static qh_status make_trace(const replay_case *c, const char *path, bool quick, figures *f)
{
    int n = c->n_devices;
    int64_t per_epoch = (int64_t)EXCHANGES * n * (n - 1);
    int64_t epochs = quick || c->messages < per_epoch ? 1 : c->messages / per_epoch;
    qh_trace_writer *w = NULL;
    qh_record *record = NULL;
    char *head = NULL;
    qh_status st;

    QH_TRY(st, head_of(c, &head));
    QH_TRY(st, QH_NEW_ARRAY(&record, (int64_t)EXCHANGES * 2 * (n + 1)));
    QH_TRY(st, qh_trace_writer_open(path, n, &w));
    QH_TRY(st, qh_trace_writer_begin(w, head));
    for (int32_t e = 0; e < epochs; e++) {
        for (int d = 0; d < n; d++)
            QH_TRY(st, qh_trace_writer_records(w, d, e, record, make_records(c, d, e, record)));
        QH_TRY(st, qh_trace_writer_epoch(w, &(qh_epoch_metrics){.epoch = e, .rate = 1}));
    }
    QH_TRY(st, qh_trace_writer_close(&w));
    f->epochs = epochs;
    f->messages = epochs * per_epoch;
out:
    qh_trace_writer_abandon(&w);
    qh_mem_free(record);
    free(head);
    return st;
}

static qh_status replay(const replay_case *c, const char *path, const qh_accelerator *a, figures *f)
{
    double start = cpu_s();
    qh_replay_config config = {.accelerator = a, .order = c->order};
    qh_replay_result r;
    qh_netmodel *net = NULL;
    qh_trace *t = NULL;
    qh_status st;

    QH_TRY(st, qh_trace_open(path, false, &t));
    QH_TRY(st, qh_netmodel_open_text(c->name, c->net, c->n_devices, &net));
    config.trace = t;
    config.net = net;
    QH_TRY(st, qh_replay(&config, &r));
    f->seconds = cpu_s() - start;
    f->end = r.end;
    f->file_bytes = qh_trace_look(t)->file_bytes;
out:
    qh_netmodel_close(net);
    qh_trace_close(t);
    return st;
}

static qh_status write_net(const replay_case *c, const char *folder)
{
    char name[64];
    char *path = NULL;
    qh_output *o = NULL;
    qh_status st;

    snprintf(name, sizeof name, "%s.yaml", c->name);
    QH_TRY(st, qh_path_join(folder, name, &path));
    QH_TRY(st, qh_output_open(path, &o));
    fputs(c->net, qh_output_stream(o));
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    qh_mem_free(path);
    return st;
}

/* The best of some runs: others disturb a run and nothing makes it faster. */
static qh_status measure(const replay_case *c, const char *folder, bool quick,
                         const qh_accelerator *a, figures *out)
{
    figures f = {0};
    char name[64];
    char *path = NULL;
    qh_status st;

    qh_console_note("bench: %s", c->name);
    snprintf(name, sizeof name, "%s.qht", c->name);
    QH_TRY(st, qh_path_join(folder, name, &path));
    QH_TRY(st, make_trace(c, path, quick, &f));
    for (int i = 0; i < (quick ? 1 : 3); i++) {
        QH_TRY(st, replay(c, path, a, &f));
        if (i == 0 || f.seconds < out->seconds)
            *out = f;
    }
out:
    qh_mem_free(path);
    return st;
}

static qh_status print_table(const figures *f)
{
    static const char *const heads[] = {"case",          "what",  "messages",
                                        "bytes/message", "CPU s", "messages/s"};
    qh_table t = {0};

    for (size_t h = 0; h < QH_COUNT(heads); h++)
        qh_table_cell(&t, "%s", heads[h]);
    qh_table_row(&t);
    for (size_t i = 0; i < QH_COUNT(cases); i++) {
        qh_table_cell(&t, "%s", cases[i].name);
        qh_table_cell(&t, "%d devices, %s", cases[i].n_devices, cases[i].about);
        qh_table_cell(&t, "%lld", (long long)f[i].messages);
        qh_table_cell(&t, "%.2f", (double)f[i].file_bytes / (double)f[i].messages);
        qh_table_cell(&t, "%.4f", f[i].seconds);
        qh_table_cell(&t, "%.0f", (double)f[i].messages / f[i].seconds);
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static qh_status print_json(const figures *f)
{
    json_t *all = json_array();
    json_t *o = json_pack("{s:s,s:o}", "schema", "qhalo.bench-replay/1", "cases", all);
    qh_status st;

    for (size_t i = 0; i < QH_COUNT(cases); i++)
        json_array_append_new(
            all,
            json_pack("{s:s,s:i,s:s,s:I,s:I,s:I,s:o,s:o,s:o}", "name", cases[i].name, "devices",
                      cases[i].n_devices, "exchange",
                      cases[i].order == QH_EXCHANGE_ROUNDS ? "rounds" : "posted", "messages",
                      (json_int_t)f[i].messages, "epochs", (json_int_t)f[i].epochs, "file_bytes",
                      (json_int_t)f[i].file_bytes, "seconds", qh_json_real(f[i].seconds), "rate",
                      qh_json_real((double)f[i].messages / f[i].seconds), "sim_seconds",
                      qh_json_real(qh_seconds(f[i].end))));
    st = qh_json_print(o, stdout);
    json_decref(o);
    return st;
}

static qh_status run_cases(const char *folder, bool quick, bool keep, figures *f)
{
    qh_accelerator *a = NULL;
    qh_status st;

    QH_TRY(st, qh_accelerator_open(ACCELERATOR, &a));
    for (size_t i = 0; i < QH_COUNT(cases); i++) {
        QH_TRY(st, measure(&cases[i], folder, quick, a, &f[i]));
        if (keep)
            QH_TRY(st, write_net(&cases[i], folder));
    }
out:
    qh_accelerator_free(a);
    return st;
}

static void remove_traces(const char *folder)
{
    char path[256];

    for (size_t i = 0; i < QH_COUNT(cases); i++)
        for (int part = 0; part < 2; part++) {
            snprintf(path, sizeof path, "%s/%s.qht%s", folder, cases[i].name, part ? ".part" : "");
            unlink(path);
        }
    rmdir(folder);
}

qh_status qh_bench_replay(const char *keep, bool quick, bool json)
{
    char folder[] = "/tmp/qhalo-bench-XXXXXX";
    figures f[QH_COUNT(cases)] = {{0}};
    qh_status st;

    if (keep)
        QH_TRY(st, qh_make_folder(keep));
    else if (!mkdtemp(folder))
        QH_TRY(st, qh_fail(QH_ERESOURCE, "%s: the folder cannot be made", folder));
    st = run_cases(keep ? keep : folder, quick, keep != NULL, f);
    if (!keep)
        remove_traces(folder);
    QH_TRY(st, st);
    QH_TRY(st, json ? print_json(f) : print_table(f));
out:
    return st;
}

void qh_bench_replay_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(cases); i++)
        fprintf(out, "  %-16s %d devices, %s\n", cases[i].name, cases[i].n_devices, cases[i].about);
}
