#include "sim/scenario.h"

#include "sim/device.h"
#include "sim/link_loads.h"
#include "sim/meter.h"
#include "sim/scenario_check.h"
#include "sim/slow_devices.h"
#include "src/base/log.h"
#include "src/base/mem.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Everything that one run is built of, in the order of building. */
typedef struct scenario {
    const qh_settings *settings;
    const qh_dataset *dataset;
    const qh_observer *observer;
    qh_result *result;
    qh_train_settings train;
    qh_bits_state *bits_state;   /* owned */
    qh_rate *rate;               /* owned; NULL: no schedule */
    int32_t *part;               /* owned */
    qh_layout *layout;           /* owned */
    qh_netmodel *net;            /* owned; NULL for one device */
    qh_accelerator *accelerator; /* owned */
    double *compute_scale;       /* owned; NULL: no device is slow */
    qh_placement *placement;     /* owned */
    qh_transport *transport;     /* owned */
    double *theta, *gamma;       /* owned, [devices^2]; NULL unless the assigner asks */
    qh_meter *meter;             /* owned */
} scenario;

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- partition --- */

static qh_status read_partition(scenario *c)
{
    const qh_settings *s = c->settings;
    char name[4096];
    int n_parts = 0;
    qh_status st;

    QH_TRY(st, qh_partition_read(s->partition_file, c->dataset->graph, &c->part, &n_parts));
    if (n_parts != s->devices) {
        st = qh_fail(QH_EUSAGE,
                     "--partition: %s has %d parts for %lld devices; --devices %d goes with it",
                     s->partition_file, n_parts, (long long)s->devices, n_parts);
        goto out;
    }
    snprintf(name, sizeof name, "file:%s", s->partition_file);
    QH_TRY(st, qh_mem_strdup(name, &c->result->partition_method));
out:
    return st;
}

static qh_status make_partition(scenario *c)
{
    const qh_settings *s = c->settings;
    const qh_graph *g = c->dataset->graph;
    qh_partition_request r = {.n_parts = (int)s->devices,
                              .objective = (qh_objective)s->objective,
                              .seed = (uint64_t)s->seed};
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&c->part, g->n_nodes));
    QH_TRY(st, qh_partition_make(g, s->partitioner, r, c->part));
    QH_TRY(st, qh_mem_strdup(s->partitioner, &c->result->partition_method));
out:
    return st;
}

static qh_status build_partition(scenario *c)
{
    int n = (int)c->settings->devices;
    qh_partition_figures *f = &c->result->partition;
    qh_status st;

    QH_TRY(st, c->settings->partition_file ? read_partition(c) : make_partition(c));
    QH_TRY(st, qh_partition_measure(c->dataset->graph, c->part, n, c->dataset->split, f));
    if (n > 1 && f->min_train == 0)
        qh_log(QH_LOG_NOTE, "partition: a device has no training node; it still computes for "
                            "the others");
    QH_TRY(st, qh_layout_new(c->dataset->graph, c->part, n, &c->layout));
    QH_TRY(st, QH_NEW_ARRAY(&c->result->inner_nodes, n));
    for (int d = 0; d < n; d++)
        c->result->inner_nodes[d] = c->layout->first[d + 1] - c->layout->first[d];
out:
    return st;
}

/* --- the other parts --- */

/* What a byte and a block cost on each channel: the network's fit, and the copies to and from the
 * host where it stages. */
static qh_status build_costs(scenario *c)
{
    int n = (int)c->settings->devices;
    bool copies = c->net && c->net->staging && c->accelerator->copy_bytes_per_s > 0;
    double copy = copies ? 2 / c->accelerator->copy_bytes_per_s : 0;
    double launch = copies ? 2 * qh_seconds(c->accelerator->launch) : 0;
    double slowest = 0;
    qh_status st = QH_OK;

    for (int dst = 1; dst < n; dst++) {
        double theta, gamma;

        qh_netmodel_fit(c->net, 0, dst, &theta, &gamma);
        slowest = theta > slowest ? theta : slowest;
    }
    c->result->net_bytes_per_s = slowest > 0 ? 1 / slowest : 0;
    if (n == 1 || !c->train.assign || !c->train.assign->solve)
        return QH_OK;
    QH_TRY(st, QH_NEW_ARRAY(&c->theta, (int64_t)n * n));
    QH_TRY(st, QH_NEW_ARRAY(&c->gamma, (int64_t)n * n));
    for (int src = 0; src < n; src++)
        for (int dst = 0; dst < n; dst++) {
            int64_t i = (int64_t)src * n + dst;

            if (src == dst)
                continue;
            qh_netmodel_fit(c->net, src, dst, &c->theta[i], &c->gamma[i]);
            c->theta[i] += copy;
            c->gamma[i] += launch;
        }
    c->train.bits.theta = c->theta;
    c->train.bits.gamma = c->gamma;
out:
    return st;
}

