/* A device's records as a program for others: requests with tags, waits that name them. */
#include "src/base/mem.h"
#include "traces/export_members.h"

#include <string.h>

/* A request that was not waited for yet. */
typedef struct request {
    qh_program_request q;
    int32_t epoch, round;
    int layer, direction;
    int64_t posted; /* EPOCH_ENDs before it */
    bool sent, done;
} request;

typedef struct walk {
    const qh_export_job *job;
    const qh_program_ops *ops;
    void *ctx;
    int device, n_devices;
    int64_t *n_sent, *n_received; /* owned, [n_devices] */
    request *open;                /* owned */
    int64_t n_open, capacity;
    qh_program_request *batch; /* owned, [batch_capacity] */
    int64_t batch_capacity;
    int64_t n_ends;
} walk;

static qh_status post(walk *w, const qh_record *r, bool sent, int peer, int64_t bytes)
{
    request *q;
    qh_status st = QH_OK;

    if (w->n_open == w->capacity) {
        int64_t more = 2 * w->capacity + 64;

        QH_TRY(st, QH_RESIZE(&w->open, w->capacity, more));
        w->capacity = more;
    }
    q = &w->open[w->n_open];
    *q = (request){.q = {.src = sent ? w->device : peer, .dst = sent ? peer : w->device},
                   .epoch = r->epoch,
                   .round = r->round,
                   .layer = r->layer,
                   .direction = r->direction,
                   .posted = w->n_ends,
                   .sent = sent};
    q->q.bytes = bytes;
    q->q.tag = sent ? w->n_sent[peer]++ : w->n_received[peer]++;
    QH_TRY(st, (sent ? w->ops->send : w->ops->recv)(w->ctx, &q->q));
    w->n_open++;
out:
    return st;
}

static bool same_exchange(const request *q, const qh_record *r)
{
    return q->epoch == r->epoch && q->layer == r->layer && q->direction == r->direction;
}

/* Hands the marked requests to the format and forgets them. */
static qh_status wait_marked(walk *w, qh_program_wait kind)
{
    int64_t n = 0, left = 0;
    qh_status st = QH_OK;

    if (w->n_open > w->batch_capacity) {
        QH_TRY(st, QH_RESIZE(&w->batch, w->batch_capacity, w->capacity));
        w->batch_capacity = w->capacity;
    }
    for (int64_t i = 0; i < w->n_open; i++)
        if (w->open[i].done)
            w->batch[n++] = w->open[i].q;
        else
            w->open[left++] = w->open[i];
    w->n_open = left;
    if (n > 0)
        QH_TRY(st, w->ops->wait(w->ctx, w->batch, n, kind));
out:
    return st;
}

/* A send of a round goes when nothing of the exchange's earlier rounds is under way. */
static qh_status gate(walk *w, const qh_record *r)
{
    bool any = false;

    for (int64_t i = 0; i < w->n_open; i++) {
        w->open[i].done = same_exchange(&w->open[i], r) && w->open[i].round < r->round;
        any = any || w->open[i].done;
    }
    return any ? wait_marked(w, QH_WAIT_GATE) : QH_OK;
}

static qh_status wait_exchange(walk *w, const qh_record *r)
{
    for (int64_t i = 0; i < w->n_open; i++)
        w->open[i].done =
            (!w->open[i].sent || r->direction == QH_REQUEST) && same_exchange(&w->open[i], r);
    return wait_marked(w, QH_WAIT_COMPUTE);
}

static qh_status end_epoch(walk *w, const qh_record *r)
{
    qh_status st;

    w->n_ends++;
    for (int64_t i = 0; i < w->n_open; i++)
        w->open[i].done = w->open[i].sent && w->open[i].posted + 1 < w->n_ends;
    QH_TRY(st, wait_marked(w, QH_WAIT_DONE));
    if (w->ops->epoch)
        w->ops->epoch(w->ctx, r->epoch);
out:
    return st;
}

/* As sim/engine_reduce.c: in each of 2 (N - 1) steps a chunk goes to the next device and one comes
 * from the device before. */
static qh_status ring(walk *w, const qh_record *r)
{
    int n = w->n_devices, next = (w->device + 1) % n, before = (w->device + n - 1) % n;
    qh_status st = QH_OK;

    for (int step = 0; n > 1 && step < 2 * (n - 1); step++) {
        int mine = ((w->device - step) % n + n) % n, theirs = ((before - step) % n + n) % n;

        QH_TRY(st, post(w, r, false, before, r->bytes / n + (theirs < r->bytes % n)));
        QH_TRY(st, post(w, r, true, next, r->bytes / n + (mine < r->bytes % n)));
        for (int64_t i = 0; i < w->n_open; i++)
            w->open[i].done = i >= w->n_open - 2;
        QH_TRY(st, wait_marked(w, QH_WAIT_COMPUTE));
    }
out:
    return st;
}

static qh_status take(walk *w, const qh_record *r)
{
    const qh_export_job *job = w->job;
    qh_status st = QH_OK;

    switch (r->op) {
    case QH_OP_SEND:
        if (job->rounds && r->direction != QH_REQUEST)
            QH_TRY(st, gate(w, r));
        QH_TRY(st, post(w, r, true, r->peer, r->bytes));
        break;
    case QH_OP_RECV:
        QH_TRY(st, post(w, r, false, r->peer, r->bytes));
        break;
    case QH_OP_WAIT:
        QH_TRY(st, wait_exchange(w, r));
        break;
    case QH_OP_ALLREDUCE:
        QH_TRY(st, w->ops->reduce ? w->ops->reduce(w->ctx, r->bytes) : ring(w, r));
        break;
    case QH_OP_EPOCH_END:
        QH_TRY(st, end_epoch(w, r));
        break;
    default:
        QH_TRY(st, w->ops->compute(w->ctx, r, job->duration(job->ctx, w->device, r)));
    }
out:
    return st;
}

qh_status qh_program_walk(const qh_export_job *job, int device, const qh_program_ops *ops,
                          void *ctx)
{
    walk w = {.job = job,
              .ops = ops,
              .ctx = ctx,
              .device = device,
              .n_devices = qh_trace_look(job->trace)->n_devices};
    qh_trace_cursor *c = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&w.n_sent, w.n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&w.n_received, w.n_devices));
    QH_TRY(st, qh_trace_cursor_new(job->trace, &c));
    for (int64_t f = 0; f < qh_trace_n_frames(job->trace, device); f++) {
        const qh_record *r = NULL;
        int64_t n = 0;

        QH_TRY(st, qh_trace_read(c, device, f, &r, &n));
        for (int64_t i = 0; i < n; i++)
            QH_TRY(st, take(&w, &r[i]));
    }
out:
    qh_trace_cursor_free(c);
    qh_mem_free(w.batch);
    qh_mem_free(w.open);
    qh_mem_free(w.n_received);
    qh_mem_free(w.n_sent);
    return st;
}

qh_status qh_export_open(const qh_export_job *job, const char *name, qh_output **out)
{
    int64_t room = (int64_t)(strlen(job->path) + strlen(name)) + 2;
    char *path = NULL;
    qh_status st;

    QH_TRY(st, qh_make_folder(job->path));
    QH_TRY(st, QH_NEW_ARRAY(&path, room));
    snprintf(path, (size_t)room, "%s/%s", job->path, name);
    QH_TRY(st, qh_output_open(path, out));
out:
    qh_mem_free(path);
    return st;
}
