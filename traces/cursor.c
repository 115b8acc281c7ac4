/* Reading the frames of a trace that is open. */
#include "src/base/hash.h"
#include "src/base/mem.h"
#include "traces/parts.h"

#include <math.h>
#include <string.h>
#include <zstd.h>

qh_status qh_trace_cursor_new(const qh_trace *t, qh_trace_cursor **out)
{
    qh_trace_cursor *c = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&c));
    c->trace = t;
    QH_TRY(st, QH_NEW_ARRAY(&c->value, QH_TRACE_MAX_RECORDS));
    QH_TRY(st, QH_NEW_ARRAY(&c->record, QH_TRACE_MAX_RECORDS));
    c->zstd = ZSTD_createDCtx();
    if (!c->zstd) {
        st = qh_fail(QH_ERESOURCE, "memory: too short for reading a trace");
        goto out;
    }
    *out = c;
    c = NULL;
out:
    qh_trace_cursor_free(c);
    return st;
}

void qh_trace_cursor_free(qh_trace_cursor *c)
{
    if (!c)
        return;
    for (int64_t i = 0; i < c->kept_capacity; i++)
        qh_mem_free(c->kept[i].record);
    qh_mem_free(c->kept);
    qh_mem_free(c->window);
    ZSTD_freeDCtx(c->zstd);
    qh_bytes_fini(&c->stored);
    qh_bytes_fini(&c->raw);
    qh_mem_free(c->record);
    qh_mem_free(c->value);
    qh_mem_free(c);
}

enum { WINDOW_BYTES = 1 << 18, MAX_KEPT_RECORDS = 1 << 20 };

/* n bytes of the file, through the window where they are few. */
static qh_status bytes_at(qh_trace_cursor *c, int64_t at, int64_t n, uint8_t *to)
{
    int64_t left = c->trace->info.file_bytes - at;
    qh_status st = QH_OK;

    if (n > WINDOW_BYTES / 4)
        return qh_trace_bytes(c->trace, at, n, to);
    if (!c->window)
        QH_TRY(st, QH_NEW_ARRAY(&c->window, WINDOW_BYTES));
    if (at < c->window_at || at + n > c->window_at + c->window_bytes) {
        c->window_bytes = 0;
        left = left < WINDOW_BYTES ? left : WINDOW_BYTES;
        QH_TRY(st, qh_trace_bytes(c->trace, at, left, c->window));
        c->window_at = at;
        c->window_bytes = left;
    }
    if (n > 0)
        memcpy(to, c->window + (at - c->window_at), (size_t)n);
out:
    return st;
}

/* The frame's text for errors: what it is of. */
static qh_status bad_frame(const qh_trace_cursor *c, int64_t at, const qh_frame *head,
                           const char *what)
{
    if (head->device >= 0)
        return qh_fail(QH_EINPUT, "%s: frame %u at byte %lld (device %d, epoch %d): %s",
                       c->trace->path, head->number, (long long)at, head->device, head->epoch,
                       what);
    return qh_fail(QH_EINPUT, "%s: frame %u at byte %lld (epoch %d): %s", c->trace->path,
                   head->number, (long long)at, head->epoch, what);
}

/* A SAME frame is stored as it is; all others are compressed. */
static qh_status unpack(qh_trace_cursor *c, int64_t at, const qh_frame *head)
{
    qh_status st;
    size_t n;

    c->raw.n = 0;
    QH_TRY(st, qh_bytes_reserve(&c->raw, (int64_t)head->raw_bytes + 1));
    if (head->kind == QH_FRAME_SAME) {
        if (head->raw_bytes != head->stored_bytes)
            return bad_frame(c, at, head, "its sizes differ");
        memcpy(c->raw.data, c->stored.data, head->stored_bytes);
    } else {
        n = ZSTD_decompressDCtx(c->zstd, c->raw.data, head->raw_bytes, c->stored.data,
                                head->stored_bytes);
        if (ZSTD_isError(n) || n != head->raw_bytes)
            return bad_frame(c, at, head, "cannot be decompressed");
    }
    c->raw.n = head->raw_bytes;
out:
    return st;
}

