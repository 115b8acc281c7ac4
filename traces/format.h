/* The layout of a .qht file in constants and small pieces; FORMAT.md is the specification. Little
 * endian throughout. */
#ifndef QH_TRACES_FORMAT_H
#define QH_TRACES_FORMAT_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    QH_TRACE_VERSION = 1,
    QH_TRACE_HEADER_BYTES = 32,
    QH_TRACE_FRAME_BYTES = 40, /* of a frame's head */
    QH_TRACE_FOOTER_BYTES = 48,
    QH_TRACE_MAX_JSON = 1 << 24,
    QH_TRACE_MAX_DEVICES = 1 << 16,
    QH_TRACE_MAX_RECORDS = 8192,   /* in a frame */
    QH_TRACE_MAX_RAW = 1 << 26,    /* bytes of a frame before compression */
    QH_TRACE_INDEX_ENTRIES = 4096, /* in an index frame */
    QH_TRACE_MAX_VARINT = 10       /* bytes */
};

typedef enum qh_frame_kind {
    QH_FRAME_RECORDS = 1, /* records of one device in one epoch, or a part of them */
    QH_FRAME_SAME,        /* records with the payload of an earlier RECORDS frame */
    QH_FRAME_WIDTHS,      /* bit-width tables of one device in one epoch */
    QH_FRAME_EPOCH,       /* an epoch is whole; its metrics */
    QH_FRAME_TIMES,       /* virtual time of an epoch, by device */
    QH_FRAME_INDEX,       /* where frames are */
    QH_FRAME_KINDS
} qh_frame_kind;

/* The head of a frame. */
typedef struct qh_frame {
    uint16_t kind; /* qh_frame_kind */
    uint16_t part; /* of a device's records in an epoch: 0, 1, ... */
    int32_t device;
    int32_t epoch;
    uint32_t n;            /* items: records, tables, devices or entries */
    uint32_t raw_bytes;    /* of the payload once decompressed */
    uint32_t stored_bytes; /* of the payload in the file, behind the head */
    uint32_t number;       /* frames before this one */
    uint64_t hash;         /* of the head without it, and the payload as stored */
} qh_frame;

/* The head of the file. */
typedef struct qh_trace_head {
    uint32_t version, n_devices;
    uint64_t json_bytes;
    uint64_t hash; /* of all of it but the hash, and of the JSON text: the trace's mark */
} qh_trace_head;

/* The last bytes of a closed trace. */
typedef struct qh_trace_foot {
    uint64_t index_at; /* of the last index frame */
    uint64_t n_frames, n_epochs;
    uint64_t file_bytes; /* foot included */
    uint64_t hash;
} qh_trace_foot;

extern const uint8_t qh_trace_magic[8];

void qh_put_u16(uint8_t *to, uint16_t v);
void qh_put_u32(uint8_t *to, uint32_t v);
void qh_put_u64(uint8_t *to, uint64_t v);
uint16_t qh_get_u16(const uint8_t *from);
uint32_t qh_get_u32(const uint8_t *from);
uint64_t qh_get_u64(const uint8_t *from);

/* LEB128, at most QH_TRACE_MAX_VARINT bytes; the bytes written. */
int qh_varint_put(uint8_t *to, uint64_t v);
/* Moves *from; false where it would run past end or over 64 bits. */
bool qh_varint_get(const uint8_t **from, const uint8_t *end, uint64_t *v);

static inline uint64_t qh_zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t qh_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* The head of the file with its hash, into to[QH_TRACE_HEADER_BYTES]. */
void qh_trace_head_put(uint32_t n_devices, const char *json, uint64_t json_bytes, uint8_t *to);
uint64_t qh_trace_head_hash(const uint8_t *head, const char *json, uint64_t json_bytes);
void qh_trace_head_get(const uint8_t *from, qh_trace_head *out);

/* A frame's head. mark is the trace's, at the offset of the frame: a frame of another trace or from
 * another place does not check. put works out the hash and gives it. */
uint64_t qh_frame_put(const qh_frame *f, uint64_t mark, int64_t at, const uint8_t *payload,
                      uint8_t *to);
/* False: this is no head of a frame. */
bool qh_frame_get(const uint8_t *from, qh_frame *out);
uint64_t qh_frame_hash(const uint8_t *head, uint64_t mark, int64_t at, const uint8_t *payload,
                       uint32_t stored_bytes);

void qh_trace_foot_put(const qh_trace_foot *f, uint64_t mark, uint8_t *to);
/* False: these are no closing bytes of the trace with the mark. */
bool qh_trace_foot_get(const uint8_t *from, uint64_t mark, qh_trace_foot *out);

#endif
