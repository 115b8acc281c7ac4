#include "netmodel/solo.h"

qh_status qh_flow_instant(qh_time now, qh_time duration, const qh_flow *f, qh_time *at)
{
    if (now >= QH_TIME_NEVER - duration)
        return qh_fail(QH_EINPUT,
                       "network: %lld bytes from device %d to device %d arrive past the end of "
                       "virtual time (106 days); send less or use a faster network",
                       (long long)f->bytes, f->src, f->dst);
    *at = now + duration;
    return QH_OK;
}

qh_status qh_solo_start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    qh_solo *s = (qh_solo *)m;
    qh_time finish = 0;
    qh_status st;

    QH_TRY(st, qh_flow_instant(now, m->ops->alone(m, f->src, f->dst, f->bytes), f, &finish));
    QH_TRY(st, qh_heap_push(&s->in_flight, (qh_event){finish, s->n_started, f->id}));
    s->n_started++;
out:
    return st;
}

qh_time qh_solo_next(qh_netmodel *m)
{
    return qh_heap_next(&((qh_solo *)m)->in_flight);
}

int64_t qh_solo_advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    qh_heap *h = &((qh_solo *)m)->in_flight;
    int64_t n = 0;

    QH_ASSERT(now <= qh_heap_next(h));
    while (n < capacity && qh_heap_next(h) == now)
        done[n++] = qh_heap_pop(h).id;
    return n;
}

int64_t qh_solo_soon(const qh_netmodel *m)
{
    const qh_heap *h = &((const qh_solo *)m)->in_flight;

    return h->n > 0 ? h->item[0].id : -1;
}

void qh_solo_fini(qh_solo *s)
{
    qh_heap_fini(&s->in_flight);
}
