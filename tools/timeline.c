#include "tools/timeline.h"

#include "tools/console.h"
#include "tools/plot.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

/* OVERLAPPED is computing while a block from or to the device is in flight. */
typedef enum kind {
    OVERLAPPED,
    COMPUTE,
    QUANTIZE,
    DEQUANTIZE,
    ASSIGN,
    ALLREDUCE,
    WAITING,
    TRANSFER,
    N_KINDS
} kind;

static const qh_bar_kind kinds[N_KINDS] = {
    [OVERLAPPED] = {"computing, blocks under way", "#7fb3d5"},
    [COMPUTE] = {"computing", "#1b6ca8"},
    [QUANTIZE] = {"quantize", "#edae49"},
    [DEQUANTIZE] = {"dequantize", "#b5651d"},
    [ASSIGN] = {"assign bit-widths", "#7d4e9e"},
    [ALLREDUCE] = {"all-reduce", "#2e933c"},
    [WAITING] = {"waiting", "#dddddd"},
    [TRANSFER] = {"transfer (sending)", "#d1495b"},
};

/* A piece of a device's time. */
typedef struct piece {
    int device, peer; /* peer: of a TRANSFER */
    kind kind;
    qh_time start, end;
} piece;

typedef struct piece_list {
    piece *item; /* owned */
    int64_t n, capacity;
} piece_list;

/* One panel while it is collected. */
typedef struct panel {
    int64_t epoch;
    int64_t now[QH_TIMELINE_DEVICES]; /* the epoch that a device is at */
    piece_list all;
    qh_time start, end;
    qh_status status; /* so far: an interval cannot fail */
} panel;

static kind kind_of(const qh_interval *i)
{
    if (i->stream == 1)
        return TRANSFER;
    switch (i->record->op) {
    case QH_OP_QUANTIZE:
        return QUANTIZE;
    case QH_OP_DEQUANTIZE:
        return DEQUANTIZE;
    case QH_OP_ASSIGN:
        return ASSIGN;
    case QH_OP_ALLREDUCE:
        return ALLREDUCE;
    case QH_OP_WAIT:
        return WAITING;
    default:
        return COMPUTE;
    }
}

static qh_status keep(piece_list *l, piece new)
{
    qh_status st = QH_OK;

    if (l->n == l->capacity) {
        int64_t capacity = l->capacity ? 2 * l->capacity : 1024;

        QH_TRY(st, QH_RESIZE(&l->item, l->n, capacity));
        l->capacity = capacity;
    }
    l->item[l->n++] = new;
out:
    return st;
}

/* Blocks of an earlier epoch that a device waits for and decodes belong to the epoch it is at; of
 * devices past the last one shown, blocks to those shown do. */
static bool belongs(panel *p, const qh_interval *i, kind k)
{
    bool shown = i->device < QH_TIMELINE_DEVICES;

    if (k == TRANSFER)
        return i->record->epoch == p->epoch && (shown || i->record->peer < QH_TIMELINE_DEVICES);
    if (shown && k != WAITING && k != DEQUANTIZE)
        p->now[i->device] = i->record->epoch;
    return shown && p->now[i->device] == p->epoch;
}

static void take(void *ctx, const qh_interval *i)
{
    panel *p = ctx;
    kind k = kind_of(i);

    if (p->status == QH_OK && i->start < i->end && belongs(p, i, k))
        p->status = keep(&p->all, (piece){.device = i->device,
                                          .peer = i->record->peer,
                                          .kind = k,
                                          .start = i->start,
                                          .end = i->end});
}

