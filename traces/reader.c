/* Opening a trace: its head, its index (or, where it was not closed, one look at every frame), and
 * whether the frames are those of a run. Reading frames is in cursor.c. */
#include "traces/reader.h"

#include "src/base/mem.h"
#include "traces/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the file --- */

static qh_status open_file(qh_trace *t)
{
    struct stat s;

    t->fd =
        open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (t->fd < 0)
        return qh_fail(QH_EINPUT, "%s: cannot be read: %s", *t->path ? t->path : "''",
                       strerror(errno));
    if (fstat(t->fd, &s) != 0 || !S_ISREG(s.st_mode))
        return qh_fail(QH_EINPUT, "%s: is not a regular file; a trace is wanted here", t->path);
    t->info.file_bytes = (int64_t)s.st_size;
    return QH_OK;
}

qh_status qh_trace_bytes(const qh_trace *t, int64_t at, int64_t n, uint8_t *to)
{
    for (int64_t done = 0; done < n;) {
        ssize_t got = pread(t->fd, to + done, (size_t)(n - done), at + done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return qh_fail(QH_EINPUT, "%s: cannot be read: %s", t->path, strerror(errno));
        if (got == 0)
            return qh_fail(QH_EINPUT, "%s: became shorter while it was read", t->path);
        done += got;
    }
    return QH_OK;
}

static qh_status check_head(const qh_trace *t, const uint8_t *bytes, const qh_trace_head *h)
{
    if (memcmp(bytes, qh_trace_magic, sizeof qh_trace_magic) != 0)
        return qh_fail(QH_EINPUT, "%s: is no trace; files of qhalo train --trace are", t->path);
    if (h->version != QH_TRACE_VERSION)
        return qh_fail(QH_EINPUT, "%s: is a trace of version %u; this qhalo reads version %d",
                       t->path, h->version, QH_TRACE_VERSION);
    if (h->n_devices < 1 || h->n_devices > QH_TRACE_MAX_DEVICES)
        return qh_fail(QH_EINPUT, "%s: its head is damaged: %u devices", t->path, h->n_devices);
    if (h->json_bytes > QH_TRACE_MAX_JSON)
        return qh_fail(QH_EINPUT, "%s: its head is damaged: %llu bytes of configuration", t->path,
                       (unsigned long long)h->json_bytes);
    return QH_OK;
}

static qh_status read_head(qh_trace *t)
{
    uint8_t bytes[QH_TRACE_HEADER_BYTES] = {0};
    qh_trace_head h;
    qh_status st;

    if (t->info.file_bytes < QH_TRACE_HEADER_BYTES)
        return qh_fail(QH_EINPUT, "%s: has %lld bytes and is no trace, or was cut off in its head",
                       t->path, (long long)t->info.file_bytes);
    QH_TRY(st, qh_trace_bytes(t, 0, QH_TRACE_HEADER_BYTES, bytes));
    qh_trace_head_get(bytes, &h);
    QH_TRY(st, check_head(t, bytes, &h));
    t->first = QH_TRACE_HEADER_BYTES + (int64_t)h.json_bytes;
    if (t->first > t->info.file_bytes) {
        st = qh_fail(QH_EINPUT, "%s: is cut off in its head, at byte %lld", t->path,
                     (long long)t->info.file_bytes);
        goto out;
    }
    QH_TRY(st, QH_NEW_ARRAY(&t->json, (int64_t)h.json_bytes + 1));
    QH_TRY(st, qh_trace_bytes(t, QH_TRACE_HEADER_BYTES, (int64_t)h.json_bytes, (uint8_t *)t->json));
    if (qh_trace_head_hash(bytes, t->json, h.json_bytes) != h.hash)
        st = qh_fail(QH_EINPUT, "%s: its head does not match its checksum; the file is damaged",
                     t->path);
    t->mark = h.hash;
    t->info.n_devices = (int)h.n_devices;
out:
    return st;
}

/* --- entries --- */

static qh_status add_entry(qh_trace *t, const qh_trace_entry *e)
{
    qh_status st = QH_OK;

    if (t->n_entries == t->entry_capacity) {
        int64_t more = t->entry_capacity ? 2 * t->entry_capacity : 256;

        QH_TRY(st, QH_RESIZE(&t->entry, t->entry_capacity, more));
        t->entry_capacity = more;
    }
    t->entry[t->n_entries++] = *e;
out:
    return st;
}

static bool get_entry(const uint8_t **at, const uint8_t *end, qh_trace_entry *e)
{
    uint64_t v[6];

    for (int i = 0; i < 6; i++)
        if (!qh_varint_get(at, end, &v[i]))
            return false;
    if (v[0] > INT64_MAX / 2 || v[1] >= QH_FRAME_KINDS || v[2] > UINT16_MAX ||
        v[3] > QH_TRACE_MAX_DEVICES || v[4] > UINT64_C(1) << 33 || v[5] > UINT32_MAX)
        return false;
    e->at += (int64_t)v[0];
    e->kind = (uint16_t)v[1];
    e->part = (uint16_t)v[2];
    e->device = (int32_t)v[3] - 1;
    e->epoch = (int32_t)(e->epoch + qh_unzigzag(v[4]));
    e->n = (uint32_t)v[5];
    return true;
}

static qh_status bad_index(const qh_trace *t, int64_t at)
{
    return qh_fail(QH_EINPUT, "%s: its index at byte %lld is damaged", t->path, (long long)at);
}

/* Entries of the index frame at an offset, or (entries false) only where the one before is. */
static qh_status read_index(qh_trace *t, qh_trace_cursor *c, int64_t at, bool entries,
                            int64_t *before)
{
    const uint8_t *from, *end;
    qh_trace_entry e = {0};
    qh_frame head;
    uint64_t previous;
    qh_status st;

    QH_TRY(st, qh_cursor_frame(c, at, &head));
    from = c->raw.data;
    end = from + c->raw.n;
    if (head.kind != QH_FRAME_INDEX || !qh_varint_get(&from, end, &previous) ||
        previous >= (uint64_t)at)
        return bad_index(t, at);
    e.at = (int64_t)previous;
    for (uint32_t i = 0; entries && i < head.n; i++) {
        if (!get_entry(&from, end, &e) || e.at >= at)
            return bad_index(t, at);
        QH_TRY(st, add_entry(t, &e));
    }
    *before = (int64_t)previous;
out:
    return st;
}

/* The index frames name each other from the last to the first; they are listed, then read. */
static qh_status load_index(qh_trace *t, qh_trace_cursor *c, const qh_trace_foot *foot)
{
    int64_t *place = NULL, n = 0, capacity = 0, at = (int64_t)foot->index_at;
    qh_status st = QH_OK;

    if (foot->index_at >= foot->file_bytes)
        return bad_index(t, t->info.file_bytes);
    while (at > 0) {
        if (n == capacity) {
            QH_TRY(st, QH_RESIZE(&place, capacity, 2 * capacity + 16));
            capacity = 2 * capacity + 16;
        }
        place[n++] = at;
        QH_TRY(st, read_index(t, c, at, false, &at));
    }
    for (int64_t i = n - 1; i >= 0; i--)
        QH_TRY(st, read_index(t, c, place[i], true, &at));
    if (t->n_entries + n != (int64_t)foot->n_frames)
        st = bad_index(t, (int64_t)foot->index_at);
out:
    qh_mem_free(place);
    return st;
}

/* --- a trace that was not closed --- */

/* Why no frame can be read at the offset; "" when one can, into *head. */
static qh_status look_at(qh_trace *t, qh_trace_cursor *c, int64_t at, qh_frame *head)
{
    uint8_t bytes[QH_TRACE_FOOTER_BYTES];
    int64_t left = t->info.file_bytes - at;
    qh_trace_foot foot;
    qh_status st;

    *t->end = '\0';
    if (left >= QH_TRACE_FOOTER_BYTES) {
        QH_TRY(st, qh_trace_bytes(t, at, QH_TRACE_FOOTER_BYTES, bytes));
        if (qh_trace_foot_get(bytes, t->mark, &foot))
            return qh_fail(QH_EINPUT,
                           "%s: goes on for %lld bytes behind its end at byte %lld; were two files "
                           "joined?",
                           t->path, (long long)(left - QH_TRACE_FOOTER_BYTES),
                           (long long)(at + QH_TRACE_FOOTER_BYTES));
    }
    st = qh_cursor_frame(c, at, head);
    if (st == QH_EINPUT) {
        snprintf(t->end, sizeof t->end, "%s", qh_error_text() + strlen(t->path) + 2);
        st = QH_OK;
    }
out:
    return st;
}

static qh_status scan(qh_trace *t, qh_trace_cursor *c)
{
    int64_t at = t->first;
    uint32_t number = 0;
    qh_status st = QH_OK;

    snprintf(t->end, sizeof t->end, "it ends without its index, which is written last");
    while (at < t->info.file_bytes) {
        qh_trace_entry e;
        qh_frame head;

        QH_TRY(st, look_at(t, c, at, &head));
        if (*t->end)
            break;
        if (head.number != number++)
            return qh_fail(QH_EINPUT, "%s: frame %u at byte %lld should be frame %u", t->path,
                           head.number, (long long)at, number - 1);
        e = (qh_trace_entry){.at = at,
                             .kind = head.kind,
                             .part = head.part,
                             .device = head.device,
                             .epoch = head.epoch,
                             .n = head.n};
        if (head.kind != QH_FRAME_INDEX)
            QH_TRY(st, add_entry(t, &e));
        at += QH_TRACE_FRAME_BYTES + (int64_t)head.stored_bytes;
        snprintf(t->end, sizeof t->end, "it ends without its index, which is written last");
    }
    t->info.read_bytes = at;
out:
    return st;
}

/* --- whether the frames are those of a run --- */

static qh_status out_of_place(const qh_trace *t, const qh_trace_entry *e)
{
    return qh_fail(QH_EINPUT,
                   "%s: the frame at byte %lld (kind %d, device %d, epoch %d, part %d) does not "
                   "belong there",
                   t->path, (long long)e->at, e->kind, e->device, e->epoch, e->part);
}

/* Frames come epoch by epoch: parts of devices in order, then the mark of the whole epoch. Times of
 * an epoch come after that mark. */
static qh_status check_order(qh_trace *t)
{
    int64_t epoch = -1, open = 0;
    int32_t *n_parts = NULL; /* by device */
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&n_parts, t->info.n_devices));
    for (int64_t i = 0; i < t->n_entries; i++) {
        const qh_trace_entry *e = &t->entry[i];
        bool of_device = e->kind == QH_FRAME_RECORDS || e->kind == QH_FRAME_SAME;
        bool good = e->epoch >= 0;

        if (epoch < 0 && e->kind != QH_FRAME_TIMES)
            epoch = t->info.first_epoch = e->epoch;
        if (of_device || e->kind == QH_FRAME_WIDTHS)
            good = good && e->epoch == epoch && e->device >= 0 && e->device < t->info.n_devices &&
                   e->n >= 1 && (!of_device || e->n <= QH_TRACE_MAX_RECORDS);
        if (of_device && good) {
            good = e->part == n_parts[e->device]++;
            open++;
        } else if (e->kind == QH_FRAME_WIDTHS) {
            open++;
        } else if (e->kind == QH_FRAME_EPOCH) {
            good = good && e->epoch == epoch++;
            memset(n_parts, 0, (size_t)t->info.n_devices * sizeof *n_parts);
            t->info.n_epochs++;
            open = 0;
        } else if (e->kind == QH_FRAME_TIMES) {
            good = good && open == 0 && e->epoch == t->info.first_epoch + t->info.n_times &&
                   t->info.n_times < t->info.n_epochs && (int64_t)e->n == t->info.n_devices;
            t->info.n_times++;
        }
        if (!good || e->kind == QH_FRAME_INDEX || e->kind == 0) {
            st = out_of_place(t, e);
            goto out;
        }
    }
    t->n_entries -= open; /* of an epoch that is not whole, which can be the last only */
