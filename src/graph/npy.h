/* NumPy's .npy files: one array each. Format versions 1, 2 and 3 are read; whatever cannot be used
 * as it lies there is refused by name, never converted or guessed, and nothing is ever unpickled.
 * Format: NumPy Enhancement Proposal 1 (numpy.lib.format). Inside src/graph only. */
#ifndef QH_GRAPH_NPY_H
#define QH_GRAPH_NPY_H

#include "src/base/file.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { QH_NPY_DIMS = 4, QH_NPY_ANY = -1 };

typedef enum qh_npy_type {
    QH_NPY_INT8,
    QH_NPY_UINT8,
    QH_NPY_INT32,
    QH_NPY_INT64,
    QH_NPY_FLOAT32,
    QH_NPY_OTHER /* known by its name only */
} qh_npy_type;

/* An array in a file, opened for reading. */
typedef struct qh_npy {
    char *path; /* owned */
    int fd;     /* owned; -1: closed */
    qh_npy_type type;
    char type_name[64]; /* for messages: "float64 (<f8)" */
    bool fortran;       /* columns first, and that makes a difference */
    int n_dims;
    int64_t shape[QH_NPY_DIMS];
    int64_t item_bytes;
    int64_t n_items; /* product of shape */
    int64_t offset;  /* of the first item in the file */
} qh_npy;

/* Opens folder/name. Errors, all QH_EINPUT and naming the file: not there, not .npy, unknown
 * version, malformed or oversized header, sizes that overflow, object and structured types, file
 * shorter or longer than its header says. */
qh_status qh_npy_open(const char *folder, const char *name, qh_npy *out);
void qh_npy_close(qh_npy *a); /* a zeroed or closed one is fine */

/* Refuses (QH_EINPUT, naming both sides) an array that is not of one of the two types (give one
 * twice), of n_dims dimensions and of this shape (QH_NPY_ANY: any size), in C order. */
qh_status qh_npy_expect(const qh_npy *a, qh_npy_type one, qh_npy_type other, int n_dims,
                        int64_t rows, int64_t cols);

/* Items first .. first+n-1 into out, as they are stored. QH_EINPUT when the file got shorter. */
qh_status qh_npy_read(const qh_npy *a, int64_t first, int64_t n, void *out);

/* Writes the header of an array [rows] (cols 0) or [rows, cols] (version 1, 64-byte aligned data)
 * to a stream; the items follow by fwrite. */
void qh_npy_write_header(qh_output *o, qh_npy_type type, int n_dims, int64_t rows, int64_t cols);

#endif
