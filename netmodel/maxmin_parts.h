/* The inside of the max-min solver, shared by its files; nobody else includes it. */
#ifndef QH_NETMODEL_MAXMIN_PARTS_H
#define QH_NETMODEL_MAXMIN_PARTS_H

#include "netmodel/maxmin.h"

/* A link with nothing to decide. */
#define QH_MAXMIN_NO_KEY INT64_MAX

static inline int32_t *qh_maxmin_route(const qh_maxmin *m, int32_t flow)
{
    return m->route + (int64_t)flow * m->longest;
}

/* --- the queue: links by (key, number), four children a node --- */

static inline bool qh_maxmin_before(const qh_maxmin *m, int32_t a, int32_t b)
{
    int64_t ka = m->link[a].key, kb = m->link[b].key;

    return ka < kb || (ka == kb && a < b);
}

static inline void qh_maxmin_rise(qh_maxmin *m, int32_t i, int32_t link)
{
    while (i > 0 && qh_maxmin_before(m, link, m->queue[(i - 1) / 4])) {
        m->queue[i] = m->queue[(i - 1) / 4];
        m->link[m->queue[i]].place = i;
        i = (i - 1) / 4;
    }
    m->queue[i] = link;
    m->link[link].place = i;
}

static inline int32_t qh_maxmin_pop(qh_maxmin *m)
{
    int32_t first = m->queue[0], last = m->queue[--m->n_queue], i = 0;

    m->link[first].place = -1;
    if (m->n_queue == 0)
        return first;
    for (;;) {
        int32_t child = 4 * i + 1, end = child + 4 < m->n_queue ? child + 4 : m->n_queue,
                best = child;

        if (child >= m->n_queue)
            break;
        for (int32_t c = child + 1; c < end; c++)
            if (qh_maxmin_before(m, m->queue[c], m->queue[best]))
                best = c;
        if (!qh_maxmin_before(m, m->queue[best], last))
            break;
        m->queue[i] = m->queue[best];
        m->link[m->queue[i]].place = i;
        i = best;
    }
    m->queue[i] = last;
    m->link[last].place = i;
    return first;
}

static inline void qh_maxmin_push(qh_maxmin *m, int32_t link, int64_t key)
{
    qh_maxmin_link *l = &m->link[link];

    if (l->place >= 0 && l->key <= key)
        return;
    l->key = key;
    qh_maxmin_rise(m, l->place >= 0 ? l->place : m->n_queue++, link);
}

static inline void qh_maxmin_touch(qh_maxmin *m, int32_t link)
{
    if (m->solved) { /* the first change after a solve starts a new list */
        m->solved = false;
        m->n_touched = 0;
    }
    if (m->link[link].touched)
        return;
    m->link[link].touched = true;
    m->touched[m->n_touched++] = link;
}

/* --- maxmin_part.c: where levels change --- */
/* The link has something to decide. */
void qh_maxmin_consider(qh_maxmin *m, int32_t link);
/* A flow's rate is open again, on all of its links. */
void qh_maxmin_open_flow(qh_maxmin *m, int32_t flow);
void qh_maxmin_solve_part(qh_maxmin *m);

/* --- maxmin_whole.c: everything --- */
void qh_maxmin_solve_whole(qh_maxmin *m);

#endif
