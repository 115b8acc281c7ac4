/* The inside of the reader, shared by its files; nobody else includes it. */
#ifndef QH_TRACES_PARTS_H
#define QH_TRACES_PARTS_H

#include "traces/columns.h"
#include "traces/format.h"
#include "traces/reader.h"

/* Where a frame is. */
typedef struct qh_trace_entry {
    int64_t at;
    int32_t device, epoch;
    uint32_t n;
    uint16_t kind, part;
} qh_trace_entry;

struct qh_trace {
    char *path, *json; /* owned */
    int fd;
    qh_trace_info info;
    uint64_t mark;
    int64_t first;         /* where frames begin */
    qh_trace_entry *entry; /* owned, in the order of the file */
    int64_t n_entries, entry_capacity;
    int64_t *first_frame; /* owned: lists of frames, one a device, then one a kind */
    int64_t *frame;       /* owned, [n_entries]: numbers of entries, list by list */
    char end[512];        /* why it ends, where it was not closed */
};

/* Records that SAME frames repeat, by the offset of the frame that has them. */
typedef struct qh_trace_kept {
    int64_t at; /* 0: free */
    int32_t device, epoch, part;
    int64_t n;
    qh_record *record; /* owned */
} qh_trace_kept;

struct qh_trace_cursor {
    const qh_trace *trace; /* borrowed */
    uint8_t *window;       /* owned: a piece of the file, so that small frames cost no call each */
    int64_t window_at, window_bytes;
    qh_trace_kept *kept; /* owned, [kept_capacity], open addressing */
    int64_t n_kept, kept_capacity, kept_records;
    void *zstd;           /* owned */
    qh_bytes stored, raw; /* of the frame read last */
    uint64_t *value;      /* owned, [QH_TRACE_MAX_RECORDS] */
    qh_record *record;    /* owned, [QH_TRACE_MAX_RECORDS] */
};

/* The list that a frame is in. */
static inline int64_t qh_trace_list_of(const qh_trace *t, const qh_trace_entry *e)
{
    return e->kind <= QH_FRAME_SAME ? e->device : t->info.n_devices + e->kind;
}

/* n bytes of the file. QH_EINPUT. */
qh_status qh_trace_bytes(const qh_trace *t, int64_t at, int64_t n, uint8_t *to);

/* The frame at an offset: its head, and its payload decompressed in c->raw. QH_EINPUT with the path
 * and ": " before the reason, when there is none, it is cut, or its checksum is another. */
qh_status qh_cursor_frame(qh_trace_cursor *c, int64_t at, qh_frame *head);

#endif
