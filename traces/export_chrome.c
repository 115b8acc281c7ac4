/* chrome: the JSON of the trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * open. A process a device; thread 0 computes and waits, the others are lanes of blocks in flight,
 * as many as overlap; an arrow goes from a block to what its receiver does when it arrives;
 * counters show the bytes sent so far and the bit-width of what is sent. ts and dur are
 * microseconds with six decimals: picoseconds. */
#include "src/base/file.h"
#include "src/base/mem.h"
#include "traces/export_members.h"

#include <inttypes.h>
#include <string.h>

/* Lanes of a device: when each is free. */
typedef struct lanes {
    qh_time *free_at; /* owned */
    int64_t n, capacity;
    int64_t bytes; /* sent so far */
    double bits;   /* of the block before */
} lanes;

typedef struct chrome {
    FILE *out;
    int n_devices;
    lanes *device; /* owned */
    int64_t n_flows;
} chrome;

static void put_time(FILE *out, const char *key, qh_time t)
{
    fprintf(out, "\"%s\":%" PRId64 ".%06" PRId64, key, t / 1000000, t % 1000000);
}

/* A text between quotes. */
static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fputc(*text, out);
    fputc('"', out);
}

/* --- lanes --- */

/* The lane for a block, of those that are free at its start the one that was so last. Blocks come
 * in the order of their ends, so one that fits behind the last of a lane overlaps none of it. */
static qh_status find_lane(lanes *l, qh_time start, qh_time end, int64_t *lane)
{
    int64_t best = -1;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < l->n; i++)
        if (l->free_at[i] <= start && (best < 0 || l->free_at[i] > l->free_at[best]))
            best = i;
    if (best < 0) {
        if (l->n == l->capacity) {
            QH_TRY(st, QH_RESIZE(&l->free_at, l->capacity, 2 * l->capacity + 8));
            l->capacity = 2 * l->capacity + 8;
        }
        best = l->n++;
    }
    l->free_at[best] = end;
    *lane = best;
out:
    return st;
}

/* --- events --- */

static void put_slice(const chrome *c, const qh_span *s, int64_t thread)
{
    const qh_record *r = s->record;

    fprintf(c->out, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRId64 ",", s->device, thread);
    put_time(c->out, "ts", s->start);
    fputc(',', c->out);
    put_time(c->out, "dur", s->end - s->start);
    if (s->stream == 0)
        fprintf(c->out, ",\"cat\":\"%s\",\"name\":\"%s\"",
                r->op == QH_OP_WAIT        ? "wait"
                : r->op == QH_OP_ALLREDUCE ? "allreduce"
                                           : "compute",
                qh_op_name(r->op));
    else
        fprintf(c->out, ",\"cat\":\"transfer\",\"name\":\"to %" PRId32 "\"", r->peer);
    fprintf(c->out,
            ",\"args\":{\"epoch\":%" PRId32 ",\"layer\":%d,\"direction\":\"%s\",\"flops\":%" PRId64
            ",\"bytes\":%" PRId64,
            r->epoch, r->layer, qh_direction_name(r->direction), r->flops, r->bytes);
    if (r->peer >= 0)
        fprintf(c->out, ",\"peer\":%" PRId32 ",\"round\":%" PRId32, r->peer, r->round);
    for (int w = 0; w < QH_N_WIDTHS; w++)
        if (r->messages[w] > 0)
            fprintf(c->out, ",\"messages of %d bits\":%" PRId32, qh_width_of_index[w],
                    r->messages[w]);
    fprintf(c->out, "}},\n");
}

static void put_arrow(chrome *c, const qh_span *s, int64_t lane)
{
    int64_t id = c->n_flows++;

    fprintf(c->out,
            "{\"ph\":\"s\",\"cat\":\"block\",\"name\":\"block\",\"id\":%" PRId64
            ",\"pid\":%d,\"tid\":%" PRId64 ",",
            id, s->device, lane);
    put_time(c->out, "ts", s->start);
    fprintf(c->out,
            "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"block\",\"name\":\"block\",\"id\":%" PRId64
            ",\"pid\":%" PRId32 ",\"tid\":0,",
            id, s->record->peer);
    put_time(c->out, "ts", s->end);
    fprintf(c->out, "},\n");
}

static void put_counters(const chrome *c, const qh_span *s, lanes *l)
{
    const qh_record *r = s->record;
    int64_t messages = 0;
    double bits = 0;

    for (int w = 0; w < QH_N_WIDTHS; w++) {
        messages += r->messages[w];
        bits += (double)r->messages[w] * qh_width_of_index[w];
    }
    l->bytes += r->bytes;
    fprintf(c->out, "{\"ph\":\"C\",\"pid\":%d,\"name\":\"bytes sent\",", s->device);
    put_time(c->out, "ts", s->end);
    fprintf(c->out, ",\"args\":{\"bytes\":%" PRId64 "}},\n", l->bytes);
    if (messages == 0 || bits / (double)messages == l->bits)
        return;
    l->bits = bits / (double)messages;
    fprintf(c->out, "{\"ph\":\"C\",\"pid\":%d,\"name\":\"bits a value\",", s->device);
    put_time(c->out, "ts", s->end);
    fprintf(c->out, ",\"args\":{\"bits\":%.6g}},\n", l->bits);
}

static qh_status take(void *to, const qh_span *s)
{
    chrome *c = to;
    lanes *l = &c->device[s->device];
    int64_t lane = 0;
    qh_status st = QH_OK;

    if (s->stream == 0) {
        if (s->end > s->start) /* a wait for what is there takes no time and shows nothing */
            put_slice(c, s, 0);
        return QH_OK;
    }
    QH_TRY(st, find_lane(l, s->start, s->end, &lane));
    put_slice(c, s, 1 + lane);
    put_arrow(c, s, 1 + lane);
    put_counters(c, s, l);
out:
    return st;
}

/* --- names --- */

static void put_name(const chrome *c, int device, int64_t thread, const char *what,
                     const char *format, int64_t number)
{
    fprintf(c->out,
            "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{\"name\":\"",
            device, thread, what);
    fprintf(c->out, format, number);
    fprintf(c->out, "\"}},\n");
}

static void put_names(const chrome *c)
{
    for (int d = 0; d < c->n_devices; d++) {
        put_name(c, d, 0, "process_name", "device %" PRId64, d);
        put_name(c, d, 0, "thread_name", "compute", 0);
        for (int64_t i = 1; i <= c->device[d].n; i++)
            put_name(c, d, i, "thread_name", "sends %" PRId64, i);
    }
}

static qh_status write_chrome(const qh_export_job *job)
{
    chrome c = {.n_devices = qh_trace_look(job->trace)->n_devices};
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&c.device, c.n_devices));
    QH_TRY(st, qh_output_open(job->path, &o));
    c.out = qh_output_stream(o);
    fprintf(c.out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":");
    put_text(c.out, job->title);
    fprintf(c.out, "},\"traceEvents\":[\n");
    QH_TRY(st, job->play(job->ctx, take, &c));
    put_names(&c);
    fprintf(c.out, "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":"
                   "{\"sort_index\":0}}\n]}\n");
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    for (int d = 0; c.device && d < c.n_devices; d++)
        qh_mem_free(c.device[d].free_at);
    qh_mem_free(c.device);
    return st;
}

const qh_export_ops qh_export_chrome = {
    .name = "chrome",
    .help = "a timeline for ui.perfetto.dev or chrome://tracing",
    .plays = true,
    .write = write_chrome,
};
