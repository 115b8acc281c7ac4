/* Where the blocks of an exchange lie while they travel.
 *
 * Synchronous training has one exchange under way at a time: one slot, with room for the largest
 * block of each peer. With staleness K (exchange.c) blocks of epoch t stand in their buffers
 * until the receiver takes them in epoch t + K, so each layer and direction has K + 1 slots, that
 * of epoch t being number t % (K + 1): with K alone a sender would wait for room that its receiver
 * makes only after the sender's next block has been posted. The exact blocks of evaluation have a
 * slot of their own. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

enum { ALIGN = 64 };

static int64_t lag(const qh_exchange *x)
{
    return x->settings->relax.stale;
}

static int64_t n_pairs(const qh_exchange *x)
{
    return 2 * qh_model_n_layers(x->model);
}

qh_slot *qh_channel_slot(const qh_channel *c)
{
    qh_exchange *x = c->x;

    if (lag(x) == 0)
        return &x->slot[0];
    if (c->codec == &x->exact)
        return &x->slot[x->n_slots - 1];
    return &x->slot[c->epoch % (lag(x) + 1) * n_pairs(x) + 2 * c->layer + (int)c->dir];
}

/* Whether blocks of this kind are ever moved. */
static bool is_moved(const qh_exchange *x, const qh_codec *codec, int layer, qh_direction dir)
{
    bool features = layer == 0 && dir == QH_FORWARD && x->raw_features;

    if (codec == &x->exact)
        return dir == QH_FORWARD && !features;
    return !(features && x->known_features) && qh_exchange_travels(x, codec, 0, layer, dir);
}

/* Raises room[p] to what a layer and direction may send there, or bring from there. */
static void want_room(qh_exchange *x, const qh_codec *codec, int layer, qh_direction dir,
                      bool sending, int64_t *room)
{
    for (int p = 0; p < x->plan->n_ranks && is_moved(x, codec, layer, dir); p++) {
        qh_channel c = qh_channel_at(x, codec, 0, layer, dir, sending, p);
        int64_t bytes = (qh_channel_most_bytes(&c) + ALIGN - 1) / ALIGN * ALIGN;

        if (bytes > room[p])
            room[p] = bytes;
    }
}

/* Room for the blocks of slot i. */
static void size_slot(qh_exchange *x, int64_t i, bool sending, int64_t *room)
{
    bool all = lag(x) == 0, is_exact = all || i == x->n_slots - 1;

    for (int64_t kind = 0; kind < n_pairs(x); kind++) {
        int layer = (int)(kind / 2);
        qh_direction dir = (qh_direction)(kind % 2);

        if (all || (!is_exact && i % n_pairs(x) == kind))
            want_room(x, &x->settings->codec, layer, dir, sending, room);
        if (is_exact)
            want_room(x, &x->exact, layer, dir, sending, room);
    }
}

/* A transport that cannot show the sender's bytes makes room for those that come. */
static qh_status expect_blocks(qh_exchange *x, int64_t slot, int64_t *room)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_status st = QH_OK;

    if (!t->expect)
        return QH_OK;
    for (int p = 0; p < x->plan->n_ranks; p++)
        room[p] = 0;
    size_slot(x, slot, false, room);
    for (int p = 0; p < x->plan->n_ranks; p++)
        if (room[p] > 0)
            QH_TRY(st, t->expect(x->transport, x->plan->rank, room[p]));
out:
    return st;
}

static qh_status new_slot(int n_ranks, qh_slot *s)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&s->wire_at, n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&s->send, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->recv, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->sending, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->receiving, n_ranks));
out:
    return st;
}

/* Blocks that a channel may hold at once: of every epoch under way its rows, tables and flags, an
 * evaluation, and the sums of an epoch. */
static qh_status reserve_channels(qh_exchange *x)
{
    enum { SUMS = 16 };
    const qh_transport_ops *t = x->transport->ops;
    int64_t n = (lag(x) + 1) * (4 * n_pairs(x) + SUMS);
    qh_status st = QH_OK;

    for (int p = 0; p < x->plan->n_ranks && t->reserve; p++)
        if (p != x->plan->rank)
            QH_TRY(st, t->reserve(x->transport, x->plan->rank, p, n));
out:
    return st;
}

qh_status qh_exchange_slots_new(qh_exchange *x)
{
    int n_ranks = x->plan->n_ranks;
    int64_t n = lag(x) == 0 ? 1 : (lag(x) + 1) * n_pairs(x) + 1, *room = NULL, end = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&room, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&x->slot, n));
    x->n_slots = n;
    for (int64_t i = 0; i < n; i++) {
        QH_TRY(st, new_slot(n_ranks, &x->slot[i]));
        for (int p = 0; p < n_ranks; p++)
            room[p] = 0;
        size_slot(x, i, true, room);
        x->slot[i].wire_at[0] = end;
        for (int p = 0; p < n_ranks; p++)
            x->slot[i].wire_at[p + 1] = end += room[p];
        QH_TRY(st, expect_blocks(x, i, room));
    }
    QH_TRY(st, QH_NEW_ARRAY(&x->wire, end));
    QH_TRY(st, reserve_channels(x));
out:
    qh_mem_free(room);
    return st;
}

void qh_exchange_slots_free(qh_exchange *x)
{
    for (int64_t i = 0; i < x->n_slots; i++) {
        qh_mem_free(x->slot[i].receiving);
        qh_mem_free(x->slot[i].sending);
        qh_mem_free(x->slot[i].recv);
        qh_mem_free(x->slot[i].send);
        qh_mem_free(x->slot[i].wire_at);
    }
    qh_mem_free(x->wire);
    qh_mem_free(x->slot);
}

/* Blocks that came and were never used (the last epochs of a stale run) are let go first: their
 * senders wait for that. */
qh_status qh_exchange_drain(qh_exchange *x)
{
    const qh_transport_ops *t = x->transport->ops;
    int rank = x->plan->rank, n_ranks = x->plan->n_ranks;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < x->n_slots * n_ranks; i++) {
        qh_slot *s = &x->slot[i / n_ranks];
        int p = (int)(i % n_ranks);

        if (!s->receiving[p])
            continue;
        QH_TRY(st, t->recv_finish(x->transport, rank, &s->recv[p]));
        t->recv_release(x->transport, rank, &s->recv[p]);
        s->receiving[p] = false;
    }
    for (int64_t i = 0; i < x->n_slots * n_ranks; i++) {
        qh_slot *s = &x->slot[i / n_ranks];
        int p = (int)(i % n_ranks);

        if (s->sending[p])
            QH_TRY(st, t->send_finish(x->transport, rank, &s->send[p]));
        s->sending[p] = false;
    }
    for (int p = 0; p < n_ranks; p++)
        if (x->table_in_flight && x->table_in_flight[p]) {
            QH_TRY(st, t->send_finish(x->transport, rank, &x->table_send[p]));
            x->table_in_flight[p] = false;
        }
    QH_TRY(st, qh_exchange_skips_drain(x));
out:
    return st;
}
