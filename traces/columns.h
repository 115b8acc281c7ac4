/* Records of one device as columns of small numbers, ready for compression: the payload of a
 * RECORDS frame before zstd. FORMAT.md has the layout. */
#ifndef QH_TRACES_COLUMNS_H
#define QH_TRACES_COLUMNS_H

#include "src/record/record.h"

/* Bytes that grow, owned. */
typedef struct qh_bytes {
    uint8_t *data; /* owned */
    int64_t n, capacity;
} qh_bytes;

qh_status qh_bytes_reserve(qh_bytes *b, int64_t more); /* room for so many behind n. QH_ERESOURCE */
void qh_bytes_fini(qh_bytes *b);

/* Whose records they are: predictions are made from it. */
typedef struct qh_columns_scope {
    int device, n_devices;
    int32_t epoch; /* of the frame */
} qh_columns_scope;

/* Appends the columns of r[n] to out. value[n] is scratch. Operations, directions and peers must be
 * such as record.h has them (asserted). QH_ERESOURCE. */
qh_status qh_columns_put(const qh_columns_scope *s, const qh_record *r, int64_t n, uint64_t *value,
                         qh_bytes *out);

/* The inverse: fills r[n] from size bytes. NULL, or what is wrong in words ("column 3 ends early").
 * Any bytes may be given. */
const char *qh_columns_get(const qh_columns_scope *s, const uint8_t *data, int64_t size, int64_t n,
                           uint64_t *value, qh_record *r);

#endif
