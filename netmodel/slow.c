/* slow: [{device: 3, factor: 2}]: the links of a device have 1 / factor of their rates. In a model
 * with links, those are the first links of the routes from the device and the last ones of those to
 * it. In one without, flows from and to the device are as if they had factor times the bytes (the
 * larger factor of the two ends). */
#include "netmodel/wrap.h"

#include <math.h>

typedef struct slow {
    qh_wrap wrap;   /* first: a qh_netmodel is at its head */
    double *factor; /* owned, [n_devices] */
} slow;

static void close_model(qh_netmodel *m)
{
    slow *s = (slow *)m;

    qh_mem_free(s->factor);
    qh_wrap_fini(&s->wrap);
    qh_mem_free(s);
}

static int64_t bytes_of(const slow *s, int src, int dst, int64_t bytes)
{
    double f = s->factor[src] > s->factor[dst] ? s->factor[src] : s->factor[dst];
    double more = (double)bytes * f;

    if (f == 1)
        return bytes;
    return more < 9e18 ? llrint(more) : INT64_MAX;
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    slow *s = (slow *)m;
    qh_flow more = *f;

    more.bytes = bytes_of(s, f->src, f->dst, f->bytes);
    return s->wrap.inner->ops->start(s->wrap.inner, now, &more);
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const slow *s = (const slow *)m;

    return s->wrap.inner->ops->alone(s->wrap.inner, src, dst, bytes_of(s, src, dst, bytes));
}

static void show(const qh_netmodel *m, FILE *out)
{
    const slow *s = (const slow *)m;

    s->wrap.inner->ops->show(s->wrap.inner, out);
    for (int d = 0; d < m->n_devices; d++)
        if (s->factor[d] != 1)
            fprintf(out, "  slow: the links of device %d have 1 / %g of their rates\n", d,
                    s->factor[d]);
}

static qh_status read_item(const qh_yaml *y, const qh_yaml_node *item, const qh_netmodel *m,
                           double *factor)
{
    static const char *const keys[] = {"device", "factor"};
    int32_t device = 0;
    double f = 1;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, item, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_wrap_read_device(y, item, "device", m, &device));
    QH_TRY(st, qh_yaml_real(y, item, "factor", true, 1e-3, 1e6, &f));
    factor[device] *= f;
out:
    return st;
}

static void slow_links(const slow *s, qh_netmodel *m)
{
    for (int64_t l = 0; l < m->ops->n_links(m); l++) {
        double f = 1;

        for (int d = 0; d < m->n_devices; d++)
            if (s->factor[d] != 1 && m->ops->is_own(m, l, d))
                f *= s->factor[d];
        if (f != 1)
            m->ops->slow(m, l, f);
    }
}

static qh_status wrap(const qh_yaml *y, const qh_yaml_node *node, qh_netmodel **m)
{
    slow *s = NULL;
    qh_status st;

    if (!qh_yaml_is_sequence(node))
        return qh_yaml_fail(y, node, "'slow' is to be a list; slow: [{device: 0, factor: 2}]");
    QH_TRY(st, QH_NEW(&s));
    QH_TRY(st, QH_NEW_ARRAY(&s->factor, (*m)->n_devices));
    for (int d = 0; d < (*m)->n_devices; d++)
        s->factor[d] = 1;
    for (int64_t i = 0; i < qh_yaml_size(node); i++)
        QH_TRY(st, read_item(y, qh_yaml_item(node, i), *m, s->factor));
    qh_wrap_init(&s->wrap, *m);
    s->wrap.ops.close = close_model;
    s->wrap.ops.show = show;
    if ((*m)->ops->slow) {
        slow_links(s, *m);
    } else {
        s->wrap.ops.start = start;
        s->wrap.ops.alone = alone;
    }
    qh_wrap_adopt(&s->wrap, m);
    s = NULL;
out:
    if (s)
        close_model(&s->wrap.base);
    return st;
}

const qh_modifier qh_net_slow = {"slow", "devices whose links are slower", wrap};
