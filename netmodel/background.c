/* background: [{src: 0, dst: 1, bytes: 10MB, every: 5ms, from: 0us, to: 1s}]: flows of others,
 * which start at from, from + every, ... before to, share what they meet with the flows that are
 * looked at, and are not told. They make a difference in models with contention only. While nothing
 * is looked at they go on by themselves, which is caught up with at the next flow. */
#include "netmodel/wrap.h"

enum { DONE_CAPACITY = 256, LEAST_EVERY = 1000000 };

typedef struct source {
    qh_flow flow; /* id -1 - number of the source */
    qh_time every, from, to, next;
} source;

typedef struct background {
    qh_wrap wrap;   /* first: a qh_netmodel is at its head */
    source *source; /* owned */
    int64_t n_sources;
    int64_t n_flying; /* flows that are looked at */
} background;

/* Background flows have ids from here down; the engine's are small numbers of either sign. */
static const int64_t FIRST_ID = INT64_MIN / 2;

static void close_model(qh_netmodel *m)
{
    background *b = (background *)m;

    qh_mem_free(b->source);
    qh_wrap_fini(&b->wrap);
    qh_mem_free(b);
}

/* The source that starts first; NULL: none will. */
static source *first_source(background *b)
{
    source *first = NULL;

    for (int64_t i = 0; i < b->n_sources; i++)
        if (b->source[i].next < b->source[i].to && (!first || b->source[i].next < first->next))
            first = &b->source[i];
    return first;
}

/* Without the flows of the background; QH_EINPUT and the like as they are. */
static int64_t sift(background *b, int64_t *done, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        if (done[i] > FIRST_ID)
            done[kept++] = done[i];
    b->n_flying -= kept;
    return kept;
}

static qh_status start_source(background *b, source *s)
{
    qh_netmodel *in = b->wrap.inner;
    qh_status st;

    QH_TRY(st, in->ops->start(in, s->next, &s->flow));
    s->next = s->next > s->to - s->every ? s->to : s->next + s->every;
out:
    return st;
}

/* Nothing is looked at: the background goes on by itself, up to an instant. */
static qh_status catch_up(background *b, qh_time now)
{
    qh_netmodel *in = b->wrap.inner;
    int64_t done[DONE_CAPACITY];
    qh_status st = QH_OK;

    for (;;) {
        source *s = first_source(b);
        qh_time begin = s ? s->next : QH_TIME_NEVER, end = in->ops->next(in);

        if (begin > now && end > now)
            return QH_OK;
        if (end <= begin) {
            int64_t n = in->ops->advance(in, end, done, DONE_CAPACITY);

            if (n < 0)
                return (qh_status)n;
        } else {
            QH_TRY(st, start_source(b, s));
        }
    }
out:
    return st;
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    background *b = (background *)m;
    qh_netmodel *in = b->wrap.inner;
    qh_status st;

    if (b->n_flying == 0)
        QH_TRY(st, catch_up(b, now));
    QH_TRY(st, in->ops->start(in, now, f));
    b->n_flying++;
out:
    return st;
}

static qh_time next(qh_netmodel *m)
{
    background *b = (background *)m;
    const source *s = first_source(b);
    qh_time end;

    if (b->n_flying == 0)
        return QH_TIME_NEVER;
    end = b->wrap.inner->ops->next(b->wrap.inner);
    return s && s->next < end ? s->next : end;
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    background *b = (background *)m;
    qh_netmodel *in = b->wrap.inner;

    for (;;) {
        source *s = first_source(b);

        if (in->ops->next(in) <= now) {
            int64_t n = in->ops->advance(in, now, done, capacity), kept;

            if (n < 0)
                return n;
            kept = sift(b, done, n);
            if (kept > 0)
                return kept;
            if (n > 0)
                continue;
        }
        if (!s || s->next > now || b->n_flying == 0)
            return 0;
        if (start_source(b, s) < 0)
            return QH_ERESOURCE;
    }
}

static void show(const qh_netmodel *m, FILE *out)
{
    const background *b = (const background *)m;
    char bytes[QH_UNIT_TEXT_BYTES], every[QH_UNIT_TEXT_BYTES];

    b->wrap.inner->ops->show(b->wrap.inner, out);
    for (int64_t i = 0; i < b->n_sources; i++)
        fprintf(out, "  background: %s from device %d to device %d every %s\n",
                qh_print_bytes((double)b->source[i].flow.bytes, bytes), b->source[i].flow.src,
                b->source[i].flow.dst, qh_print_seconds(qh_seconds(b->source[i].every), every));
}

static qh_status read_source(const qh_yaml *y, const qh_yaml_node *item, const qh_netmodel *m,
                             source *s)
{
    static const char *const keys[] = {"src", "dst", "bytes", "every", "from", "to"};
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, item, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_wrap_read_device(y, item, "src", m, &s->flow.src));
    QH_TRY(st, qh_wrap_read_device(y, item, "dst", m, &s->flow.dst));
    if (s->flow.src == s->flow.dst)
        return qh_yaml_fail(y, item, "from device %d to itself; src and dst differ", s->flow.src);
    QH_TRY(st, qh_yaml_bytes(y, item, "bytes", true, &s->flow.bytes));
    QH_TRY(st, qh_yaml_duration(y, item, "every", true, &s->every));
    if (s->every < LEAST_EVERY)
        return qh_yaml_fail(y, qh_yaml_get(item, "every"), "every: has to be 1us or more");
    QH_TRY(st, qh_yaml_duration(y, item, "from", false, &s->from));
    s->to = QH_TIME_NEVER;
    QH_TRY(st, qh_yaml_duration(y, item, "to", false, &s->to));
    s->next = s->from;
out:
    return st;
}

static qh_status wrap(const qh_yaml *y, const qh_yaml_node *node, qh_netmodel **m)
{
    background *b = NULL;
    qh_status st;

    if (!qh_yaml_is_sequence(node))
        return qh_yaml_fail(y, node,
                            "'background' is to be a list; background: [{src: 0, dst: 1, "
                            "bytes: 1MB, every: 5ms}]");
    QH_TRY(st, QH_NEW(&b));
    QH_TRY(st, QH_NEW_ARRAY(&b->source, qh_yaml_size(node)));
    for (int64_t i = 0; i < qh_yaml_size(node); i++) {
        QH_TRY(st, read_source(y, qh_yaml_item(node, i), *m, &b->source[i]));
        b->source[i].flow.id = FIRST_ID - i;
        b->n_sources++;
    }
    qh_wrap_init(&b->wrap, *m);
    b->wrap.ops.close = close_model;
    b->wrap.ops.start = start;
    b->wrap.ops.next = next;
    b->wrap.ops.advance = advance;
    b->wrap.ops.show = show;
    qh_wrap_adopt(&b->wrap, m);
    b = NULL;
out:
    if (b)
        close_model(&b->wrap.base);
    return st;
}

const qh_modifier qh_net_background = {"background", "flows of others", wrap};
