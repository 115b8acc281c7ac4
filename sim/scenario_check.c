/* Settings as the user gives them into what training takes, with every mistake named. */
#include "sim/scenario_check.h"
#include "sim/placement.h"
#include "sim/slow_devices.h"
#include "src/base/mem.h"

#include <string.h>
#include <strings.h>

static qh_status check_model_name(const qh_settings *s)
{
    if (qh_model_known(s->model))
        return QH_OK;
    return qh_fail(QH_EUSAGE, "--model: there is no model '%s'; it has to be gcn, sage or gin",
                   s->model);
}

static qh_status check_model(const qh_settings *s, const qh_dataset *d)
{
    qh_status st = check_model_name(s);

    if (st < 0)
        return st;
    if (s->devices > d->graph->n_nodes)
        return qh_fail(QH_EUSAGE,
                       "--devices: %lld devices for the %lld nodes of %s; each device needs a node",
                       (long long)s->devices, (long long)d->graph->n_nodes, d->name);
    if (s->cache_features && s->input_dropout > 0)
        return qh_fail(QH_EUSAGE,
                       "--cache-features: input dropout changes the features each epoch; "
                       "--input-dropout 0 goes with it");
    return QH_OK;
}

static qh_model_config model_config(const qh_settings *s, const qh_dataset *d)
{
    return (qh_model_config){.name = s->model,
                             .n_layers = (int)s->layers,
                             .n_features = d->n_features,
                             .n_hidden = s->hidden,
                             .n_classes = d->n_classes,
                             .dropout = s->dropout,
                             .input_dropout = s->input_dropout,
                             .norm = s->norm == 1,
                             .order = (qh_order)s->order,
                             .seed = (uint64_t)s->seed};
}

qh_status qh_settings_parts(const qh_settings *s, qh_parts *out)
{
    const char *assign;
    qh_method m;
    qh_status st;

    QH_TRY(st, qh_method_choose("--method", s->method, &m));
    assign = s->assign ? s->assign : s->codec ? NULL : m.assign;
    *out = (qh_parts){.codec = s->codec ? s->codec
                               : assign ? "mixed"
                                        : m.codec,
                      .strategy = s->overlap ? "overlap" : m.strategy,
                      .assign = assign};
    QH_TRY(st, qh_settings_rate(s, &m, out));
    QH_TRY(st, qh_settings_relax(s, &m, &out->relax));
out:
    return st;
}

static qh_status choose_parts(const qh_settings *s, const qh_kernels *kernels, qh_train_settings *t)
{
    const char *assign, *codec;
    qh_parts parts = {0};
    qh_params_format params = s->params == 0 ? QH_PARAMS_FP32 : QH_PARAMS_BF16;
    qh_status st;

    QH_TRY(st, qh_settings_parts(s, &parts));
    t->strategy = parts.strategy;
    t->relax = parts.relax;
    t->cache_features = s->cache_features;
    assign = parts.assign;
    codec = parts.codec;
    QH_TRY(st, qh_codec_init(codec, params, kernels, &t->codec));
    if (t->codec.ops->takes_widths != (assign != NULL)) {
        st = assign ? qh_fail(QH_EUSAGE,
                              "--assign: codec '%s' gives all messages one width; leave --codec "
                              "out to choose a width for each",
                              codec)
                    : qh_fail(QH_EUSAGE,
                              "--codec: '%s' takes a width for each message; --assign chooses it",
                              codec);
        goto out;
    }
    QH_TRY(st, qh_parts_cover(s, &parts, &t->codec));
    t->error_feedback = parts.error_feedback;
    QH_TRY(st, qh_bits_parse("--bits", s->bits, &t->bits)); /* nonsense is, even where unused */
    if (assign)
        QH_TRY(st, qh_bits_choose("--assign", assign, &t->bits, &t->assign));
    if (t->assign && t->assign->solve && parts.rate[0]) {
        st = qh_fail(QH_EUSAGE,
                     "%s: --assign %s chooses by the size of messages, which a rate changes; leave "
                     "one of the two out",
                     parts.rate_where, assign);
        goto out;
    }
    QH_TRY(st, qh_relax_check(t));
out:
    return st;
}

