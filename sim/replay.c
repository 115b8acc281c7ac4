#include "sim/replay.h"

#include "src/base/mem.h"
#include "src/base/thread.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct replay {
    const qh_replay_config *config;
    int n;                   /* devices */
    qh_engine *engine;       /* owned */
    qh_trace_cursor *cursor; /* owned */
    int64_t *next;           /* owned, [n]: frame to be fed */
    qh_record *scaled;       /* owned: the records of a frame with their bytes scaled */
    int64_t n_scaled;
    qh_time *span, *recorded; /* owned, [n]: of an epoch; ends of the run so far */
    qh_totals totals;
    qh_replay_result result;
    qh_status epoch_status;
} replay;

/* --- feeding --- */

static void count(qh_replay_result *r, const qh_record *record, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (record[i].op != QH_OP_SEND)
            continue;
        r->blocks++;
        r->bytes += record[i].bytes;
        for (int w = 0; w < QH_N_WIDTHS; w++) {
            r->messages += record[i].messages[w];
            r->messages_of_width[w] += record[i].messages[w];
        }
    }
}

static qh_status scale_bytes(replay *p, const qh_record **r, int64_t n)
{
    double factor = p->config->bytes_scale;
    qh_status st = QH_OK;

    if (factor == 0 || factor == 1)
        return QH_OK;
    if (n > p->n_scaled) {
        QH_TRY(st, QH_RESIZE(&p->scaled, p->n_scaled, n));
        p->n_scaled = n;
    }
    memcpy(p->scaled, *r, (size_t)n * sizeof **r);
    for (int64_t i = 0; i < n; i++)
        if ((*r)[i].op == QH_OP_SEND || (*r)[i].op == QH_OP_RECV) {
            double bytes = (double)(*r)[i].bytes * factor;

            p->scaled[i].bytes = bytes < 9e18 ? (int64_t)llrint(bytes) : INT64_MAX;
        }
    *r = p->scaled;
out:
    return st;
}

static qh_status feed(replay *p, int device)
{
    const qh_record *r = NULL;
    int64_t n = 0;
    qh_status st;

    QH_TRY(st, qh_trace_read(p->cursor, device, p->next[device]++, &r, &n));
    QH_TRY(st, scale_bytes(p, &r, n));
    count(&p->result, r, n);
    QH_TRY(st, qh_engine_feed(p->engine, device, r, n));
    if (p->next[device] == qh_trace_n_frames(p->config->trace, device))
        qh_engine_end(p->engine, device);
out:
    return st;
}

/* The engine stops where a device has no record left, so those devices get their next frame. */
static qh_status run(replay *p)
{
    bool fed = true;
    qh_status st = QH_OK;

    while (fed) {
        fed = false;
        for (int d = 0; d < p->n; d++)
            if (qh_engine_pending(p->engine, d) == 0 &&
                p->next[d] < qh_trace_n_frames(p->config->trace, d)) {
                QH_TRY(st, feed(p, d));
                fed = true;
            }
        QH_TRY(st, qh_engine_run(p->engine));
        QH_TRY(st, p->epoch_status);
    }
    QH_TRY(st, qh_engine_finish(p->engine));
    st = p->epoch_status;
out:
    return st;
}

/* --- epochs --- */

static qh_status compare_times(replay *p, const qh_epoch_times *t)
{
    int64_t i = p->totals.n_epochs;
    bool same = true;
    qh_status st;

    QH_TRY(st, qh_trace_read_times(p->cursor, i, p->span));
    for (int d = 0; d < p->n; d++) {
        same = same && p->span[d] == t->device[d].total;
        if (p->span[d] > QH_TIME_NEVER - p->recorded[d])
            return qh_fail(QH_EINPUT, "%s: recorded times pass the end of virtual time (106 days)",
                           qh_trace_look(p->config->trace)->path);
        p->recorded[d] += p->span[d];
        if (p->recorded[d] > p->result.recorded_end)
            p->result.recorded_end = p->recorded[d];
    }
    p->result.n_timed++;
    p->result.n_same += same;
out:
    return st;
}

