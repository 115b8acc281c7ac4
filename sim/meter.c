#include "sim/meter.h"

#include "sim/stopwatch.h"
#include "sim/totals.h"
#include "sim/traffic.h"
#include "src/base/mem.h"

#include <time.h>

/* What one device's thread writes; a cache line apart from the others'. */
typedef struct device {
    _Alignas(QH_MEM_ALIGN) qh_record_list records; /* of the epoch at hand */
    const qh_team *team;
    int64_t cpu_ns; /* at the last record */
    qh_stopwatch watch;
    qh_status status;
    qh_epoch_metrics metrics;
} device;

/* An epoch that is trained, whose virtual time may still be running. */
typedef struct pending {
    qh_epoch_row row;
    struct pending *next; /* owned */
} pending;

struct qh_meter {
    qh_sink sink; /* first, so that a qh_sink * is a qh_meter * */
    qh_meter_config config;
    qh_observer observer;           /* a copy, all NULL when there is none */
    qh_barrier *barrier;            /* owned */
    qh_engine *engine;              /* owned */
    device *device;                 /* owned, [n_devices] */
    int64_t *columns;               /* owned, [n_layers] */
    int64_t *bits;                  /* owned, [n_layers * 2 * QH_N_WIDTHS]: of the epoch at hand */
    pending *first, **last, *spare; /* owned lists */
    qh_traffic traffic;
    qh_totals totals;
    qh_status epoch_status; /* of the observer's epoch() */
    int64_t bytes, messages, floats, fp32_bytes;
    qh_time fp32_coding; /* of the same messages, of all devices */
    int64_t bits_total[QH_N_WIDTHS];
    bool stop, interrupted;
    double *wall_s; /* owned, [epochs]: NULL: not watched */
    int64_t n_wall;
};

static int64_t cpu_now(const device *d)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec +
           (d->team ? qh_team_helpers_cpu_ns(d->team) : 0);
}

static void emit(qh_sink *sink, int rank, const qh_record *r)
{
    qh_meter *m = (qh_meter *)sink;
    device *d = &m->device[rank];
    qh_record copy = *r;

    if (d->status < 0)
        return;
    if (m->config.stamp) {
        int64_t now = cpu_now(d), cpu_ns = now - d->cpu_ns;

        copy.host_ns = r->host_ns > 0 && r->host_ns < cpu_ns ? r->host_ns : cpu_ns;
        d->cpu_ns = now;
    }
    if (m->config.watch)
        qh_stopwatch_look(&d->watch, r->op);
    d->status = qh_record_list_add(&d->records, &copy);
}

static void widths(qh_sink *sink, int rank, const qh_record *send, const uint8_t *width, int64_t n)
{
    qh_meter *m = (qh_meter *)sink;
    device *d = &m->device[rank];

    if (d->status == QH_OK)
        d->status = m->observer.widths(m->observer.ctx, rank, send, width, n);
}

/* --- the end of an epoch, in the thread of the last device --- */

/* Packing and unpacking the messages of r as fp32 rows: what exchange.c records for them. */
static qh_time fp32_coding(const qh_meter *m, const qh_record *r, int64_t values)
{
    const qh_engine_config *c = &m->config.engine;
    qh_record pack = {.op = QH_OP_QUANTIZE, .bytes = 8 * values};
    qh_record unpack = {.op = QH_OP_DEQUANTIZE, .bytes = 8 * values};

    if (r->direction == QH_BACKWARD) {
        unpack.flops = values;
        unpack.bytes += 4 * values;
    }
    return qh_compute_duration(c->accelerator, QH_COMPUTE_MODELED, &pack) +
           qh_compute_duration(c->accelerator, QH_COMPUTE_MODELED, &unpack);
}

static void add_send(qh_meter *m, const qh_record *r, qh_epoch_row *row)
{
    int64_t values = 0;
    int64_t *bits = m->bits + (int64_t)(2 * r->layer + r->direction) * QH_N_WIDTHS;

    row->bytes += r->bytes;
    row->floats += r->values;
    if (r->direction == QH_ASSIGNMENT) /* no messages */
        return;
    for (int i = 0; i < QH_N_WIDTHS; i++) {
        bits[i] += r->messages[i];
        m->bits_total[i] += r->messages[i];
        row->messages += r->messages[i];
        row->mean_bits += (double)r->messages[i] * qh_width_of_index[i];
        values += r->messages[i] * m->columns[r->layer];
    }
    m->fp32_bytes += 4 * values;
    m->fp32_coding += values > 0 ? fp32_coding(m, r, values) : 0;
}

static qh_status account(qh_meter *m, qh_epoch_row *row)
{
    qh_status st = QH_OK;

    for (int d = 0; d < m->config.engine.n_devices; d++) {
        const qh_record_list *list = &m->device[d].records;

        for (int64_t i = 0; i < list->n; i++)
            if (list->item[i].op == QH_OP_SEND) {
                add_send(m, &list->item[i], row);
                QH_TRY(st, qh_traffic_add(&m->traffic, d, &list->item[i]));
            }
    }
    if (row->messages > 0)
        row->mean_bits /= (double)row->messages;
    m->bytes += row->bytes;
    m->messages += row->messages;
    m->floats += row->floats;
out:
    return st;
}

