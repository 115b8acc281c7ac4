#include "tools/run.h"

#include "sim/placement.h"
#include "src/base/mem.h"
#include "tools/console.h"
#include "tools/runfolder.h"
#include "tools/stop.h"
#include "tools/summary.h"
#include "tools/tracer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- settings --- */

typedef struct reading {
    qh_args *args;
    qh_settings *settings;
    const char *only; /* the one option that this pass takes */
} reading;

static qh_status take_one(void *ctx, const char *where, const char *name, const char *text)
{
    reading *r = ctx;

    if (strcmp(name, r->only) != 0)
        return QH_OK;
    if (strcmp(name, "recipe") == 0)
        return qh_settings_recipe(r->settings, where, text);
    return qh_args_store(r->args, where, name, text);
}

/* Options of one source that say the same thing, or nothing. */
typedef struct given {
    bool bits, partition, partitioner, compute;
} given;

static qh_status note_given(void *ctx, const char *where, const char *name, const char *text)
{
    given *g = ctx;

    (void)text;
    g->bits = g->bits || strcmp(name, "bits") == 0;
    g->compute = g->compute || strcmp(name, "compute") == 0;
    g->partition = g->partition || strcmp(name, "partition") == 0;
    g->partitioner = g->partitioner || strcmp(name, "partitioner") == 0;
    if (g->partition && g->partitioner)
        return qh_fail(QH_EUSAGE,
                       "%s: --partition and --partitioner both say who has what; give "
                       "one of them",
                       where);
    return QH_OK;
}

void qh_run_note_bits(const qh_front *front, bool uses)
{
    if (front->bits_given && !uses)
        qh_console_note("qhalo: note: --bits is for --assign and methods that choose widths; it "
                        "does nothing here");
}

void qh_run_note_mask(const qh_settings *s, bool uses)
{
    if (s->mask_rescale && !uses)
        qh_console_note("qhalo: note: --mask-rescale is for mask:R and rate schedules; it does "
                        "nothing here");
}

qh_status qh_run_read(qh_args *a, qh_settings *s, qh_front *front, int argc, char **argv)
{
    reading config = {a, s, "config"}, recipe = {a, s, "recipe"};
    given in_file = {0}, in_line = {0};
    qh_status st;

    QH_TRY(st, qh_args_default(a));
    QH_TRY(st, qh_args_scan(a, argc, argv, take_one, &config));
    QH_TRY(st, qh_args_scan(a, argc, argv, note_given, &in_line));
    if (front->config) {
        QH_TRY(st, qh_args_scan_file(a, front->config, note_given, &in_file));
        QH_TRY(st, qh_args_scan_file(a, front->config, take_one, &recipe));
        QH_TRY(st, qh_args_scan_file(a, front->config, qh_args_store, a));
    }
    QH_TRY(st, qh_args_scan(a, argc, argv, take_one, &recipe));
    QH_TRY(st, qh_args_scan(a, argc, argv, qh_args_store, a));
    front->bits_given = in_file.bits || in_line.bits;
    if (s->clock == QH_CLOCK_REAL && !in_file.compute && !in_line.compute)
        s->compute = QH_COMPUTE_MEASURED; /* the other would be refused */
out:
    return st;
}

qh_status qh_run_open_dataset(const char *name, const qh_settings *s, qh_dataset **out)
{
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, qh_dataset_open(name, &d));
    QH_TRY(st, qh_dataset_normalise(d, (qh_feature_norm)s->feature_norm));
    *out = d;
    d = NULL;
out:
    qh_dataset_free(d);
    return st;
}

/* --- watching --- */

typedef struct watch {
    const qh_dataset *dataset;
    const qh_settings *settings;
    qh_runfolder *folder; /* owned; NULL: none */
    qh_tracer *tracer;    /* owned; NULL: none */
    bool verbose;
    double loss, validation;
} watch;

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Which CPUs the threads of each device have; without pinning all have the same. */
static void tell_placement(const qh_placement *p)
{
    char cpus[512];

    if (!p->pinned)
        qh_console_note("placement: unbound, on CPUs %s",
                        qh_placement_text(p, 0, cpus, sizeof cpus));
    for (int d = 0; p->pinned && d < p->n_devices; d++)
        qh_console_note("placement: device %d on CPU%s %s", d, p->team_size[d] > 1 ? "s" : "",
                        qh_placement_text(p, d, cpus, sizeof cpus));
}

static void ready(void *ctx, const qh_settings *s, const qh_result *partial, int64_t bytes)
{
    const watch *w = ctx;
    const qh_partition_figures *f = &partial->partition;
    char buf[QH_UNIT_TEXT_BYTES], method[QH_METHOD_TEXT_BYTES];

    qh_console_note("%s: %" PRId64 " nodes, %" PRId64 " edges, %" PRId64 " features, %" PRId64
                    " classes",
                    w->dataset->name, w->dataset->graph->n_nodes, w->dataset->graph->n_edges,
                    w->dataset->n_features, w->dataset->n_classes);
    qh_console_note("partition %s: %d part%s of %" PRId64 " to %" PRId64 " nodes, cut %.1f %% of "
                    "edges, halos of %" PRId64 " to %" PRId64 " nodes (%" PRId64
                    " in all), marginal %.1f %%",
                    partial->partition_method, f->n_parts, f->n_parts == 1 ? "" : "s", f->min_inner,
                    f->max_inner, share(f->edge_cut, f->n_pairs), f->min_halo, f->max_halo,
                    f->halo_nodes, share(f->marginal_nodes, w->dataset->graph->n_nodes));
    /* The seed makes the line of each compared run another one. */
    qh_console_note("method %s, seed %" PRId64 ": %s in the first epoch",
                    qh_method_text(s, method, sizeof method), s->seed,
                    qh_print_bytes((double)bytes, buf));
    if (w->verbose && partial->placement)
        tell_placement(partial->placement);
    if (w->tracer)
        qh_tracer_ready(w->tracer, partial);
}

