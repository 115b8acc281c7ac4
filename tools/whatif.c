#include "tools/whatif.h"

#include "sim/slow_devices.h"
#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/base/units.h"

#include <stdlib.h>
#include <string.h>

/* --- building --- */

static bool changes(const qh_whatif_options *o)
{
    return o->accelerator || o->slow || o->exchange || o->allreduce || o->scale_bytes != 1 ||
           o->scale_compute != 1;
}

static qh_status add_run(qh_whatif *w, int64_t recording, bool as_recorded, const char *net)
{
    const qh_recording *rec = &w->recording[recording];
    const qh_whatif_options *o = w->options;
    int64_t i = w->n_runs++;
    int n = rec->info->n_devices;
    qh_replay_config *c = &w->config[i];
    qh_status st;

    w->run[i] = (qh_whatif_run){.trace = recording, .as_recorded = as_recorded};
    *c = (qh_replay_config){.trace = rec->trace,
                            .compute = rec->compute,
                            .order = rec->order,
                            .reduce = rec->reduce,
                            .bytes_scale = 1};
    if (n > 1 && net)
        QH_TRY(st, qh_netmodel_open(net, n, &w->net[i]));
    else
        QH_TRY(st, qh_recording_net(rec, &w->net[i]));
    if (!as_recorded && o->accelerator && rec->imported)
        QH_TRY(st, qh_fail(QH_EUSAGE,
                           "--accelerator: what %s computes are times that it was imported with; "
                           "--scale-compute changes them",
                           rec->path));
    if (!as_recorded && o->accelerator)
        QH_TRY(st, qh_accelerator_open(o->accelerator, &w->accelerator[i]));
    else
        QH_TRY(st, qh_recording_accelerator(rec, &w->accelerator[i]));
    QH_TRY(st, qh_slow_devices("--devices-slow", !as_recorded && o->slow ? o->slow : rec->slow, n,
                               as_recorded ? 1 : o->scale_compute, &w->scale[i]));
    if (!as_recorded) {
        c->bytes_scale = o->scale_bytes;
        c->order = o->exchange ? (qh_exchange_order)(o->exchange - 1) : rec->order;
        c->reduce = o->allreduce ? (qh_reduce_kind)(o->allreduce - 1) : rec->reduce;
    }
    w->run[i].net = w->net[i] ? w->net[i]->name : NULL;
    c->net = w->net[i];
    c->accelerator = w->accelerator[i];
    c->compute_scale = w->scale[i];
out:
    return st;
}

/* Whether the trace says how the run was made. */
static bool says(const qh_recording *r)
{
    return r->accelerator.text && (r->net.text || r->info->n_devices == 1);
}

static qh_status add_runs(qh_whatif *w, int64_t recording)
{
    const qh_recording *rec = &w->recording[recording];
    const qh_text_list *nets = &w->options->net;
    qh_status st = QH_OK;

    if (says(rec))
        QH_TRY(st, add_run(w, recording, true, NULL));
    for (int64_t i = 0; i < nets->n; i++)
        QH_TRY(st, add_run(w, recording, false, nets->item[i]));
    if (nets->n == 0 && (changes(w->options) || !says(rec)))
        QH_TRY(st, add_run(w, recording, false, NULL));
    if (rec->follows_network && (nets->n > 0 || w->options->accelerator))
        qh_log(QH_LOG_NOTE,
               "%s: its bit-widths were chosen for %s on %s and stay; on another network or "
               "accelerator %s would choose others: train there to see",
               rec->path, rec->accelerator.name, rec->net.name, rec->method);
out:
    return st;
}

qh_status qh_whatif_open(const qh_whatif_options *o, const char *const *paths, int64_t n_paths,
                         qh_whatif *out)
{
    qh_whatif w = {.options = o};
    int64_t room = n_paths * (o->net.n + 2);
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&w.recording, n_paths));
    QH_TRY(st, QH_NEW_ARRAY(&w.run, room));
    QH_TRY(st, QH_NEW_ARRAY(&w.net, room));
    QH_TRY(st, QH_NEW_ARRAY(&w.accelerator, room));
    QH_TRY(st, QH_NEW_ARRAY(&w.scale, room));
    QH_TRY(st, QH_NEW_ARRAY(&w.config, room));
    for (; w.n_recordings < n_paths; w.n_recordings++) {
        QH_TRY(st,
               qh_recording_open(paths[w.n_recordings], o->partial, &w.recording[w.n_recordings]));
    }
    for (int64_t i = 0; i < n_paths; i++)
        QH_TRY(st, add_runs(&w, i));
    *out = w;
    w = (qh_whatif){0};
out:
    qh_whatif_close(&w);
    return st;
}

void qh_whatif_close(qh_whatif *w)
{
    for (int64_t i = 0; i < w->n_runs; i++) {
        qh_mem_free(w->scale[i]);
        qh_accelerator_free(w->accelerator[i]);
        qh_netmodel_close(w->net[i]);
    }
    for (int64_t i = 0; i < w->n_recordings; i++)
        qh_recording_close(&w->recording[i]);
    qh_mem_free(w->config);
    qh_mem_free(w->scale);
    qh_mem_free(w->accelerator);
    qh_mem_free(w->net);
    qh_mem_free(w->run);
    qh_mem_free(w->recording);
    *w = (qh_whatif){0};
}

/* --- running --- */

/* The engine and the times of the run must agree: else this program times otherwise than the one
 * that recorded. */
static void note_differences(const qh_whatif *w)
{
    for (int64_t i = 0; i < w->n_runs; i++) {
        const qh_whatif_run *run = &w->run[i];

        if (run->as_recorded && run->r.n_same < run->r.n_timed)
            qh_log(QH_LOG_WARNING,
                   "%s: %lld of %lld epochs take another time than in the run, so it was made by "
                   "another version or with a plug-in that has changed",
                   w->recording[run->trace].path, (long long)(run->r.n_timed - run->r.n_same),
                   (long long)run->r.n_timed);
    }
}

qh_status qh_whatif_execute(qh_whatif *w)
{
    qh_replay_result *r = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&r, w->n_runs));
    QH_TRY(st, qh_replay_all(w->config, w->n_runs, (int)w->options->threads, r));
    for (int64_t i = 0; i < w->n_runs; i++)
        w->run[i].r = r[i];
    note_differences(w);
out:
    qh_mem_free(r);
    return st;
}

const qh_whatif_run *qh_whatif_recorded(const qh_whatif *w, int64_t recording)
{
    for (int64_t i = 0; i < w->n_runs; i++)
        if (w->run[i].trace == recording && w->run[i].as_recorded)
            return &w->run[i];
    return NULL;
}

/* Runs of a recording before this one that are not the one as recorded. */
static int64_t line_of(const qh_whatif *w, const qh_whatif_run *run)
{
    int64_t line = 0;

    for (const qh_whatif_run *r = w->run; r < run; r++)
        line += r->trace == run->trace && !r->as_recorded;
    return run->as_recorded ? -1 : line;
}

const qh_whatif_run *qh_whatif_first(const qh_whatif *w, const qh_whatif_run *run)
{
    int64_t line = line_of(w, run);

    for (int64_t i = 0; i < w->n_runs && w->run[i].trace == 0; i++)
        if (line_of(w, &w->run[i]) == line)
            return &w->run[i];
    return NULL;
}
