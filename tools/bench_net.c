#include "tools/bench_net.h"

#include "tools/console.h"
#include "tools/json.h"
#include "tools/table.h"

#include "netmodel/netmodel.h"
#include "sim/engine.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <string.h>
#include <time.h>

/* An all-to-all exchange of blocks of unequal sizes, again and again. */
typedef struct net_case {
    const char *name, *about;
    const char *net; /* a description */
    int n_devices;
    qh_exchange_order order;
    bool engine; /* records through the engine; else flows through the model, all at once */
} net_case;

#define STAR "model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 10Gbit/s}\n"
#define TWO_LEVEL                                                                                  \
    "model: fairshare\ntopology: two-level\ndevices_per_node: 8\n"                                 \
    "device: {latency: 1us, bandwidth: 12GB/s}\nnic: {latency: 4us, bandwidth: 100Gbit/s}\n"
#define ALPHA_BETA "model: alphabeta\nlatency: 10us\nbandwidth: 10Gbit/s\n"
#define LOGGP      "model: loggp\nlatency: 10us\nbandwidth: 10Gbit/s\noverhead: 0us\ngap: 1us\n"

static const net_case cases[] = {
    {"posted-star-64", "4032 flows at once, model alone", STAR, 64, QH_EXCHANGE_POSTED, false},
    {"rounds-star-8", "8 devices on one switch", STAR, 8, QH_EXCHANGE_ROUNDS, true},
    {"rounds-star-64", "64 devices on one switch", STAR, 64, QH_EXCHANGE_ROUNDS, true},
    {"rounds-star-256", "256 devices on one switch", STAR, 256, QH_EXCHANGE_ROUNDS, true},
    {"rounds-two-level-64", "8 nodes of 8 devices", TWO_LEVEL, 64, QH_EXCHANGE_ROUNDS, true},
    {"rounds-two-level-256", "32 nodes of 8 devices", TWO_LEVEL, 256, QH_EXCHANGE_ROUNDS, true},
    {"posted-engine-64", "4032 blocks at once", STAR, 64, QH_EXCHANGE_POSTED, true},
    {"alphabeta-64", "no contention, 64 devices", ALPHA_BETA, 64, QH_EXCHANGE_POSTED, true},
    {"loggp-8", "ports, 8 devices", LOGGP, 8, QH_EXCHANGE_POSTED, true},
    {"loggp-64", "ports, 64 devices", LOGGP, 64, QH_EXCHANGE_POSTED, true},
    {"loggp-256", "ports, 256 devices", LOGGP, 256, QH_EXCHANGE_POSTED, true},
    {"alphabeta-model", "model alone", ALPHA_BETA, 64, QH_EXCHANGE_POSTED, false},
    {"loggp-model", "model alone", LOGGP, 64, QH_EXCHANGE_POSTED, false},
};

typedef struct result {
    int64_t flows;
    double seconds;
} result;

/* Of this thread's CPU: nothing here waits, and others may want the core. */
static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 50 kB to 150 kB, as METIS parts of a graph have. */
static int64_t size_of(int src, int dst, int64_t exchange)
{
    qh_key key = qh_rand_key(1, QH_RAND_SAMPLE, (uint32_t)exchange, 0, 0);

    return 50000 + (int64_t)qh_rand_below(key, (uint64_t)src * 65536 + (uint64_t)dst, 100000);
}

/* --- the model alone --- */

static qh_status drain(qh_netmodel *m, int64_t *n_done)
{
    int64_t done[256], n;

    for (qh_time t = m->ops->next(m); t != QH_TIME_NEVER; t = m->ops->next(m))
        while ((n = m->ops->advance(m, t, done, 256)) > 0)
            *n_done += n;
    return QH_OK;
}

static qh_status run_model(const net_case *c, qh_netmodel *m, int64_t exchange, result *r)
{
    int n = c->n_devices;
    int64_t n_done = 0;
    qh_flow *flow = NULL;
    qh_time at = exchange * QH_PS_PER_S;
    double start;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&flow, (int64_t)n * n));
    for (int src = 0; src < n; src++)
        for (int round = 1; round < n; round++)
            flow[r->flows++] = (qh_flow){.id = r->flows,
                                         .src = src,
                                         .dst = (src + round) % n,
                                         .bytes = size_of(src, (src + round) % n, exchange)};
    start = now_s();
    for (int64_t i = 0; i < r->flows; i++)
        QH_TRY(st, m->ops->start(m, at, &flow[i]));
    QH_TRY(st, drain(m, &n_done));
    r->seconds = now_s() - start;
    QH_ASSERT(n_done == r->flows);
out:
    qh_mem_free(flow);
    return st;
}

/* --- under the engine --- */

