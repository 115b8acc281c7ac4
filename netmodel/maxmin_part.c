/* Rates where something changes. */
#include "netmodel/maxmin_parts.h"

/* --- levels --- */

/* What the link could give to its own and its loose flows if all others kept their rates. Flows
 * faster than that would have to be held back here too, which only leaves more for the rest: so
 * this is never more than the level. Nor is an equal share for all. */
static int64_t bound(const qh_maxmin_link *l)
{
    int64_t left = (int64_t)l->n_own + l->n_loose;
    int64_t rest = l->capacity - l->load + (l->n_own ? l->n_own * l->level : 0);

    if (rest < 0)
        return l->capacity / l->n;
    return left ? rest / left : QH_MAXMIN_NO_KEY;
}

/* The link has something to decide. Until its own flows are loosened it must come up no later than
 * at its present level, for above it they would be faster. */
void qh_maxmin_consider(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];
    int64_t key = bound(l);

    qh_maxmin_touch(m, link);
    if (key != QH_MAXMIN_NO_KEY)
        qh_maxmin_push(m, link, l->n_own && key > l->level ? l->level : key);
}

/* LOOSE, or one of the link's own: its rate is what is looked for. */
static bool is_open(const qh_maxmin *m, int32_t flow, int32_t link)
{
    int state = m->flow[flow].state;

    return state == QH_MAXMIN_LOOSE || (state == QH_MAXMIN_FIXED && m->mark[flow].at == link);
}

/* Of a flow that is not LOOSE. */
static int64_t rate_of(const qh_maxmin *m, int32_t flow)
{
    const qh_maxmin_flow *f = &m->flow[flow];

    return f->state == QH_MAXMIN_FINAL ? f->rate : qh_maxmin_rate(m, flow);
}

/* The level of a link, as things are. All other flows are as fast as `top` at most; where the
 * bound is below, those that are faster than the level are found, from below. */
static int64_t evaluate(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];
    int64_t key = bound(l);

    if (key == QH_MAXMIN_NO_KEY || key >= (l->n_own ? l->level : l->top))
        return key;
    for (;;) {
        int64_t rest = l->capacity, left = 0, top = 0, next;

        for (int32_t i = 0; i < l->n; i++) {
            int32_t flow = l->item[i].flow;
            bool open = is_open(m, flow, link);
            int64_t rate = open ? 0 : rate_of(m, flow);

            if (rate > top)
                top = rate;
            if (open || rate > key)
                left++;
            else
                rest -= rate;
        }
        m->n_visits += l->n;
        if (l->n_own == 0)
            l->top = top;
        next = left ? rest / left : QH_MAXMIN_NO_KEY;
        if (next == key || left == 0)
            return next;
        key = next;
    }
}

/* A flow's rate is open again, on all of its links. */
void qh_maxmin_open_flow(qh_maxmin *m, int32_t flow)
{
    qh_maxmin_flow *f = &m->flow[flow];
    int64_t rate = qh_maxmin_rate(m, flow);

    f->state = QH_MAXMIN_LOOSE;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t link = qh_maxmin_route(m, flow)[s];

        m->link[link].load -= rate;
        m->link[link].n_loose++;
        m->link[link].n_own -= m->mark[flow].at == link;
        qh_maxmin_consider(m, link);
    }
}

/* The link's level will be higher: so will be the rates of its own flows. */
static void loosen(qh_maxmin *m, int32_t link)
{
    qh_maxmin_link *l = &m->link[link];

    for (int32_t i = 0; i < l->n; i++) {
        int32_t flow = l->item[i].flow;

        if (m->flow[flow].state == QH_MAXMIN_FIXED && m->mark[flow].at == link)
            qh_maxmin_open_flow(m, flow);
    }
    m->n_visits += l->n;
}

