/* Blocks of an exchange: posted, matched, copied, flown, arrived, waited for. */
#include "sim/engine_parts.h"
#include "src/base/mem.h"

static qh_status grow(qh_engine *e)
{
    int32_t had = e->block_capacity, more = had ? 2 * had : 256;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&e->block, had, more));
    if (e->fine)
        QH_TRY(st, QH_RESIZE(&e->told, had, more));
    if (e->rounds || e->round)
        QH_TRY(st, QH_RESIZE(&e->round, had, more));
    QH_TRY(st, QH_RESIZE(&e->free, had, more));
    for (int32_t b = more - 1; b >= had; b--) {
        e->block[b].in_exchange = -1;
        e->free[e->n_free++] = b;
    }
    e->block_capacity = more;
out:
    return st;
}

static void free_block(qh_engine *e, int32_t b)
{
    e->block[b].in_exchange = -1;
    e->free[e->n_free++] = b;
}

/* Blocks come back in the order of their arrival, so the next ones lie anywhere: they are fetched
 * some time before. */
static qh_status take_block(qh_engine *e, int32_t *out)
{
    enum { AHEAD = 8 };
    qh_status st = QH_OK;

    if (e->n_free == 0)
        QH_TRY(st, grow(e));
    if (e->n_free > AHEAD)
        __builtin_prefetch(&e->block[e->free[e->n_free - AHEAD]], 1);
    *out = e->free[--e->n_free];
out:
    return st;
}

/* The block of a SEND (sent) or RECV: the oldest of the channel for which only the other half is
 * there, or a new one at the end of the channel. */
static qh_status match(qh_engine *e, int rank, const qh_record *r, bool sent, int32_t *out)
{
    int32_t src = sent ? rank : r->peer, dst = sent ? r->peer : rank, b;
    qh_channel *c = &e->channel[(int64_t)src * e->n + dst];
    qh_status st = QH_OK;

    b = c->head;
    if (b >= 0 && e->block[b].sent != sent) {
        if (e->block[b].bytes != r->bytes)
            return qh_engine_bad(e, rank, r,
                                 "%lld bytes from device %d to device %d, where the other side has "
                                 "%lld",
                                 (long long)r->bytes, src, dst, (long long)e->block[b].bytes);
        c->head = e->block[b].next;
        if (c->head < 0)
            c->tail = -1;
    } else {
        QH_TRY(st, take_block(e, &b));
        e->block[b] =
            (qh_block){.bytes = r->bytes, .src = src, .dst = dst, .next = -1, .in_exchange = -1};
        if (c->tail >= 0)
            e->block[c->tail].next = b;
        else
            c->head = b;
        c->tail = b;
    }
    *out = b;
out:
    return st;
}

static qh_status check_peer(const qh_engine *e, int rank, const qh_record *r)
{
    if (r->peer < 0 || r->peer >= e->n)
        return qh_engine_bad(e, rank, r, "peer %d; there are the devices 0 to %d", r->peer,
                             e->n - 1);
    if (r->peer == rank)
        return qh_engine_bad(e, rank, r, "peer %d is the device itself", r->peer);
    if (e->rounds && r->direction != QH_REQUEST && (r->round < 1 || r->round >= e->n))
        return qh_engine_bad(e, rank, r, "round %d; rounds go from 1 to %d", r->round, e->n - 1);
    return QH_OK;
}

/* The first SEND of a request: the blocks of which none was taken note have no exchange. */
static qh_status begin_noting(qh_engine *e)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&e->round, e->block_capacity));
    for (int32_t b = 0; b < e->block_capacity; b++)
        e->round[b].out_exchange = -1;
out:
    return st;
}

/* Takes note of which exchange of its sender a block belongs to. */
static qh_status note_send(qh_engine *e, int rank, const qh_record *r, int32_t b)
{
    int32_t x = -1;
    qh_status st = QH_OK;

    if (!e->round)
        QH_TRY(st, begin_noting(e));
    QH_TRY(st, qh_engine_open_exchange(e, rank, r, &x));
    e->exchange[x].send_open++;
    e->round[b].out_exchange = x;
    e->round[b].out_round = r->round;
    if (qh_engine_in_rounds(e, x))
        qh_engine_round_posted(e, x, r->round);
out:
    return st;
}

