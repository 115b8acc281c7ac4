/* Operations into records. Receives are written in the order of their channel's sends, since that
 * is how blocks meet: one may come earlier than it stood in the program, which changes no time. Of
 * what a wait asks for, sends have a WAIT of their own before that of the receives. */
#include "traces/foreign.h"

#include "src/base/mem.h"
#include "traces/writer.h"

#include <math.h>

/* Long computations are cut, so that a double holds each part to the picosecond. */
#define LONGEST_PART (INT64_C(1) << 50)

const char qh_import_accelerator[] =
    "about: what was imported takes the times that it brings (a flop is a picosecond)\n"
    "peak: 1TFLOP/s\n"
    "memory_bandwidth: 1TB/s\n"
    "launch: 0ps\n"
    "efficiency: {spmm: 1, gemm: 1, elementwise: 1, loss: 1, optimizer: 1, quantize: 1,\n"
    "  dequantize: 1, assign: 1}\n";

/* The number of a WAIT: layer and epoch of its records. */
typedef struct number {
    uint16_t layer; /* 0: it has none yet */
    int32_t epoch;
} number;

typedef struct emitter {
    int64_t at;      /* the next operation */
    number *numbers; /* owned, [2 * n_groups]: for the sends of a group, for its receives */
    uint16_t *free;  /* owned: layers to be used again */
    int32_t n_free, free_capacity;
    int32_t n_layers; /* in use or free */
} emitter;

typedef struct output {
    qh_foreign *f;
    qh_trace_writer *writer; /* owned */
    emitter *rank;           /* owned, [n] */
    qh_record *record;       /* owned: of a rank in an epoch */
    int64_t n, capacity;
    int32_t epoch;
} output;

static qh_status emit(output *o, qh_record r)
{
    qh_status st = QH_OK;

    if (o->n == o->capacity) {
        int64_t more = o->capacity ? 2 * o->capacity : 1024;

        QH_TRY(st, QH_RESIZE(&o->record, o->capacity, more));
        o->capacity = more;
    }
    o->record[o->n++] = r;
out:
    return st;
}

/* --- numbers --- */

static qh_status take_number(output *o, int rank, int32_t line, number *out)
{
    emitter *e = &o->rank[rank];

    if (e->n_free > 0) {
        *out = (number){e->free[--e->n_free], o->epoch};
        return QH_OK;
    }
    if (e->n_layers == UINT16_MAX)
        return qh_foreign_bad(o->f, rank, line,
                              "more than %d waits have something under way at once", UINT16_MAX);
    *out = (number){(uint16_t)++e->n_layers, o->epoch};
    return QH_OK;
}

static qh_status give_back(emitter *e, uint16_t layer)
{
    qh_status st = QH_OK;

    if (e->n_free == e->free_capacity) {
        int32_t more = e->free_capacity ? 2 * e->free_capacity : 64;

        QH_TRY(st, QH_RESIZE(&e->free, e->free_capacity, more));
        e->free_capacity = more;
    }
    e->free[e->n_free++] = layer;
out:
    return st;
}

static qh_status number_of(output *o, int rank, const qh_foreign_op *q, number *out)
{
    number *n;
    qh_status st = QH_OK;

    *out = (number){.epoch = o->epoch};
    if (q->group < 0)
        return QH_OK;
    n = &o->rank[rank].numbers[2 * (int64_t)q->group + (q->kind == QH_FOREIGN_RECV)];
    if (n->layer == 0)
        QH_TRY(st, take_number(o, rank, q->line, n));
    *out = *n;
out:
    return st;
}

/* --- operations --- */

static qh_status emit_message(output *o, int rank, const qh_foreign_op *q)
{
    bool sent = q->kind == QH_FOREIGN_SEND;
    int n = o->f->n;
    number to;
    qh_status st;

    QH_TRY(st, number_of(o, rank, q, &to));
    QH_TRY(st, emit(o, (qh_record){.op = sent ? QH_OP_SEND : QH_OP_RECV,
                                   .direction = QH_REQUEST,
                                   .layer = to.layer,
                                   .epoch = to.epoch,
                                   .peer = q->peer,
                                   .round = (sent ? q->peer - rank + n : rank - q->peer + n) % n,
                                   .bytes = q->amount}));
out:
    return st;
}

/* The receive and those whose messages were sent before its own, as far as they are not written. */
static qh_status emit_recv(output *o, int rank, const qh_foreign_op *q)
{
    qh_foreign *f = o->f;
    qh_foreign_channel *c = &f->channel[q->channel];
    qh_status st = QH_OK;

    while (c->taken <= q->place)
        QH_TRY(st, emit_message(o, rank, &f->rank[rank].op[f->recv[c->first + c->taken++]]));
out:
    return st;
}