static qh_status take_widths(void *ctx, int device, const qh_record *send, const uint8_t *width,
                             int64_t n)
{
    return qh_tracer_widths(((const watch *)ctx)->tracer, device, send, width, n);
}

static qh_status take_records(void *ctx, int device, int32_t epoch, const qh_record *r, int64_t n)
{
    return qh_tracer_records(((const watch *)ctx)->tracer, device, epoch, r, n);
}

static qh_status take_trained(void *ctx, const qh_epoch_metrics *m)
{
    return qh_tracer_trained(((const watch *)ctx)->tracer, m);
}

static qh_status take_times(void *ctx, const qh_epoch_times *t)
{
    return qh_tracer_times(((const watch *)ctx)->tracer, t);
}

static qh_status take_epoch(void *ctx, const qh_epoch_row *row)
{
    const watch *w = ctx;

    return w->folder ? qh_runfolder_epoch(w->folder, row) : QH_OK;
}

static qh_status take_bits(void *ctx, int32_t epoch, int layer, int direction, int width,
                           int64_t messages)
{
    const watch *w = ctx;

    return w->folder ? qh_runfolder_bits(w->folder, epoch, layer, direction, width, messages)
                     : QH_OK;
}

static void show_progress(void *ctx, const qh_epoch_metrics *m, int64_t epochs)
{
    watch *w = ctx;

    w->loss = m->loss;
    if (m->evaluated)
        w->validation = m->metric[QH_SPLIT_VALIDATION];
    qh_console_bar((double)(m->epoch + 1) / (double)epochs,
                   "%s seed %" PRId64 ": epoch %" PRId32 " of %" PRId64 ", loss %.4f, validation "
                   "%.2f %%",
                   w->settings->method, w->settings->seed, m->epoch + 1, epochs, w->loss,
                   100 * w->validation);
}

/* --- running --- */

static qh_status open_outputs(const qh_run_output *to, const char *dataset, watch *w,
                              qh_observer *o)
{
    qh_status st = QH_OK;

    if (to->folder)
        QH_TRY(st,
               qh_runfolder_open(to->folder, to->measured || w->settings->clock == QH_CLOCK_REAL,
                                 &w->folder));
    if (!to->trace)
        return QH_OK;
    QH_TRY(st,
           qh_tracer_open(to->trace, w->settings, dataset, w->dataset, to->payload, &w->tracer));
    o->widths = to->payload ? take_widths : NULL;
    o->records = take_records;
    o->trained = take_trained;
    o->times = take_times;
out:
    return st;
}

/* After a run, whole or interrupted. */
static qh_status close_outputs(const watch *w, const char *dataset, const qh_result *r,
                               const json_t *summary)
{
    qh_status st = QH_OK;

    if (w->tracer)
        QH_TRY(st, qh_tracer_close(w->tracer));
    if (w->folder)
        QH_TRY(st, qh_runfolder_finish(w->folder, dataset, w->settings, r, summary));
out:
    return st;
}

/* A model without contention lets all who send to a device do so at the full rate. */
static void note_incast(const qh_settings *s, const qh_result *r)
{
    if (!r->shares && r->senders > 1)
        qh_console_note(
            "qhalo: warning: network %s shares nothing, and up to %d devices send to one "
            "at a time: where they share a port, that takes up to %d times as long; "
            "loggp and fairshare know ports",
            s->net, r->senders, r->senders);
}

qh_status qh_run_execute(const qh_settings *s, const char *dataset, const qh_dataset *d,
                         const qh_run_output *to, qh_result *out, json_t **summary)
{
    watch w = {.dataset = d, .settings = s, .verbose = to->verbose, .validation = NAN};
    qh_observer o = {.ready = ready,
                     .epoch = take_epoch,
                     .bits = take_bits,
                     .progress = show_progress,
                     .stop = qh_stop_flag(),
                     .ctx = &w};
    qh_result r = {0};
    json_t *json = NULL;
    qh_status st, ran;

    QH_TRY(st, open_outputs(to, dataset, &w, &o));
    ran = to->run ? to->run(to->ctx, s, d, &o, &r) : qh_scenario_run(s, d, &o, &r);
    qh_console_clear();
    if (ran < 0 && !r.interrupted) {
        st = ran;
        goto out;
    }
    note_incast(s, &r);
    json = qh_summary_json(s, d, &r);
    QH_TRY(st, json ? QH_OK : qh_fail(QH_ERESOURCE, "memory: too short for the summary"));
    QH_TRY(st, close_outputs(&w, dataset, &r, json));
    st = ran;
    *out = r;
    r = (qh_result){0};
    *summary = json;
    json = NULL;
out:
    qh_tracer_free(w.tracer);
    qh_runfolder_free(w.folder);
    qh_result_fini(&r);
    json_decref(json);
    return st;
}
