#include "sim/scenario.h"

#include "sim/device.h"
#include "sim/scenario_parts.h"
#include "src/base/log.h"

static qh_status build(qh_scenario *c)
{
    const qh_settings *s = c->settings;
    int n = (int)s->devices;
    qh_status st;

    QH_TRY(st, qh_scenario_models(c));
    QH_TRY(st, qh_scenario_ids(c));
    QH_TRY(st, qh_scenario_measure(c));
    QH_TRY(st, qh_scenario_layout(c));
    QH_TRY(st, qh_placement_new(n, (int)s->threads, s->pin, &c->placement));
    c->result->placement = c->placement;
    c->result->cores = c->placement->n_cores;
    c->result->cores_shared = c->placement->shared;
    QH_TRY(st, qh_inproc_new(n, &c->transport));
    if (s->clock == QH_CLOCK_REAL && c->placement->shared)
        qh_log(
            QH_LOG_WARNING,
            "--clock: %d devices on %d cores wait for each other's computing too, which the "
            "prediction leaves out; fewer devices, or a slower network (--time-scale), is fairer",
            n, c->placement->n_cores);
    c->watch = s->clock == QH_CLOCK_REAL;
    QH_TRY(st, qh_scenario_meter(c));
    QH_TRY(st, qh_scenario_pace(c));
out:
    return st;
}

static void ready(void *ctx, const qh_volume *first_epoch)
{
    qh_scenario *c = ctx;
    const qh_observer *o = c->observer;

    if (o && o->ready)
        o->ready(o->ctx, c->settings, c->result, first_epoch->bytes);
}

static qh_status train(qh_scenario *c)
{
    qh_devices_config devices = {.settings = &c->train,
                                 .dataset = c->dataset,
                                 .layout = c->layout,
                                 .placement = c->placement,
                                 .transport = c->transport,
                                 .meter = c->meter,
                                 .pace = c->pace,
                                 .ready = ready,
                                 .ctx = c};
    qh_status st;

    QH_TRY(st, qh_devices_run(&devices, &c->result->train));
    st = qh_scenario_finish(c);
out:
    return st;
}

qh_status qh_scenario_run(const qh_settings *s, const qh_dataset *dataset, const qh_observer *o,
                          qh_result *out)
{
    qh_result r = {0};
    qh_scenario c = {.settings = s, .dataset = dataset, .observer = o, .result = &r};
    qh_status st;

    qh_scenario_begin_host(&c);
    QH_TRY(st, build(&c));
    st = train(&c);
    if (st < 0 && st != QH_EINTERRUPT)
        goto out;
    qh_scenario_measure_host(&c);
    r.placement = NULL;
    *out = r;
    r = (qh_result){0};
out:
    qh_scenario_dismantle(&c);
    qh_result_fini(&r);
    return st;
}