static qh_status emit_wait(output *o, int rank, const qh_foreign_op *q)
{
    emitter *e = &o->rank[rank];
    qh_status st = QH_OK;

    for (int64_t i = 2 * (int64_t)q->group; i < 2 * (int64_t)q->group + 2; i++) {
        number n = e->numbers[i];

        if (n.layer == 0)
            continue;
        QH_TRY(st, emit(o, (qh_record){.op = QH_OP_WAIT,
                                       .direction = QH_REQUEST,
                                       .layer = n.layer,
                                       .epoch = n.epoch,
                                       .peer = -1}));
        QH_TRY(st, give_back(e, n.layer));
    }
out:
    return st;
}

static qh_status emit_compute(output *o, qh_time duration)
{
    qh_status st = QH_OK;

    for (qh_time part; duration > 0; duration -= part) {
        part = duration < LONGEST_PART ? duration : LONGEST_PART;
        QH_TRY(st,
               emit(o, (qh_record){
                           .op = QH_OP_ELEMENTWISE, .epoch = o->epoch, .peer = -1, .flops = part}));
    }
out:
    return st;
}

static qh_status emit_op(output *o, int rank, const qh_foreign_op *q)
{
    switch ((qh_foreign_kind)q->kind) {
    case QH_FOREIGN_COMPUTE:
        return emit_compute(o, q->amount);
    case QH_FOREIGN_SEND:
        return emit_message(o, rank, q);
    case QH_FOREIGN_RECV:
        return emit_recv(o, rank, q);
    case QH_FOREIGN_WAIT:
        return emit_wait(o, rank, q);
    default:
        return emit(
            o,
            (qh_record){.op = QH_OP_ALLREDUCE, .epoch = o->epoch, .peer = -1, .bytes = q->amount});
    }
}

/* Up to the next mark, or the end. */
static qh_status write_rank(output *o, int rank)
{
    const qh_foreign_rank *r = &o->f->rank[rank];
    emitter *e = &o->rank[rank];
    qh_status st = QH_OK;

    o->n = 0;
    while (e->at < r->n) {
        const qh_foreign_op *q = &r->op[e->at++];

        if (q->kind == QH_FOREIGN_MARK)
            break;
        QH_TRY(st, emit_op(o, rank, q));
    }
    QH_TRY(st, emit(o, (qh_record){.op = QH_OP_EPOCH_END, .epoch = o->epoch, .peer = -1}));
    QH_TRY(st, qh_trace_writer_records(o->writer, rank, o->epoch, o->record, o->n));
out:
    return st;
}

/* --- the file --- */

/* What stands behind the last mark is an epoch, too. */
static int64_t count_epochs(const qh_foreign *f)
{
    for (int rank = 0; rank < f->n; rank++) {
        const qh_foreign_rank *r = &f->rank[rank];

        if (r->n > 0 && r->op[r->n - 1].kind != QH_FOREIGN_MARK)
            return f->n_epochs + 1;
    }
    return f->n_epochs > 0 ? f->n_epochs : 1;
}

static qh_status write_epoch(output *o)
{
    qh_epoch_metrics m = {
        .epoch = o->epoch, .loss = NAN, .metric = {NAN, NAN, NAN, NAN}, .rate = 1};
    qh_status st = QH_OK;

    for (int rank = 0; rank < o->f->n; rank++)
        QH_TRY(st, write_rank(o, rank));
    QH_TRY(st, qh_trace_writer_epoch(o->writer, &m));
out:
    return st;
}

qh_status qh_foreign_write(qh_foreign *f, const char *json, const char *path)
{
    output o = {.f = f};
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&o.rank, f->n));
    for (int rank = 0; rank < f->n; rank++)
        QH_TRY(st, QH_NEW_ARRAY(&o.rank[rank].numbers, 2 * (int64_t)f->rank[rank].n_groups));
    for (int64_t c = 0; c < f->n_channels; c++)
        f->channel[c].taken = 0;
    QH_TRY(st, qh_trace_writer_open(path, f->n, &o.writer));
    QH_TRY(st, qh_trace_writer_begin(o.writer, json));
    for (int64_t i = 0; i < count_epochs(f); i++) {
        o.epoch = f->first_epoch + (int32_t)i;
        QH_TRY(st, write_epoch(&o));
    }
    QH_TRY(st, qh_trace_writer_close(&o.writer));
out:
    qh_trace_writer_abandon(&o.writer);
    for (int rank = 0; o.rank && rank < f->n; rank++) {
        qh_mem_free(o.rank[rank].numbers);
        qh_mem_free(o.rank[rank].free);
    }
    qh_mem_free(o.rank);
    qh_mem_free(o.record);
    return st;
}
