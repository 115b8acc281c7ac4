#include "traces/writer.h"

#include "src/base/mem.h"
#include "traces/writer_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SLOTS = 16, WIDTHS_BYTES = 1 << 20 };

/* --- the file --- */

/* Whether path is there and no regular file (a device, a pipe): then nothing can be renamed. */
static bool is_special(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

static qh_status open_file(qh_trace_writer *w)
{
    const char *name = w->path;
    int64_t room = (int64_t)strlen(w->path) + 8;
    qh_status st = QH_OK;

    if (!is_special(w->path)) {
        QH_TRY(st, QH_NEW_ARRAY(&w->part_path, room));
        snprintf(w->part_path, (size_t)room, "%s.part", w->path);
        name = w->part_path;
    }
    w->fd = open(name, O_WRONLY | O_CLOEXEC | (w->part_path ? O_CREAT : 0), 0666);
    if (w->fd < 0) {
        st = qh_fail(QH_ERESOURCE, "%s: cannot be written: %s", name, strerror(errno));
        goto out;
    }
    if (!w->part_path)
        goto out;
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        st = qh_fail(QH_ERESOURCE, "%s: another run is writing it; give another name", name);
    else if (ftruncate(w->fd, 0) != 0)
        st = qh_fail(QH_ERESOURCE, "%s: cannot be written: %s", name, strerror(errno));
    else
        w->mine = true;
out:
    return st;
}

/* --- building --- */

static qh_status slot_init(qh_writer_slot *s)
{
    qh_status st;

    pthread_mutex_init(&s->lock, NULL);
    QH_TRY(st, QH_NEW_ARRAY(&s->value, QH_TRACE_MAX_RECORDS));
    s->zstd = ZSTD_createCCtx();
    if (!s->zstd)
        st = qh_fail(QH_ERESOURCE, "memory: too short for compressing a trace");
out:
    return st;
}

static void free_writer(qh_trace_writer *w)
{
    for (int i = 0; w->slot && i < w->n_slots; i++) {
        ZSTD_freeCCtx(w->slot[i].zstd);
        qh_bytes_fini(&w->slot[i].raw);
        qh_mem_free(w->slot[i].value);
    }
    qh_mem_free(w->slot);
    for (int d = 0; w->device && d < w->n_devices; d++) {
        for (int64_t p = 0; p < w->device[d].n_parts; p++)
            qh_bytes_fini(&w->device[d].part[p].raw);
        qh_mem_free(w->device[d].part);
        qh_bytes_fini(&w->device[d].pending);
        qh_bytes_fini(&w->device[d].widths);
    }
    qh_mem_free(w->device);
    qh_bytes_fini(&w->stored);
    qh_bytes_fini(&w->out);
    qh_mem_free(w->entry);
    qh_mem_free(w->part_path);
    qh_mem_free(w->path);
    qh_mem_free(w);
}

qh_status qh_trace_writer_open(const char *path, int n_devices, qh_trace_writer **out)
{
    qh_trace_writer *w = NULL;
    qh_status st;

    QH_ASSERT(n_devices >= 1 && n_devices <= QH_TRACE_MAX_DEVICES);
    QH_TRY(st, QH_NEW(&w));
    w->fd = -1;
    w->n_devices = n_devices;
    w->n_slots = n_devices < MAX_SLOTS ? n_devices : MAX_SLOTS;
    QH_TRY(st, qh_mem_strdup(path, &w->path));
    QH_TRY(st, QH_NEW_ARRAY(&w->device, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&w->slot, w->n_slots));
    QH_TRY(st, QH_NEW_ARRAY(&w->entry, QH_TRACE_INDEX_ENTRIES));
    for (int i = 0; i < w->n_slots; i++)
        QH_TRY(st, slot_init(&w->slot[i]));
    QH_TRY(st, open_file(w));
    *out = w;
    w = NULL;
out:
    qh_trace_writer_abandon(&w);
    return st;
}

qh_status qh_trace_writer_begin(qh_trace_writer *w, const char *json)
{
    int64_t n = (int64_t)strlen(json);
    qh_status st;

    QH_ASSERT(w->at == 0 && n <= QH_TRACE_MAX_JSON);
    QH_TRY(st, qh_bytes_reserve(&w->out, QH_TRACE_HEADER_BYTES + n));
    qh_trace_head_put((uint32_t)w->n_devices, json, (uint64_t)n, w->out.data);
    memcpy(w->out.data + QH_TRACE_HEADER_BYTES, json, (size_t)n);
    w->out.n = QH_TRACE_HEADER_BYTES + n;
    w->mark = qh_get_u64(w->out.data + QH_TRACE_HEADER_BYTES - 8);
    w->at = w->out.n;
    QH_TRY(st, qh_writer_flush(w));
out:
    return st;
}

/* --- widths --- */

static qh_status pend_widths(qh_trace_writer *w, qh_writer_device *d, int rank, int32_t epoch)
{
    qh_writer_slot *s = &w->slot[rank % w->n_slots];
    qh_frame head = {.kind = QH_FRAME_WIDTHS,
                     .part = d->n_width_parts++,
                     .device = rank,
                     .epoch = epoch,
                     .n = d->n_tables};
    qh_status st;

    pthread_mutex_lock(&s->lock);
    st = qh_writer_pend(s, &d->widths, head, &d->pending);
    pthread_mutex_unlock(&s->lock);
    d->widths.n = 0;
    d->n_tables = 0;
    return st;
}

qh_status qh_trace_writer_widths(qh_trace_writer *w, int rank, const qh_record *send,
                                 const uint8_t *width, int64_t n)
{
    qh_writer_device *d = &w->device[rank];
    qh_status st = QH_OK;

    for (int64_t first = 0, end; first < n; first = end) {
        end = n - first > WIDTHS_BYTES ? first + WIDTHS_BYTES : n;
        QH_TRY(st, qh_bytes_reserve(&d->widths, 5 * QH_TRACE_MAX_VARINT + end - first));
        qh_writer_varint(&d->widths, send->layer);
        qh_writer_varint(&d->widths, send->direction);
        qh_writer_varint(&d->widths, (uint64_t)send->peer);
        qh_writer_varint(&d->widths, (uint64_t)first);
        qh_writer_varint(&d->widths, (uint64_t)(end - first));
        for (int64_t i = first; i < end; i++)
            d->widths.data[d->widths.n++] = width[i];
        d->n_tables++;
        if (d->widths.n >= WIDTHS_BYTES)
            QH_TRY(st, pend_widths(w, d, rank, send->epoch));
    }
out:
    return st;
}

/* --- records --- */

static qh_status room_for_parts(qh_writer_device *d, int64_t n)
{
    qh_status st = QH_OK;

    if (n > d->n_parts) {
        QH_TRY(st, QH_RESIZE(&d->part, d->n_parts, n));
        d->n_parts = n;
    }
out:
    return st;
}

static qh_status pend_same(qh_writer_device *d, qh_frame head, const qh_writer_part *p)
{
    uint8_t at[QH_TRACE_MAX_VARINT];
    qh_status st;

    head.kind = QH_FRAME_SAME;
    head.raw_bytes = head.stored_bytes = (uint32_t)qh_varint_put(at, (uint64_t)p->at);
    QH_TRY(st, qh_bytes_reserve(&d->pending, (int64_t)sizeof head + QH_TRACE_MAX_VARINT));
    memcpy(d->pending.data + d->pending.n, &head, sizeof head);
    memcpy(d->pending.data + d->pending.n + sizeof head, at, head.stored_bytes);
    d->pending.n += (int64_t)(sizeof head + head.stored_bytes);
out:
    return st;
}

/* One frame of a device's records. Most epochs repeat the one before: then a frame says so, at no
 * cost of compression. */
static qh_status pend_records(const qh_columns_scope *scope, qh_writer_slot *s, qh_writer_device *d,
                              qh_frame head, const qh_record *r)
{
    qh_writer_part *p = &d->part[head.part];
    qh_status st;

    s->raw.n = 0;
    QH_TRY(st, qh_columns_put(scope, r, head.n, s->value, &s->raw));
    if (p->at > 0 && p->n == head.n && p->raw.n == s->raw.n &&
        memcmp(p->raw.data, s->raw.data, (size_t)s->raw.n) == 0)
        return pend_same(d, head, p);
    QH_TRY(st, qh_writer_pend(s, &s->raw, head, &d->pending));
    p->raw.n = 0;
    QH_TRY(st, qh_bytes_reserve(&p->raw, s->raw.n));
    memcpy(p->raw.data, s->raw.data, (size_t)s->raw.n);
    p->raw.n = s->raw.n;
    p->n = head.n;
    p->at = 0;
out:
    return st;
}

qh_status qh_trace_writer_records(qh_trace_writer *w, int rank, int32_t epoch, const qh_record *r,
                                  int64_t n)
{
    qh_writer_device *d = &w->device[rank];
    qh_writer_slot *s = &w->slot[rank % w->n_slots];
    qh_columns_scope scope = {.device = rank, .n_devices = w->n_devices, .epoch = epoch};
    int64_t n_parts = (n + QH_TRACE_MAX_RECORDS - 1) / QH_TRACE_MAX_RECORDS;
    qh_status st;

    QH_ASSERT(rank >= 0 && rank < w->n_devices && w->at > 0 && n_parts <= UINT16_MAX);
    if (d->widths.n > 0)
        QH_TRY(st, pend_widths(w, d, rank, epoch));
    QH_TRY(st, room_for_parts(d, n_parts));
    for (int64_t p = 0; p < n_parts; p++) {
        int64_t first = p * QH_TRACE_MAX_RECORDS, left = n - first;
        qh_frame head = {.kind = QH_FRAME_RECORDS,
                         .part = (uint16_t)p,
                         .device = rank,
                         .epoch = epoch,
                         .n =
                             (uint32_t)(left < QH_TRACE_MAX_RECORDS ? left : QH_TRACE_MAX_RECORDS)};

        pthread_mutex_lock(&s->lock);
        st = pend_records(&scope, s, d, head, r + first);
        pthread_mutex_unlock(&s->lock);
        QH_TRY(st, st);
    }
out:
    return st;
}

/* The pending frames of a device, into the next write. */
static qh_status add_pending(qh_trace_writer *w, qh_writer_device *d)
{
    qh_status st = QH_OK;

    for (int64_t at = 0; at < d->pending.n;) {
        qh_frame head;
        int64_t place = w->at;

        memcpy(&head, d->pending.data + at, sizeof head);
        at += (int64_t)sizeof head;
        QH_TRY(st, qh_writer_add_frame(w, head, d->pending.data + at));
        at += (int64_t)head.stored_bytes;
        if (head.kind == QH_FRAME_RECORDS)
            d->part[head.part].at = place;
    }
    d->pending.n = 0;
    d->n_width_parts = 0;
out:
    return st;
}

/* --- epochs --- */

static void put_real(qh_bytes *b, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    qh_put_u64(b->data + b->n, bits);
    b->n += 8;
}

qh_status qh_trace_writer_epoch(qh_trace_writer *w, const qh_epoch_metrics *m)
{
    qh_bytes *raw = &w->slot[0].raw;
    qh_frame head = {.kind = QH_FRAME_EPOCH, .device = -1, .epoch = m->epoch};
    qh_status st = QH_OK;

    for (int d = 0; d < w->n_devices; d++)
        QH_TRY(st, add_pending(w, &w->device[d]));
    raw->n = 0;
    QH_TRY(st, qh_bytes_reserve(raw, 64));
    raw->data[raw->n++] = m->evaluated != 0;
    put_real(raw, m->loss);
    put_real(raw, m->rate);
    for (int i = 1; i < 4; i++)
        put_real(raw, m->evaluated ? m->metric[i] : 0);
    QH_TRY(st, qh_writer_add_raw(w, head));
    QH_TRY(st, qh_writer_flush(w));
    w->n_epochs++;
out:
    return st;
}

qh_status qh_trace_writer_times(qh_trace_writer *w, int32_t epoch, const qh_time *span_of_device)
{
    qh_bytes *raw = &w->slot[0].raw;
    qh_frame head = {
        .kind = QH_FRAME_TIMES, .device = -1, .epoch = epoch, .n = (uint32_t)w->n_devices};
    qh_status st;

    raw->n = 0;
    QH_TRY(st, qh_bytes_reserve(raw, (int64_t)w->n_devices * QH_TRACE_MAX_VARINT));
    for (int d = 0; d < w->n_devices; d++)
        qh_writer_varint(raw, (uint64_t)span_of_device[d]);
    QH_TRY(st, qh_writer_add_raw(w, head));
    QH_TRY(st, qh_writer_flush(w));
out:
    return st;
}

/* --- the end --- */

static qh_status finish(qh_trace_writer *w)
{
    qh_trace_foot foot;
    qh_status st = QH_OK;

    if (w->n_entries > 0)
        QH_TRY(st, qh_writer_index(w));
    foot = (qh_trace_foot){.index_at = (uint64_t)w->index_at,
                           .n_frames = w->n_frames,
                           .n_epochs = (uint64_t)w->n_epochs,
                           .file_bytes = (uint64_t)w->at + QH_TRACE_FOOTER_BYTES};
    QH_TRY(st, qh_bytes_reserve(&w->out, QH_TRACE_FOOTER_BYTES));
    qh_trace_foot_put(&foot, w->mark, w->out.data + w->out.n);
    w->out.n += QH_TRACE_FOOTER_BYTES;
    QH_TRY(st, qh_writer_flush(w));
    /* A pipe or a device that cannot sync says EINVAL: then there is nothing to sync. */
    if (fsync(w->fd) != 0 && errno != EINVAL)
        QH_TRY(st, qh_writer_failed(w));
    if (w->part_path && rename(w->part_path, w->path) != 0)
        QH_TRY(st, qh_writer_failed(w));
out:
    return st;
}

qh_status qh_trace_writer_close(qh_trace_writer **writer)
{
    qh_trace_writer *w = *writer;
    qh_status st = finish(w);

    *writer = NULL;
    if (close(w->fd) != 0 && st == QH_OK)
        st = qh_writer_failed(w);
    free_writer(w);
    return st;
}

void qh_trace_writer_abandon(qh_trace_writer **writer)
{
    qh_trace_writer *w = *writer;

    *writer = NULL;
    if (!w)
        return;
    if (w->fd >= 0) {
        if (w->mine && w->n_epochs == 0)
            unlink(w->part_path);
        close(w->fd);
    }
    free_writer(w);
}
