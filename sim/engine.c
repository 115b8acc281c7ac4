#include "sim/engine.h"

#include "sim/engine_parts.h"
#include "src/base/mem.h"

#include <stdarg.h>
#include <string.h>

enum { DONE_CAPACITY = 256, FEW_DEVICES = 32 };

qh_status qh_engine_new(const qh_engine_config *c, qh_engine **out)
{
    qh_engine *e = NULL;
    qh_status st;

    QH_ASSERT(c->n_devices >= 1 && c->n_devices <= QH_ENGINE_MAX_DEVICES && c->accelerator);
    QH_ASSERT(c->net ? c->net->n_devices == c->n_devices : c->n_devices == 1);
    QH_TRY(st, QH_NEW(&e));
    e->config = *c;
    e->n = c->n_devices;
    e->fine = c->timeline.interval != NULL;
    e->rounds = c->order == QH_EXCHANGE_ROUNDS;
    e->free_exchange = -1;
    QH_TRY(st, QH_NEW_ARRAY(&e->device, e->n));
    QH_TRY(st, QH_NEW_ARRAY(&e->channel, (int64_t)e->n * e->n));
    for (int64_t i = 0; i < (int64_t)e->n * e->n; i++)
        e->channel[i] = (qh_channel){-1, -1};
    QH_TRY(st, qh_engine_rows_init(e));
    QH_TRY(st, qh_engine_reduce_init(e));
    for (int rank = 0; rank < e->n; rank++) {
        e->device[rank].exchanges = -1;
        QH_TRY(st, qh_engine_resume(e, rank, 0));
    }
    *out = e;
    e = NULL;
out:
    qh_engine_free(e);
    return st;
}

void qh_engine_free(qh_engine *e)
{
    if (!e)
        return;
    qh_mem_free(e->reduce_arrived);
    qh_mem_free(e->undone);
    qh_mem_free(e->exchange);
    qh_mem_free(e->free);
    qh_mem_free(e->told);
    qh_mem_free(e->round);
    qh_mem_free(e->block);
    qh_mem_free(e->channel);
    for (int rank = 0; e->device && rank < e->n; rank++)
        qh_mem_free(e->device[rank].queue);
    qh_mem_free(e->device);
    qh_engine_rows_fini(e);
    qh_heap_fini(&e->events);
    qh_mem_free(e);
}

