/* fairshare: flow level. A flow waits for the latencies of its route, then transfers its bytes at
 * its max-min fair rate, which changes when any flow begins or ends.
 *
 * No error accumulates: rates are integers in units of 2^-shift bytes/s, what is left of a flow is
 * counted in such units times a tick of 1/256 ps, and instants inside the model are ticks, so that
 * all sums are exact; only the end of a flow is rounded, up to a tick, and up to a picosecond where
 * it is told. (A rate is rounded down, by 2^-54 of the fastest link at most.)
 *
 * All flows that one link holds back have one rate, so the link keeps their clock: what each of
 * them has transferred since the clock started. A flow that joins is done when the clock shows its
 * work beyond what it shows now. A change of the rate then costs one entry in the heap of links
 * however many flows it concerns; only flows whose bottleneck becomes another link are touched. */
#include "netmodel/fairshare_parts.h"

#include "netmodel/members.h"
#include "netmodel/solo.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { RATE_BITS = 54, LEAST_RATE_BITS = 16 };

static qh_fairshare *of(qh_netmodel *m)
{
    return (qh_fairshare *)m;
}

static void close_model(qh_netmodel *m)
{
    qh_fairshare *s = of(m);

    qh_mem_free(s->route);
    qh_mem_free(s->ended);
    qh_heap_fini(&s->waiting);
    qh_mem_free(s->flow);
    qh_mem_free(s->queue);
    for (int32_t i = 0; s->link && i < s->topo->n_links; i++)
        qh_mem_free(s->link[i].flow);
    qh_mem_free(s->link);
    qh_maxmin_free(s->rates);
    qh_topo_close(s->topo);
    qh_mem_free(s);
}

static int64_t units_of(const qh_fairshare *s, double bytes_per_s)
{
    return (int64_t)ldexp(bytes_per_s, s->shift);
}

/* The unit of rates: the fastest link has RATE_BITS bits. */
static qh_status choose_unit(qh_fairshare *s)
{
    double fastest = 1;
    int exponent;

    for (int32_t i = 0; i < s->topo->n_links; i++)
        if (s->topo->link[i].bytes_per_s > fastest)
            fastest = s->topo->link[i].bytes_per_s;
    frexp(fastest, &exponent);
    s->shift = RATE_BITS - exponent;
    for (int32_t i = 0; i < s->topo->n_links; i++)
        if (units_of(s, s->topo->link[i].bytes_per_s) >> LEAST_RATE_BITS == 0)
            return qh_fail(QH_EINPUT,
                           "network: link '%s' is more than 10^11 times slower than the fastest; "
                           "give links that are nearer to each other",
                           s->topo->link[i].name);
    return QH_OK;
}

static qh_status make_rates(qh_fairshare *s)
{
    const qh_topo *t = s->topo;
    int64_t *capacity = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&capacity, t->n_links));
    for (int32_t i = 0; i < t->n_links; i++)
        capacity[i] = units_of(s, t->link[i].bytes_per_s);
    QH_TRY(st, qh_maxmin_new(t->n_links, capacity, t->longest, &s->rates));
out:
    qh_mem_free(capacity);
    return st;
}

qh_status qh_fairshare_new(qh_topo *t, qh_netmodel **out)
{
    qh_fairshare *s = NULL;
    qh_status st;

    st = QH_NEW(&s);
    if (st < 0) {
        qh_topo_close(t);
        return st;
    }
    s->topo = t;
    s->free_flow = -1;
    QH_TRY(st, choose_unit(s));
    QH_TRY(st, make_rates(s));
    QH_TRY(st, QH_NEW_ARRAY(&s->link, t->n_links));
    QH_TRY(st, QH_NEW_ARRAY(&s->queue, t->n_links));
    QH_TRY(st, QH_NEW_ARRAY(&s->route, t->longest));
    for (int32_t i = 0; i < t->n_links; i++)
        s->link[i].place = -1;
    s->base.ops = &qh_net_fairshare;
    s->base.n_devices = t->n_devices;
    s->base.devices_per_node = t->devices_per_node;
    *out = &s->base;
    s = NULL;
out:
    if (s)
        close_model(&s->base);
    return st;
}

static qh_status open_model(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                            qh_netmodel **out)
{
    qh_topo *t = NULL;
    qh_status st;

    QH_TRY(st, qh_topo_open(y, map, n_devices, &t));
    QH_TRY(st, qh_fairshare_new(t, out));
out:
    return st;
}

/* --- the life of a flow --- */

