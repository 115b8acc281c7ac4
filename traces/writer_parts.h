/* The inside of the writer, shared by its files; nobody else includes it. */
#ifndef QH_TRACES_WRITER_PARTS_H
#define QH_TRACES_WRITER_PARTS_H

#include "traces/columns.h"
#include "traces/format.h"
#include "traces/writer.h"

#include <pthread.h>
#include <zstd.h>

/* What compresses; a few of them, so that many devices do not need as much memory each. */
typedef struct qh_writer_slot {
    pthread_mutex_t lock;
    uint64_t *value; /* owned, [QH_TRACE_MAX_RECORDS] */
    qh_bytes raw;
    ZSTD_CCtx *zstd; /* owned */
} qh_writer_slot;

/* A part of a device's records, as it was last written in full. */
typedef struct qh_writer_part {
    qh_bytes raw;
    int64_t n;
    int64_t at; /* in the file; 0: still to be written */
} qh_writer_part;

typedef struct qh_writer_device {
    qh_writer_part *part; /* owned */
    int64_t n_parts;
    qh_bytes pending; /* heads (qh_frame) and payloads of the epoch at hand */
    qh_bytes widths;  /* raw, of the epoch at hand */
    uint32_t n_tables;
    uint16_t n_width_parts;
} qh_writer_device;

typedef struct qh_writer_entry {
    int64_t at;
    qh_frame head;
} qh_writer_entry;

struct qh_trace_writer {
    char *path, *part_path; /* owned; part_path NULL: in place */
    int fd;
    int n_devices, n_slots;
    uint64_t mark;
    int64_t at; /* bytes written */
    uint32_t n_frames;
    int64_t n_epochs, index_at;
    qh_writer_device *device; /* owned */
    qh_writer_slot *slot;     /* owned */
    qh_bytes out;             /* of one write */
    qh_bytes stored;          /* payload of a frame of the writer's own thread */
    bool mine;                /* the file is nobody else's */
    qh_writer_entry *entry;   /* owned, [QH_TRACE_INDEX_ENTRIES] */
    int64_t n_entries;
};

/* QH_ERESOURCE with what errno says of the file. */
qh_status qh_writer_failed(const qh_trace_writer *w);

/* Hands what is in out to the system. */
qh_status qh_writer_flush(qh_trace_writer *w);

/* Appends a head and the compressed payload to frames that wait for the end of the epoch. */
qh_status qh_writer_pend(qh_writer_slot *s, const qh_bytes *raw, qh_frame head, qh_bytes *pending);

/* Puts a frame into the next write: its payload as stored, or (raw) that of slot 0 compressed. */
qh_status qh_writer_add_frame(qh_trace_writer *w, qh_frame head, const uint8_t *payload);
qh_status qh_writer_add_raw(qh_trace_writer *w, qh_frame head);

/* Puts the entries since the index frame before into another one. */
qh_status qh_writer_index(qh_trace_writer *w);

/* Where room was reserved. */
void qh_writer_varint(qh_bytes *b, uint64_t v);

#endif