qh_status qh_cursor_frame(qh_trace_cursor *c, int64_t at, qh_frame *head)
{
    const qh_trace *t = c->trace;
    int64_t left = t->info.file_bytes - at;
    uint8_t bytes[QH_TRACE_FRAME_BYTES];
    qh_frame h;
    qh_status st;

    if (at < t->first || left < QH_TRACE_FRAME_BYTES)
        return qh_fail(QH_EINPUT, "%s: is cut off at byte %lld, in the head of a frame", t->path,
                       (long long)t->info.file_bytes);
    QH_TRY(st, bytes_at(c, at, QH_TRACE_FRAME_BYTES, bytes));
    if (!qh_frame_get(bytes, &h))
        return qh_fail(QH_EINPUT, "%s: has no frame at byte %lld; the file is damaged there",
                       t->path, (long long)at);
    if (h.kind == 0 || h.kind >= QH_FRAME_KINDS || h.raw_bytes > QH_TRACE_MAX_RAW ||
        h.stored_bytes > QH_TRACE_MAX_RAW + QH_TRACE_MAX_RAW / 64)
        return qh_fail(QH_EINPUT, "%s: the frame at byte %lld has a damaged head", t->path,
                       (long long)at);
    if (left - QH_TRACE_FRAME_BYTES < (int64_t)h.stored_bytes)
        return qh_fail(QH_EINPUT, "%s: is cut off at byte %lld, in the frame of byte %lld", t->path,
                       (long long)t->info.file_bytes, (long long)at);
    c->stored.n = 0;
    QH_TRY(st, qh_bytes_reserve(&c->stored, (int64_t)h.stored_bytes + 1));
    QH_TRY(st, bytes_at(c, at + QH_TRACE_FRAME_BYTES, h.stored_bytes, c->stored.data));
    if (qh_frame_hash(bytes, t->mark, at, c->stored.data, h.stored_bytes) != h.hash)
        return bad_frame(c, at, &h, "does not match its checksum; the file is damaged");
    QH_TRY(st, unpack(c, at, &h));
    *head = h;
out:
    return st;
}

/* The frame of an entry, which must be what the index says. */
static qh_status entry_frame(qh_trace_cursor *c, const qh_trace_entry *e, qh_frame *head)
{
    qh_status st;

    QH_TRY(st, qh_cursor_frame(c, e->at, head));
    if (head->kind != e->kind || head->part != e->part || head->device != e->device ||
        head->epoch != e->epoch || head->n != e->n)
        st = bad_frame(c, e->at, head, "is not the one of the index");
out:
    return st;
}

static const qh_trace_entry *entry_of(const qh_trace *t, int64_t list, int64_t i)
{
    QH_ASSERT(i >= 0 && t->first_frame[list] + i < t->first_frame[list + 1]);
    return &t->entry[t->frame[t->first_frame[list] + i]];
}

/* --- records --- */

int64_t qh_trace_n_frames(const qh_trace *t, int device)
{
    return t->first_frame[device + 1] - t->first_frame[device];
}

int32_t qh_trace_frame_epoch(const qh_trace *t, int device, int64_t frame)
{
    return entry_of(t, device, frame)->epoch;
}

/* The columns of the frame at hand as records of an epoch, into c->record. */
static qh_status decode(qh_trace_cursor *c, const qh_trace_entry *e, const qh_frame *head,
                        int32_t epoch)
{
    qh_columns_scope scope = {
        .device = e->device, .n_devices = c->trace->info.n_devices, .epoch = epoch};
    const char *wrong = qh_columns_get(&scope, c->raw.data, c->raw.n, e->n, c->value, c->record);

    return wrong ? bad_frame(c, e->at, head, wrong) : QH_OK;
}

