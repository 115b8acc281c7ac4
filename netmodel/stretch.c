#include "netmodel/stretch.h"

#include "netmodel/solo.h"
#include "netmodel/wrap.h"
#include "src/base/mem.h"

#include <math.h>

/* The model inside lives in its own time: an instant here is factor times the instant there, in
 * long double, since double has no 63 bits. Finishes are told at an instant rounded up, and the
 * model inside is taken to the very instant that it named, so rounding loses no event. */
typedef struct stretch {
    qh_wrap wrap; /* first: a qh_netmodel is at its head */
    long double factor;
    qh_time at; /* inside: where the model is */
} stretch;

static qh_time longer(const stretch *s, qh_time t)
{
    long double x = ceill((long double)t * s->factor);

    return t == QH_TIME_NEVER || x >= (long double)QH_TIME_NEVER ? QH_TIME_NEVER : (qh_time)x;
}

/* The instant inside, not before what it has done, and before what it is to do next. */
static qh_time inside(const stretch *s, qh_time now)
{
    qh_netmodel *in = s->wrap.inner;
    long double x = floorl((long double)now / s->factor);
    qh_time next = in->ops->next(in);
    qh_time t = x >= (long double)QH_TIME_NEVER ? QH_TIME_NEVER - 1 : (qh_time)x;

    if (t >= next)
        t = next - 1;
    return t > s->at ? t : s->at;
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    stretch *s = (stretch *)m;
    qh_netmodel *in = s->wrap.inner;
    qh_time end = 0;
    qh_status st;

    QH_TRY(st, qh_flow_instant(now, s->wrap.ops.alone(m, f->src, f->dst, f->bytes), f, &end));
    s->at = inside(s, now);
    QH_TRY(st, in->ops->start(in, s->at, f));
out:
    return st;
}

static qh_time next(qh_netmodel *m)
{
    stretch *s = (stretch *)m;
    qh_netmodel *in = s->wrap.inner;

    return longer(s, in->ops->next(in));
}

/* Several instants inside may be one here, where factor is below 1. */
static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    stretch *s = (stretch *)m;
    qh_netmodel *in = s->wrap.inner;

    for (;;) {
        qh_time then = in->ops->next(in);
        int64_t n;

        if (then == QH_TIME_NEVER || longer(s, then) > now)
            return 0;
        s->at = then;
        n = in->ops->advance(in, then, done, capacity);
        if (n != 0)
            return n;
    }
}

static qh_time overhead(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const stretch *s = (const stretch *)m;
    const qh_netmodel *in = s->wrap.inner;

    return longer(s, in->ops->overhead(in, src, dst, bytes));
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const stretch *s = (const stretch *)m;
    const qh_netmodel *in = s->wrap.inner;

    return longer(s, in->ops->alone(in, src, dst, bytes));
}

static void show(const qh_netmodel *m, FILE *out)
{
    const stretch *s = (const stretch *)m;

    s->wrap.inner->ops->show(s->wrap.inner, out);
    fprintf(out, "  stretched: all of it takes %.6g times as long\n", (double)s->factor);
}

static void link_at(const qh_netmodel *m, int64_t i, qh_net_link *out)
{
    const stretch *s = (const stretch *)m;
    const qh_netmodel *in = s->wrap.inner;

    in->ops->link(in, i, out);
    out->bytes_per_s /= (double)s->factor;
}

qh_status qh_netmodel_stretch(qh_netmodel **m, double factor)
{
    stretch *s = NULL;
    qh_status st = QH_OK;

    QH_ASSERT(factor > 0);
    if (factor == 1)
        return QH_OK;
    QH_TRY(st, QH_NEW(&s));
    s->factor = factor;
    qh_wrap_init(&s->wrap, *m);
    s->wrap.ops.start = start;
    s->wrap.ops.next = next;
    s->wrap.ops.advance = advance;
    s->wrap.ops.overhead = s->wrap.ops.overhead ? overhead : NULL;
    s->wrap.ops.alone = alone;
    s->wrap.ops.show = show;
    s->wrap.ops.link = s->wrap.ops.link ? link_at : NULL;
    s->wrap.ops.slow = NULL;
    s->wrap.ops.share = NULL;
    qh_wrap_adopt(&s->wrap, m);
out:
    return st;
}
