/* All rates anew: progressive filling. The inner loops of a posted exchange, so they touch as
 * little as they can: two words of a flow, its route, and a line of each link. */
#include "netmodel/maxmin_parts.h"

static bool before(const qh_maxmin_entry *a, const qh_maxmin_entry *b)
{
    return a->key < b->key || (a->key == b->key && a->link < b->link);
}

/* e into the heap of links, at place i or below. */
static void sink(qh_maxmin *m, int32_t i, qh_maxmin_entry e)
{
    qh_maxmin_entry *heap = m->heap;

    for (;;) {
        int32_t child = 4 * i + 1, end = child + 4 < m->n_heap ? child + 4 : m->n_heap,
                best = child;

        if (child >= m->n_heap)
            break;
        for (int32_t c = child + 1; c < end; c++)
            if (before(&heap[c], &heap[best]))
                best = c;
        if (!before(&heap[best], &e))
            break;
        heap[i] = heap[best];
        i = best;
    }
    heap[i] = e;
}

/* Every link that has flows, into the heap by an equal share for all of them. */
static void begin(qh_maxmin *m)
{
    m->n_queue = m->n_heap = 0;
    for (int32_t link = 0; link < m->n_links; link++) {
        qh_maxmin_link *l = &m->link[link];

        l->place = -1;
        l->n_own = l->n_loose = 0;
        m->left[link] = (qh_maxmin_left){l->capacity, l->n};
        if (l->n == 0) {
            l->load = 0;
            continue;
        }
        qh_maxmin_touch(m, link);
        m->heap[m->n_heap++] = (qh_maxmin_entry){l->capacity / l->n, link};
    }
    for (int32_t i = (m->n_heap - 2) / 4; i >= 0 && m->n_heap > 1; i--)
        sink(m, i, m->heap[i]);
}

/* The links of the lowest level that is still open, into the batch; see maxmin_part.c for why
 * together. A key in the heap is a level of before some of the link's flows were closed, which can
 * only have been lower. */
static int64_t collect(qh_maxmin *m)
{
    int64_t lowest = QH_MAXMIN_NO_KEY;

    m->n_batch = 0;
    while (m->n_heap > 0 && m->heap[0].key <= lowest) {
        qh_maxmin_entry *e = &m->heap[0];
        const qh_maxmin_left *l = &m->left[e->link];
        int64_t key = l->n ? l->rest / l->n : QH_MAXMIN_NO_KEY;

        if (key == e->key) {
            lowest = key;
            m->batch[m->n_batch++] = e->link;
        } else if (key != QH_MAXMIN_NO_KEY) {
            sink(m, 0, (qh_maxmin_entry){key, e->link});
            continue;
        }
        if (--m->n_heap > 0)
            sink(m, 0, m->heap[m->n_heap]);
    }
    return lowest;
}

/* A flow of a link of the batch that was held back elsewhere before, or is new. It stays with its
 * old bottleneck where that is in the batch as well. */
static void change(qh_maxmin *m, int32_t flow, int32_t link)
{
    int32_t *at = &m->mark[flow].at;

    m->flow[flow].state = QH_MAXMIN_FIXED;
    if (*at >= 0 && m->link[*at].done && m->link[*at].level == m->link[link].level) {
        m->link[*at].n_own++;
        return;
    }
    m->flow[flow].from = *at;
    m->moved[m->n_moved++] = flow;
    m->link[link].n_own++;
    *at = link;
}

static void fill(qh_maxmin *m, int32_t link)
{
    const qh_maxmin_item *item = m->link[link].item;
    int32_t n = m->link[link].n, longest = m->longest, own = 0;
    int64_t level = m->link[link].level;
    uint32_t number = m->number;

    for (int32_t i = 0; i < n; i++) {
        int32_t flow = item[i].flow, slot = item[i].slot;
        qh_maxmin_mark *mark = &m->mark[flow];
        const int32_t *route = m->route + (int64_t)flow * longest;

        if (mark->solved == number)
            continue;
        mark->solved = number;
        if (mark->at == link)
            own++;
        else
            change(m, flow, link);
        for (int32_t s = 0; s < longest && route[s] >= 0; s++)
            if (s != slot) {
                m->left[route[s]].rest -= level;
                m->left[route[s]].n--;
            }
    }
    m->link[link].n_own += own;
    m->left[link].rest -= m->left[link].n * level; /* all that were left are closed */
    m->left[link].n = 0;
}

void qh_maxmin_solve_whole(qh_maxmin *m)
{
    int64_t level, last = 0;

    if (++m->number == 0) { /* a number may not come up again while marks carry it */
        for (int32_t flow = 0; flow < m->capacity; flow++)
            m->mark[flow].solved = 0;
        m->number = 1;
    }
    begin(m);
    while ((level = collect(m)) != QH_MAXMIN_NO_KEY) {
        last = level;
        for (int32_t i = 0; i < m->n_batch; i++) {
            m->link[m->batch[i]].done = true;
            m->link[m->batch[i]].level = level;
        }
        for (int32_t i = 0; i < m->n_batch; i++)
            fill(m, m->batch[i]);
    }
    for (int32_t i = 0; i < m->n_touched; i++) {
        qh_maxmin_link *l = &m->link[m->touched[i]];

        l->load = l->capacity - m->left[m->touched[i]].rest;
        l->top = last;
    }
}
