#include "netmodel/wrap.h"

#include "netmodel/solo.h"

static qh_netmodel *inner_of(const qh_netmodel *m)
{
    return ((const qh_wrap *)m)->inner;
}

/* --- passing on --- */

static void close_model(qh_netmodel *m)
{
    qh_wrap_fini((qh_wrap *)m);
    qh_mem_free(m);
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    qh_netmodel *in = inner_of(m);

    return in->ops->start(in, now, f);
}

static qh_time next(qh_netmodel *m)
{
    qh_netmodel *in = inner_of(m);

    return in->ops->next(in);
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    qh_netmodel *in = inner_of(m);

    return in->ops->advance(in, now, done, capacity);
}

static qh_time overhead(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const qh_netmodel *in = inner_of(m);

    return in->ops->overhead(in, src, dst, bytes);
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const qh_netmodel *in = inner_of(m);

    return in->ops->alone(in, src, dst, bytes);
}

static void show(const qh_netmodel *m, FILE *out)
{
    const qh_netmodel *in = inner_of(m);

    in->ops->show(in, out);
}

static int64_t n_links(const qh_netmodel *m)
{
    const qh_netmodel *in = inner_of(m);

    return in->ops->n_links(in);
}

static void link_at(const qh_netmodel *m, int64_t i, qh_net_link *out)
{
    const qh_netmodel *in = inner_of(m);

    in->ops->link(in, i, out);
}

static bool is_own(const qh_netmodel *m, int64_t link, int device)
{
    const qh_netmodel *in = inner_of(m);

    return in->ops->is_own(in, link, device);
}

static void share(qh_netmodel *m, qh_time now, int64_t link, double part)
{
    qh_netmodel *in = inner_of(m);

    in->ops->share(in, now, link, part);
}

void qh_wrap_init(qh_wrap *w, const qh_netmodel *inner)
{
    const qh_netmodel_ops *in = inner->ops;

    w->ops = (qh_netmodel_ops){.name = in->name,
                               .help = in->help,
                               .close = close_model,
                               .start = start,
                               .next = next,
                               .advance = advance,
                               .overhead = in->overhead ? overhead : NULL,
                               .alone = alone,
                               .show = show,
                               .n_links = in->n_links ? n_links : NULL,
                               .link = in->link ? link_at : NULL,
                               .is_own = in->is_own ? is_own : NULL,
                               .share = in->share ? share : NULL,
                               .contention = in->contention};
    w->free_place = -1;
}

void qh_wrap_adopt(qh_wrap *w, qh_netmodel **inner)
{
    w->base = **inner;
    w->base.ops = &w->ops;
    (*inner)->name = (*inner)->about = NULL; /* the outer one's now */
    w->inner = *inner;
    *inner = &w->base;
}

void qh_wrap_fini(qh_wrap *w)
{
    qh_mem_free(w->next);
    qh_mem_free(w->flow);
    qh_heap_fini(&w->held);
    qh_netmodel_close(w->inner);
}

/* --- holding back --- */

static qh_status grow(qh_wrap *w)
{
    int64_t had = w->capacity, more = had ? 2 * had : 64;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&w->flow, had, more));
    QH_TRY(st, QH_RESIZE(&w->next, had, more));
    for (int64_t i = more - 1; i >= had; i--) {
        w->next[i] = w->free_place;
        w->free_place = i;
    }
    w->capacity = more;
out:
    return st;
}

qh_status qh_wrap_hold(qh_wrap *w, qh_time at, const qh_flow *f)
{
    qh_time end = 0;
    int64_t place;
    qh_status st;

    QH_TRY(st, qh_flow_instant(at, w->ops.alone(&w->base, f->src, f->dst, f->bytes), f, &end));
    if (w->free_place < 0)
        QH_TRY(st, grow(w));
    place = w->free_place;
    QH_TRY(st, qh_heap_push(&w->held, (qh_event){at, w->n_held, place}));
    w->free_place = w->next[place];
    w->flow[place] = *f;
    w->n_held++;
out:
    return st;
}

qh_time qh_wrap_next(qh_netmodel *m)
{
    qh_wrap *w = (qh_wrap *)m;
    qh_time held = qh_heap_next(&w->held), in = w->inner->ops->next(w->inner);

    return held < in ? held : in;
}

int64_t qh_wrap_advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    qh_wrap *w = (qh_wrap *)m;
    qh_netmodel *in = w->inner;

    for (;;) {
        int64_t n = in->ops->next(in) <= now ? in->ops->advance(in, now, done, capacity) : 0;
        qh_status st;
        int64_t place;

        if (n != 0 || qh_heap_next(&w->held) > now)
            return n;
        place = qh_heap_pop(&w->held).id;
        st = in->ops->start(in, now, &w->flow[place]);
        if (st < 0)
            return st;
        w->next[place] = w->free_place;
        w->free_place = place;
    }
}

qh_status qh_wrap_read_device(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                              const qh_netmodel *m, int32_t *out)
{
    int64_t device = 0;
    qh_status st;

    QH_TRY(st, qh_yaml_int(y, map, key, true, 0, m->n_devices - 1, &device));
    *out = (int32_t)device;
out:
    return st;
}
