/* loggp: L, o, g, G of Alexandrov, Ionescu, Schauser and Scheiman, LogGP, SPAA 1995.
 *
 * The first byte of a message of k bytes enters the network when the port of the sender is free,
 * its last byte (k - 1) G later; each byte travels for L. A port takes one message at a time, and
 * the next one g after the last byte of the one before, at the sender and at the receiver alike. So
 * the messages of a device share its port by queueing for it, in the order in which they were
 * started (sending) or in which their first bytes come (receiving). Messages of 0 bytes count as 1
 * byte. */
#include "netmodel/heap.h"
#include "netmodel/links.h"
#include "netmodel/members.h"
#include "netmodel/solo.h"

/* Events of one instant: all that reach a port before all that finish, each by number of start. */
static const uint64_t FINISH = UINT64_C(1) << 62;

/* A message under way: a cache line. */
typedef struct slot {
    qh_flow flow;
    qh_time span;    /* (k - 1) G */
    qh_time at;      /* of its next event */
    uint64_t number; /* of the start */
    int64_t next;    /* in its queue; -1: last */
} slot;

/* Messages whose events follow one another: only the first one's is in the heap, which so is as
 * small as there are ports, not messages. */
typedef struct queue {
    int64_t head, tail; /* slots; -1: empty */
} queue;

typedef struct loggp {
    qh_netmodel base; /* first: a qh_netmodel is at its head */
    qh_links links;   /* L, and G as a bandwidth */
    qh_time o, g;
    qh_time *out_free, *in_free; /* owned, [n_devices]: when a port takes the next message */
    int64_t *bytes;              /* owned, [2 n_devices]: that go out of each device, and into it */
    queue *out, *in; /* owned, [2 n_devices] by sender and class of latency; [n_devices] */
    qh_heap events;  /* id: slot */
    slot *slot;      /* owned */
    int32_t *free;   /* owned, [capacity]: slots that are not in use */
    int64_t n_free, capacity;
    uint64_t n_started;
} loggp;

static void close_model(qh_netmodel *m)
{
    loggp *l = (loggp *)m;

    qh_mem_free(l->free);
    qh_mem_free(l->slot);
    qh_heap_fini(&l->events);
    qh_mem_free(l->in);
    qh_mem_free(l->out);
    qh_mem_free(l->bytes);
    qh_mem_free(l->in_free);
    qh_mem_free(l->out_free);
    qh_mem_free(l);
}

static qh_status open_model(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                            qh_netmodel **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_LINKS_KEYS, "overhead", "gap"};
    loggp *l = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&l));
    QH_TRY(st, qh_links_read(y, map, &l->links));
    QH_TRY(st, qh_yaml_duration(y, map, "overhead", true, &l->o));
    QH_TRY(st, qh_yaml_duration(y, map, "gap", true, &l->g));
    QH_TRY(st, QH_NEW_ARRAY(&l->out_free, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->in_free, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->bytes, 2 * (int64_t)n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->out, 2 * (int64_t)n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->in, n_devices));
    for (int i = 0; i < n_devices; i++)
        l->out[2 * i] = l->out[2 * i + 1] = l->in[i] = (queue){-1, -1};
    l->base.devices_per_node = qh_links_per_node(&l->links);
    *out = &l->base;
    l = NULL;
out:
    if (l)
        close_model(&l->base);
    return st;
}

/* (k - 1) G */
static qh_time span_of(const qh_link *link, int64_t k)
{
    return k > 1 ? qh_time_of_bytes(k - 1, link->bytes_per_s) : 0;
}

static qh_time max_time(qh_time a, qh_time b)
{
    return a > b ? a : b;
}

static qh_status grow(loggp *l)
{
    int64_t had = l->capacity, more = had ? 2 * had : 64;
    qh_status st;

    QH_TRY(st, QH_RESIZE(&l->slot, had, more));
    QH_TRY(st, QH_RESIZE(&l->free, had, more));
    QH_TRY(st, qh_heap_reserve_all(&l->events, more)); /* an event each at most */
    for (int64_t i = more - 1; i >= had; i--)
        l->free[l->n_free++] = (int32_t)i;
    l->capacity = more;
out:
    return st;
}

/* Slots come back in no order, so that the next ones are fetched some time before. */
static qh_status take_slot(loggp *l, int64_t *out)
{
    enum { AHEAD = 8 };
    qh_status st = QH_OK;

    if (l->n_free == 0)
        QH_TRY(st, grow(l));
    if (l->n_free > AHEAD)
        __builtin_prefetch(&l->slot[l->free[l->n_free - AHEAD]], 1);
    *out = l->free[--l->n_free];
out:
    return st;
}

static void give_slot(loggp *l, int64_t i)
{
    l->free[l->n_free++] = (int32_t)i;
}

static void push_event(loggp *l, int64_t i, uint64_t bit)
{
    qh_event e = {l->slot[i].at, l->slot[i].number | bit, i};

    QH_ASSERT(qh_heap_push(&l->events, e) == QH_OK); /* there is room for all slots */
}

/* The event of a slot comes behind those of its queue. One that would not, a tie with a message
 * that was started later, goes into the heap by itself. */
static void enqueue(loggp *l, queue *q, int64_t i, uint64_t bit)
{
    const slot *last = q->tail >= 0 ? &l->slot[q->tail] : NULL, *s = &l->slot[i];

    l->slot[i].next = -1;
    if (!last) {
        q->head = q->tail = i;
        push_event(l, i, bit);
    } else if (last->at < s->at || (last->at == s->at && last->number < s->number)) {
        l->slot[q->tail].next = i;
        q->tail = i;
    } else {
        push_event(l, i, bit);
    }
}