static int by_device_and_start(const void *x, const void *y)
{
    const piece *a = x, *b = y;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

/* Sorts; then neighbours of one kind on one device that touch or overlap become one. */
static void join(piece_list *l)
{
    int64_t n = 0;

    if (l->n > 0)
        qsort(l->item, (size_t)l->n, sizeof *l->item, by_device_and_start);
    for (int64_t i = 0; i < l->n; i++) {
        const piece *q = &l->item[i];
        piece *last = n > 0 ? &l->item[n - 1] : NULL;

        if (last && last->device == q->device && last->kind == q->kind && q->start <= last->end)
            last->end = q->end > last->end ? q->end : last->end;
        else
            l->item[n++] = *q;
    }
    l->n = n;
}

/* The times at which a block from or to each device was in flight. */
static qh_status flights_of(const piece_list *all, piece_list *flights)
{
    qh_status st = QH_OK;

    for (int64_t i = 0; i < all->n; i++) {
        piece q = all->item[i];

        if (q.kind != TRANSFER)
            continue;
        QH_TRY(st, keep(flights, q));
        q.device = q.peer;
        QH_TRY(st, keep(flights, q));
    }
    join(flights);
out:
    return st;
}

/* Computing, cut where flights begin and end. */
static qh_status cut(piece q, const piece_list *flights, piece_list *to)
{
    qh_status st = QH_OK;

    for (int64_t i = 0; i < flights->n && q.start < q.end; i++) {
        const piece *f = &flights->item[i];
        piece part = q;

        if (f->device != q.device || f->end <= q.start || f->start >= q.end)
            continue;
        part.end = f->start;
        if (part.start < part.end)
            QH_TRY(st, keep(to, part));
        part.kind = OVERLAPPED;
        part.start = f->start > q.start ? f->start : q.start;
        part.end = f->end < q.end ? f->end : q.end;
        QH_TRY(st, keep(to, part));
        q.start = part.end;
    }
    if (q.start < q.end)
        QH_TRY(st, keep(to, q));
out:
    return st;
}

/* What was collected, as it is drawn: computing on its own and beside blocks, transfers joined. */
static qh_status arrange(panel *p)
{
    piece_list flights = {0}, busy = {0}, sends = {0};
    qh_status st;

    QH_TRY(st, flights_of(&p->all, &flights));
    for (int64_t i = 0; i < p->all.n; i++) {
        piece q = p->all.item[i];

        if (q.kind == COMPUTE)
            QH_TRY(st, cut(q, &flights, &busy));
        else if (q.kind != TRANSFER)
            QH_TRY(st, keep(&busy, q));
        else if (q.device < QH_TIMELINE_DEVICES)
            QH_TRY(st, keep(&sends, q));
    }
    join(&busy);
    join(&sends);
    for (int64_t i = 0; i < sends.n; i++)
        QH_TRY(st, keep(&busy, sends.item[i]));
    p->start = busy.n > 0 ? INT64_MAX : 0;
    for (int64_t i = 0; i < busy.n; i++) {
        p->start = busy.item[i].start < p->start ? busy.item[i].start : p->start;
        p->end = busy.item[i].end > p->end ? busy.item[i].end : p->end;
    }
    qh_mem_free(p->all.item);
    p->all = busy;
    busy = (piece_list){0};
out:
    qh_mem_free(flights.item);
    qh_mem_free(busy.item);
    qh_mem_free(sends.item);
    return st;
}

static qh_status collect(const qh_whatif *w, int64_t run, int64_t epoch, panel *p)
{
    const qh_trace_info *info = w->recording[w->run[run].trace].info;
    int64_t last = info->first_epoch + info->n_epochs - 1;
    qh_replay_config c = w->config[run];
    qh_replay_result r;
    qh_status st;

    if (info->n_epochs == 0 || epoch > last || (epoch >= 0 && epoch < info->first_epoch))
        QH_TRY(st, qh_fail(QH_EUSAGE, "--epoch: %lld; %s has epochs %lld to %lld", (long long)epoch,
                           info->path, (long long)info->first_epoch, (long long)last));
    *p = (panel){.epoch = epoch < 0 ? last : epoch};
    for (int d = 0; d < QH_TIMELINE_DEVICES; d++)
        p->now[d] = -1;
    c.interval = take;
    c.ctx = p;
    QH_TRY(st, qh_replay(&c, &r));
    QH_TRY(st, p->status);
    QH_TRY(st, arrange(p));
out:
    return st;
}

/* --- the picture --- */

/* Rows from the top: for each panel a line of text, then its devices. */
static int rows_of(const qh_whatif *w, int64_t run)
{
    int n = w->recording[w->run[run].trace].info->n_devices;

    return 1 + (n < QH_TIMELINE_DEVICES ? n : QH_TIMELINE_DEVICES);
}

static void add_panel(const qh_whatif *w, int64_t run, const panel *p, int row, qh_bars *b)
{
    const qh_whatif_run *r = &w->run[run];
    char was[QH_TITLE_BYTES], text[QH_UNIT_TEXT_BYTES];
    qh_bar_text *caption = &b->caption[b->n_captions++];
    double shortest = (double)b->x_max / 4000; /* a quarter of a pixel */

    caption->y = row + 0.6;
    snprintf(caption->text, sizeof caption->text, "%s%s%s, epoch %lld: %s",
             qh_recording_title(&w->recording[r->trace], was, sizeof was),
             r->as_recorded ? "" : "; replayed on ",
             r->as_recorded ? ""
             : r->net       ? r->net
                            : "no network",
             (long long)p->epoch, qh_print_seconds(qh_seconds(p->end - p->start), text));
    for (int d = 0; d + 1 < rows_of(w, run); d++) {
        qh_bar_text *tic = &b->tic[b->n_tics++];

        tic->y = row + d + 1.5;
        snprintf(tic->text, sizeof tic->text, "device %d", d);
    }
    for (int64_t i = 0; i < p->all.n; i++) {
        const piece *q = &p->all.item[i];
        double y = row + 1 + q->device;
        qh_bar *bar = &b->bar[b->n_bars];

        *bar = (qh_bar){.kind = q->kind,
                        .x0 = qh_seconds(q->start - p->start),
                        .x1 = qh_seconds(q->end - p->start),
                        .y0 = y + (q->kind == TRANSFER ? 0.66 : 0.12),
                        .y1 = y + (q->kind == TRANSFER ? 0.88 : 0.62)};
        b->n_bars += bar->x1 - bar->x0 >= shortest;
    }
}

static qh_status draw(const qh_whatif *w, const panel *p, const char *svg)
{
    qh_bars b = {.kind = kinds, .n_kinds = N_KINDS, .x_label = "simulated time"};
    int64_t n = 0;
    qh_status st;

    for (int64_t i = 0; i < w->n_runs; i++) {
        double length = qh_seconds(p[i].end - p[i].start);

        n += p[i].all.n;
        b.x_max = length > b.x_max ? length : b.x_max;
    }
    QH_TRY(st, QH_NEW_ARRAY(&b.bar, n + 1));
    QH_TRY(st, QH_NEW_ARRAY(&b.tic, w->n_runs * QH_TIMELINE_DEVICES));
    QH_TRY(st, QH_NEW_ARRAY(&b.caption, w->n_runs));
    for (int64_t i = 0; i < w->n_runs; i++) {
        add_panel(w, i, &p[i], b.n_rows, &b);
        b.n_rows += rows_of(w, i);
    }
    QH_TRY(st, qh_plot_bars(svg, &b));
out:
    qh_mem_free(b.caption);
    qh_mem_free(b.tic);
    qh_mem_free(b.bar);
    return st;
}

qh_status qh_timeline_draw(const qh_whatif *w, int64_t epoch, const char *svg)
{
    panel p[QH_TIMELINE_PANELS] = {0};
    bool more = false;
    qh_status st;

    if (w->n_runs > QH_TIMELINE_PANELS)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--timeline: %lld replays; a picture holds up to %d",
                           (long long)w->n_runs, QH_TIMELINE_PANELS));
    for (int64_t i = 0; i < w->n_runs; i++) {
        QH_TRY(st, collect(w, i, epoch, &p[i]));
        more |= w->recording[w->run[i].trace].info->n_devices > QH_TIMELINE_DEVICES;
    }
    if (more)
        qh_console_note("%s shows the first %d devices", svg, QH_TIMELINE_DEVICES);
    QH_TRY(st, draw(w, p, svg));
out:
    for (size_t i = 0; i < QH_COUNT(p); i++)
        qh_mem_free(p[i].all.item);
    return st;
}
