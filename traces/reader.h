/* Reads .qht traces, believing nothing: every byte that a number comes from is under a checksum
 * that was looked at, and what does not fit is an error that names the place. Memory is that of the
 * index and of one frame. */
#ifndef QH_TRACES_READER_H
#define QH_TRACES_READER_H

#include "src/base/units.h"
#include "src/record/record.h"

#include <stdbool.h>

typedef struct qh_trace qh_trace; /* read-only once open: any thread */

typedef struct qh_trace_info {
    const char *path, *json; /* borrowed from the trace */
    int n_devices;
    int32_t first_epoch;
    int64_t n_epochs;   /* whole ones; epochs are numbered on from first_epoch */
    int64_t n_times;    /* epochs, from the first on, whose virtual time is there */
    int64_t n_records;  /* of the whole epochs */
    int64_t n_widths;   /* frames of width tables */
    int64_t file_bytes; /* of it, read_bytes hold what is used */
    int64_t read_bytes;
    bool closed;
} qh_trace_info;

/* A trace that was not closed (a crash, a full disk) or was cut is opened up to its last whole
 * epoch when its name ends in .part or partial is set; else it is refused, and the error says what
 * could be read. QH_EINPUT for anything that is no trace, of another version, damaged, or goes on
 * behind its end. */
qh_status qh_trace_open(const char *path, bool partial, qh_trace **out);
void qh_trace_close(qh_trace *t); /* NULL is fine */
const qh_trace_info *qh_trace_look(const qh_trace *t);

/* Whether a file may be written over by a trace: it is one, or empty, or not a regular file. */
bool qh_trace_may_replace(const char *path);

/* Why a trace that is not closed ends where it does, in words; "" for a closed one. */
const char *qh_trace_end(const qh_trace *t);

/* What one thread reads with. */
typedef struct qh_trace_cursor qh_trace_cursor;
qh_status qh_trace_cursor_new(const qh_trace *t, qh_trace_cursor **out);
void qh_trace_cursor_free(qh_trace_cursor *c); /* NULL is fine */

/* Records of a device come in frames, in program order; a frame is within one epoch. */
int64_t qh_trace_n_frames(const qh_trace *t, int device);
int32_t qh_trace_frame_epoch(const qh_trace *t, int device, int64_t frame);

/* The records of a frame, borrowed until the cursor is used again. QH_EINPUT when damaged. */
qh_status qh_trace_read(qh_trace_cursor *c, int device, int64_t frame, const qh_record **r,
                        int64_t *n);

/* Metrics of whole epoch i = 0, 1, ...; and the virtual time that each device took for it, into
 * span[n_devices]. */
qh_status qh_trace_read_epoch(qh_trace_cursor *c, int64_t i, qh_epoch_metrics *out);
qh_status qh_trace_read_times(qh_trace_cursor *c, int64_t i, qh_time *span);

/* A piece of a bit-width table: widths of messages first .. first + n - 1 of what device sends to
 * peer, in force from epoch on. Borrowed. */
typedef struct qh_trace_widths {
    int device, peer, layer, direction;
    int32_t epoch;
    int64_t first, n;
    const uint8_t *width;
} qh_trace_widths;

/* All tables of width frame i = 0 .. n_widths - 1. An error of visit ends it. */
qh_status qh_trace_read_widths(qh_trace_cursor *c, int64_t i,
                               qh_status (*visit)(void *ctx, const qh_trace_widths *w), void *ctx);

#endif