/* The work of a flow: bytes per second times 2^shift, in ticks. */
static qh_work work_of(const qh_fairshare *s, int64_t bytes)
{
    qh_work work = (qh_work)(uint64_t)bytes * (qh_work)QH_PS_PER_S;

    return s->shift >= 0 ? work << (s->shift + QH_TICK_BITS) : work << QH_TICK_BITS >> -s->shift;
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    static const double end_s = 9.2e6; /* a little less than virtual time has */
    const qh_fairshare *s = (const qh_fairshare *)m;
    int32_t route[QH_TOPO_LONGEST];
    qh_link path = qh_topo_path(s->topo, src, dst, route);
    qh_work rate = (qh_work)units_of(s, path.bytes_per_s), work;
    qh_time travel;

    if (!(path.bytes_per_s > 0) || (double)bytes / path.bytes_per_s > end_s)
        return QH_TIME_NEVER;
    work = work_of(s, bytes);
    travel = work ? qh_tick_told((qh_tick)((work + rate - 1) / rate)) : 0;
    return travel > QH_TIME_NEVER - path.latency ? QH_TIME_NEVER : path.latency + travel;
}

static qh_status grow(qh_fairshare *s)
{
    int32_t had = s->capacity, more = had ? 2 * had : 64;
    qh_status st;

    QH_TRY(st, qh_maxmin_reserve(s->rates, more));
    QH_TRY(st, QH_RESIZE(&s->ended, had, more));
    QH_TRY(st, QH_RESIZE(&s->flow, had, more));
    for (int32_t i = more - 1; i >= had; i--) {
        s->flow[i].place = s->free_flow;
        s->free_flow = i;
    }
    s->capacity = more;
out:
    return st;
}

/* Room in the heap of each link of the route for whatever flows may come to it. */
static qh_status make_room(qh_fairshare *s, const int32_t *route, int32_t n)
{
    qh_status st = QH_OK;

    for (int32_t i = 0; i < n; i++) {
        qh_share_link *g = &s->link[route[i]];
        int32_t want = s->rates->link[route[i]].n_room;

        if (g->capacity >= want)
            continue;
        QH_TRY(st, QH_RESIZE(&g->flow, g->capacity, want));
        g->capacity = want;
    }
out:
    return st;
}

/* A flow that the memory is there for. */
static qh_status take_flow(qh_fairshare *s, const qh_flow *f, int32_t n, int32_t *out)
{
    int32_t flow;
    qh_status st = QH_OK;

    if (s->free_flow < 0)
        QH_TRY(st, grow(s));
    flow = s->free_flow;
    if (f->bytes > 0) {
        QH_TRY(st, qh_maxmin_promise(s->rates, flow, s->route, n));
        QH_TRY(st, make_room(s, s->route, n));
    }
    *out = flow;
out:
    return st;
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    qh_fairshare *s = of(m);
    int32_t n = s->topo->ops->route(s->topo, f->src, f->dst, s->route), flow = -1;
    qh_time at = now, end = 0;
    qh_status st;

    if (n == 0)
        return qh_fail(QH_EINPUT, "%s: there is no route from device %d to device %d",
                       m->name ? m->name : "network", f->src, f->dst);
    QH_TRY(st, qh_flow_instant(now, alone(m, f->src, f->dst, f->bytes), f, &end));
    for (int32_t i = 0; i < n; i++)
        at += s->topo->link[s->route[i]].latency;
    QH_TRY(st, qh_heap_reserve(&s->waiting));
    QH_TRY(st, take_flow(s, f, n, &flow));
    QH_TRY(st, qh_heap_push(&s->waiting, (qh_event){at, s->n_started, flow}));
    s->free_flow = s->flow[flow].place;
    s->flow[flow] =
        (qh_share_flow){.target = work_of(s, f->bytes), .id = f->id, .number = s->n_started};
    s->n_started++;
    for (int32_t i = 0; i < n; i++)
        s->link[s->route[i]].bytes += f->bytes;
out:
    return st;
}

static void end_flow(qh_fairshare *s, int32_t flow)
{
    qh_share_flow *m = &s->flow[flow];

    s->ended[s->n_ended++] = (qh_share_done){m->number, m->id};
    m->place = s->free_flow;
    s->free_flow = flow;
}

/* The first flows of a link are done. */
static void end_flows(qh_fairshare *s, int32_t link)
{
    qh_share_link *g = &s->link[link];

    qh_share_settle(s, g);
    while (g->n > 0 && (s->flow[g->flow[0]].target <= g->clock || s->now >= QH_TICK_END)) {
        int32_t flow = g->flow[0];

        qh_share_leave(s, g, flow);
        qh_maxmin_remove(s->rates, flow);
        end_flow(s, flow);
    }
    qh_share_predict(s, link);
    s->stale = true;
}

/* The latency is over. Nothing to transfer: that was all. */
static void begin_flow(qh_fairshare *s, int32_t flow)
{
    if (s->flow[flow].target == 0) {
        end_flow(s, flow);
        return;
    }
    qh_maxmin_add(s->rates, flow);
    s->stale = true;
}

