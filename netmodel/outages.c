/* outages: [{device: 3, from: 1ms, to: 2ms}, {link: "node 0 NIC out", from: 5ms, to: 6ms}]: nothing
 * moves there in the window [from, to).
 *
 * In a model with links the links are cut: the first ones of the routes from the device and the
 * last ones of those to it, or the one that is named. Flows over them stand still. In a model
 * without, a flow from or to the device stands still for as long as the window overlaps it, so its
 * finish comes later by that much. */
#include "netmodel/solo.h"
#include "netmodel/wrap.h"

#include <stdlib.h>
#include <string.h>

typedef struct window {
    qh_time from, to;
    int32_t device; /* -1: a link */
    int64_t link;   /* -1: a device */
} window;

/* An end of a window, for models with links. */
typedef struct edge {
    qh_time at;
    int64_t link;
    int change; /* of the number of windows that the link is in */
} edge;

/* A flow in a model without links. */
typedef struct still {
    qh_flow flow; /* the caller's */
    qh_time start;
    int64_t next_free;
} still;

typedef struct outages {
    qh_wrap wrap;   /* first: a qh_netmodel is at its head */
    window *window; /* owned, by from */
    int64_t n_windows;
    edge *edge; /* owned, by time; with links */
    int64_t n_edges, next_edge;
    int32_t *n_cuts; /* owned, [links] */
    int64_t n_flying;
    still *still; /* owned, [capacity]; without links */
    int64_t capacity, free_still;
    qh_heap later; /* flows that the model inside is done with; id: still */
    uint64_t n_later;
} outages;

static void close_model(qh_netmodel *m)
{
    outages *o = (outages *)m;

    qh_heap_fini(&o->later);
    qh_mem_free(o->still);
    qh_mem_free(o->n_cuts);
    qh_mem_free(o->edge);
    qh_mem_free(o->window);
    qh_wrap_fini(&o->wrap);
    qh_mem_free(o);
}

/* --- a model with links: they are cut --- */

/* The edges up to an instant. */
static void pass_edges(outages *o, qh_time now)
{
    qh_netmodel *in = o->wrap.inner;

    for (; o->next_edge < o->n_edges && o->edge[o->next_edge].at <= now; o->next_edge++) {
        const edge *e = &o->edge[o->next_edge];

        o->n_cuts[e->link] += e->change;
        in->ops->share(in, e->at, e->link, o->n_cuts[e->link] ? 0 : 1);
    }
}

static qh_status start_cut(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    outages *o = (outages *)m;
    qh_netmodel *in = o->wrap.inner;
    qh_status st;

    if (o->n_flying == 0)
        pass_edges(o, now);
    QH_TRY(st, in->ops->start(in, now, f));
    o->n_flying++;
out:
    return st;
}

static qh_time next_cut(qh_netmodel *m)
{
    outages *o = (outages *)m;
    qh_time in = o->wrap.inner->ops->next(o->wrap.inner);

    if (o->n_flying > 0 && o->next_edge < o->n_edges && o->edge[o->next_edge].at < in)
        return o->edge[o->next_edge].at;
    return in;
}

static int64_t advance_cut(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    outages *o = (outages *)m;
    qh_netmodel *in = o->wrap.inner;
    int64_t n = in->ops->next(in) <= now ? in->ops->advance(in, now, done, capacity) : 0;

    if (n > 0)
        o->n_flying -= n;
    else
        pass_edges(o, now);
    return n;
}

static int by_time(const void *a, const void *b)
{
    const edge *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->link > y->link) - (x->link < y->link);
}

static qh_status make_edges(outages *o, const qh_netmodel *m)
{
    int64_t n_links = m->ops->n_links(m), n = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&o->n_cuts, n_links));
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (int64_t i = 0; i < o->n_windows; i++)
            for (int64_t l = 0; l < n_links; l++) {
                const window *w = &o->window[i];

                if (w->link >= 0 ? l != w->link : !m->ops->is_own(m, l, w->device))
                    continue;
                if (pass) {
                    o->edge[n] = (edge){w->from, l, 1};
                    o->edge[n + 1] = (edge){w->to, l, -1};
                }
                n += 2;
            }
        if (!pass)
            QH_TRY(st, QH_NEW_ARRAY(&o->edge, n));
    }
    o->n_edges = n;
    qsort(o->edge, (size_t)n, sizeof *o->edge, by_time);