static void on_epoch(void *ctx, const qh_epoch_times *t)
{
    replay *p = ctx;
    const qh_trace_info *info = qh_trace_look(p->config->trace);
    int64_t i = p->totals.n_epochs;

    if (p->epoch_status < 0)
        return;
    if (i >= info->n_epochs || t->epoch != info->first_epoch + i) {
        p->epoch_status =
            qh_fail(QH_EINPUT, "%s: its records end epoch %d where epoch %lld should end",
                    info->path, t->epoch, (long long)(info->first_epoch + i));
        return;
    }
    if (i < info->n_times)
        p->epoch_status = compare_times(p, t);
    qh_totals_epoch(&p->totals, t);
}

static void on_interval(void *ctx, const qh_interval *i)
{
    const replay *p = ctx;

    p->config->interval(p->config->ctx, i);
}

static qh_status check_all_ended(const replay *p)
{
    const qh_trace_info *info = qh_trace_look(p->config->trace);

    if (p->totals.n_epochs == info->n_epochs)
        return QH_OK;
    return qh_fail(QH_EINPUT, "%s: its records end %lld epochs, where %lld are marked as whole",
                   info->path, (long long)p->totals.n_epochs, (long long)info->n_epochs);
}

/* --- together --- */

static qh_status build(replay *p)
{
    const qh_replay_config *c = p->config;
    qh_engine_config e = {
        .n_devices = p->n,
        .net = c->net,
        .accelerator = c->accelerator,
        .compute = c->compute,
        .order = c->order,
        .reduce = c->reduce,
        .compute_scale = c->compute_scale,
        .path = true,
        .timeline = {.interval = c->interval ? on_interval : NULL, .epoch = on_epoch, .ctx = p}};
    qh_status st;

    QH_TRY(st, qh_engine_new(&e, &p->engine));
    QH_TRY(st, qh_trace_cursor_new(c->trace, &p->cursor));
    QH_TRY(st, QH_NEW_ARRAY(&p->next, p->n));
    QH_TRY(st, QH_NEW_ARRAY(&p->span, p->n));
    QH_TRY(st, QH_NEW_ARRAY(&p->recorded, p->n));
    QH_TRY(st, qh_totals_init(&p->totals, p->n));
    for (int d = 0; d < p->n; d++)
        if (qh_trace_n_frames(c->trace, d) == 0)
            qh_engine_end(p->engine, d);
out:
    return st;
}

qh_status qh_replay(const qh_replay_config *c, qh_replay_result *out)
{
    replay p = {.config = c, .n = qh_trace_look(c->trace)->n_devices};
    qh_status st;

    QH_TRY(st, build(&p));
    QH_TRY(st, run(&p));
    QH_TRY(st, check_all_ended(&p));
    qh_totals_finish(&p.totals, &p.result.mean, &p.result.max);
    p.result.n_epochs = p.totals.n_epochs;
    p.result.end = p.totals.end;
    p.result.path = qh_engine_path(p.engine);
    *out = p.result;
out:
    qh_totals_fini(&p.totals);
    qh_mem_free(p.recorded);
    qh_mem_free(p.span);
    qh_mem_free(p.scaled);
    qh_mem_free(p.next);
    qh_trace_cursor_free(p.cursor);
    qh_engine_free(p.engine);
    return st;
}

/* --- many --- */

typedef struct job {
    const qh_replay_config *config;
    qh_replay_result *result;
    qh_status status;
    char error[QH_ERROR_TEXT_BYTES];
} job;

static void run_job(void *ctx, int64_t item)
{
    job *j = (job *)ctx + item;

    j->status = qh_replay(j->config, j->result);
    if (j->status < 0)
        snprintf(j->error, sizeof j->error, "%s", qh_error_text());
}

qh_status qh_replay_all(const qh_replay_config *config, int64_t n, int n_threads,
                        qh_replay_result *result)
{
    qh_team *team = NULL;
    job *jobs = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&jobs, n));
    for (int64_t i = 0; i < n; i++)
        jobs[i] = (job){.config = &config[i], .result = &result[i]};
    QH_TRY(st, qh_team_new(n_threads < n ? n_threads : (int)(n > 0 ? n : 1), NULL, &team));
    qh_team_run(team, n, run_job, jobs);
    for (int64_t i = 0; i < n && st == QH_OK; i++)
        if (jobs[i].status < 0) {
            qh_error_set_text(jobs[i].error);
            st = jobs[i].status;
        }
out:
    qh_team_free(team);
    qh_mem_free(jobs);
    return st;
}