/* The flow is held back by a link, at a rate that is final. */
static void finalise(qh_maxmin *m, int32_t flow, int32_t link, int64_t rate)
{
    qh_maxmin_flow *f = &m->flow[flow];
    const int32_t *route = qh_maxmin_route(m, flow);
    bool was_loose = f->state == QH_MAXMIN_LOOSE;
    int64_t more = was_loose ? rate : rate - qh_maxmin_rate(m, flow);
    int32_t was_at = m->mark[flow].at;

    f->state = QH_MAXMIN_FINAL;
    f->rate = rate;
    f->next = link;
    m->final[m->n_final++] = flow;
    for (int32_t s = 0; s < f->n_links; s++) {
        int32_t other = route[s];
        qh_maxmin_link *o = &m->link[other];

        o->load += more;
        if (rate > o->top)
            o->top = rate;
        if (was_loose) {
            o->n_loose--;
            continue;
        }
        if (was_at == other) {
            o->n_own--;
            qh_maxmin_touch(m, other);
        }
        if (o->n_own && !o->done) /* slower than it was: the link has more for its own */
            qh_maxmin_consider(m, other);
    }
}

/* --- a solve --- */

static void into_batch(qh_maxmin *m, int32_t link)
{
    m->batch[m->n_batch++] = link;
}

static void empty_batch(qh_maxmin *m, int64_t key)
{
    for (int32_t i = 0; i < m->n_batch; i++)
        qh_maxmin_push(m, m->batch[i], key);
    m->n_batch = 0;
}

/* All links of the lowest level that is still open, into the batch. Together, because a link that
 * is full at the very level of another must not gain the remainder of a division by coming second:
 * the rates would depend on an order. */
static int64_t collect(qh_maxmin *m)
{
    int64_t lowest = QH_MAXMIN_NO_KEY;

    m->n_batch = 0;
    while (m->n_queue > 0 && m->link[m->queue[0]].key <= lowest) {
        int32_t link = qh_maxmin_pop(m);
        qh_maxmin_link *l = &m->link[link];
        int64_t key = l->done ? QH_MAXMIN_NO_KEY : evaluate(m, link);

        if (key == QH_MAXMIN_NO_KEY)
            continue;
        if (l->n_own && key > l->level) {
            loosen(m, link);
            empty_batch(m, lowest);
            lowest = QH_MAXMIN_NO_KEY;
        } else if (key < lowest) {
            empty_batch(m, lowest);
            lowest = key;
            into_batch(m, link);
        } else if (key == lowest) {
            into_batch(m, link);
        } else {
            qh_maxmin_push(m, link, key);
        }
    }
    return lowest;
}

static void fill(qh_maxmin *m, int32_t link, int64_t level)
{
    qh_maxmin_link *l = &m->link[link];
    bool same = l->n_own && l->level == level;

    for (int32_t i = 0; i < l->n; i++) {
        int32_t flow = l->item[i].flow;
        int state = m->flow[flow].state;

        if (state == QH_MAXMIN_LOOSE ||
            (state == QH_MAXMIN_FIXED &&
             (m->mark[flow].at == link ? !same : qh_maxmin_rate(m, flow) > level)))
            finalise(m, flow, link, level);
    }
    l->level = level;
    m->n_visits += l->n;
}

/* Flows stay with their old bottleneck where it still holds them back as well. */
static void settle_flows(qh_maxmin *m)
{
    for (int32_t i = 0; i < m->n_final; i++) {
        int32_t flow = m->final[i];
        qh_maxmin_flow *f = &m->flow[flow];
        int32_t *at = &m->mark[flow].at;

        f->state = QH_MAXMIN_FIXED;
        if (*at < 0 || !m->link[*at].done || m->link[*at].level != f->rate) {
            if (*at != f->next) {
                f->from = *at;
                m->moved[m->n_moved++] = flow;
            }
            *at = f->next;
        }
        m->link[*at].n_own++;
    }
    m->n_final = 0;
}

void qh_maxmin_solve_part(qh_maxmin *m)
{
    int64_t level;

    while ((level = collect(m)) != QH_MAXMIN_NO_KEY) {
        for (int32_t i = 0; i < m->n_batch; i++)
            m->link[m->batch[i]].done = true;
        for (int32_t i = 0; i < m->n_batch; i++)
            fill(m, m->batch[i], level);
    }
    settle_flows(m);
}