out:
    qh_mem_free(n_parts);
    return st;
}

/* Frames by device, and the others by kind. */
static qh_status list_frames(qh_trace *t)
{
    int64_t n_devices = t->info.n_devices, at = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&t->first_frame, n_devices + QH_FRAME_KINDS + 1));
    QH_TRY(st, QH_NEW_ARRAY(&t->frame, t->n_entries));
    for (int64_t i = 0; i < t->n_entries; i++) {
        t->first_frame[qh_trace_list_of(t, &t->entry[i])]++;
        if (t->entry[i].kind <= QH_FRAME_SAME)
            t->info.n_records += t->entry[i].n;
        t->info.n_widths += t->entry[i].kind == QH_FRAME_WIDTHS;
    }
    for (int64_t l = 0; l <= n_devices + QH_FRAME_KINDS; l++) {
        int64_t n = t->first_frame[l];

        t->first_frame[l] = at;
        at += n;
    }
    for (int64_t i = 0; i < t->n_entries; i++)
        t->frame[t->first_frame[qh_trace_list_of(t, &t->entry[i])]++] = i;
    for (int64_t l = n_devices + QH_FRAME_KINDS; l > 0; l--)
        t->first_frame[l] = t->first_frame[l - 1];
    t->first_frame[0] = 0;
