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
enum { FINISH_BIT = 62 };

typedef struct slot {
    qh_flow flow;
    qh_time span;    /* (k - 1) G */
    uint64_t number; /* of the start */
    int64_t next_free;
} slot;

typedef struct loggp {
    qh_netmodel base; /* first: a qh_netmodel is at its head */
    qh_links links;   /* L, and G as a bandwidth */
    qh_time o, g;
    qh_time *out_free, *in_free; /* owned, [n_devices]: when a port takes the next message */
    int64_t *bytes;              /* owned, [2 n_devices]: that go out of each device, and into it */
    qh_heap events;              /* id: slot */
    slot *slot;                  /* owned */
    int64_t n_slots, capacity, first_free; /* first_free -1: none */
    uint64_t n_started;
} loggp;

static void close_model(qh_netmodel *m)
{
    loggp *l = (loggp *)m;

    qh_mem_free(l->slot);
    qh_heap_fini(&l->events);
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
    l->first_free = -1;
    QH_TRY(st, qh_links_read(y, map, &l->links));
    QH_TRY(st, qh_yaml_duration(y, map, "overhead", true, &l->o));
    QH_TRY(st, qh_yaml_duration(y, map, "gap", true, &l->g));
    QH_TRY(st, QH_NEW_ARRAY(&l->out_free, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->in_free, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&l->bytes, 2 * (int64_t)n_devices));
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

static qh_status take_slot(loggp *l, int64_t *out)
{
    qh_status st;

    if (l->first_free >= 0) {
        *out = l->first_free;
        l->first_free = l->slot[*out].next_free;
        return QH_OK;
    }
    if (l->n_slots == l->capacity) {
        int64_t more = l->capacity ? 2 * l->capacity : 64;

        st = QH_RESIZE(&l->slot, l->capacity, more);
        if (st < 0)
            return st;
        l->capacity = more;
    }
    *out = l->n_slots++;
    return QH_OK;
}

static void give_slot(loggp *l, int64_t i)
{
    l->slot[i].next_free = l->first_free;
    l->first_free = i;
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
    l->slot[i] = (slot){.flow = *f, .span = span, .number = l->n_started};
    QH_TRY(st, qh_heap_push(&l->events, (qh_event){reach, l->n_started, i}));
    l->out_free[f->src] = free_again;
    l->bytes[2 * f->src] += f->bytes;
    l->bytes[2 * f->dst + 1] += f->bytes;
    l->n_started++;
    i = -1;
out:
    if (i >= 0)
        give_slot(l, i);
    return st;
}

static qh_time next(qh_netmodel *m)
{
    return qh_heap_next(&((loggp *)m)->events);
}

/* The first byte of a slot's message is at its receiver: it queues for the port there. */
static void reach_port(loggp *l, qh_time now, int64_t i)
{
    const slot *s = &l->slot[i];
    qh_time *port = &l->in_free[s->flow.dst], enter = max_time(now, *port), finish, free_again;
    qh_event e;

    /* A queue that ends past the end of time stands still there; the engine refuses it when it
     * waits for it. */
    finish = enter > QH_TIME_NEVER - 1 - s->span ? QH_TIME_NEVER - 1 : enter + s->span;
    free_again = finish > QH_TIME_NEVER - 1 - l->g ? QH_TIME_NEVER - 1 : finish + l->g;
    *port = free_again;
    e = (qh_event){finish, s->number | UINT64_C(1) << FINISH_BIT, i};
    QH_ASSERT(qh_heap_push(&l->events, e) == QH_OK); /* into the place that was just left */
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    loggp *l = (loggp *)m;
    int64_t n = 0;

    QH_ASSERT(now <= qh_heap_next(&l->events));
    while (n < capacity && qh_heap_next(&l->events) == now) {
        qh_event e = qh_heap_pop(&l->events);

        if (e.order >> FINISH_BIT) {
            done[n++] = l->slot[e.id].flow.id;
            give_slot(l, e.id);
        } else {
            reach_port(l, now, e.id);
        }
    }
    return n;
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
    .overhead = overhead,
    .alone = alone,
    .show = show,
    .n_links = n_links,
    .link = link_at,
    .contention = true,
};