qh_status qh_engine_send(qh_engine *e, int rank, const qh_record *r)
{
    qh_engine_device *d = &e->device[rank];
    qh_time o;
    int32_t b = -1;
    qh_status st;

    QH_TRY(st, check_peer(e, rank, r));
    QH_TRY(st, match(e, rank, r, true, &b));
    e->block[b].sent = true;
    if (e->fine)
        e->told[b].send = *r;
    if (e->rounds || r->direction == QH_REQUEST)
        QH_TRY(st, note_send(e, rank, r, b));
    else if (e->round)
        e->round[b].out_exchange = -1;
    o = qh_engine_overhead(e, rank, r->peer, r->bytes);
    qh_engine_path_posted(e, rank, b, o);
    if (o > 0) {
        *qh_engine_transfer_sum(&d->sums, r) += o;
        QH_TRY(st, qh_engine_push(e, qh_time_after(d->now, o), rank, QH_EVENT_POST, b));
        d->now += o;
    } else {
        QH_TRY(st, qh_engine_post(e, b, d->now));
    }
out:
    return st;
}

/* A block of an exchange is in flight from now on, or no longer: what the device waits for may
 * change. Exchange -1: of none. */
static void change_flying(qh_engine *e, int rank, int32_t x, int change, qh_time at)
{
    const qh_engine_device *d = &e->device[rank];

    if (x < 0)
        return;
    if (d->state == QH_WAITING && d->waits == x)
        qh_engine_attribute(e, rank, at);
    e->exchange[x].flying += change;
}

/* The exchange of its sender, where that is one to wait for; else -1. */
static int32_t request_of(const qh_engine *e, int32_t block)
{
    int32_t x = e->round ? e->round[block].out_exchange : -1;

    return x >= 0 && qh_engine_is_request(&e->exchange[x]) ? x : -1;
}

qh_status qh_engine_begin(qh_engine *e, int32_t block, qh_time at)
{
    qh_block *b = &e->block[block];
    qh_engine_device *d = &e->device[b->src];
    qh_time from = at > d->copy_out_free ? at : d->copy_out_free;

    b->flying = true;
    qh_engine_flying(e, b->dst, 1, at);
    change_flying(e, b->dst, b->in_exchange, 1, at);
    change_flying(e, b->src, request_of(e, block), 1, at);
    if (!e->config.net->staging)
        return qh_engine_flow(e, block, at);
    d->copy_out_free = qh_time_after(from, qh_compute_staging(e->config.accelerator, b->bytes));
    return qh_engine_push(e, d->copy_out_free, b->src, QH_EVENT_FLOW, block);
}

qh_status qh_engine_flow(qh_engine *e, int32_t block, qh_time at)
{
    qh_netmodel *net = e->config.net;
    qh_block *b = &e->block[block];
    qh_flow f = {.id = block, .src = b->src, .dst = b->dst, .bytes = b->bytes};

    if (e->fine)
        e->told[block].start = at;
    return net->ops->start(net, at, &f);
}

/* The overheads of receiving are paid one after the other, as blocks come and the device waits. */
static void pay(qh_engine_device *d, qh_time o, qh_time at)
{
    d->busy = qh_time_after(at > d->busy ? at : d->busy, o);
}

/* All that the WAIT waits for is there at an instant; the device goes on when it has paid. */
static qh_status end_wait(qh_engine *e, int rank, qh_time at)
{
    qh_engine_device *d = &e->device[rank];
    qh_time end = d->busy > at ? d->busy : at;

    qh_engine_attribute(e, rank, at);
    *qh_engine_transfer_sum(&d->sums, &d->current) += end - at;
    qh_engine_path_waited(e, rank);
    d->state = QH_RUNNING;
    qh_engine_release_exchange(e, rank, d->waits);
    d->untold = e->fine;
    return qh_engine_resume(e, rank, end);
}

/* What the device waits for in a WAIT of the exchange is not all there. */
static bool holds(const qh_engine_exchange *x)
{
    return x->recv_open > 0 || (qh_engine_is_request(x) && x->send_open > 0);
}

/* The block has left its sender, who may wait for that, or for the round to be done. */
static qh_status left(qh_engine *e, const qh_block *b, const qh_block_round *r, qh_time at)
{
    int32_t x = r->out_exchange;
    qh_engine_device *d = &e->device[b->src];
    bool waited_for = d->state == QH_WAITING && d->waits == x;
    qh_status st = QH_OK;

    if (qh_engine_in_rounds(e, x)) {
        e->exchange[x].send_open--;
        e->cause = qh_path_to(&b->path, at, QH_PATH_TRANSFER);
        QH_TRY(st, qh_engine_round_done(e, x, r->out_round, at));
        qh_engine_release_exchange(e, b->src, x);
        return QH_OK;
    }
    change_flying(e, b->src, x, -1, at);
    e->exchange[x].send_open--;
    if (!waited_for) {
        qh_engine_release_exchange(e, b->src, x);
        return QH_OK;
    }
    qh_engine_path_left(e, b->src, &b->path, at);
    pay(d, 0, at);
    if (!holds(&e->exchange[x]))
        st = end_wait(e, b->src, at);
out:
    return st;
}