out:
    return st;
}

/* --- together --- */

static bool is_part(const char *path)
{
    size_t n = strlen(path);

    return n >= 5 && strcmp(path + n - 5, ".part") == 0;
}

static qh_status load(qh_trace *t, qh_trace_cursor *c, bool partial)
{
    uint8_t bytes[QH_TRACE_FOOTER_BYTES];
    qh_trace_foot foot = {0};
    qh_status st;

    if (t->info.file_bytes - t->first >= QH_TRACE_FOOTER_BYTES) {
        QH_TRY(st, qh_trace_bytes(t, t->info.file_bytes - QH_TRACE_FOOTER_BYTES,
                                  QH_TRACE_FOOTER_BYTES, bytes));
        t->info.closed = qh_trace_foot_get(bytes, t->mark, &foot);
    }
    if (t->info.closed && (int64_t)foot.file_bytes != t->info.file_bytes)
        return qh_fail(QH_EINPUT, "%s: has %lld bytes, where its end says %llu; were files joined?",
                       t->path, (long long)t->info.file_bytes, (unsigned long long)foot.file_bytes);
    t->info.read_bytes = t->info.file_bytes;
    QH_TRY(st, t->info.closed ? load_index(t, c, &foot) : scan(t, c));
    QH_TRY(st, check_order(t));
    if (t->info.closed && (int64_t)foot.n_epochs != t->info.n_epochs)
        return bad_index(t, (int64_t)foot.index_at);
    QH_TRY(st, list_frames(t));
    if (!t->info.closed && !partial && !is_part(t->path))
        st = qh_fail(QH_EINPUT,
                     "%s: was not closed, or was cut: %s; %lld whole epochs can be read, "
                     "--partial does",
                     t->path, t->end, (long long)t->info.n_epochs);
out:
    return st;
}

