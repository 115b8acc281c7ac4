#include "netmodel/fairshare_parts.h"

/* --- the flows of a link: heap by target --- */

static void put(qh_fairshare *s, qh_share_link *g, int32_t i, int32_t flow)
{
    g->flow[i] = flow;
    s->flow[flow].place = i;
}

static void sift_up(qh_fairshare *s, qh_share_link *g, int32_t i, int32_t flow)
{
    while (i > 0 && s->flow[flow].target < s->flow[g->flow[(i - 1) / 2]].target) {
        put(s, g, i, g->flow[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(s, g, i, flow);
}

static void sift_down(qh_fairshare *s, qh_share_link *g, int32_t i, int32_t flow)
{
    for (;;) {
        int32_t c = 2 * i + 1;

        if (c >= g->n)
            break;
        if (c + 1 < g->n && s->flow[g->flow[c + 1]].target < s->flow[g->flow[c]].target)
            c++;
        if (s->flow[g->flow[c]].target >= s->flow[flow].target)
            break;
        put(s, g, i, g->flow[c]);
        i = c;
    }
    put(s, g, i, flow);
}

void qh_share_leave(qh_fairshare *s, qh_share_link *g, int32_t flow)
{
    int32_t i = s->flow[flow].place, last = g->flow[--g->n];

    if (last == flow)
        return;
    if (i > 0 && s->flow[last].target < s->flow[g->flow[(i - 1) / 2]].target)
        sift_up(s, g, i, last);
    else
        sift_down(s, g, i, last);
}

static void join(qh_fairshare *s, qh_share_link *g, int32_t flow)
{
    g->n++;
    sift_up(s, g, g->n - 1, flow);
}

/* --- the heap of links, by finish --- */

static bool sooner(const qh_fairshare *s, int32_t a, int32_t b)
{
    return s->link[a].finish < s->link[b].finish ||
           (s->link[a].finish == s->link[b].finish && a < b);
}

static void queue_put(qh_fairshare *s, int32_t i, int32_t link)
{
    s->queue[i] = link;
    s->link[link].place = i;
}

/* The link into its place, from place i on. */
static void queue_sift(qh_fairshare *s, int32_t i, int32_t link)
{
    while (i > 0 && sooner(s, link, s->queue[(i - 1) / 2])) {
        queue_put(s, i, s->queue[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        int32_t c = 2 * i + 1;

        if (c >= s->n_queue)
            break;
        if (c + 1 < s->n_queue && sooner(s, s->queue[c + 1], s->queue[c]))
            c++;
        if (!sooner(s, s->queue[c], link))
            break;
        queue_put(s, i, s->queue[c]);
        i = c;
    }
    queue_put(s, i, link);
}

static void queue_remove(qh_fairshare *s, int32_t link)
{
    int32_t i = s->link[link].place, last = s->queue[--s->n_queue];

    s->link[link].place = -1;
    if (last != link)
        queue_sift(s, i, last);
}

/* --- clocks --- */

void qh_share_settle(qh_fairshare *s, qh_share_link *g)
{
    g->clock += (qh_work)g->rate * (qh_work)(s->now - g->since);
    g->since = s->now;
}

/* When the link's first flow ends, at the present rate. */
void qh_share_predict(qh_fairshare *s, int32_t link)
{
    qh_share_link *g = &s->link[link];
    qh_work target, left;

    if (g->n == 0) {
        g->clock = 0;
        g->rate = 0;
        if (g->place >= 0)
            queue_remove(s, link);
        return;
    }
    target = s->flow[g->flow[0]].target;
    left = target > g->clock ? target - g->clock : 0;
    g->finish = QH_TICK_END;
    if (left == 0)
        g->finish = g->since;
    else if (g->rate > 0 && left / (qh_work)g->rate < (qh_work)(QH_TICK_END - g->since))
        g->finish = g->since + (qh_tick)((left + (qh_work)g->rate - 1) / (qh_work)g->rate);
    queue_sift(s, g->place >= 0 ? g->place : s->n_queue++, link);
}

static void move(qh_fairshare *s, int32_t flow)
{
    const qh_maxmin_flow *f = &s->rates->flow[flow];
    qh_share_flow *m = &s->flow[flow];
    qh_share_link *to = &s->link[s->rates->mark[flow].at];

    if (f->from >= 0) {
        qh_share_link *from = &s->link[f->from];

        m->target = m->target > from->clock ? m->target - from->clock : 0;
        qh_share_leave(s, from, flow);
    }
    m->target += to->clock;
    join(s, to, flow);
}

/* The rates from `now` on. */
void qh_share_solve(qh_fairshare *s)
{
    qh_maxmin *r = s->rates;

    qh_maxmin_solve(r);
    for (int32_t i = 0; i < r->n_touched; i++)
        qh_share_settle(s, &s->link[r->touched[i]]);
    for (int32_t i = 0; i < r->n_moved; i++)
        move(s, r->moved[i]);
    for (int32_t i = 0; i < r->n_touched; i++) {
        int32_t link = r->touched[i];

        s->link[link].rate = r->link[link].n_own ? r->link[link].level : 0;
        qh_share_predict(s, link);
    }
    s->stale = false;
}
