#include "sim/scenario_parts.h"

#include "netmodel/stretch.h"
#include "sim/link_loads.h"
#include "sim/scenario_check.h"
#include "sim/slow_devices.h"
#include "src/base/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* --- partition --- */

static qh_status read_partition(qh_scenario *c)
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

static qh_status make_partition(qh_scenario *c)
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

qh_status qh_scenario_ids(qh_scenario *c)
{
    return c->settings->partition_file ? read_partition(c) : make_partition(c);
}

qh_status qh_scenario_measure(qh_scenario *c)
{
    int n = (int)c->settings->devices;
    qh_partition_figures *f = &c->result->partition;
    qh_status st;

    QH_TRY(st, qh_partition_measure(c->dataset->graph, c->part, n, c->dataset->split, f));
    if (n > 1 && f->min_train == 0)
        qh_log(QH_LOG_NOTE, "partition: a device has no training node; it still computes for "
                            "the others");
out:
    return st;
}

qh_status qh_scenario_layout(qh_scenario *c)
{
    int n = (int)c->settings->devices;
    qh_status st;

    QH_TRY(st, qh_layout_new(c->dataset->graph, c->part, n, &c->layout));
    QH_TRY(st, QH_NEW_ARRAY(&c->result->inner_nodes, n));
    for (int d = 0; d < n; d++)
        c->result->inner_nodes[d] = c->layout->first[d + 1] - c->layout->first[d];
out:
    return st;
}

/* --- the other parts --- */

static void note_cost(qh_channel_costs *c, bool first, double theta, double gamma)
{
    *c = (qh_channel_costs){.theta_min = first ? theta : fmin(theta, c->theta_min),
                            .theta_max = first ? theta : fmax(theta, c->theta_max),
                            .gamma_min = first ? gamma : fmin(gamma, c->gamma_min),
                            .gamma_max = first ? gamma : fmax(gamma, c->gamma_max)};
}

static qh_status open_network(const qh_settings *s, qh_netmodel **out)
{
    qh_netmodel *net = NULL;
    qh_status st;

    QH_TRY(st, qh_netmodel_open(s->net, (int)s->devices, &net));
    QH_TRY(st, qh_netmodel_stretch(&net, s->time_scale));
    *out = net;
    net = NULL;
out:
    qh_netmodel_close(net);
    return st;
}

/* What a byte and a block cost on each channel: the network's fit, and the copies to and from the
 * host where it stages. */
static qh_status build_costs(qh_scenario *c)
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
            note_cost(&c->result->costs, src == 0 && dst == 1, c->theta[i], c->gamma[i]);
        }
    c->train.bits.theta = c->theta;
    c->train.bits.gamma = c->gamma;
out:
    return st;
}

static qh_engine_config engine_config(const qh_scenario *c, qh_netmodel *net)
{
    const qh_settings *s = c->settings;

    return (qh_engine_config){.n_devices = (int)s->devices,
                              .net = net,
                              .accelerator = c->accelerator,
                              .compute = (qh_compute_kind)s->compute,
                              .order = (qh_exchange_order)s->exchange,
                              .reduce = (qh_reduce_kind)s->allreduce,
                              .compute_scale = c->compute_scale};
}

qh_status qh_scenario_pace(qh_scenario *c)
{
    const qh_settings *s = c->settings;
    qh_pace_config p = {.next = qh_meter_sink(c->meter)};
    qh_status st = QH_OK;

    if (s->clock != QH_CLOCK_REAL || s->devices == 1)
        return QH_OK;
    QH_TRY(st, open_network(s, &c->pace_net));
    p.engine = engine_config(c, c->pace_net);
    QH_TRY(st, qh_pace_new(&p, &c->pace));
out:
    return st;
}

qh_status qh_scenario_meter(qh_scenario *c)
{
    const qh_settings *s = c->settings;
    qh_meter_config m = {.engine = engine_config(c, c->net),
                         .observer = c->observer,
                         .n_layers = c->train.model.n_layers,
                         .epochs = s->epochs,
                         .stamp = s->compute == QH_COMPUTE_MEASURED,
                         .watch = c->watch};

    return qh_meter_new(&m, &c->meter);
}

qh_status qh_scenario_models(qh_scenario *c)
{
    const qh_settings *s = c->settings;
    int n = (int)s->devices;
    qh_parts parts = {0};
    qh_status st;

    snprintf(c->result->metric_name, sizeof c->result->metric_name, "%s",
             c->dataset->multilabel ? "f1_micro" : "accuracy");
    QH_TRY(st, qh_scenario_training(s, c->dataset, qh_kernels_find("fast"), &c->train));
    if (c->train.assign && c->train.assign->open)
        QH_TRY(st, c->train.assign->open(&c->train.bits, &c->bits_state));
    c->train.bits_state = c->bits_state;
    QH_TRY(st, qh_settings_parts(s, &parts));
    QH_TRY(st, qh_parts_open_rate(s, &parts, &c->rate));
    c->train.rate = c->rate;
    QH_TRY(st, qh_accelerator_open(s->accelerator, &c->accelerator));
    if (s->clock == QH_CLOCK_REAL)
        c->accelerator->measured_factor = 1; /* what is computed on is this host */
    if (n > 1)                               /* a device alone has nobody to talk to */
        QH_TRY(st, open_network(s, &c->net));
    QH_TRY(st, build_costs(c));
    QH_TRY(st, qh_slow_devices("--devices-slow", s->devices_slow, n, 1, &c->compute_scale));
out:
    return st;
}

void qh_scenario_dismantle(qh_scenario *c)
{
    qh_pace_free(c->pace);
    qh_netmodel_close(c->pace_net);
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

/* --- after training --- */

static qh_status look_at_network(qh_scenario *c)
{
    qh_result *r = c->result;
    qh_status st;

    r->shares = !c->net || c->net->ops->contention || c->settings->exchange == QH_EXCHANGE_ROUNDS;
    QH_TRY(st, qh_link_loads(c->net, r->sim_end, &r->links, &r->n_links));
    QH_TRY(st, qh_most_senders(r->traffic, r->n_traffic, (int)c->settings->devices, &r->senders));
out:
    return st;
}

qh_status qh_scenario_finish(qh_scenario *c)
{
    qh_result *r = c->result;
    qh_status st;

    QH_TRY(st, qh_meter_finish(c->meter, r));
    QH_TRY(st, look_at_network(c));
    r->interrupted &= r->train.epochs < c->settings->epochs;
    if (r->interrupted)
        st = qh_fail(QH_EINTERRUPT, "interrupted after epoch %lld of %lld",
                     (long long)r->train.epochs, (long long)c->settings->epochs);
out:
    return st;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void qh_scenario_begin_host(qh_scenario *c)
{
    c->wall = seconds_of(CLOCK_MONOTONIC);
    c->cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

void qh_scenario_measure_host(qh_scenario *c)
{
    qh_result *r = c->result;
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    r->peak_rss_bytes = (int64_t)usage.ru_maxrss * 1024; /* Linux counts in KiB */
    r->wall_seconds = seconds_of(CLOCK_MONOTONIC) - c->wall;
    r->cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - c->cpu;
}
