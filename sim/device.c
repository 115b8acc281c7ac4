#include "sim/device.h"

#include "src/base/mem.h"

#include <pthread.h>
#include <string.h>

typedef struct fleet fleet;

typedef struct device {
    fleet *fleet;
    int rank;
    pthread_t thread;
    qh_volume volume; /* of epoch 0 */
    qh_train_result result;
    qh_status status;
    char error[QH_ERROR_TEXT_BYTES];
} device;

struct fleet {
    const qh_devices_config *config;
    qh_barrier *built; /* owned: all devices have their trainer */
    device *device;    /* owned */
};

static qh_status all_built(void *ctx)
{
    fleet *f = ctx;
    const qh_kernels *kernels = f->config->settings->codec.kernels;
    const qh_placement *p = f->config->placement;
    qh_volume sum = {0};
    int n_threads = 0;
    qh_status st;

    for (int i = 0; i < p->n_devices; i++)
        n_threads += p->team_size[i];
    QH_TRY(st, kernels->prepare(n_threads)); /* all else is allocated by now */
    for (int i = 0; i < f->config->layout->n_ranks; i++) {
        sum.bytes += f->device[i].volume.bytes;
        sum.messages += f->device[i].volume.messages;
        sum.fp32_bytes += f->device[i].volume.fp32_bytes;
    }
    if (f->config->ready)
        f->config->ready(f->config->ctx, &sum);
out:
    return st;
}

static qh_status build(device *d, qh_team *team, qh_trainer **out)
{
    const qh_devices_config *c = d->fleet->config;
    qh_rank_context context = {.settings = c->settings,
                               .dataset = c->dataset,
                               .layout = c->layout,
                               .rank = d->rank,
                               .transport = c->transport,
                               .team = team,
                               .sink = c->pace ? qh_pace_sink(c->pace) : qh_meter_sink(c->meter)};
    qh_trainer *t = NULL;
    qh_status st;

    QH_TRY(st, qh_trainer_new(&context, &t));
    QH_TRY(st, qh_trainer_volume(t, 0, &d->volume));
    for (int l = 0; d->rank == 0 && l < c->settings->model.n_layers; l++)
        qh_meter_set_columns(c->meter, l, qh_model_message_cols(qh_trainer_model(t), l));
    qh_meter_set_team(c->meter, d->rank, team);
    *out = t;
    t = NULL;
out:
    qh_trainer_free(t);
    return st;
}

static qh_status work(device *d)
{
    const qh_devices_config *c = d->fleet->config;
    const cpu_set_t *cpu_sets = c->placement->cpu_sets[d->rank];
    qh_team *team = NULL;
    qh_trainer *t = NULL;
    qh_status st;

    QH_TRY(st, qh_placement_bind(&cpu_sets[0]));
    QH_TRY(st, qh_team_new(c->placement->team_size[d->rank], cpu_sets, &team));
    QH_TRY(st, build(d, team, &t));
    QH_TRY(st, qh_barrier_wait(d->fleet->built, all_built, d->fleet));
    if (c->pace)
        qh_pace_begin(c->pace, d->rank);
    qh_meter_begin(c->meter, d->rank);
    QH_TRY(st, qh_train(t, &d->result));
out:
    qh_trainer_free(t);
    qh_team_free(team);
    return st;
}

static void stop_all(fleet *f, int rank)
{
    f->config->transport->ops->abort(f->config->transport, rank);
    qh_barrier_break(f->built);
    qh_meter_break(f->config->meter);
    if (f->config->pace)
        qh_pace_break(f->config->pace);
}

static void *thread_main(void *ctx)
{
    device *d = ctx;

    d->status = work(d);
    if (d->status < 0) {
        snprintf(d->error, sizeof d->error, "%s", qh_error_text());
        stop_all(d->fleet, d->rank);
    }
    return NULL;
}

static qh_status start(device *d)
{
    int error = pthread_create(&d->thread, NULL, thread_main, d);

    if (error)
        return qh_fail(QH_ERESOURCE, "--devices: the thread of device %d could not be started: %s",
                       d->rank, strerror(error));
    return QH_OK;
}

/* The failure that began it: those who were only stopped say QH_EINTERRUPT. */
static qh_status first_failure(const fleet *f)
{
    const device *worst = NULL;

    for (int i = 0; i < f->config->layout->n_ranks; i++) {
        const device *d = &f->device[i];

        if (d->status < 0 &&
            (!worst || (worst->status == QH_EINTERRUPT && d->status != QH_EINTERRUPT)))
            worst = d;
    }
    if (!worst)
        return QH_OK;
    qh_error_set_text(worst->error);
    return worst->status;
}

qh_status qh_devices_run(const qh_devices_config *c, qh_train_result *out)
{
    int n = c->layout->n_ranks, n_started = 0;
    fleet f = {.config = c};
    qh_status st, failed;

    QH_TRY(st, QH_NEW_ARRAY(&f.device, n));
    QH_TRY(st, qh_barrier_new(n, &f.built));
    for (; n_started < n; n_started++) {
        device *d = &f.device[n_started];

        d->fleet = &f;
        d->rank = n_started;
        st = start(d);
        if (st < 0) {
            stop_all(&f, n_started);
            break;
        }
    }
    for (int i = 0; i < n_started; i++)
        pthread_join(f.device[i].thread, NULL);
    if (st < 0)
        goto out;
    failed = first_failure(&f);
    QH_TRY(st, failed);
    *out = f.device[0].result;
out:
    qh_barrier_free(f.built);
    qh_mem_free(f.device);
    return st;
}