static qh_trace_kept *find_kept(const qh_trace_cursor *c, int64_t at)
{
    int64_t mask = c->kept_capacity - 1, i;

    for (i = (int64_t)qh_hash(&at, sizeof at, 0) & mask; c->kept[i].at && c->kept[i].at != at;)
        i = (i + 1) & mask;
    return &c->kept[i];
}

static qh_status grow_kept(qh_trace_cursor *c)
{
    qh_trace_kept *old = c->kept;
    int64_t n = c->kept_capacity;
    qh_status st;

    c->kept = NULL;
    st = QH_NEW_ARRAY(&c->kept, n ? 2 * n : 64);
    if (st < 0) {
        c->kept = old;
        return st;
    }
    c->kept_capacity = n ? 2 * n : 64;
    for (int64_t i = 0; i < n; i++)
        if (old[i].at)
            *find_kept(c, old[i].at) = old[i];
    qh_mem_free(old);
    return QH_OK;
}

/* Keeps c->record for the SAME frames to come, while there is room. */
static qh_status keep(qh_trace_cursor *c, const qh_trace_entry *e, int64_t at)
{
    qh_trace_kept *k;
    qh_record *copy = NULL;
    qh_status st = QH_OK;

    if (c->kept_records + e->n > MAX_KEPT_RECORDS)
        return QH_OK;
    if (2 * (c->n_kept + 1) > c->kept_capacity)
        QH_TRY(st, grow_kept(c));
    QH_TRY(st, QH_NEW_ARRAY(&copy, e->n));
    memcpy(copy, c->record, (size_t)e->n * sizeof *copy);
    k = find_kept(c, at);
    *k = (qh_trace_kept){.at = at,
                         .device = e->device,
                         .epoch = e->epoch,
                         .part = e->part,
                         .n = e->n,
                         .record = copy};
    c->n_kept++;
    c->kept_records += e->n;
out:
    return st;
}

/* The records of the frame whose payload is meant. */
static qh_status follow(qh_trace_cursor *c, const qh_trace_entry *e, const qh_frame *same,
                        const qh_record **r)
{
    const uint8_t *from = c->raw.data;
    qh_trace_kept *k;
    qh_frame head;
    uint64_t at;
    qh_status st;

    if (!qh_varint_get(&from, c->raw.data + c->raw.n, &at) || at >= (uint64_t)e->at)
        return bad_frame(c, e->at, same, "repeats no frame before it");
    k = c->kept_capacity ? find_kept(c, (int64_t)at) : NULL;
    if (k && k->at && k->n == e->n && k->device == e->device && k->part == e->part) {
        for (int64_t i = 0; i < e->n && k->epoch != e->epoch; i++)
            k->record[i].epoch =
                (int32_t)((uint32_t)k->record[i].epoch + (uint32_t)e->epoch - (uint32_t)k->epoch);
        k->epoch = e->epoch;
        *r = k->record;
        return QH_OK;
    }
    QH_TRY(st, qh_cursor_frame(c, (int64_t)at, &head));
    if (head.kind != QH_FRAME_RECORDS || head.device != e->device || head.part != e->part ||
        head.n != e->n)
        return bad_frame(c, e->at, same, "repeats a frame of another kind");
    QH_TRY(st, decode(c, e, same, e->epoch));
    QH_TRY(st, keep(c, e, (int64_t)at));
    *r = c->record;
out:
    return st;
}

qh_status qh_trace_read(qh_trace_cursor *c, int device, int64_t frame, const qh_record **r,
                        int64_t *n)
{
    const qh_trace_entry *e = entry_of(c->trace, device, frame);
    qh_frame head;
    qh_status st;

    QH_TRY(st, entry_frame(c, e, &head));
    if (head.kind == QH_FRAME_SAME) {
        QH_TRY(st, follow(c, e, &head, r));
    } else {
        QH_TRY(st, decode(c, e, &head, e->epoch));
        *r = c->record;
    }
    *n = e->n;
out:
    return st;
}

