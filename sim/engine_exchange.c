/* Open exchanges of a device, and rounds. An exchange is all that a device posts for one (epoch,
 * layer, direction). With rounds, a send of round r begins when nothing that the device has posted
 * for an earlier round of the exchange is undone: a send is done when its flow has finished, a
 * receive when its block has arrived. Every gate waits for a lower round only, so rounds alone
 * never lock each other out. */
#include "sim/engine_parts.h"
#include "src/base/mem.h"

#include <string.h>

static uint64_t key_of(const qh_record *r)
{
    return (uint64_t)(uint32_t)r->epoch << 32 | (uint64_t)r->layer << 8 | r->direction;
}

int32_t qh_engine_find_exchange(const qh_engine *e, int rank, const qh_record *r)
{
    uint64_t key = key_of(r);
    int32_t x = e->device[rank].exchanges;

    while (x >= 0 && e->exchange[x].key != key)
        x = e->exchange[x].next;
    return x;
}

static qh_status grow(qh_engine *e)
{
    int32_t had = e->exchange_capacity, more = had ? 2 * had : 2 * e->n;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&e->exchange, had, more));
    if (e->rounds)
        QH_TRY(st, QH_RESIZE(&e->undone, (int64_t)had * e->n, (int64_t)more * e->n));
    for (int32_t x = more - 1; x >= had; x--) {
        e->exchange[x].next = e->free_exchange;
        e->free_exchange = x;
    }
    e->exchange_capacity = more;
out:
    return st;
}

qh_status qh_engine_open_exchange(qh_engine *e, int rank, const qh_record *r, int32_t *out)
{
    int32_t x = qh_engine_find_exchange(e, rank, r);
    qh_status st = QH_OK;

    if (x < 0) {
        if (e->free_exchange < 0)
            QH_TRY(st, grow(e));
        x = e->free_exchange;
        e->free_exchange = e->exchange[x].next;
        e->exchange[x] = (qh_engine_exchange){.key = key_of(r),
                                              .next = e->device[rank].exchanges,
                                              .low = e->n,
                                              .gated = -1,
                                              .gated_tail = -1};
        e->device[rank].exchanges = x;
    }
    *out = x;
out:
    return st;
}

void qh_engine_release_exchange(qh_engine *e, int rank, int32_t x)
{
    qh_engine_exchange *open = &e->exchange[x];
    qh_engine_device *d = &e->device[rank];
    int32_t *link = &d->exchanges;

    if (open->recv_open || open->send_open || open->overhead ||
        (d->state == QH_WAITING && d->waits == x))
        return;
    while (*link != x)
        link = &e->exchange[*link].next;
    *link = open->next;
    open->next = e->free_exchange;
    e->free_exchange = x;
}

void qh_engine_round_posted(qh_engine *e, int32_t x, int32_t round)
{
    e->undone[(int64_t)x * e->n + round]++;
    if (round < e->exchange[x].low)
        e->exchange[x].low = round;
}

qh_status qh_engine_round_done(qh_engine *e, int32_t x, int32_t round, qh_time at)
{
    int32_t *undone = e->undone + (int64_t)x * e->n;
    qh_status st = QH_OK;

    QH_ASSERT(undone[round] > 0);
    undone[round]--;
    if (round > e->exchange[x].low)
        return QH_OK;
    while (e->exchange[x].low < e->n && undone[e->exchange[x].low] == 0)
        e->exchange[x].low++;
    while (e->exchange[x].gated >= 0) {
        int32_t b = e->exchange[x].gated;

        if (e->round[b].out_round > e->exchange[x].low)
            break;
        e->exchange[x].gated = e->round[b].next_gated;
        if (e->exchange[x].gated < 0)
            e->exchange[x].gated_tail = -1;
        qh_engine_path_released(e, b);
        QH_TRY(st, qh_engine_begin(e, b, at));
    }
out:
    return st;
}

/* Into the list, which is by round and, within a round, by posting. */
static void gate(qh_engine *e, qh_engine_exchange *x, int32_t b)
{
    int32_t round = e->round[b].out_round, *link = &x->gated;

    if (x->gated_tail >= 0 && e->round[x->gated_tail].out_round <= round)
        link = &e->round[x->gated_tail].next_gated; /* the usual case: posted in order */
    else
        while (*link >= 0 && e->round[*link].out_round <= round)
            link = &e->round[*link].next_gated;
    e->round[b].next_gated = *link;
    *link = b;
    if (e->round[b].next_gated < 0)
        x->gated_tail = b;
}

qh_status qh_engine_post(qh_engine *e, int32_t block, qh_time at)
{
    if (e->rounds) {
        int32_t x = e->round[block].out_exchange;

        if (qh_engine_in_rounds(e, x) && e->exchange[x].low < e->round[block].out_round) {
            gate(e, &e->exchange[x], block);
            return QH_OK;
        }
    }
    return qh_engine_begin(e, block, at);
}