static qh_status tell_bits(qh_meter *m, int32_t epoch)
{
    qh_status st = QH_OK;

    for (int l = 0; l < m->config.n_layers; l++)
        for (int d = QH_FORWARD; d <= QH_BACKWARD; d++)
            for (int i = 0; i < QH_N_WIDTHS; i++) {
                int64_t *n = &m->bits[(int64_t)(2 * l + d) * QH_N_WIDTHS + i];

                if (*n > 0 && m->observer.bits)
                    QH_TRY(st, m->observer.bits(m->observer.ctx, epoch, l, d, qh_width_of_index[i],
                                                *n));
                *n = 0;
            }
out:
    return st;
}

static qh_status new_pending(qh_meter *m, pending **out)
{
    qh_status st = QH_OK;

    if (!m->spare)
        QH_TRY(st, QH_NEW(&m->spare));
    *out = m->spare;
    m->spare = m->spare->next;
    **out = (pending){0};
    (*out)->next = NULL;
out:
    return st;
}

static qh_status feed(qh_meter *m)
{
    qh_status st = QH_OK;

    for (int d = 0; d < m->config.engine.n_devices; d++) {
        qh_record_list *list = &m->device[d].records;

        QH_TRY(st, qh_engine_feed(m->engine, d, list->item, list->n));
        list->n = 0;
    }
    QH_TRY(st, qh_engine_run(m->engine));
    st = m->epoch_status;
out:
    return st;
}

typedef struct arrival {
    qh_meter *meter;
    bool was_last;
} arrival;

/* An epoch has taken as long as its slowest device. */
static void note_wall(qh_meter *m, qh_epoch_row *row)
{
    for (int d = 0; m->wall_s && d < m->config.engine.n_devices; d++)
        if (1e-9 * (double)m->device[d].watch.epoch_ns > row->wall_s)
            row->wall_s = 1e-9 * (double)m->device[d].watch.epoch_ns;
    if (m->wall_s)
        m->wall_s[m->n_wall++] = row->wall_s;
}

static qh_status close_epoch(void *ctx)
{
    arrival *a = ctx;
    qh_meter *m = a->meter;
    const qh_epoch_metrics *metrics = &m->device[0].metrics;
    pending *p = NULL;
    qh_status st = QH_OK;

    a->was_last = true;
    QH_TRY(st, new_pending(m, &p));
    p->row.metrics = *metrics;
    *m->last = p;
    m->last = &p->next;
    note_wall(m, &p->row);
    QH_TRY(st, account(m, &p->row));
    if (m->observer.trained)
        QH_TRY(st, m->observer.trained(m->observer.ctx, metrics));
    QH_TRY(st, tell_bits(m, metrics->epoch));
    QH_TRY(st, feed(m));
    if (m->observer.progress)
        m->observer.progress(m->observer.ctx, metrics, m->config.epochs);
    if (m->observer.stop && *m->observer.stop)
        m->stop = m->interrupted = true;
out:
    return st;
}

static qh_status end_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *metrics, int *stop)
{
    qh_meter *m = (qh_meter *)sink;
    device *d = &m->device[rank];
    arrival a = {.meter = m};
    qh_status st;

    QH_TRY(st, d->status);
    d->metrics = *metrics;
    if (m->observer.records)
        QH_TRY(st, m->observer.records(m->observer.ctx, rank, metrics->epoch, d->records.item,
                                       d->records.n));
    st = qh_barrier_wait(m->barrier, close_epoch, &a);
    if (st < 0 && !a.was_last)
        st = qh_fail(QH_EINTERRUPT, "device %d: stopped because another device failed", rank);
    if (st < 0)
        goto out;
    *stop = m->stop;
    if (m->config.stamp)
        d->cpu_ns = cpu_now(d);
    qh_stopwatch_start(&d->watch);
out:
    return st;
}

/* --- devices elsewhere --- */

qh_status qh_meter_give(qh_meter *m, int rank, const qh_record *r, int64_t n, int64_t wall_ns)
{
    device *d = &m->device[rank];
    qh_status st = QH_OK;

    for (int64_t i = 0; i < n; i++)
        QH_TRY(st, qh_record_list_add(&d->records, &r[i]));
    d->watch.epoch_ns = wall_ns;
out:
    return st;
}

qh_status qh_meter_close(qh_meter *m, const qh_epoch_metrics *metrics, int *stop)
{
    arrival a = {.meter = m};
    qh_status st;

    m->device[0].metrics = *metrics;
    for (int i = 0; m->observer.records && i < m->config.engine.n_devices; i++)
        QH_TRY(st, m->observer.records(m->observer.ctx, i, metrics->epoch,
                                       m->device[i].records.item, m->device[i].records.n));
    QH_TRY(st, close_epoch(&a));
    *stop = m->stop;
out:
    return st;
}

/* --- virtual time --- */