out:
    return st;
}

/* --- a model without: flows stand still --- */

/* t, or the end of the windows of a device that hold it. */
static qh_time out_of_windows(const outages *o, int32_t src, int32_t dst, qh_time t)
{
    for (int64_t i = 0; i < o->n_windows; i++) {
        const window *w = &o->window[i];

        if ((w->device == src || w->device == dst) && w->from <= t && t < w->to)
            t = w->to;
    }
    return t;
}

/* When a flow that would be under way from start to end is done: later by each window that it comes
 * into. Windows of the two devices may overlap: what is behind counts once. */
static qh_time stretched(const outages *o, const qh_flow *f, qh_time start, qh_time end)
{
    qh_time behind = start;

    for (int64_t i = 0; i < o->n_windows; i++) {
        const window *w = &o->window[i];
        qh_time from = w->from > behind ? w->from : behind;

        if ((w->device != f->src && w->device != f->dst) || from >= w->to || from >= end)
            continue;
        end = end > QH_TIME_NEVER - 1 - (w->to - from) ? QH_TIME_NEVER - 1 : end + (w->to - from);
        behind = w->to;
    }
    return end;
}

static qh_status grow(outages *o)
{
    int64_t had = o->capacity, more = had ? 2 * had : 64;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&o->still, had, more));
    if (o->later.capacity < more) {
        QH_TRY(st, QH_RESIZE(&o->later.item, o->later.capacity, more));
        o->later.capacity = more;
    }
    for (int64_t i = more - 1; i >= had; i--) {
        o->still[i].next_free = o->free_still;
        o->free_still = i;
    }
    o->capacity = more;
out:
    return st;
}

static qh_status start_still(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    outages *o = (outages *)m;
    qh_time start = out_of_windows(o, f->src, f->dst, now);
    qh_flow inside = *f;
    qh_status st = QH_OK;

    if (o->free_still < 0)
        QH_TRY(st, grow(o));
    inside.id = o->free_still;
    QH_TRY(st, qh_wrap_hold(&o->wrap, start, &inside));
    o->free_still = o->still[inside.id].next_free;
    o->still[inside.id] = (still){.flow = *f, .start = start};
out:
    return st;
}

static qh_time next_still(qh_netmodel *m)
{
    qh_time later = qh_heap_next(&((outages *)m)->later), in = qh_wrap_next(m);

    return later < in ? later : in;
}

/* What the model inside is done with, into the heap of what is later; there is room. */
static int64_t take(outages *o, qh_time now)
{
    int64_t ended[64], n = qh_wrap_advance(&o->wrap.base, now, ended, 64);

    for (int64_t i = 0; i < n; i++) {
        const still *s = &o->still[ended[i]];
        qh_event e = {stretched(o, &s->flow, s->start, now), o->n_later++, ended[i]};

        QH_ASSERT(qh_heap_push(&o->later, e) == QH_OK);
    }
    return n;
}

static int64_t advance_still(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    outages *o = (outages *)m;
    int64_t n = 0, taken = 1;

    while (taken > 0 && qh_wrap_next(m) <= now)
        taken = take(o, now);
    if (taken < 0)
        return taken;
    while (n < capacity && qh_heap_next(&o->later) <= now) {
        int64_t i = qh_heap_pop(&o->later).id;

        done[n++] = o->still[i].flow.id;
        o->still[i].next_free = o->free_still;
        o->free_still = i;
    }
    return n;
}