qh_status qh_engine_bad(const qh_engine *e, int rank, const qh_record *r, const char *format, ...)
{
    char text[QH_ERROR_TEXT_BYTES / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qh_fail(QH_EINPUT, "device %d, record %lld (%s, epoch %d, layer %d, %s): %s", rank,
                   (long long)e->device[rank].n_done, qh_op_name(r->op), r->epoch, r->layer,
                   qh_direction_name(r->direction), text);
}

qh_status qh_engine_push(qh_engine *e, qh_time at, int rank, qh_event_kind kind, int64_t id)
{
    uint64_t order = (uint64_t)rank << QH_EVENT_RANK_BIT | (uint64_t)kind << QH_EVENT_KIND_BIT;

    if (at == QH_TIME_NEVER)
        return qh_fail(QH_EINPUT,
                       "device %d: virtual time passes its end (106 days); shorten the run or use "
                       "a faster network or accelerator",
                       rank);
    if (kind != QH_EVENT_STEP) /* a device has one STEP at most */
        order |= e->n_events++;
    return qh_heap_push(&e->events, (qh_event){at, order, id});
}

qh_status qh_engine_resume(qh_engine *e, int rank, qh_time at)
{
    e->device[rank].state = QH_RUNNING;
    e->device[rank].now = at;
    return qh_engine_push(e, at, rank, QH_EVENT_STEP, rank);
}

qh_status qh_engine_feed(qh_engine *e, int device, const qh_record *records, int64_t n)
{
    qh_engine_device *d = &e->device[device];
    qh_status st = QH_OK;

    QH_ASSERT(device >= 0 && device < e->n && n >= 0 && !d->closed);
    if (d->n + n > d->capacity && d->head > 0) {
        memmove(d->queue, d->queue + d->head, (size_t)(d->n - d->head) * sizeof *d->queue);
        d->n -= d->head;
        d->head = 0;
    }
    if (d->n + n > d->capacity) {
        int64_t more = d->n + n > 2 * d->capacity ? d->n + n : 2 * d->capacity;

        QH_TRY(st, QH_RESIZE(&d->queue, d->capacity, more));
        d->capacity = more;
    }
    if (n > 0)
        memcpy(d->queue + d->n, records, (size_t)n * sizeof *records);
    d->n += n;
out:
    return st;
}

/* Whether the device's next record is the next thing to happen at all. */
static bool is_next(const qh_engine *e, int rank)
{
    qh_netmodel *net = e->config.net;
    qh_event step = {
        e->device[rank].now,
        (uint64_t)rank << QH_EVENT_RANK_BIT | (uint64_t)QH_EVENT_STEP << QH_EVENT_KIND_BIT, rank};

    if (e->events.n > 0 && qh_event_before(&e->events.item[0], &step))
        return false;
    return !net || net->ops->next(net) > step.at;
}

static bool is_compute(const qh_record *r)
{
    return r->op >= QH_OP_SPMM && r->op <= QH_OP_ASSIGN;
}

static qh_status compute(qh_engine *e, int rank, const qh_record *r)
{
    const qh_engine_config *c = &e->config;
    qh_engine_device *d = &e->device[rank];
    qh_time span, end;

    if (r->flops < 0 || r->host_ns < 0)
        return qh_engine_bad(e, rank, r, "flops or host_ns is negative");
    span = qh_compute_duration(c->accelerator, c->compute, r);
    if (c->compute_scale)
        span = qh_compute_scaled(span, c->compute_scale[rank]);
    end = qh_time_after(d->now, span);
    if (end == QH_TIME_NEVER)
        return qh_engine_bad(e, rank, r, "virtual time passes its end (106 days)");
    switch (r->op) {
    case QH_OP_QUANTIZE:
        d->sums.quantize += span;
        break;
    case QH_OP_DEQUANTIZE:
        d->sums.dequantize += span;
        break;
    case QH_OP_ASSIGN:
        d->sums.assign += span;
        break;
    default:
        d->sums.compute += span;
    }
    qh_engine_path_add(e, rank, r, span);
    if (e->fine) {
        qh_engine_hold(e, rank, r);
        d->untold = true;
    }
    d->now = end;
    return QH_OK;
}

static qh_status execute(qh_engine *e, int rank, const qh_record *r)
{
    if (r->bytes < 0)
        return qh_engine_bad(e, rank, r, "%lld bytes", (long long)r->bytes);
    if (is_compute(r))
        return compute(e, rank, r);
    switch (r->op) {
    case QH_OP_SEND:
        return qh_engine_send(e, rank, r);
    case QH_OP_RECV:
        return qh_engine_recv(e, rank, r);
    case QH_OP_WAIT:
        return qh_engine_wait(e, rank, r);
    case QH_OP_ALLREDUCE:
        return qh_engine_reduce(e, rank, r);
    case QH_OP_EPOCH_END:
        return qh_engine_close_epoch(e, rank, r);
    default:
        return qh_engine_bad(e, rank, r, "there is no operation %d", r->op);
    }
}

/* With many devices neither channels nor blocks stay in the caches, and which ones are wanted is
 * known some records ahead. */
static void fetch_ahead(const qh_engine *e, int rank)
{
    enum { NEAR = 6, FAR = 12 };
    const qh_engine_device *d = &e->device[rank];

    if (e->n < FEW_DEVICES || d->head + FAR >= d->n)
        return;
    for (int ahead = NEAR; ahead <= FAR; ahead += FAR - NEAR) {
        const qh_record *r = &d->queue[d->head + ahead];
        bool sent = r->op == QH_OP_SEND;
        const qh_channel *c;

        if ((!sent && r->op != QH_OP_RECV) || r->peer < 0 || r->peer >= e->n)
            continue;
        c = &e->channel[sent ? (int64_t)rank * e->n + r->peer : (int64_t)r->peer * e->n + rank];
        if (ahead == FAR)
            __builtin_prefetch(c, 1);
        else if (c->head >= 0)
            __builtin_prefetch(&e->block[c->head], 1);
    }
}

/* Does records of a device for as long as they are the next thing to happen. Computing touches
 * nobody else, so it may run ahead of the others, unless intervals are told in order of time. */
static qh_status step(qh_engine *e, int rank)
{
    qh_engine_device *d = &e->device[rank];

    while (d->state == QH_RUNNING) {
        const qh_record *r = d->head < d->n ? d->queue + d->head : NULL; /* there may be no queue */
        bool ahead = r && is_compute(r) && !e->fine;
        qh_status st;

        if (!ahead && !is_next(e, rank))
            return qh_engine_resume(e, rank, d->now);
        if (d->untold) {
            qh_engine_tell(e, rank, 0, d->held_from, d->now, &d->current);
            d->untold = false;
        }
        if (!r) {
            if (!d->closed)
                return qh_engine_resume(e, rank, d->now);
            d->state = QH_ENDED;
            return QH_OK;
        }
        fetch_ahead(e, rank);
        d->head++;
        st = execute(e, rank, r);
        if (st < 0)
            return st;
        d->n_done++;
    }
    return QH_OK;
}

/* Everything that the network finishes at an instant. Flows of an all-reduce have the ids -1 - rank
 * of their senders, blocks those of their places. */
static qh_status deliver(qh_engine *e, qh_time at)
{
    qh_netmodel *net = e->config.net;
    int64_t done[DONE_CAPACITY], n;
    qh_status st = QH_OK;

    while ((n = net->ops->advance(net, at, done, DONE_CAPACITY)) > 0) {
        int64_t soon = net->ops->soon ? net->ops->soon(net) : -1;

        if (soon >= 0)
            __builtin_prefetch(&e->block[soon], 1);
        for (int64_t i = 0; i < n; i++)
            if (done[i] >= 0)
                QH_TRY(st, qh_engine_flown(e, (int32_t)done[i], at));
            else
                QH_TRY(st, qh_engine_reduce_flown(e, (int)(-1 - done[i]), at));
    }
    st = n < 0 ? (qh_status)n : QH_OK;
out:
    return st;
}

static qh_event_kind kind_of(const qh_event *v)
{
    return (qh_event_kind)(v->order >> QH_EVENT_KIND_BIT & 0xf);
}

static qh_status dispatch(qh_engine *e, const qh_event *v)
{
    switch (kind_of(v)) {
    case QH_EVENT_ARRIVE:
        return qh_engine_arrived(e, (int32_t)v->id, v->at);
    case QH_EVENT_POST:
        return qh_engine_post(e, (int32_t)v->id, v->at);
    case QH_EVENT_FLOW:
        return qh_engine_flow(e, (int32_t)v->id, v->at);
    case QH_EVENT_REDUCE:
        return qh_engine_reduce_timer(e, (int)v->id, v->at);
    default:
        return step(e, (int)v->id);
    }
}

static bool is_unknown(const qh_engine *e, const qh_event *v)
{
    const qh_engine_device *d = &e->device[v->id];

    return kind_of(v) == QH_EVENT_STEP && !d->closed && d->head == d->n;
}

/* Up to an instant, and never past a device whose next record is unknown; but a live device is left
 * idle there, since what it does next it does later. */
static qh_status run(qh_engine *e, qh_time until)
{
    qh_netmodel *net = e->config.net;
    qh_status st = QH_OK;

    for (;;) {
        qh_time finish = net ? net->ops->next(net) : QH_TIME_NEVER;
        qh_time event = qh_heap_next(&e->events);

        if ((finish < event ? finish : event) > until)
            break;
        if (finish <= event && finish != QH_TIME_NEVER) {
            QH_TRY(st, deliver(e, finish));
        } else if (e->events.n > 0 && !is_unknown(e, &e->events.item[0])) {
            qh_event v = qh_heap_pop(&e->events);

            QH_TRY(st, dispatch(e, &v));
        } else if (e->events.n > 0 && e->config.live) {
            e->device[qh_heap_pop(&e->events).id].idle = true;
        } else {
            break;
        }
    }
out:
    return st;
}

qh_status qh_engine_run(qh_engine *e)
{
    if (e->failed == QH_OK)
        e->failed = run(e, QH_TIME_NEVER);
    return e->failed;
}

void qh_engine_end(qh_engine *e, int device)
{
    e->device[device].closed = true;
}

qh_status qh_engine_finish(qh_engine *e)
{
    for (int rank = 0; rank < e->n; rank++)
        e->device[rank].closed = true;
    if (qh_engine_run(e) == QH_OK)
        e->failed = qh_engine_check_ended(e);
    return e->failed;
}

int64_t qh_engine_pending(const qh_engine *e, int device)
{
    return e->device[device].n - e->device[device].head;
}

qh_time qh_engine_now(const qh_engine *e, int device)
{
    return e->device[device].now;
}

/* --- live --- */

qh_status qh_engine_run_until(qh_engine *e, qh_time until)
{
    QH_ASSERT(e->config.live);
    if (e->failed == QH_OK)
        e->failed = run(e, until);
    return e->failed;
}

qh_status qh_engine_do(qh_engine *e, int device, qh_time now, const qh_record *r)
{
    qh_engine_device *d = &e->device[device];
    qh_status st;

    QH_ASSERT(e->config.live && d->idle && now >= d->now);
    QH_TRY(st, qh_engine_feed(e, device, r, 1));
    d->idle = false;
    QH_TRY(st, qh_engine_resume(e, device, now));
    st = qh_engine_run_until(e, now);
out:
    return st;
}

bool qh_engine_is_idle(const qh_engine *e, int device)
{
    return e->device[device].idle;
}

qh_time qh_engine_next(const qh_engine *e)
{
    qh_netmodel *net = e->config.net;
    qh_time finish = net ? net->ops->next(net) : QH_TIME_NEVER;
    qh_time event = qh_heap_next(&e->events);

    return finish < event ? finish : event;
}
