/* Where the time of a device goes: holds cut into transfer and waiting, blocks in flight towards
 * it, epochs closed by all. */
#include "sim/engine_parts.h"
#include "src/base/mem.h"

void qh_engine_hold(qh_engine *e, int rank, const qh_record *r)
{
    qh_engine_device *d = &e->device[rank];

    d->current = *r;
    d->held_from = d->since = d->now;
}

qh_time *qh_engine_transfer_sum(qh_breakdown *sums, const qh_record *r)
{
    return r->direction == QH_ASSIGNMENT ? &sums->assign : &sums->exposed_comm;
}

qh_time *qh_engine_waiting_sum(qh_breakdown *sums, const qh_record *r)
{
    return r->direction == QH_ASSIGNMENT ? &sums->assign : &sums->idle;
}

/* A WAIT while nothing that it waits for is in flight: the device may still be paying overheads,
 * until `busy`; the rest is idle. No block arrives in such a time, so `busy` does not change. */
static void attribute_still(qh_engine_device *d, qh_time part)
{
    qh_time paying = d->busy - d->since;

    paying = paying < 0 ? 0 : paying > part ? part : paying;
    *qh_engine_transfer_sum(&d->sums, &d->current) += paying;
    *qh_engine_waiting_sum(&d->sums, &d->current) += part - paying;
}

void qh_engine_attribute(qh_engine *e, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];
    qh_time part = at - d->since;

    if (d->state == QH_REDUCING)
        *(d->reduce.flying ? &d->sums.allreduce : &d->sums.idle) += part;
    else if (e->exchange[d->waits].flying)
        *qh_engine_transfer_sum(&d->sums, &d->current) += part;
    else
        attribute_still(d, part);
    d->since = at;
}

void qh_engine_flying(qh_engine *e, int rank, int change, qh_time at)
{
    qh_engine_device *d = &e->device[rank];

    if (d->flying > 0)
        d->sums.comm += at - d->flying_since;
    d->flying_since = at;
    d->flying += change;
}

void qh_engine_tell(qh_engine *e, int rank, int stream, qh_time start, qh_time end,
                    const qh_record *r)
{
    qh_interval i = {.device = rank, .stream = stream, .start = start, .end = end, .record = r};

    e->config.timeline.interval(e->config.timeline.ctx, &i);
}

qh_status qh_engine_rows_init(qh_engine *e)
{
    qh_epoch_rows *w = &e->rows;
    qh_status st;

    w->capacity = 4;
    QH_TRY(st, QH_NEW_ARRAY(&w->sums, w->capacity * e->n));
    QH_TRY(st, QH_NEW_ARRAY(&w->end, w->capacity));
    QH_TRY(st, QH_NEW_ARRAY(&w->epoch, w->capacity));
    QH_TRY(st, QH_NEW_ARRAY(&w->n_closed, w->capacity));
out:
    return st;
}

void qh_engine_rows_fini(qh_engine *e)
{
    qh_mem_free(e->rows.n_closed);
    qh_mem_free(e->rows.epoch);
    qh_mem_free(e->rows.end);
    qh_mem_free(e->rows.sums);
}

/* Twice as many rows. Row i moves from place i % capacity to i % (2 capacity). */
static qh_status grow_rows(qh_engine *e)
{
    qh_epoch_rows *w = &e->rows;
    int64_t had = w->capacity;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&w->sums, had * e->n, 2 * had * e->n));
    QH_TRY(st, QH_RESIZE(&w->end, had, 2 * had));
    QH_TRY(st, QH_RESIZE(&w->epoch, had, 2 * had));
    QH_TRY(st, QH_RESIZE(&w->n_closed, had, 2 * had));
    for (int64_t i = w->first; i < w->first + had; i++) {
        int64_t from = i % had, to = i % (2 * had);

        if (to == from)
            continue;
        for (int rank = 0; rank < e->n; rank++)
            w->sums[to * e->n + rank] = w->sums[from * e->n + rank];
        w->end[to] = w->end[from];
        w->epoch[to] = w->epoch[from];
        w->n_closed[to] = w->n_closed[from];
        w->n_closed[from] = 0;
        w->end[from] = 0;
    }
    w->capacity = 2 * had;
out:
    return st;
}

static void tell_epoch(qh_engine *e)
{
    qh_epoch_rows *w = &e->rows;
    int64_t at = w->first % w->capacity;
    qh_epoch_times t = {.epoch = w->epoch[at],
                        .start = w->last_end,
                        .end = w->end[at],
                        .device = w->sums + at * e->n};

    w->last_end = w->end[at];
    w->n_closed[at] = 0;
    w->end[at] = 0;
    w->first++;
    if (e->config.timeline.epoch)
        e->config.timeline.epoch(e->config.timeline.ctx, &t);
}

qh_status qh_engine_close_epoch(qh_engine *e, int rank, const qh_record *r)
{
    qh_engine_device *d = &e->device[rank];
    qh_epoch_rows *w = &e->rows;
    qh_breakdown *s = &d->sums;
    int64_t at;
    qh_status st = QH_OK;

    qh_engine_flying(e, rank, 0, d->now);
    s->total = d->now - d->epoch_start;
    QH_ASSERT(s->compute + s->quantize + s->dequantize + s->assign + s->exposed_comm +
                  s->allreduce + s->idle ==
              s->total);
    if (d->n_epochs == w->first + w->capacity)
        QH_TRY(st, grow_rows(e));
    at = d->n_epochs % w->capacity;
    if (w->n_closed[at] > 0 && w->epoch[at] != r->epoch)
        return qh_engine_bad(e, rank, r, "ends epoch %d, where the other devices end epoch %d",
                             r->epoch, w->epoch[at]);
    w->epoch[at] = r->epoch;
    w->sums[at * e->n + rank] = *s;
    if (d->now > w->end[at])
        w->end[at] = d->now;
    *s = (qh_breakdown){0};
    d->epoch_start = d->now;
    d->n_epochs++;
    if (++w->n_closed[at] == e->n)
        tell_epoch(e);
out:
    return st;
}