static void show(const qh_netmodel *m, FILE *out)
{
    const outages *o = (const outages *)m;
    char from[QH_UNIT_TEXT_BYTES], to[QH_UNIT_TEXT_BYTES];

    o->wrap.inner->ops->show(o->wrap.inner, out);
    for (int64_t i = 0; i < o->n_windows; i++) {
        const window *w = &o->window[i];

        fprintf(out, "  outage: ");
        if (w->link >= 0) {
            qh_net_link l;

            m->ops->link(m, w->link, &l);
            fprintf(out, "link '%s'", l.name);
        } else {
            fprintf(out, "device %d", w->device);
        }
        fprintf(out, " from %s to %s\n", qh_print_seconds(qh_seconds(w->from), from),
                qh_print_seconds(qh_seconds(w->to), to));
    }
}

/* --- reading --- */

static qh_status find_link(const qh_yaml *y, const qh_yaml_node *node, const qh_netmodel *m,
                           int64_t *out)
{
    const char *name = NULL;
    qh_net_link l;
    qh_status st;

    if (!m->ops->share)
        return qh_yaml_fail(y, node, "model %s has no links to cut; name a device", m->ops->name);
    QH_TRY(st, qh_yaml_text(y, node, "link", &name));
    for (int64_t i = 0; i < m->ops->n_links(m); i++) {
        m->ops->link(m, i, &l);
        if (strcmp(l.name, name) == 0) {
            *out = i;
            return QH_OK;
        }
    }
    m->ops->link(m, 0, &l);
    st = qh_yaml_fail(y, node, "there is no link '%s'; the first is '%s'", name, l.name);
out:
    return st;
}

static qh_status read_window(const qh_yaml *y, const qh_yaml_node *item, const qh_netmodel *m,
                             window *w)
{
    static const char *const keys[] = {"device", "link", "from", "to"};
    const qh_yaml_node *link = qh_yaml_get(item, "link");
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, item, keys, (int64_t)QH_COUNT(keys)));
    if (!link == !qh_yaml_get(item, "device"))
        return qh_yaml_fail(y, item, "an outage is of a device or of a link; name one of the two");
    *w = (window){.device = -1, .link = -1};
    if (link)
        QH_TRY(st, find_link(y, link, m, &w->link));
    else
        QH_TRY(st, qh_wrap_read_device(y, item, "device", m, &w->device));
    QH_TRY(st, qh_yaml_duration(y, item, "from", true, &w->from));
    QH_TRY(st, qh_yaml_duration(y, item, "to", true, &w->to));
    if (w->from >= w->to)
        return qh_yaml_fail(y, item,
                            "the outage ends before it begins; from has to be less than "
                            "to");
out:
    return st;
}

static int by_from(const void *a, const void *b)
{
    const window *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

static void set_functions(outages *o, const qh_netmodel *inner)
{
    qh_netmodel_ops *ops = &o->wrap.ops;

    ops->close = close_model;
    ops->show = show;
    ops->start = inner->ops->share ? start_cut : start_still;
    ops->next = inner->ops->share ? next_cut : next_still;
    ops->advance = inner->ops->share ? advance_cut : advance_still;
}

static qh_status wrap(const qh_yaml *y, const qh_yaml_node *node, qh_netmodel **m)
{
    outages *o = NULL;
    qh_status st;

    if (!qh_yaml_is_sequence(node))
        return qh_yaml_fail(y, node,
                            "'outages' is to be a list; outages: [{device: 0, from: 1ms, "
                            "to: 2ms}]");
    QH_TRY(st, QH_NEW(&o));
    o->free_still = -1;
    QH_TRY(st, QH_NEW_ARRAY(&o->window, qh_yaml_size(node)));
    for (int64_t i = 0; i < qh_yaml_size(node); i++) {
        QH_TRY(st, read_window(y, qh_yaml_item(node, i), *m, &o->window[i]));
        o->n_windows++;
    }
    qsort(o->window, (size_t)o->n_windows, sizeof *o->window, by_from);
    if ((*m)->ops->share)
        QH_TRY(st, make_edges(o, *m));
    qh_wrap_init(&o->wrap, *m);
    set_functions(o, *m);
    qh_wrap_adopt(&o->wrap, m);
    o = NULL;
out:
    if (o)
        close_model(&o->wrap.base);
    return st;
}

const qh_modifier qh_net_outages = {"outages", "windows in which nothing moves somewhere", wrap};
