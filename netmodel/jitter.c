/* jitter: {delay: 20us, seed: 1}: each flow starts later by a time drawn evenly from 0 to delay. It
 * is a function of the seed, the channel, and how many flows the channel has had, so the draw of a
 * flow depends on nothing else that goes on. */
#include "netmodel/wrap.h"
#include "src/base/rng.h"

typedef struct jitter {
    qh_wrap wrap; /* first: a qh_netmodel is at its head */
    qh_time delay;
    qh_key key;
    int64_t seed;
    uint32_t *count; /* owned, [n_devices * n_devices]: flows of a channel so far */
} jitter;

static void close_model(qh_netmodel *m)
{
    jitter *j = (jitter *)m;

    qh_mem_free(j->count);
    qh_wrap_fini(&j->wrap);
    qh_mem_free(j);
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    jitter *j = (jitter *)m;
    uint64_t channel = (uint64_t)f->src * (uint64_t)m->n_devices + (uint64_t)f->dst;
    uint64_t draw = channel << 32 | j->count[channel];
    qh_time later = (qh_time)qh_rand_below(j->key, draw, (uint64_t)j->delay + 1);
    qh_status st;

    if (now > QH_TIME_NEVER - 1 - later)
        later = QH_TIME_NEVER - 1 - now; /* refused below, as any flow there is */
    QH_TRY(st, qh_wrap_hold(&j->wrap, now + later, f));
    j->count[channel]++;
out:
    return st;
}

static void show(const qh_netmodel *m, FILE *out)
{
    const jitter *j = (const jitter *)m;
    char text[QH_UNIT_TEXT_BYTES];

    j->wrap.inner->ops->show(j->wrap.inner, out);
    fprintf(out, "  jitter: each flow starts later by 0 to %s, evenly drawn (seed %lld)\n",
            qh_print_seconds(qh_seconds(j->delay), text), (long long)j->seed);
}

static qh_status wrap(const qh_yaml *y, const qh_yaml_node *node, qh_netmodel **m)
{
    static const char *const keys[] = {"delay", "seed"};
    int64_t n = (*m)->n_devices;
    jitter *j = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, node, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&j));
    QH_TRY(st, qh_yaml_duration(y, node, "delay", true, &j->delay));
    j->seed = 1;
    QH_TRY(st, qh_yaml_int(y, node, "seed", false, 0, INT64_MAX, &j->seed));
    QH_TRY(st, QH_NEW_ARRAY(&j->count, n * n));
    j->key = qh_rand_key((uint64_t)j->seed, QH_RAND_JITTER, 0, 0, 0);
    qh_wrap_init(&j->wrap, *m);
    j->wrap.ops.close = close_model;
    j->wrap.ops.start = start;
    j->wrap.ops.next = qh_wrap_next;
    j->wrap.ops.advance = qh_wrap_advance;
    j->wrap.ops.show = show;
    qh_wrap_adopt(&j->wrap, m);
    j = NULL;
out:
    if (j)
        close_model(&j->wrap.base);
    return st;
}

const qh_modifier qh_net_jitter = {"jitter", "each flow starts a little later", wrap};