qh_status qh_engine_flown(qh_engine *e, int32_t block, qh_time at)
{
    qh_block b = e->block[block];
    qh_engine_device *d = &e->device[b.dst];
    qh_time from = at > d->copy_in_free ? at : d->copy_in_free;
    qh_block_round r = e->round ? e->round[block] : (qh_block_round){.out_exchange = -1};
    qh_status st;

    if (e->fine)
        qh_engine_tell(e, b.src, 1, e->told[block].start, at, &e->told[block].send);
    if (e->config.net->staging) {
        d->copy_in_free = qh_time_after(from, qh_compute_staging(e->config.accelerator, b.bytes));
        QH_TRY(st, qh_engine_push(e, d->copy_in_free, b.dst, QH_EVENT_ARRIVE, block));
    } else {
        QH_TRY(st, qh_engine_arrived(e, block, at));
    }
    if (r.out_exchange >= 0)
        QH_TRY(st, left(e, &b, &r, at));
out:
    return st;
}

/* A block that has arrived and is expected: the two halves are one, the block is done with. */
static qh_status receive(qh_engine *e, int32_t block, qh_time at)
{
    qh_block b = e->block[block];
    qh_engine_device *d = &e->device[b.dst];
    qh_engine_exchange *x = &e->exchange[b.in_exchange];
    qh_time o = qh_engine_overhead(e, b.src, b.dst, b.bytes);
    bool waited_for = d->state == QH_WAITING && d->waits == b.in_exchange;
    qh_status st = QH_OK;

    x->recv_open--;
    if (waited_for) {
        qh_engine_path_arrived(e, block, o, at);
        pay(d, o, at);
    } else {
        x->overhead += o;
    }
    free_block(e, block);
    if (qh_engine_in_rounds(e, b.in_exchange))
        QH_TRY(st, qh_engine_round_done(e, b.in_exchange, e->round[block].in_round, at));
    if (waited_for && !holds(&e->exchange[b.in_exchange]))
        QH_TRY(st, end_wait(e, b.dst, at));
    else
        qh_engine_release_exchange(e, b.dst, b.in_exchange);
out:
    return st;
}

qh_status qh_engine_arrived(qh_engine *e, int32_t block, qh_time at)
{
    qh_block *b = &e->block[block];

    qh_engine_flying(e, b->dst, -1, at);
    change_flying(e, b->dst, b->in_exchange, -1, at);
    b->flying = false;
    b->arrived = true;
    qh_engine_path_moved(e, block, at);
    return b->in_exchange >= 0 ? receive(e, block, at) : QH_OK;
}

qh_status qh_engine_recv(qh_engine *e, int rank, const qh_record *r)
{
    qh_time now = e->device[rank].now;
    int32_t b = -1, x = -1;
    qh_status st;

    QH_TRY(st, check_peer(e, rank, r));
    QH_TRY(st, match(e, rank, r, false, &b));
    QH_TRY(st, qh_engine_open_exchange(e, rank, r, &x));
    e->exchange[x].recv_open++;
    e->block[b].in_exchange = x;
    if (qh_engine_in_rounds(e, x)) {
        e->round[b].in_round = r->round;
        qh_engine_round_posted(e, x, r->round);
    }
    if (e->block[b].flying)
        e->exchange[x].flying++;
    qh_engine_path_own(e, rank);
    if (e->block[b].arrived)
        QH_TRY(st, receive(e, b, now));
out:
    return st;
}

/* What has come before the WAIT is paid at once, from its start. */
qh_status qh_engine_wait(qh_engine *e, int rank, const qh_record *r)
{
    qh_engine_device *d = &e->device[rank];
    int32_t x = qh_engine_find_exchange(e, rank, r);
    qh_time overhead = x < 0 ? 0 : e->exchange[x].overhead;

    qh_engine_hold(e, rank, r);
    qh_engine_path_wait(e, rank, overhead);
    d->busy = qh_time_after(d->now, overhead);
    if (x >= 0)
        e->exchange[x].overhead = 0;
    if (x >= 0 && holds(&e->exchange[x])) {
        d->state = QH_WAITING;
        d->waits = x;
        return QH_OK;
    }
    if (d->busy == QH_TIME_NEVER)
        return qh_engine_bad(e, rank, r, "virtual time passes its end (106 days)");
    *qh_engine_transfer_sum(&d->sums, r) += overhead;
    qh_engine_path_waited(e, rank);
    d->now = d->busy;
    d->untold = e->fine;
    if (x >= 0)
        qh_engine_release_exchange(e, rank, x);
    return QH_OK;
}
