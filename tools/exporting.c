#include "tools/exporting.h"

/* What the job's functions work with. */
typedef struct exporting {
    const qh_replay_config *config;
    qh_status (*span)(void *to, const qh_span *s);
    void *to;
    qh_status status; /* of span so far: an interval cannot fail */
} exporting;

static qh_time duration(void *ctx, int device, const qh_record *r)
{
    const qh_replay_config *c = ((const exporting *)ctx)->config;
    qh_time d = qh_compute_duration(c->accelerator, c->compute, r);

    return c->compute_scale ? qh_compute_scaled(d, c->compute_scale[device]) : d;
}

static void take(void *ctx, const qh_interval *i)
{
    exporting *e = ctx;
    qh_span s = {.device = i->device,
                 .stream = i->stream,
                 .start = i->start,
                 .end = i->end,
                 .record = i->record};

    if (e->status == QH_OK)
        e->status = e->span(e->to, &s);
}

static qh_status play(void *ctx, qh_status (*span)(void *to, const qh_span *s), void *to)
{
    exporting *e = ctx;
    qh_replay_config c = *e->config;
    qh_replay_result r;
    qh_status st;

    e->span = span;
    e->to = to;
    e->status = QH_OK;
    c.interval = take;
    c.ctx = e;
    QH_TRY(st, qh_replay(&c, &r));
    st = e->status;
out:
    return st;
}

qh_status qh_export_run(const qh_export_ops *format, const qh_replay_config *c, const char *path,
                        const char *title)
{
    exporting e = {.config = c};
    qh_export_job job = {.trace = c->trace,
                         .path = path,
                         .title = title,
                         .rounds = c->order == QH_EXCHANGE_ROUNDS,
                         .duration = duration,
                         .play = play,
                         .ctx = &e};

    return format->write(&job);
}

void qh_export_help(FILE *out)
{
    const qh_export_ops *f;

    for (int i = 0; (f = qh_export_at(i)); i++)
        fprintf(out, "  %-8s %s\n", f->name, f->help);
}
