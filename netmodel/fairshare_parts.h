/* The inside of fairshare, shared by its files; nobody else includes it. */
#ifndef QH_NETMODEL_FAIRSHARE_PARTS_H
#define QH_NETMODEL_FAIRSHARE_PARTS_H

#include "netmodel/fairshare.h"
#include "netmodel/heap.h"

__extension__ typedef unsigned __int128 qh_work; /* work and clocks */
__extension__ typedef __int128 qh_tick;          /* instants inside, in 1/256 ps */

/* A flow that ends this many ticks after a picosecond or less is told to end there. Rates are
 * rounded down, so an end that is a whole number of picoseconds comes out a tick late. */
enum { QH_TICK_BITS = 8, QH_TICK_SLACK = 16 };

/* Where virtual time ends. */
#define QH_TICK_END ((qh_tick)(QH_TIME_NEVER - 1) << QH_TICK_BITS)

typedef struct qh_share_flow {
    qh_work target;  /* of the clock of its bottleneck; its work before it has one */
    int64_t id;      /* the caller's */
    uint64_t number; /* of the start */
    int32_t place;   /* in the heap of its bottleneck; next free one */
} qh_share_flow;

typedef struct qh_share_link {
    qh_work clock; /* at since */
    qh_tick since;
    qh_tick finish; /* of its first flow; key of the heap of links */
    int64_t rate;
    int32_t *flow; /* owned: heap by target */
    int32_t n, capacity;
    int32_t place; /* in the heap of links; -1: not there */
    int64_t bytes; /* that have crossed the link, or are about to */
} qh_share_link;

typedef struct qh_share_done {
    uint64_t number;
    int64_t id;
} qh_share_done;

typedef struct qh_fairshare {
    qh_netmodel base; /* first: a qh_netmodel is at its head */
    qh_topo *topo;    /* owned */
    qh_maxmin *rates; /* owned */
    int shift;
    qh_tick now;
    bool stale;                  /* a flow has begun or ended at `now` */
    qh_share_link *link;         /* owned, [n_links] */
    int32_t *queue, n_queue;     /* owned, [n_links]: heap of links by finish */
    qh_share_flow *flow;         /* owned, [capacity] */
    int32_t capacity, free_flow; /* -1: none */
    qh_heap waiting;             /* for the latency; id: flow */
    qh_share_done *ended;        /* owned, [capacity]: told next, by number of start */
    int32_t n_ended, n_told;
    qh_time told_at;
    int32_t *route; /* owned, [longest] */
    uint64_t n_started;
} qh_fairshare;

/* The picosecond at which an end at a tick is told. */
static inline qh_time qh_tick_told(qh_tick t)
{
    return (qh_time)((t + (1 << QH_TICK_BITS) - 1 - QH_TICK_SLACK) >> QH_TICK_BITS);
}

/* --- fairshare_clock.c: what the links' clocks show, and when flows end --- */
void qh_share_solve(qh_fairshare *s);                    /* the rates from `now` on */
void qh_share_settle(qh_fairshare *s, qh_share_link *l); /* its clock, up to `now` */
void qh_share_predict(qh_fairshare *s, int32_t link);    /* when its first flow ends */
void qh_share_leave(qh_fairshare *s, qh_share_link *l, int32_t flow);

#endif
