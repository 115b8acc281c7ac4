/* Frames of a trace on their way to the file. */
#include "src/base/mem.h"
#include "traces/writer_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LEVEL = 3 };

qh_status qh_writer_failed(const qh_trace_writer *w)
{
    int error = errno;

    return qh_fail(QH_ERESOURCE, "%s: could not be written: %s%s",
                   w->part_path ? w->part_path : w->path, strerror(error),
                   error == ENOSPC ? "; the disk is full" : "");
}

qh_status qh_writer_flush(qh_trace_writer *w)
{
    const uint8_t *from = w->out.data;
    int64_t left = w->out.n;

    while (left > 0) {
        ssize_t n = write(w->fd, from, (size_t)left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return qh_writer_failed(w);
        from += n;
        left -= n;
    }
    w->out.n = 0;
    return QH_OK;
}

/* Appends the compressed payload of raw bytes to out. */
static qh_status compress(qh_writer_slot *s, const qh_bytes *raw, qh_bytes *out, uint32_t *stored)
{
    size_t bound = ZSTD_compressBound((size_t)raw->n), n;
    qh_status st;

    QH_TRY(st, qh_bytes_reserve(out, (int64_t)bound));
    n = ZSTD_compressCCtx(s->zstd, out->data + out->n, bound, raw->data, (size_t)raw->n, LEVEL);
    if (ZSTD_isError(n)) {
        st = qh_fail(QH_ERESOURCE, "trace: could not be compressed: %s", ZSTD_getErrorName(n));
        goto out;
    }
    out->n += (int64_t)n;
    *stored = (uint32_t)n;
out:
    return st;
}

qh_status qh_writer_pend(qh_writer_slot *s, const qh_bytes *raw, qh_frame head, qh_bytes *pending)
{
    int64_t at = pending->n;
    qh_status st;

    QH_TRY(st, qh_bytes_reserve(pending, (int64_t)sizeof head));
    pending->n += (int64_t)sizeof head;
    head.raw_bytes = (uint32_t)raw->n;
    QH_TRY(st, compress(s, raw, pending, &head.stored_bytes));
    memcpy(pending->data + at, &head, sizeof head);
out:
    return st;
}

qh_status qh_writer_add_frame(qh_trace_writer *w, qh_frame head, const uint8_t *payload)
{
    uint8_t *to;
    qh_status st;

    head.number = w->n_frames++;
    QH_TRY(st, qh_bytes_reserve(&w->out, QH_TRACE_FRAME_BYTES + (int64_t)head.stored_bytes));
    to = w->out.data + w->out.n;
    qh_frame_put(&head, w->mark, w->at, payload, to);
    if (head.stored_bytes > 0)
        memcpy(to + QH_TRACE_FRAME_BYTES, payload, head.stored_bytes);
    w->out.n += QH_TRACE_FRAME_BYTES + (int64_t)head.stored_bytes;
    if (head.kind != QH_FRAME_INDEX)
        w->entry[w->n_entries++] = (qh_writer_entry){w->at, head};
    w->at += QH_TRACE_FRAME_BYTES + (int64_t)head.stored_bytes;
    if (w->n_entries == QH_TRACE_INDEX_ENTRIES)
        QH_TRY(st, qh_writer_index(w));
out:
    return st;
}

qh_status qh_writer_add_raw(qh_trace_writer *w, qh_frame head)
{
    qh_writer_slot *s = &w->slot[0];
    qh_status st;

    head.raw_bytes = (uint32_t)s->raw.n;
    w->stored.n = 0;
    QH_TRY(st, compress(s, &s->raw, &w->stored, &head.stored_bytes));
    QH_TRY(st, qh_writer_add_frame(w, head, w->stored.data));
out:
    return st;
}

void qh_writer_varint(qh_bytes *b, uint64_t v)
{
    b->n += qh_varint_put(b->data + b->n, v);
}

qh_status qh_writer_index(qh_trace_writer *w)
{
    qh_bytes *raw = &w->slot[0].raw;
    int64_t at = w->at, before = w->index_at, epoch = 0;
    qh_frame head = {
        .kind = QH_FRAME_INDEX, .device = -1, .epoch = -1, .n = (uint32_t)w->n_entries};
    qh_status st;

    raw->n = 0;
    QH_TRY(st, qh_bytes_reserve(raw, (1 + 6 * w->n_entries) * QH_TRACE_MAX_VARINT));
    qh_writer_varint(raw, (uint64_t)w->index_at);
    for (int64_t i = 0; i < w->n_entries; i++) {
        const qh_writer_entry *e = &w->entry[i];

        qh_writer_varint(raw, (uint64_t)(e->at - before));
        qh_writer_varint(raw, e->head.kind);
        qh_writer_varint(raw, e->head.part);
        qh_writer_varint(raw, (uint64_t)(e->head.device + 1));
        qh_writer_varint(raw, qh_zigzag(e->head.epoch - epoch));
        qh_writer_varint(raw, e->head.n);
        before = e->at;
        epoch = e->head.epoch;
    }
    w->n_entries = 0;
    QH_TRY(st, qh_writer_add_raw(w, head));
    w->index_at = at;
out:
    return st;
}