/* The slot's event has come: that of the next in its queue goes into the heap. */
static void dequeue(loggp *l, queue *q, int64_t i, uint64_t bit)
{
    if (q->head != i)
        return;
    q->head = l->slot[i].next;
    if (q->head >= 0)
        push_event(l, q->head, bit);
    else
        q->tail = -1;
}

static queue *out_queue(loggp *l, const qh_flow *f)
{
    return &l->out[2 * f->src + (qh_links_of(&l->links, f->src, f->dst) == &l->links.inter)];
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    loggp *l = (loggp *)m;
    const qh_link *link = qh_links_of(&l->links, f->src, f->dst);
    qh_time span = span_of(link, f->bytes), enter = max_time(now, l->out_free[f->src]);
    qh_time left = 0, free_again = 0, reach = 0;
    int64_t i = -1;
    qh_status st;

    QH_TRY(st, qh_flow_instant(enter, span, f, &left));
    QH_TRY(st, qh_flow_instant(left, l->g, f, &free_again));
    QH_TRY(st, qh_flow_instant(enter, link->latency, f, &reach));
    QH_TRY(st, take_slot(l, &i));
    l->slot[i] = (slot){.flow = *f, .span = span, .at = reach, .number = l->n_started};
    enqueue(l, out_queue(l, f), i, 0);
    l->out_free[f->src] = free_again;
    l->bytes[2 * f->src] += f->bytes;
    l->bytes[2 * f->dst + 1] += f->bytes;
    l->n_started++;
out:
    return st;
}

static qh_time next(qh_netmodel *m)
{
    return qh_heap_next(&((loggp *)m)->events);
}

/* The first byte of a slot's message is at its receiver: it queues for the port there. */
static void reach_port(loggp *l, qh_time now, int64_t i)
{
    slot *s = &l->slot[i];
    qh_time *port = &l->in_free[s->flow.dst], enter = max_time(now, *port), finish, free_again;

    /* A queue that ends past the end of time stands still there; the engine refuses it when it
     * waits for it. */
    finish = enter > QH_TIME_NEVER - 1 - s->span ? QH_TIME_NEVER - 1 : enter + s->span;
    free_again = finish > QH_TIME_NEVER - 1 - l->g ? QH_TIME_NEVER - 1 : finish + l->g;
    *port = free_again;
    s->at = finish;
    enqueue(l, &l->in[s->flow.dst], i, FINISH);
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    loggp *l = (loggp *)m;
    int64_t n = 0;

    QH_ASSERT(now <= qh_heap_next(&l->events));
    while (n < capacity && qh_heap_next(&l->events) == now) {
        qh_event e = qh_heap_pop(&l->events);

        if (e.order & FINISH) {
            done[n++] = l->slot[e.id].flow.id;
            dequeue(l, &l->in[l->slot[e.id].flow.dst], e.id, FINISH);
            give_slot(l, e.id);
        } else {
            dequeue(l, out_queue(l, &l->slot[e.id].flow), e.id, 0);
            reach_port(l, now, e.id);
        }
    }
    return n;
}

static int64_t soon(const qh_netmodel *m)
{
    const loggp *l = (const loggp *)m;
    const qh_event *e = l->events.n > 0 ? &l->events.item[0] : NULL;

    return e && e->order & FINISH ? l->slot[e->id].flow.id : -1;
}

static qh_time overhead(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    (void)src, (void)dst, (void)bytes; /* o does not depend on the size */
    return ((const loggp *)m)->o;
}

/* L + (k - 1) G; the two o of an end-to-end time are the devices', not the network's. */
static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const qh_link *link = qh_links_of(&((const loggp *)m)->links, src, dst);
    qh_time span = span_of(link, bytes);

    return span > QH_TIME_NEVER - link->latency ? QH_TIME_NEVER : link->latency + span;
}

static void show(const qh_netmodel *m, FILE *out)
{
    const loggp *l = (const loggp *)m;
    char o[QH_UNIT_TEXT_BYTES], g[QH_UNIT_TEXT_BYTES];

    fprintf(out, "  time of a flow of k bytes = L + (k - 1) G, L the latency, 1/G the bandwidth\n");
    qh_links_show(&l->links, out);
    fprintf(out, "  o %s of compute stream for each block sent and each received\n",
            qh_print_seconds(qh_seconds(l->o), o));
    fprintf(out, "  g %s from the last byte of a block to the next block at a port\n",
            qh_print_seconds(qh_seconds(l->g), g));
    fprintf(out,
            "  the blocks that a device sends queue for its port, and so do those it receives; "
            "links inside the network are not shared\n");
}

static int64_t n_links(const qh_netmodel *m)
{
    return 2 * (int64_t)m->n_devices;
}

/* The ports, at the rate that a device has towards the other nodes. */
static void link_at(const qh_netmodel *m, int64_t i, qh_net_link *out)
{
    const loggp *l = (const loggp *)m;

    snprintf(out->name, sizeof out->name, "device %lld %s", (long long)(i / 2),
             i % 2 ? "in" : "out");
    out->bytes_per_s = l->links.inter.bytes_per_s;
    out->bytes = l->bytes[i];
}

const qh_netmodel_ops qh_net_loggp = {
    .name = "loggp",
    .help = "L, o, g, G: blocks queue for the ports of their devices",
    .open = open_model,
    .close = close_model,
    .start = start,
    .next = next,
    .advance = advance,
    .soon = soon,
    .overhead = overhead,
    .alone = alone,
    .show = show,
    .n_links = n_links,
    .link = link_at,
    .contention = true,
};