/* --- epochs --- */

static double get_real(const uint8_t *from)
{
    uint64_t bits = qh_get_u64(from);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

qh_status qh_trace_read_epoch(qh_trace_cursor *c, int64_t i, qh_epoch_metrics *out)
{
    const qh_trace *t = c->trace;
    const qh_trace_entry *e = entry_of(t, t->info.n_devices + QH_FRAME_EPOCH, i);
    const uint8_t *raw;
    qh_frame head;
    qh_status st;

    QH_TRY(st, entry_frame(c, e, &head));
    if (c->raw.n != 1 + 5 * 8)
        return bad_frame(c, e->at, &head, "its metrics have another size");
    raw = c->raw.data;
    *out = (qh_epoch_metrics){.epoch = e->epoch,
                              .evaluated = raw[0] == 1,
                              .loss = get_real(raw + 1),
                              .rate = get_real(raw + 9)};
    for (int s = 1; s < 4; s++)
        out->metric[s] = out->evaluated ? get_real(raw + 9 + 8 * s) : NAN;
out:
    return st;
}

qh_status qh_trace_read_times(qh_trace_cursor *c, int64_t i, qh_time *span)
{
    const qh_trace *t = c->trace;
    const qh_trace_entry *e = entry_of(t, t->info.n_devices + QH_FRAME_TIMES, i);
    const uint8_t *at, *end;
    qh_frame head;
    qh_status st;

    QH_TRY(st, entry_frame(c, e, &head));
    at = c->raw.data;
    end = at + c->raw.n;
    for (int d = 0; d < t->info.n_devices; d++) {
        uint64_t v;

        if (!qh_varint_get(&at, end, &v) || v > INT64_MAX)
            return bad_frame(c, e->at, &head, "its times end early");
        span[d] = (qh_time)v;
    }
    if (at != end)
        st = bad_frame(c, e->at, &head, "bytes behind its times");
out:
    return st;
}

/* --- widths --- */

/* The next table's head: layer, direction, peer, first, n. */
static bool get_table(const uint8_t **at, const uint8_t *end, int n_devices, qh_trace_widths *w)
{
    uint64_t v[5];

    for (int i = 0; i < 5; i++)
        if (!qh_varint_get(at, end, &v[i]))
            return false;
    if (v[0] > UINT16_MAX || v[1] > QH_BACKWARD || v[2] >= (uint64_t)n_devices ||
        v[3] > INT64_MAX / 2 || v[4] > (uint64_t)(end - *at))
        return false;
    w->layer = (int)v[0];
    w->direction = (int)v[1];
    w->peer = (int)v[2];
    w->first = (int64_t)v[3];
    w->n = (int64_t)v[4];
    w->width = *at;
    *at += w->n;
    for (int64_t i = 0; i < w->n; i++)
        if (qh_width_index(w->width[i]) < 0)
            return false;
    return true;
}

qh_status qh_trace_read_widths(qh_trace_cursor *c, int64_t i,
                               qh_status (*visit)(void *ctx, const qh_trace_widths *w), void *ctx)
{
    const qh_trace *t = c->trace;
    const qh_trace_entry *e = entry_of(t, t->info.n_devices + QH_FRAME_WIDTHS, i);
    const uint8_t *at, *end;
    qh_frame head;
    qh_status st;

    QH_TRY(st, entry_frame(c, e, &head));
    at = c->raw.data;
    end = at + c->raw.n;
    for (uint32_t k = 0; k < head.n; k++) {
        qh_trace_widths w = {.device = e->device, .epoch = e->epoch};

        if (!get_table(&at, end, t->info.n_devices, &w))
            return bad_frame(c, e->at, &head, "a damaged table of widths");
        QH_TRY(st, visit(ctx, &w));
    }
    if (at != end)
        st = bad_frame(c, e->at, &head, "bytes behind its tables");
out:
    return st;
}
