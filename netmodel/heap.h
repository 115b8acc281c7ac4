/* A heap of events ordered by (instant, order): the clockwork of network models and of the engine.
 * Four children a node: half the levels of a binary heap, and the children of a node share one or
 * two cache lines. Inline, because it is the inner loop of a replay. */
#ifndef QH_NETMODEL_HEAP_H
#define QH_NETMODEL_HEAP_H

#include "src/base/mem.h"
#include "src/base/units.h"

typedef struct qh_event {
    qh_time at;
    uint64_t order; /* among events of one instant; no two alike */
    int64_t id;     /* the user's */
} qh_event;

/* Zeroed is empty. */
typedef struct qh_heap {
    qh_event *item; /* owned */
    int64_t n, capacity;
} qh_heap;

static inline int qh_event_before(const qh_event *a, const qh_event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static inline qh_time qh_heap_next(const qh_heap *h)
{
    return h->n ? h->item[0].at : QH_TIME_NEVER;
}

static inline void qh_heap_fini(qh_heap *h)
{
    qh_mem_free(h->item);
    *h = (qh_heap){0};
}

/* Room for one more event. QH_ERESOURCE. */
static inline qh_status qh_heap_reserve(qh_heap *h)
{
    int64_t i = h->n, more = i ? 2 * i : 64;
    qh_status st = QH_OK;

    if (i < h->capacity)
        return QH_OK;
    st = QH_RESIZE(&h->item, i, more);
    if (st == QH_OK)
        h->capacity = more;
    return st;
}

/* QH_ERESOURCE when it must grow and cannot. */
static inline qh_status qh_heap_push(qh_heap *h, qh_event e)
{
    int64_t i = h->n;
    qh_status st = qh_heap_reserve(h);

    if (st < 0)
        return st;
    h->n++;
    while (i > 0 && qh_event_before(&e, &h->item[(i - 1) / 4])) {
        h->item[i] = h->item[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    h->item[i] = e;
    return QH_OK;
}

/* Removes the first event of a heap that is not empty. */
static inline qh_event qh_heap_pop(qh_heap *h)
{
    qh_event first = h->item[0], last = h->item[--h->n];
    int64_t i = 0;

    for (;;) {
        int64_t child = 4 * i + 1, end = child + 4 < h->n ? child + 4 : h->n, best = child;

        if (child >= h->n)
            break;
        for (int64_t c = child + 1; c < end; c++)
            if (qh_event_before(&h->item[c], &h->item[best]))
                best = c;
        if (!qh_event_before(&h->item[best], &last))
            break;
        h->item[i] = h->item[best];
        i = best;
    }
    h->item[i] = last;
    return first;
}

#endif