qh_status qh_trace_open(const char *path, bool partial, qh_trace **out)
{
    qh_trace *t = NULL;
    qh_trace_cursor *c = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&t));
    t->fd = -1;
    QH_TRY(st, qh_mem_strdup(path, &t->path));
    QH_TRY(st, open_file(t));
    QH_TRY(st, read_head(t));
    QH_TRY(st, qh_trace_cursor_new(t, &c));
    QH_TRY(st, load(t, c, partial));
    t->info.path = t->path;
    t->info.json = t->json;
    *out = t;
    t = NULL;
out:
    qh_trace_cursor_free(c);
    qh_trace_close(t);
    return st;
}

void qh_trace_close(qh_trace *t)
{
    if (!t)
        return;
    if (t->fd >= 0)
        close(t->fd);
    qh_mem_free(t->frame);
    qh_mem_free(t->first_frame);
    qh_mem_free(t->entry);
    qh_mem_free(t->json);
    qh_mem_free(t->path);
    qh_mem_free(t);
}

const qh_trace_info *qh_trace_look(const qh_trace *t)
{
    return &t->info;
}

const char *qh_trace_end(const qh_trace *t)
{
    return t->info.closed ? "" : t->end;
}

bool qh_trace_may_replace(const char *path)
{
    uint8_t bytes[sizeof qh_trace_magic];
    struct stat s;
    ssize_t n;
    int fd;

    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size == 0)
        return true;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, bytes, sizeof bytes);
    close(fd);
    return n == (ssize_t)sizeof bytes && memcmp(bytes, qh_trace_magic, sizeof bytes) == 0;
}
