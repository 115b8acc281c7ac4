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
    return (a->at < b->at) | ((a->at == b->at) & (a->order < b->order));
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

/* Room for n events, so that pushes up to there cannot fail. QH_ERESOURCE. */
static inline qh_status qh_heap_reserve_all(qh_heap *h, int64_t n)
{
    qh_status st = n > h->capacity ? QH_RESIZE(&h->item, h->capacity, n) : QH_OK;

    if (st == QH_OK && n > h->capacity)
        h->capacity = n;
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

enum { FEW_EVENTS = 1024 }; /* that the caches keep anyway */

/* The first of four events in a row, without a branch: which one it is cannot be foretold. */
static inline int64_t qh_event_first_of_4(const qh_event *e)
{
    int64_t a = qh_event_before(&e[1], &e[0]), b = 2 + qh_event_before(&e[3], &e[2]);

    return a + (b - a) * qh_event_before(&e[b], &e[a]);
}

/* Removes the first event of a heap that is not empty. The gap goes down to a leaf and the last
 * event up from there: it mostly belongs near the leaves. */
static inline qh_event qh_heap_pop(qh_heap *h)
{
    qh_event *item = h->item, first = item[0], last = item[--h->n];
    int64_t i = 0, child = 1;

    for (; child + 3 < h->n; child = 4 * i + 1) {
        int64_t below = 4 * child + 1; /* the children of these four */

        if (below + 16 < h->n && i > FEW_EVENTS)
            for (const char *line = (const char *)(item + below);
                 line < (const char *)(item + below + 16); line += 64)
                __builtin_prefetch(line);
        child += qh_event_first_of_4(item + child);
        item[i] = item[child];
        i = child;
    }
    if (child < h->n) {
        int64_t best = child;

        for (int64_t c = child + 1; c < h->n; c++)
            if (qh_event_before(&item[c], &item[best]))
                best = c;
        item[i] = item[best];
        i = best;
    }
    while (i > 0 && qh_event_before(&last, &item[(i - 1) / 4])) {
        item[i] = item[(i - 1) / 4];
        i = (i - 1) / 4;
    }
    item[i] = last;
    return first;
}

#endif
