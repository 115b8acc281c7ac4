#include "traces/format.h"

#include "src/base/hash.h"

#include <string.h>

/* Bytes that a transfer as text would change come first, as in PNG. */
const uint8_t qh_trace_magic[8] = {0x89, 'Q', 'H', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t foot_magic[8] = {'Q', 'H', 'T', 'e', 'n', 'd', '\r', '\n'};
static const uint8_t frame_magic[4] = {'Q', 'H', 'T', 'f'};

void qh_put_u16(uint8_t *to, uint16_t v)
{
    to[0] = (uint8_t)v;
    to[1] = (uint8_t)(v >> 8);
}

void qh_put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

void qh_put_u64(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

uint16_t qh_get_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

uint32_t qh_get_u32(const uint8_t *from)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v |= (uint32_t)from[i] << 8 * i;
    return v;
}

uint64_t qh_get_u64(const uint8_t *from)
{
    return (uint64_t)qh_get_u32(from + 4) << 32 | qh_get_u32(from);
}

int qh_varint_put(uint8_t *to, uint64_t v)
{
    int n = 0;

    for (; v >= 0x80; v >>= 7)
        to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}

bool qh_varint_get(const uint8_t **from, const uint8_t *end, uint64_t *v)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 70 && *from < end; shift += 7) {
        uint8_t byte = *(*from)++;

        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = value;
            return true;
        }
    }
    return false;
}

uint64_t qh_trace_head_hash(const uint8_t *head, const char *json, uint64_t json_bytes)
{
    return qh_hash(json, (int64_t)json_bytes, qh_hash(head, QH_TRACE_HEADER_BYTES - 8, 0));
}

void qh_trace_head_put(uint32_t n_devices, const char *json, uint64_t json_bytes, uint8_t *to)
{
    memcpy(to, qh_trace_magic, sizeof qh_trace_magic);
    qh_put_u32(to + 8, QH_TRACE_VERSION);
    qh_put_u32(to + 12, n_devices);
    qh_put_u64(to + 16, json_bytes);
    qh_put_u64(to + 24, qh_trace_head_hash(to, json, json_bytes));
}

void qh_trace_head_get(const uint8_t *from, qh_trace_head *out)
{
    *out = (qh_trace_head){.version = qh_get_u32(from + 8),
                           .n_devices = qh_get_u32(from + 12),
                           .json_bytes = qh_get_u64(from + 16),
                           .hash = qh_get_u64(from + 24)};
}

uint64_t qh_frame_hash(const uint8_t *head, uint64_t mark, int64_t at, const uint8_t *payload,
                       uint32_t stored_bytes)
{
    return qh_hash(payload, stored_bytes,
                   qh_hash(head, QH_TRACE_FRAME_BYTES - 8, mark + (uint64_t)at));
}

uint64_t qh_frame_put(const qh_frame *f, uint64_t mark, int64_t at, const uint8_t *payload,
                      uint8_t *to)
{
    uint64_t hash;

    memcpy(to, frame_magic, sizeof frame_magic);
    qh_put_u16(to + 4, f->kind);
    qh_put_u16(to + 6, f->part);
    qh_put_u32(to + 8, (uint32_t)f->device);
    qh_put_u32(to + 12, (uint32_t)f->epoch);
    qh_put_u32(to + 16, f->n);
    qh_put_u32(to + 20, f->raw_bytes);
    qh_put_u32(to + 24, f->stored_bytes);
    qh_put_u32(to + 28, f->number);
    hash = qh_frame_hash(to, mark, at, payload, f->stored_bytes);
    qh_put_u64(to + 32, hash);
    return hash;
}

bool qh_frame_get(const uint8_t *from, qh_frame *out)
{
    if (memcmp(from, frame_magic, sizeof frame_magic) != 0)
        return false;
    *out = (qh_frame){.kind = qh_get_u16(from + 4),
                      .part = qh_get_u16(from + 6),
                      .device = (int32_t)qh_get_u32(from + 8),
                      .epoch = (int32_t)qh_get_u32(from + 12),
                      .n = qh_get_u32(from + 16),
                      .raw_bytes = qh_get_u32(from + 20),
                      .stored_bytes = qh_get_u32(from + 24),
                      .number = qh_get_u32(from + 28),
                      .hash = qh_get_u64(from + 32)};
    return true;
}

void qh_trace_foot_put(const qh_trace_foot *f, uint64_t mark, uint8_t *to)
{
    memcpy(to, foot_magic, sizeof foot_magic);
    qh_put_u64(to + 8, f->index_at);
    qh_put_u64(to + 16, f->n_frames);
    qh_put_u64(to + 24, f->n_epochs);
    qh_put_u64(to + 32, f->file_bytes);
    qh_put_u64(to + 40, qh_hash(to, QH_TRACE_FOOTER_BYTES - 8, mark));
}

bool qh_trace_foot_get(const uint8_t *from, uint64_t mark, qh_trace_foot *out)
{
    if (memcmp(from, foot_magic, sizeof foot_magic) != 0 ||
        qh_get_u64(from + 40) != qh_hash(from, QH_TRACE_FOOTER_BYTES - 8, mark))
        return false;
    *out = (qh_trace_foot){.index_at = qh_get_u64(from + 8),
                           .n_frames = qh_get_u64(from + 16),
                           .n_epochs = qh_get_u64(from + 24),
                           .file_bytes = qh_get_u64(from + 32),
                           .hash = qh_get_u64(from + 40)};
    return true;
}
