#include "sim/gather.h"

#include "sim/stopwatch.h"
#include "src/base/mem.h"

#include <string.h>

/* What goes in front of a rank's records. Ranks are alike: a record is sent as it lies in memory.
 */
typedef struct head {
    int64_t n_records, widths_bytes, epoch_ns;
} head;

/* In front of the widths of a SEND. */
typedef struct widths_head {
    int64_t record, n; /* which record of the epoch; how many widths follow */
} widths_head;

struct qh_gather {
    qh_sink sink; /* first, so that a qh_sink * is a qh_gather * */
    qh_gather_config config;
    qh_record_list records; /* of the epoch at hand */
    uint8_t *widths;        /* owned, [widths_capacity]: heads and widths, one after the other */
    int64_t widths_bytes, widths_capacity;
    qh_record *theirs; /* owned, [theirs_capacity]: rank 0's, of the rank at hand */
    int64_t theirs_capacity;
    uint8_t *their_widths; /* owned, [their_widths_capacity] */
    int64_t their_widths_capacity;
    qh_transfer *reply; /* owned, [n_ranks]: rank 0's */
    int32_t stop;
    int64_t cpu_ns; /* at the last record */
    qh_stopwatch watch;
    qh_status status; /* of the records */
};

static int64_t cpu_now(const qh_gather *g)
{
    const qh_transport_ops *t = g->config.transport->ops;
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec +
           (g->config.team ? qh_team_helpers_cpu_ns(g->config.team) : 0) -
           (t->cpu_ns ? t->cpu_ns(g->config.transport, g->config.rank) : 0);
}

static void emit(qh_sink *sink, int rank, const qh_record *r)
{
    qh_gather *g = (qh_gather *)sink;
    qh_record copy = *r;

    (void)rank;
    if (g->status < 0)
        return;
    qh_stopwatch_look(&g->watch, r->op);
    if (g->config.stamp) {
        int64_t now = cpu_now(g);

        copy.host_ns = now > g->cpu_ns ? now - g->cpu_ns : 0;
        g->cpu_ns = now;
    }
    g->status = qh_record_list_add(&g->records, &copy);
}

/* At least doubles, so that it soon has its size. */
static qh_status make_room(void **block, int64_t *capacity, int64_t wanted, size_t size)
{
    int64_t now = 2 * *capacity > wanted ? 2 * *capacity : wanted;
    qh_status st = QH_OK;

    if (wanted <= *capacity)
        return QH_OK;
    QH_TRY(st, qh_mem_resize(block, *capacity, now, size));
    *capacity = now;
out:
    return st;
}

static void widths(qh_sink *sink, int rank, const qh_record *send, const uint8_t *width, int64_t n)
{
    qh_gather *g = (qh_gather *)sink;
    widths_head h = {.record = g->records.n - 1, .n = n};
    int64_t end = g->widths_bytes + (int64_t)sizeof h + n;

    (void)rank;
    (void)send; /* the last record */
    if (g->status == QH_OK)
        g->status = make_room((void **)&g->widths, &g->widths_capacity, end, 1);
    if (g->status < 0)
        return;
    memcpy(g->widths + g->widths_bytes, &h, sizeof h);
    memcpy(g->widths + g->widths_bytes + sizeof h, width, (size_t)n);
    g->widths_bytes = end;
}

/* --- the end of an epoch --- */

static qh_status send(const qh_gather *g, int peer, const void *data, int64_t bytes)
{
    qh_transport *t = g->config.transport;
    qh_transfer x;
    qh_status st;

    QH_TRY(st, t->ops->send_begin(t, g->config.rank, peer, data, bytes, &x));
    QH_TRY(st, t->ops->send_finish(t, g->config.rank, &x));
out:
    return st;
}

static qh_status receive(const qh_gather *g, int peer, void *data, int64_t bytes)
{
    qh_transport *t = g->config.transport;
    qh_transfer x;
    qh_status st;

    QH_TRY(st, t->ops->recv_begin(t, g->config.rank, peer, data, bytes, &x));
    QH_TRY(st, t->ops->recv_finish(t, g->config.rank, &x));
    if (x.view != data)
        memcpy(data, x.view, (size_t)bytes);
    t->ops->recv_release(t, g->config.rank, &x);
out:
    return st;
}

