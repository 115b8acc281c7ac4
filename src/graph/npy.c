/* Read with pread into the caller's memory rather than mapped: the arrays get another shape on the
 * way (padded rows, CSR), and pages of a mapping would count twice in the resident memory. */
#include "src/graph/npy.h"

#include "src/base/mem.h"
#include "src/graph/npy_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "qhalo reads and writes little-endian arrays as they lie in memory"
#endif

enum { MAGIC_BYTES = 6, HEADER_MAX = 1 << 20 };

static const uint8_t magic[MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static qh_status read_at(const qh_npy *a, int64_t offset, int64_t n, void *out)
{
    char *to = out;

    while (n > 0) {
        /* One call moves at most 2 GiB - 4 KiB on Linux. */
        ssize_t got = pread(a->fd, to, (size_t)(n < (1 << 30) ? n : 1 << 30), (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return qh_fail(QH_EINPUT, "%s: %s at byte %lld", a->path,
                           got < 0 ? strerror(errno) : "truncated: the file ends",
                           (long long)offset);
        to += got;
        offset += got;
        n -= got;
    }
    return QH_OK;
}

/* Finds where the header text is: [*at, *at + *bytes). */
static qh_status read_preamble(const qh_npy *a, int64_t file_bytes, int64_t *at, int64_t *bytes)
{
    uint8_t b[12] = {0};
    qh_status st = read_at(a, 0, file_bytes < 12 ? file_bytes : 12, b);

    if (st < 0)
        return st;
    if (file_bytes < 10 || memcmp(b, magic, MAGIC_BYTES) != 0)
        return qh_fail(QH_EINPUT, "%s: not a .npy file; numpy.save writes one", a->path);
    if (b[6] < 1 || b[6] > 3)
        return qh_fail(QH_EINPUT, "%s: .npy format version %d.%d; 1.0, 2.0 and 3.0 are read",
                       a->path, b[6], b[7]);
    if (b[6] == 1) {
        *at = 10;
        *bytes = b[8] | b[9] << 8;
    } else {
        *at = 12;
        *bytes = (int64_t)(b[8] | b[9] << 8 | b[10] << 16 | (uint32_t)b[11] << 24);
    }
    if (*bytes > HEADER_MAX)
        return qh_fail(QH_EINPUT, "%s: a header of %lld bytes; at most %d is read", a->path,
                       (long long)*bytes, HEADER_MAX);
    if (*at + *bytes > file_bytes)
        return qh_fail(QH_EINPUT, "%s: truncated: %lld bytes; the header alone takes %lld", a->path,
                       (long long)file_bytes, (long long)(*at + *bytes));
    return QH_OK;
}

/* Product of the sizes, and the file length that follows from it. */
static qh_status check_size(qh_npy *a, int64_t file_bytes)
{
    int64_t bytes;

    a->n_items = 1;
    for (int d = 0; d < a->n_dims; d++)
        if (__builtin_mul_overflow(a->n_items, a->shape[d], &a->n_items))
            return qh_fail(QH_EINPUT,
                           "%s: its shape is more than can be addressed; below 2^63 bytes is right",
                           a->path);
    if (__builtin_mul_overflow(a->n_items, a->item_bytes, &bytes) ||
        __builtin_add_overflow(bytes, a->offset, &bytes))
        return qh_fail(QH_EINPUT,
                       "%s: its shape is more than can be addressed; below 2^63 bytes is right",
                       a->path);
    if (bytes != file_bytes)
        return qh_fail(QH_EINPUT, "%s: %s: %lld bytes; %lld, as its header says, are right",
                       a->path, file_bytes < bytes ? "truncated" : "bytes after the array",
                       (long long)file_bytes, (long long)bytes);
    if (a->n_dims < 2)
        a->fortran = false; /* one dimension has one order */
    return QH_OK;
}

static qh_status open_path(const char *folder, const char *name, qh_npy *a, int64_t *file_bytes)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    struct stat info;
    qh_status st = QH_NEW_ARRAY(&a->path, (int64_t)bytes);

    if (st < 0)
        return st;
    snprintf(a->path, bytes, "%s/%s", folder, name);
    a->fd = open(a->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* no wait for a pipe's writer */
    if (a->fd < 0 || fstat(a->fd, &info) != 0)
        return qh_fail(QH_EINPUT, "%s: %s; a .npy array is wanted", a->path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return qh_fail(QH_EINPUT, "%s: not a file; a .npy array is right", a->path);
    *file_bytes = info.st_size;
    return QH_OK;
}

qh_status qh_npy_open(const char *folder, const char *name, qh_npy *out)
{
    qh_npy a = {.fd = -1};
    int64_t file_bytes = 0, at = 0, bytes = 0;
    char *text = NULL;
    qh_status st;

    QH_TRY(st, open_path(folder, name, &a, &file_bytes));
    QH_TRY(st, read_preamble(&a, file_bytes, &at, &bytes));
    QH_TRY(st, QH_NEW_ARRAY(&text, bytes + 1));
    QH_TRY(st, read_at(&a, at, bytes, text));
    QH_TRY(st, qh_npy_parse_header(text, bytes, &a));
    a.offset = at + bytes;
    QH_TRY(st, check_size(&a, file_bytes));
    *out = a;
    a = (qh_npy){.fd = -1};
out:
    qh_mem_free(text);
    qh_npy_close(&a);
    return st;
}

void qh_npy_close(qh_npy *a)
{
    if (a->path && a->fd >= 0)
        close(a->fd);
    qh_mem_free(a->path);
    *a = (qh_npy){.fd = -1};
}

qh_status qh_npy_read(const qh_npy *a, int64_t first, int64_t n, void *out)
{
    QH_ASSERT(first >= 0 && n >= 0 && first + n <= a->n_items);
    return read_at(a, a->offset + first * a->item_bytes, n * a->item_bytes, out);
}

/* "[2708, 7]" or, for what is wanted, "[2708, any]". */
static const char *shape_text(int n_dims, const int64_t *shape, char *buf, size_t size)
{
    size_t at = 0;

    buf[at++] = '[';
    for (int d = 0; d < n_dims && at < size; d++) {
        const char *comma = d ? ", " : "";

        if (shape[d] == QH_NPY_ANY)
            at += (size_t)snprintf(buf + at, size - at, "%sany", comma);
        else
            at += (size_t)snprintf(buf + at, size - at, "%s%lld", comma, (long long)shape[d]);
    }
    if (at < size)
        snprintf(buf + at, size - at, "]");
    return buf;
}

qh_status qh_npy_expect(const qh_npy *a, qh_npy_type one, qh_npy_type other, int n_dims,
                        int64_t rows, int64_t cols)
{
    const int64_t want[2] = {rows, cols};
    char have_text[128], want_text[128];
    bool fits = a->n_dims == n_dims;

    if (a->type != one && a->type != other)
        return qh_fail(QH_EINPUT, "%s: dtype %s; %s%s%s is right", a->path, a->type_name,
                       qh_npy_type_text(one), one == other ? "" : " or ",
                       one == other ? "" : qh_npy_type_text(other));
    for (int d = 0; fits && d < n_dims; d++)
        fits = want[d] == QH_NPY_ANY || want[d] == a->shape[d];
    if (!fits)
        return qh_fail(QH_EINPUT, "%s: shape %s; %s is right", a->path,
                       shape_text(a->n_dims, a->shape, have_text, sizeof have_text),
                       shape_text(n_dims, want, want_text, sizeof want_text));
    if (a->fortran)
        return qh_fail(QH_EINPUT, "%s: Fortran order; C order is right (numpy.ascontiguousarray)",
                       a->path);
    return QH_OK;
}

void qh_npy_write_header(qh_output *o, qh_npy_type type, int n_dims, int64_t rows, int64_t cols)
{
    char text[192];
    FILE *f = qh_output_stream(o);
    int n, padded;

    if (n_dims == 1)
        n = snprintf(text, sizeof text,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,), }",
                     qh_npy_type_descr(type), (long long)rows);
    else
        n = snprintf(text, sizeof text,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }",
                     qh_npy_type_descr(type), (long long)rows, (long long)cols);
    padded = (10 + n + 1 + 63) / 64 * 64 - 10; /* so that the array begins on a cache line */
    fwrite(magic, 1, MAGIC_BYTES, f);
    fputc(1, f);
    fputc(0, f);
    fputc(padded & 255, f);
    fputc(padded >> 8, f);
    fprintf(f, "%-*s\n", padded - 1, text);
}