/* Modeled times are of another machine than the one that the wall clock times. */
static qh_status check_clock(const qh_settings *s)
{
    if (s->clock == QH_CLOCK_REAL && s->compute != QH_COMPUTE_MEASURED)
        return qh_fail(QH_EUSAGE,
                       "--compute: modeled does not go with --clock real, where devices take the "
                       "time that this host takes; it has to be measured");
    return QH_OK;
}

qh_status qh_scenario_training(const qh_settings *s, const qh_dataset *d, const qh_kernels *kernels,
                               qh_train_settings *out)
{
    qh_train_settings t = {0};
    qh_status st;

    QH_TRY(st, check_model(s, d));
    QH_TRY(st, check_clock(s));
    t.model = model_config(s, d);
    t.epochs = s->epochs;
    t.lr = s->lr;
    t.weight_decay = s->weight_decay;
    t.decay_first = s->decay_layers == 1;
    t.seed = (uint64_t)s->seed;
    t.eval_every = s->eval_every;
    t.early_stop = s->early_stop;
    t.bits.assign_every = s->assign_every;
    t.bits.seed = (uint64_t)s->seed;
    t.bits.lambda = s->lambda;
    t.bits.group_size = s->group_size;
    t.bits.n_nodes = d->graph->n_nodes;
    t.bits.n_layers = (int)s->layers;
    t.host_times = s->compute == QH_COMPUTE_MEASURED;
    QH_TRY(st, choose_parts(s, kernels, &t));
    *out = t;
out:
    return st;
}

/* --- without the data set --- */

static bool is_preset(const char *name, int64_t n, const char *(*name_of)(int64_t i))
{
    for (int64_t i = 0; i < n; i++)
        if (strcasecmp(name, name_of(i)) == 0)
            return true;
    return false;
}

/* A network's name where an accelerator's is wanted, or the other way round. */
static qh_status check_kinds(const qh_settings *s)
{
    if (is_preset(s->net, qh_accelerator_preset_count(), qh_accelerator_preset_name))
        return qh_fail(QH_EUSAGE, "--net: '%s' is an accelerator; it goes with --accelerator",
                       s->net);
    if (is_preset(s->accelerator, qh_net_preset_count(), qh_net_preset_name))
        return qh_fail(QH_EUSAGE, "--accelerator: '%s' is a network; it goes with --net",
                       s->accelerator);
    return QH_OK;
}

qh_status qh_settings_check(const qh_settings *s)
{
    qh_train_settings t = {0};
    qh_accelerator *accelerator = NULL;
    qh_netmodel *net = NULL;
    qh_rate *rate = NULL;
    qh_parts parts = {0};
    double *scale = NULL;
    char made_by[256];
    qh_status st;

    QH_TRY(st, check_model_name(s));
    QH_TRY(st, choose_parts(s, qh_kernels_find("fast"), &t));
    QH_TRY(st, qh_settings_parts(s, &parts));
    QH_TRY(st, qh_parts_open_rate(s, &parts, &rate));
    QH_TRY(st, qh_placement_check(s->pin));
    QH_TRY(st, check_kinds(s));
    QH_TRY(st, check_clock(s));
    QH_TRY(st, qh_accelerator_open(s->accelerator, &accelerator));
    QH_TRY(st, qh_netmodel_open(s->net, s->devices > 1 ? (int)s->devices : 0, &net));
    QH_TRY(st, qh_reduce_check((qh_reduce_kind)s->allreduce, (int)s->devices, net));
    QH_TRY(st, qh_slow_devices("--devices-slow", s->devices_slow, (int)s->devices, 1, &scale));
    if (!s->partition_file)
        QH_TRY(st, qh_partition_made_by(s->partitioner, (qh_partition_request){0}, made_by,
                                        sizeof made_by));
out:
    qh_rate_close(rate);
    qh_mem_free(scale);
    qh_netmodel_close(net);
    qh_accelerator_free(accelerator);
    return st;
}