static void on_epoch(void *ctx, const qh_epoch_times *t)
{
    qh_meter *m = ctx;
    int n = m->config.engine.n_devices;
    pending *p = m->first;
    qh_breakdown all = {0};

    QH_ASSERT(p && p->row.metrics.epoch == t->epoch);
    qh_totals_epoch(&m->totals, t);
    for (int d = 0; d < n; d++)
        qh_breakdown_add(&t->device[d], &all);
    p->row.sim = t->end - t->start;
    p->row.compute_s = qh_seconds(all.compute) / n;
    p->row.comm_s = qh_seconds(all.comm) / n;
    p->row.exposed_comm_s = qh_seconds(all.exposed_comm) / n;
    p->row.quant_s = qh_seconds(all.quantize + all.dequantize) / n;
    if (m->observer.times && m->epoch_status == QH_OK)
        m->epoch_status = m->observer.times(m->observer.ctx, t);
    if (m->observer.epoch && m->epoch_status == QH_OK)
        m->epoch_status = m->observer.epoch(m->observer.ctx, &p->row);
    m->first = p->next;
    if (!m->first)
        m->last = &m->first;
    p->next = m->spare;
    m->spare = p;
}

static void on_interval(void *ctx, const qh_interval *i)
{
    qh_meter *m = ctx;

    m->observer.interval(m->observer.ctx, i);
}

qh_status qh_meter_finish(qh_meter *m, qh_result *r)
{
    qh_traffic_row *rows = NULL;
    qh_status st;

    QH_TRY(st, qh_engine_finish(m->engine));
    QH_TRY(st, m->epoch_status);
    QH_TRY(st, qh_traffic_list(&m->traffic, &rows));
    qh_totals_finish(&m->totals, &r->mean, &r->max);
    r->sim_end = m->totals.end;
    r->bytes_sent = m->bytes;
    r->messages = m->messages;
    r->floats_sent = m->floats;
    r->fp32_bytes = m->fp32_bytes;
    r->fp32_coding = qh_seconds(m->fp32_coding);
    for (int i = 0; i < QH_N_WIDTHS; i++)
        r->bits_messages[i] = m->bits_total[i];
    r->interrupted = m->interrupted;
    r->wall_s = m->wall_s;
    r->n_wall = m->n_wall;
    m->wall_s = NULL;
    r->traffic = rows;
    r->n_traffic = m->traffic.n;
out:
    return st;
}

/* --- building --- */

qh_status qh_meter_new(const qh_meter_config *c, qh_meter **out)
{
    int n = c->engine.n_devices;
    qh_meter *m = NULL;
    qh_engine_config engine = c->engine;
    qh_status st;

    QH_TRY(st, QH_NEW(&m));
    m->sink = (qh_sink){.emit = emit, .end_epoch = end_epoch};
    m->config = *c;
    m->last = &m->first;
    if (c->observer)
        m->observer = *c->observer;
    m->sink.widths = m->observer.widths ? widths : NULL;
    engine.timeline = (qh_timeline){
        .interval = m->observer.interval ? on_interval : NULL, .epoch = on_epoch, .ctx = m};
    QH_TRY(st, qh_barrier_new(n, &m->barrier));
    QH_TRY(st, qh_engine_new(&engine, &m->engine));
    QH_TRY(st, QH_NEW_ARRAY(&m->device, n));
    QH_TRY(st, QH_NEW_ARRAY(&m->columns, c->n_layers));
    QH_TRY(st, QH_NEW_ARRAY(&m->bits, (int64_t)c->n_layers * 2 * QH_N_WIDTHS));
    QH_TRY(st, qh_totals_init(&m->totals, n));
    if (c->watch)
        QH_TRY(st, QH_NEW_ARRAY(&m->wall_s, c->epochs));
    *out = m;
    m = NULL;
out:
    qh_meter_free(m);
    return st;
}

static void free_list(pending *p)
{
    while (p) {
        pending *next = p->next;

        qh_mem_free(p);
        p = next;
    }
}

void qh_meter_free(qh_meter *m)
{
    if (!m)
        return;
    free_list(m->first);
    free_list(m->spare);
    qh_traffic_fini(&m->traffic);
    qh_totals_fini(&m->totals);
    qh_mem_free(m->wall_s);
    qh_mem_free(m->bits);
    qh_mem_free(m->columns);
    for (int d = 0; m->device && d < m->config.engine.n_devices; d++)
        qh_record_list_fini(&m->device[d].records);
    qh_mem_free(m->device);
    qh_engine_free(m->engine);
    qh_barrier_free(m->barrier);
    qh_mem_free(m);
}

qh_sink *qh_meter_sink(qh_meter *m)
{
    return &m->sink;
}

void qh_meter_set_columns(qh_meter *m, int layer, int64_t n_cols)
{
    m->columns[layer] = n_cols;
}

void qh_meter_set_team(qh_meter *m, int rank, const qh_team *team)
{
    m->device[rank].team = team;
    m->device[rank].cpu_ns = m->config.stamp ? cpu_now(&m->device[rank]) : 0;
}

void qh_meter_begin(qh_meter *m, int rank)
{
    qh_stopwatch_start(&m->device[rank].watch);
}

void qh_meter_break(qh_meter *m)
{
    qh_barrier_break(m->barrier);
}
