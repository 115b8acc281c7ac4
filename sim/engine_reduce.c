/* The gradient all-reduce: a ring (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for
 * clusters of workstations, JPDC 69(2), 2009). In each of 2 (N - 1) steps a device sends one of N
 * chunks to the next device and takes one from the one before; its next step begins when both are
 * done. With staging the payload is copied to the host before the first step and back after the
 * last, since the ring runs in host memory. Adding the chunks is not charged. */
#include "sim/engine_parts.h"

static int next_of(const qh_engine *e, int rank)
{
    return rank + 1 < e->n ? rank + 1 : 0;
}

/* Of the payload cut into N chunks; the first bytes % N of them have one byte more. In step s the
 * device sends chunk rank - s (mod N), in both halves of the ring. */
static int64_t chunk_bytes(const qh_engine *e, int rank, int64_t payload, int step)
{
    int chunk = ((rank - step) % e->n + e->n) % e->n;

    return payload / e->n + (chunk < payload % e->n);
}

static void change_flying(qh_engine *e, int rank, int change, qh_time at)
{
    if (e->device[rank].state == QH_REDUCING)
        qh_engine_attribute(e, rank, at);
    e->device[rank].reduce.flying += change;
}

static qh_status set_timer(qh_engine *e, int rank, qh_reduce_phase phase, qh_time at)
{
    e->device[rank].reduce.phase = phase;
    return qh_engine_push(e, at, rank, QH_EVENT_REDUCE, rank);
}

static qh_status start_flow(qh_engine *e, int rank, qh_time at)
{
    const qh_device_reduce *a = &e->device[rank].reduce;
    qh_netmodel *net = e->config.net;
    qh_flow f = {.id = -1 - rank,
                 .src = rank,
                 .dst = next_of(e, rank),
                 .bytes = chunk_bytes(e, rank, a->bytes, a->step)};

    change_flying(e, rank, 1, at);
    change_flying(e, f.dst, 1, at);
    return net->ops->start(net, at, &f);
}

static qh_status begin_step(qh_engine *e, int rank, qh_time at)
{
    qh_device_reduce *a = &e->device[rank].reduce;
    qh_time o =
        qh_engine_overhead(e, rank, next_of(e, rank), chunk_bytes(e, rank, a->bytes, a->step));

    a->sent = false;
    if (o == 0)
        return start_flow(e, rank, at);
    change_flying(e, rank, 1, at);
    return set_timer(e, rank, QH_REDUCE_SEND_OVERHEAD, qh_time_after(at, o));
}

static qh_status end_reduce(qh_engine *e, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];

    qh_engine_attribute(e, rank, at);
    qh_engine_path_reduced(e, rank, rank, at);
    d->untold = e->fine;
    return qh_engine_resume(e, rank, at);
}

static qh_status end_step(qh_engine *e, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];
    qh_time from = at > d->copy_in_free ? at : d->copy_in_free;

    if (++d->reduce.step < 2 * (e->n - 1))
        return begin_step(e, rank, at);
    if (!e->config.net->staging)
        return end_reduce(e, rank, at);
    change_flying(e, rank, 1, at);
    d->copy_in_free =
        qh_time_after(from, qh_compute_staging(e->config.accelerator, d->reduce.bytes));
    return set_timer(e, rank, QH_REDUCE_COPY_IN, d->copy_in_free);
}

/* Goes on where the step's flow is done and its block from the neighbour is there, which is so now
 * that a flow of device `by` is. */
static qh_status try_step(qh_engine *e, int by, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];
    qh_device_reduce *a = &d->reduce;
    int before = rank > 0 ? rank - 1 : e->n - 1;
    qh_time o;

    if (d->state != QH_REDUCING || !a->sent || a->arrived == a->taken)
        return QH_OK;
    a->sent = false;
    a->taken++;
    qh_engine_path_reduced(e, by, rank, at);
    o = qh_engine_overhead(e, before, rank, chunk_bytes(e, before, a->bytes, a->step));
    if (o == 0)
        return end_step(e, rank, at);
    change_flying(e, rank, 1, at);
    return set_timer(e, rank, QH_REDUCE_RECV_OVERHEAD, qh_time_after(at, o));
}

qh_status qh_engine_reduce_flown(qh_engine *e, int rank, qh_time at)
{
    int next = next_of(e, rank);
    qh_status st;

    change_flying(e, rank, -1, at);
    change_flying(e, next, -1, at);
    e->device[rank].reduce.sent = true;
    e->device[next].reduce.arrived++;
    QH_TRY(st, try_step(e, rank, rank, at));
    QH_TRY(st, try_step(e, rank, next, at));
out:
    return st;
}

qh_status qh_engine_reduce_timer(qh_engine *e, int rank, qh_time at)
{
    change_flying(e, rank, -1, at);
    switch (e->device[rank].reduce.phase) {
    case QH_REDUCE_COPY_OUT:
        return begin_step(e, rank, at);
    case QH_REDUCE_SEND_OVERHEAD:
        return start_flow(e, rank, at);
    case QH_REDUCE_RECV_OVERHEAD:
        return end_step(e, rank, at);
    default:
        return end_reduce(e, rank, at);
    }
}

qh_status qh_engine_reduce(qh_engine *e, int rank, const qh_record *r)
{
    qh_engine_device *d = &e->device[rank];
    qh_device_reduce *a = &d->reduce;
    int64_t number = a->n_begun++;
    qh_time from = d->now > d->copy_out_free ? d->now : d->copy_out_free;

    if (e->n == 1)
        return QH_OK;
    if (number == e->n_reduces) { /* the first device to come says how much */
        e->n_reduces++;
        e->reduce_bytes[number % 2] = r->bytes;
    } else if (e->reduce_bytes[number % 2] != r->bytes) {
        return qh_engine_bad(e, rank, r, "%lld bytes, where the other devices have %lld",
                             (long long)r->bytes, (long long)e->reduce_bytes[number % 2]);
    }
    a->bytes = r->bytes;
    a->step = 0;
    qh_engine_hold(e, rank, r);
    d->state = QH_REDUCING;
    if (!e->config.net->staging)
        return begin_step(e, rank, d->now);
    change_flying(e, rank, 1, d->now);
    d->copy_out_free = qh_time_after(from, qh_compute_staging(e->config.accelerator, r->bytes));
    return set_timer(e, rank, QH_REDUCE_COPY_OUT, d->copy_out_free);
}
