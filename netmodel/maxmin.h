/* Max-min fair rates alone: capacities and routes in, rates out. No time here.
 *
 * A set of flows is max-min fair when each has a bottleneck: a link that is full and on which no
 * flow is faster (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, 6.5.2). The solver keeps for
 * each flow its bottleneck, and for each link its level, the rate of the flows that it holds back.
 * Adding and removing flows leaves links to be looked at; solve() raises the water only where a
 * level changes, in order of rising levels, and gives what solving everything anew would give.
 *
 * Rates are integers in units of the caller's. A level is rounded down, so the rates on a link
 * never add up to more than its capacity, and sums do not depend on the order of their terms. */
#ifndef QH_NETMODEL_MAXMIN_H
#define QH_NETMODEL_MAXMIN_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qh_maxmin_item {
    int32_t flow, slot; /* the flow's link number `slot` */
} qh_maxmin_item;

typedef struct qh_maxmin_link {
    int64_t capacity;     /* >= 0 */
    int64_t load;         /* rates of its flows, loose ones apart */
    int64_t level;        /* of the flows that it holds back; means something where n_own > 0 */
    int64_t top;          /* no flow here is faster, loose ones apart */
    int64_t key;          /* in the queue: no more than the level to come */
    qh_maxmin_item *item; /* owned: flows that cross it */
    int32_t n, n_promised, n_room;
    int32_t n_own;   /* flows that it holds back, loose ones apart */
    int32_t n_loose; /* flows whose rate is open */
    int32_t place;   /* in the queue; -1: not there */
    bool touched, done;
} qh_maxmin_link;

typedef enum qh_maxmin_state { QH_MAXMIN_FIXED, QH_MAXMIN_LOOSE, QH_MAXMIN_FINAL } qh_maxmin_state;

typedef struct qh_maxmin_flow {
    int64_t rate; /* FINAL: that; FIXED: the level of its bottleneck is */
    int32_t next; /* solve: the bottleneck to be */
    int32_t from; /* of a flow in moved: the bottleneck before; -1: none */
    int32_t n_links;
    uint8_t state; /* qh_maxmin_state; between two solves FIXED, or LOOSE when it is new */
    bool active;   /* between add and remove */
} qh_maxmin_flow;

/* What a solve of everything reads and writes of a flow. */
typedef struct qh_maxmin_mark {
    int32_t at;      /* its bottleneck; -1: never solved */
    uint32_t solved; /* by the solve of this number */
} qh_maxmin_mark;

/* The same of a link: capacity that is left, for n flows. */
typedef struct qh_maxmin_left {
    int64_t rest, n;
} qh_maxmin_left;

typedef struct qh_maxmin_entry {
    int64_t key;
    int32_t link;
} qh_maxmin_entry;

typedef struct qh_maxmin {
    int32_t n_links, longest; /* longest: most links of a route */
    qh_maxmin_link *link;     /* owned, [n_links] */
    qh_maxmin_flow *flow;     /* owned, [capacity] */
    qh_maxmin_mark *mark;     /* owned, [capacity] */
    int32_t *route, *place;   /* owned, [capacity * longest]: links; places in their item lists */
    int32_t capacity;         /* flows */
    int32_t *queue, n_queue;  /* owned, [n_links]: heap by (key, link) */
    int32_t *batch, n_batch;  /* owned, [n_links] */
    qh_maxmin_left *left;     /* owned, [n_links] */
    qh_maxmin_entry *heap;    /* owned, [n_links]: by (key, link) */
    int32_t n_heap;
    int32_t *final, n_final; /* owned, [capacity] */
    int64_t n_items;         /* over all links */
    int64_t n_changes;       /* of them, since the last solve */
    int64_t n_visits;        /* of items, in the last solve */
    bool whole, solved;      /* the solve looks at everything; nothing has changed since */
    int32_t n_whole;         /* solves that are still to do so */
    int32_t whole_run;       /* how many come next time that parts do not pay */
    uint32_t number;         /* of the last solve of everything */
    enum { QH_MAXMIN_ADAPT, QH_MAXMIN_PARTS, QH_MAXMIN_WHOLE } way; /* tests choose */
    /* Of the last solve, until the next call. */
    int32_t *touched, n_touched; /* owned, [n_links]: links whose level or own flows may differ */
    int32_t *moved, n_moved;     /* owned, [capacity]: flows whose bottleneck is another */
} qh_maxmin;

/* n_links links with these capacities; routes of up to longest links. */
qh_status qh_maxmin_new(int32_t n_links, const int64_t *capacity, int32_t longest, qh_maxmin **out);
void qh_maxmin_free(qh_maxmin *m); /* NULL is fine */

/* Room for the flows 0 .. n-1. QH_ERESOURCE. */
qh_status qh_maxmin_reserve(qh_maxmin *m, int32_t n);

/* Makes known the route of a flow < the room, n >= 1 links, no link twice, and sees to it that add
 * cannot fail. QH_ERESOURCE. */
qh_status qh_maxmin_promise(qh_maxmin *m, int32_t flow, const int32_t *links, int32_t n);
void qh_maxmin_add(qh_maxmin *m, int32_t flow);    /* after promise */
void qh_maxmin_remove(qh_maxmin *m, int32_t flow); /* ends the promise, too */
void qh_maxmin_set_capacity(qh_maxmin *m, int32_t link, int64_t capacity);

/* The rates of all flows that were added. */
void qh_maxmin_solve(qh_maxmin *m);

/* The rate of an added flow, after a solve. */
static inline int64_t qh_maxmin_rate(const qh_maxmin *m, int32_t flow)
{
    return m->link[m->mark[flow].at].level;
}

#endif