static qh_status build_meter(scenario *c)
{
    const qh_settings *s = c->settings;
    qh_meter_config m = {.engine = {.n_devices = (int)s->devices,
                                    .net = c->net,
                                    .accelerator = c->accelerator,
                                    .compute = (qh_compute_kind)s->compute,
                                    .order = (qh_exchange_order)s->exchange,
                                    .reduce = (qh_reduce_kind)s->allreduce,
                                    .compute_scale = c->compute_scale},
                         .observer = c->observer,
                         .n_layers = c->train.model.n_layers,
                         .epochs = s->epochs,
                         .stamp = s->compute == QH_COMPUTE_MEASURED};

    return qh_meter_new(&m, &c->meter);
}

static qh_status build(scenario *c)
{
    const qh_settings *s = c->settings;
    int n = (int)s->devices;
    qh_parts parts = {0};
    qh_status st;

    QH_TRY(st, qh_scenario_training(s, c->dataset, qh_kernels_find("fast"), &c->train));
    if (c->train.assign && c->train.assign->open)
        QH_TRY(st, c->train.assign->open(&c->train.bits, &c->bits_state));
    c->train.bits_state = c->bits_state;
    QH_TRY(st, qh_settings_parts(s, &parts));
    QH_TRY(st, qh_parts_open_rate(s, &parts, &c->rate));
    c->train.rate = c->rate;
    QH_TRY(st, qh_accelerator_open(s->accelerator, &c->accelerator));
    if (n > 1) /* a device alone has nobody to talk to */
        QH_TRY(st, qh_netmodel_open(s->net, n, &c->net));
    QH_TRY(st, build_costs(c));
    QH_TRY(st, qh_slow_devices("--devices-slow", s->devices_slow, n, 1, &c->compute_scale));
    QH_TRY(st, build_partition(c));
    QH_TRY(st, qh_placement_new(n, (int)s->threads, s->pin == 1, &c->placement));
    c->result->cores = c->placement->n_cores;
    c->result->cores_shared = c->placement->shared;
    QH_TRY(st, qh_inproc_new(n, &c->transport));
    QH_TRY(st, build_meter(c));
out:
    return st;
}

static void dismantle(scenario *c)
{
    qh_meter_free(c->meter);
    if (c->transport)
        c->transport->ops->free(c->transport);
    qh_placement_free(c->placement);
    qh_mem_free(c->compute_scale);
    qh_accelerator_free(c->accelerator);
    qh_netmodel_close(c->net);
    qh_mem_free(c->gamma);
    qh_mem_free(c->theta);
    qh_layout_free(c->layout);
    qh_mem_free(c->part);
    qh_rate_close(c->rate);
    if (c->train.assign && c->train.assign->close)
        c->train.assign->close(c->bits_state);
}

/* --- running --- */

static void ready(void *ctx, const qh_volume *first_epoch)
{
    scenario *c = ctx;
    const qh_observer *o = c->observer;

    if (o && o->ready)
        o->ready(o->ctx, c->settings, c->result, first_epoch->bytes);
}

static qh_status look_at_network(scenario *c)
{
    qh_result *r = c->result;
    qh_status st;

    r->shares = !c->net || c->net->ops->contention || c->settings->exchange == QH_EXCHANGE_ROUNDS;
    QH_TRY(st, qh_link_loads(c->net, r->sim_end, &r->links, &r->n_links));
    QH_TRY(st, qh_most_senders(r->traffic, r->n_traffic, (int)c->settings->devices, &r->senders));
out:
    return st;
}

static qh_status train(scenario *c)
{
    qh_devices_config devices = {.settings = &c->train,
                                 .dataset = c->dataset,
                                 .layout = c->layout,
                                 .placement = c->placement,
                                 .transport = c->transport,
                                 .meter = c->meter,
                                 .ready = ready,
                                 .ctx = c};
    qh_status st;

    QH_TRY(st, qh_devices_run(&devices, &c->result->train));
    QH_TRY(st, qh_meter_finish(c->meter, c->result));
    QH_TRY(st, look_at_network(c));
    c->result->interrupted &= c->result->train.epochs < c->settings->epochs;
    if (c->result->interrupted)
        st = qh_fail(QH_EINTERRUPT, "interrupted after epoch %lld of %lld",
                     (long long)c->result->train.epochs, (long long)c->settings->epochs);
out:
    return st;
}

static void measure_host(double wall, double cpu, qh_result *r)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    r->peak_rss_bytes = (int64_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
    r->wall_seconds = seconds_of(CLOCK_MONOTONIC) - wall;
    r->cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

qh_status qh_scenario_run(const qh_settings *s, const qh_dataset *dataset, const qh_observer *o,
                          qh_result *out)
{
    double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    qh_result r = {0};
    scenario c = {.settings = s, .dataset = dataset, .observer = o, .result = &r};
    qh_status st;

    snprintf(r.metric_name, sizeof r.metric_name, "%s",
             dataset->multilabel ? "f1_micro" : "accuracy");
    QH_TRY(st, build(&c));
    st = train(&c);
    if (st < 0 && st != QH_EINTERRUPT)
        goto out;
    measure_host(wall, cpu, &r);
    *out = r;
    r = (qh_result){0};
out:
    dismantle(&c);
    qh_result_fini(&r);
    return st;
}