/* One device's records of one exchange: all sends, all receives, the wait. */
static int64_t make_records(const net_case *c, int rank, int64_t exchange, qh_record *out)
{
    int n = c->n_devices;
    int64_t k = 0;

    for (int round = 1; round < n; round++)
        out[k++] = (qh_record){.op = QH_OP_SEND,
                               .epoch = (int32_t)exchange,
                               .peer = (rank + round) % n,
                               .round = round,
                               .bytes = size_of(rank, (rank + round) % n, exchange)};
    for (int round = 1; round < n; round++)
        out[k++] = (qh_record){.op = QH_OP_RECV,
                               .epoch = (int32_t)exchange,
                               .peer = (rank + n - round) % n,
                               .round = round,
                               .bytes = size_of((rank + n - round) % n, rank, exchange)};
    out[k++] = (qh_record){.op = QH_OP_WAIT, .epoch = (int32_t)exchange, .peer = -1};
    return k;
}

static qh_status run_engine(const net_case *c, qh_netmodel *m, const qh_accelerator *a,
                            int64_t exchanges, result *r)
{
    qh_engine_config config = {
        .n_devices = c->n_devices, .net = m, .accelerator = a, .order = c->order};
    int64_t n = c->n_devices, per = 2 * n - 1;
    qh_record *record = NULL;
    qh_engine *e = NULL;
    double start;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&record, exchanges * n * per));
    for (int64_t x = 0; x < exchanges; x++)
        for (int rank = 0; rank < n; rank++)
            QH_ASSERT(make_records(c, rank, x, record + (x * n + rank) * per) == per);
    start = now_s();
    QH_TRY(st, qh_engine_new(&config, &e));
    for (int64_t x = 0; x < exchanges; x++) {
        for (int rank = 0; rank < n; rank++)
            QH_TRY(st, qh_engine_feed(e, rank, record + (x * n + rank) * per, per));
        QH_TRY(st, qh_engine_run(e));
    }
    QH_TRY(st, qh_engine_finish(e));
    r->seconds = now_s() - start;
    r->flows = exchanges * n * (n - 1);
out:
    qh_engine_free(e);
    qh_mem_free(record);
    return st;
}

/* The best of some runs, for others disturb a run and nothing makes it faster. */
static qh_status measure(const net_case *c, const qh_accelerator *a, bool quick, result *out)
{
    int64_t pairs = (int64_t)c->n_devices * (c->n_devices - 1);
    int64_t exchanges = quick || pairs > 40000 ? 1 : 40000 / pairs;
    qh_netmodel *m = NULL;
    qh_status st = QH_OK;

    qh_console_note("bench: %s", c->name);
    for (int i = 0; i < (quick ? 1 : 3); i++) {
        result r = {0};

        qh_netmodel_close(m);
        m = NULL;
        QH_TRY(st, qh_netmodel_open_text(c->name, c->net, c->n_devices, &m));
        QH_TRY(st, c->engine ? run_engine(c, m, a, exchanges, &r) : run_model(c, m, i, &r));
        if (i == 0 || r.seconds / (double)r.flows < out->seconds / (double)out->flows)
            *out = r;
    }
out:
    qh_netmodel_close(m);
    return st;
}

static qh_status print_table(const result *r)
{
    static const char *const heads[] = {"case", "what", "flows", "CPU s", "flows/s"};
    qh_table t = {0};

    for (size_t h = 0; h < QH_COUNT(heads); h++)
        qh_table_cell(&t, "%s", heads[h]);
    qh_table_row(&t);
    for (size_t i = 0; i < QH_COUNT(cases); i++) {
        qh_table_cell(&t, "%s", cases[i].name);
        qh_table_cell(&t, "%s", cases[i].about);
        qh_table_cell(&t, "%lld", (long long)r[i].flows);
        qh_table_cell(&t, "%.4f", r[i].seconds);
        qh_table_cell(&t, "%.0f", (double)r[i].flows / r[i].seconds);
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static qh_status print_json(const result *r)
{
    json_t *all = json_array();
    json_t *o = json_pack("{s:s,s:o}", "schema", "qhalo.bench-net/1", "cases", all);
    qh_status st;

    for (size_t i = 0; i < QH_COUNT(cases); i++)
        json_array_append_new(all, json_pack("{s:s,s:I,s:o,s:o}", "name", cases[i].name, "flows",
                                             (json_int_t)r[i].flows, "seconds",
                                             qh_json_real(r[i].seconds), "rate",
                                             qh_json_real((double)r[i].flows / r[i].seconds)));
    st = qh_json_print(o, stdout);
    json_decref(o);
    return st;
}

qh_status qh_bench_net(bool quick, bool json)
{
    result r[QH_COUNT(cases)] = {0};
    qh_accelerator *a = NULL;
    qh_status st;

    QH_TRY(st, qh_accelerator_open("v100", &a));
    for (size_t i = 0; i < QH_COUNT(cases); i++)
        QH_TRY(st, measure(&cases[i], a, quick, &r[i]));
    QH_TRY(st, json ? print_json(r) : print_table(r));
out:
    qh_accelerator_free(a);
    return st;
}

void qh_bench_net_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(cases); i++)
        fprintf(out, "  %-20s %s\n", cases[i].name, cases[i].about);
}