static int by_number(const void *a, const void *b)
{
    const qh_share_done *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Everything up to an instant. What begins and ends at the instant itself is not yet shared out
 * among the flows, as more may start there. */
static void run(qh_fairshare *s, qh_time until)
{
    qh_tick instant = (qh_tick)until << QH_TICK_BITS, limit = instant + QH_TICK_SLACK;

    for (;;) {
        qh_tick begin, next;

        if (s->stale && (s->now < instant || instant >= QH_TICK_END))
            qh_share_solve(s);
        begin = s->waiting.n ? (qh_tick)qh_heap_next(&s->waiting) << QH_TICK_BITS : limit + 1;
        next =
            s->n_queue && s->link[s->queue[0]].finish < begin ? s->link[s->queue[0]].finish : begin;
        if (next > limit)
            return;
        s->now = next > s->now ? next : s->now; /* an end may be told before it comes */
        while (s->waiting.n && (qh_tick)qh_heap_next(&s->waiting) << QH_TICK_BITS <= s->now)
            begin_flow(s, (int32_t)qh_heap_pop(&s->waiting).id);
        while (s->n_queue && s->link[s->queue[0]].finish <= s->now)
            end_flows(s, s->queue[0]);
    }
}

/* Flows that transfer end after the present instant, so whatever their rates will be, there is
 * nothing to do before the next picosecond. */
static qh_time next(qh_netmodel *m)
{
    qh_fairshare *s = of(m);
    qh_time begin = qh_heap_next(&s->waiting), end = QH_TIME_NEVER;

    if (s->n_told < s->n_ended)
        return s->told_at;
    if (s->stale && s->rates->n_items > 0)
        end = (qh_time)(s->now >> QH_TICK_BITS) + 1;
    else if (!s->stale && s->n_queue)
        end = qh_tick_told(s->link[s->queue[0]].finish);
    return begin < end ? begin : end;
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    qh_fairshare *s = of(m);
    int64_t n = 0;

    if (s->n_told == s->n_ended) {
        s->n_told = s->n_ended = 0;
        s->told_at = now;
        run(s, now);
        if (s->n_ended > 1)
            qsort(s->ended, (size_t)s->n_ended, sizeof *s->ended, by_number);
    }
    while (n < capacity && s->n_told < s->n_ended)
        done[n++] = s->ended[s->n_told++].id;
    return n;
}

static void show(const qh_netmodel *m, FILE *out)
{
    const qh_fairshare *s = (const qh_fairshare *)m;

    fprintf(out, "  a flow waits for the latencies of its route, then transfers at its max-min "
                 "fair share of the links, each direction of its own\n");
    s->topo->ops->show(s->topo, out);
}

static int64_t n_links(const qh_netmodel *m)
{
    return ((const qh_fairshare *)m)->topo->n_links;
}

static void link_at(const qh_netmodel *m, int64_t i, qh_net_link *out)
{
    const qh_fairshare *s = (const qh_fairshare *)m;
    const qh_topo_link *l = &s->topo->link[i];

    snprintf(out->name, sizeof out->name, "%s", l->name);
    out->bytes_per_s = l->bytes_per_s;
    out->bytes = s->link[i].bytes;
}

static bool is_own(const qh_netmodel *m, int64_t link, int device)
{
    const qh_topo *t = ((const qh_fairshare *)m)->topo;
    int32_t route[QH_TOPO_LONGEST];

    for (int other = 0; other < m->n_devices; other++) {
        int32_t n;

        if (other == device)
            continue;
        if (t->ops->route(t, device, other, route) > 0 && route[0] == link)
            return true;
        n = t->ops->route(t, other, device, route);
        if (n > 0 && route[n - 1] == link)
            return true;
    }
    return false;
}

static void slow(qh_netmodel *m, int64_t link, double factor)
{
    qh_fairshare *s = of(m);
    qh_topo_link *l = &s->topo->link[link];

    QH_ASSERT(factor > 0 && s->n_started == 0);
    l->bytes_per_s /= factor;
    qh_maxmin_set_capacity(s->rates, (int32_t)link, units_of(s, l->bytes_per_s));
}

static void share(qh_netmodel *m, qh_time now, int64_t link, double part)
{
    qh_fairshare *s = of(m);
    qh_tick instant = (qh_tick)now << QH_TICK_BITS;

    QH_ASSERT(part >= 0 && part <= 1);
    if (s->stale && s->now < instant)
        qh_share_solve(s);
    s->now = s->now < instant ? instant : s->now;
    qh_maxmin_set_capacity(s->rates, (int32_t)link,
                           units_of(s, part * s->topo->link[link].bytes_per_s));
    s->stale = true;
}

const qh_maxmin *qh_fairshare_rates(qh_netmodel *m)
{
    if (of(m)->stale)
        qh_share_solve(of(m));
    return of(m)->rates;
}

double qh_fairshare_unit(const qh_netmodel *m)
{
    return ldexp(1, -((const qh_fairshare *)m)->shift);
}

const qh_netmodel_ops qh_net_fairshare = {
    .name = "fairshare",
    .help = "max-min fair sharing of the links of a topology",
    .open = open_model,
    .room = qh_topo_room,
    .close = close_model,
    .start = start,
    .next = next,
    .advance = advance,
    .alone = alone,
    .show = show,
    .n_links = n_links,
    .link = link_at,
    .is_own = is_own,
    .slow = slow,
    .share = share,
    .contention = true,
};