static qh_status hand_over(const qh_gather *g, int *stop)
{
    head h = {g->records.n, g->widths_bytes, g->watch.epoch_ns};
    int32_t reply = 0;
    qh_status st;

    QH_TRY(st, send(g, 0, &h, sizeof h));
    QH_TRY(st, send(g, 0, g->records.item, h.n_records * (int64_t)sizeof *g->records.item));
    QH_TRY(st, send(g, 0, g->widths, h.widths_bytes));
    QH_TRY(st, receive(g, 0, &reply, sizeof reply));
    *stop = reply;
out:
    return st;
}

static void pass_widths(const qh_gather *g, int rank, const qh_record *records, const uint8_t *at,
                        int64_t bytes)
{
    qh_sink *meter = qh_meter_sink(g->config.meter);
    const uint8_t *end = at + bytes;

    while (at < end) {
        widths_head h;

        memcpy(&h, at, sizeof h);
        meter->widths(meter, rank, &records[h.record], at + sizeof h, h.n);
        at += (int64_t)sizeof h + h.n;
    }
}

static qh_status take_from(qh_gather *g, int rank)
{
    head h;
    qh_status st;

    QH_TRY(st, receive(g, rank, &h, sizeof h));
    QH_TRY(st, make_room((void **)&g->theirs, &g->theirs_capacity, h.n_records, sizeof *g->theirs));
    QH_TRY(st, make_room((void **)&g->their_widths, &g->their_widths_capacity, h.widths_bytes, 1));
    QH_TRY(st, receive(g, rank, g->theirs, h.n_records * (int64_t)sizeof *g->theirs));
    QH_TRY(st, receive(g, rank, g->their_widths, h.widths_bytes));
    pass_widths(g, rank, g->theirs, g->their_widths, h.widths_bytes);
    QH_TRY(st, qh_meter_give(g->config.meter, rank, g->theirs, h.n_records, h.epoch_ns));
out:
    return st;
}

static qh_status take_all(qh_gather *g, const qh_epoch_metrics *metrics, int *stop)
{
    qh_transport *t = g->config.transport;
    int n = t->n_ranks;
    qh_status st;

    pass_widths(g, 0, g->records.item, g->widths, g->widths_bytes);
    QH_TRY(st, qh_meter_give(g->config.meter, 0, g->records.item, g->records.n, g->watch.epoch_ns));
    for (int r = 1; r < n; r++)
        QH_TRY(st, take_from(g, r));
    QH_TRY(st, qh_meter_close(g->config.meter, metrics, stop));
    g->stop = *stop;
    for (int r = 1; r < n; r++)
        QH_TRY(st, t->ops->send_begin(t, 0, r, &g->stop, sizeof g->stop, &g->reply[r]));
    for (int r = 1; r < n; r++)
        QH_TRY(st, t->ops->send_finish(t, 0, &g->reply[r]));
out:
    return st;
}

static qh_status end_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *metrics, int *stop)
{
    qh_gather *g = (qh_gather *)sink;
    qh_status st;

    qh_transport_use_lane(g->config.transport, rank, QH_LANE_OTHER);
    QH_TRY(st, g->status);
    QH_TRY(st, g->config.meter ? take_all(g, metrics, stop) : hand_over(g, stop));
    g->records.n = 0;
    g->widths_bytes = 0;
    qh_gather_begin(g);
out:
    qh_transport_use_lane(g->config.transport, rank, QH_LANE_EXCHANGE);
    return st;
}

void qh_gather_begin(qh_gather *g)
{
    if (g->config.stamp)
        g->cpu_ns = cpu_now(g);
    qh_stopwatch_start(&g->watch);
}

/* --- life --- */

qh_status qh_gather_new(const qh_gather_config *c, qh_gather **out)
{
    qh_gather *g = NULL;
    qh_status st;

    QH_ASSERT((c->rank == 0) == (c->meter != NULL));
    QH_TRY(st, QH_NEW(&g));
    g->sink = (qh_sink){.emit = emit, .widths = c->widths ? widths : NULL, .end_epoch = end_epoch};
    g->config = *c;
    QH_TRY(st, QH_NEW_ARRAY(&g->reply, c->transport->n_ranks));
    *out = g;
    g = NULL;
out:
    qh_gather_free(g);
    return st;
}

void qh_gather_free(qh_gather *g)
{
    if (!g)
        return;
    qh_mem_free(g->reply);
    qh_mem_free(g->their_widths);
    qh_mem_free(g->theirs);
    qh_mem_free(g->widths);
    qh_record_list_fini(&g->records);
    qh_mem_free(g);
}

qh_sink *qh_gather_sink(qh_gather *g)
{
    return &g->sink;
}
