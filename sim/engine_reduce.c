/* The gradient all-reduce, by the steps of reduce_steps.h as flows. In a step a device sends a
 * block, expects one, or both, and its next step begins when what it does is done. With staging the
 * payload is copied to the host before the first step and back after the last, since the steps run
 * in host memory. Adding what comes is not charged. */
#include "sim/engine_parts.h"
#include "src/base/mem.h"

static qh_reduce_step step_of(const qh_engine *e, int rank)
{
    const qh_device_reduce *a = &e->device[rank].reduce;

    return qh_reduce_step_of(&e->reduce_plan, a->bytes, rank, a->step);
}

/* Whether the block of a step of the all-reduce at hand has come: a bit for each, for two
 * all-reduces, since a neighbour may be in the next one. */
static uint64_t *arrival(const qh_engine *e, int rank, int64_t number, int32_t step)
{
    return e->reduce_arrived + (2 * (int64_t)rank + number % 2) * e->reduce_words + step / 64;
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

static qh_status try_step(qh_engine *e, int by, int rank, qh_time at);

static qh_status start_flow(qh_engine *e, int rank, qh_time at)
{
    qh_reduce_step step = step_of(e, rank);
    qh_netmodel *net = e->config.net;
    qh_flow f = {.id = -1 - rank, .src = rank, .dst = step.to, .bytes = step.send_bytes};

    change_flying(e, rank, 1, at);
    change_flying(e, f.dst, 1, at);
    return net->ops->start(net, at, &f);
}

static qh_status begin_step(qh_engine *e, int rank, qh_time at)
{
    qh_reduce_step step = step_of(e, rank);
    qh_time o;

    e->device[rank].reduce.sent = step.to < 0;
    if (step.to < 0)
        return try_step(e, rank, rank, at);
    o = qh_engine_overhead(e, rank, step.to, step.send_bytes);
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

    if (++d->reduce.step < qh_reduce_n_steps(&e->reduce_plan))
        return begin_step(e, rank, at);
    if (!e->config.net->staging)
        return end_reduce(e, rank, at);
    change_flying(e, rank, 1, at);
    d->copy_in_free =
        qh_time_after(from, qh_compute_staging(e->config.accelerator, d->reduce.bytes));
    return set_timer(e, rank, QH_REDUCE_COPY_IN, d->copy_in_free);
}

/* Goes on where the step's flow is done and the block that it expects is there, which may be so now
 * that a flow of device `by` is. */
static qh_status try_step(qh_engine *e, int by, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];
    qh_device_reduce *a = &d->reduce;
    qh_reduce_step step;
    qh_time o = 0;

    if (d->state != QH_REDUCING || !a->sent)
        return QH_OK;
    step = step_of(e, rank);
    if (step.from >= 0) {
        uint64_t *word = arrival(e, rank, a->n_begun - 1, a->step);
        uint64_t bit = UINT64_C(1) << a->step % 64;

        if (!(*word & bit))
            return QH_OK;
        *word &= ~bit;
        o = qh_engine_overhead(e, step.from, rank, step.recv_bytes);
    }
    a->sent = false;
    qh_engine_path_reduced(e, by, rank, at);
    if (o == 0)
        return end_step(e, rank, at);
    change_flying(e, rank, 1, at);
    return set_timer(e, rank, QH_REDUCE_RECV_OVERHEAD, qh_time_after(at, o));
}

/* The sender is still in the step, which this ends for it. */
qh_status qh_engine_reduce_flown(qh_engine *e, int rank, qh_time at)
{
    qh_device_reduce *a = &e->device[rank].reduce;
    int next = step_of(e, rank).to;
    qh_status st;

    change_flying(e, rank, -1, at);
    change_flying(e, next, -1, at);
    a->sent = true;
    *arrival(e, next, a->n_begun - 1, a->step) |= UINT64_C(1) << a->step % 64;
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

qh_status qh_engine_reduce_init(qh_engine *e)
{
    const qh_engine_config *c = &e->config;
    qh_status st = QH_OK;

    e->reduce_plan = (qh_reduce_plan){
        .kind = c->reduce, .n = e->n, .per_node = c->net ? c->net->devices_per_node : 0};
    if (e->n == 1)
        return QH_OK;
    QH_TRY(st, qh_reduce_check(c->reduce, e->n, c->net));
    e->reduce_words = qh_reduce_n_steps(&e->reduce_plan) / 64 + 1;
    QH_TRY(st, QH_NEW_ARRAY(&e->reduce_arrived, 2 * (int64_t)e->n * e->reduce_words));
out:
    return st;
}

qh_status qh_reduce_check(qh_reduce_kind kind, int n_devices, const qh_netmodel *net)
{
    if (kind != QH_REDUCE_HIERARCHICAL || n_devices == 1)
        return QH_OK;
    if (net->devices_per_node == 0)
        return qh_fail(QH_EUSAGE,
                       "--allreduce: hierarchical goes by machines, and network '%s' has none; it "
                       "takes one with nodes, or ring or tree",
                       net->name);
    if (n_devices % net->devices_per_node != 0)
        return qh_fail(
            QH_EUSAGE,
            "--allreduce: hierarchical takes whole machines, and %d devices are not a "
            "multiple of the %d on a machine of '%s'; it takes another --devices, or ring "
            "or tree",
            n_devices, net->devices_per_node, net->name);
    return QH_OK;
}
