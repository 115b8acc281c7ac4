#include "tests/fuzz/trace.h"

#include "sim/replay.h"
#include "src/base/mem.h"
#include "traces/columns.h"
#include "traces/format.h"
#include "traces/reader.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

enum { MAX_DEVICES = 8, MAX_FILE = 1 << 20, MAX_INDEX = 1 << 16 };

fuzz_counts fuzz_reached;

/* --- a file of frames --- */

typedef struct input {
    const uint8_t *at, *end;
} input;

static unsigned take(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

typedef struct file {
    uint8_t *data;   /* owned */
    int64_t n, last; /* last: where its last frame is */
    uint64_t mark;
    uint32_t n_frames;
    uint8_t index[MAX_INDEX]; /* entries of its frames */
    int64_t n_index, n_entries, epoch;
} file;

static void note(file *f, const qh_frame *h, int64_t at)
{
    uint64_t v[] = {(uint64_t)(at - f->last),       h->kind, h->part, (uint64_t)(h->device + 1),
                    qh_zigzag(h->epoch - f->epoch), h->n};

    if (f->n_index + 6 * QH_TRACE_MAX_VARINT > MAX_INDEX)
        return;
    for (size_t i = 0; i < QH_COUNT(v); i++)
        f->n_index += qh_varint_put(f->index + f->n_index, v[i]);
    f->epoch = h->epoch;
    f->n_entries++;
}

static void add_frame(file *f, qh_frame h, const uint8_t *raw)
{
    size_t bound = ZSTD_compressBound(h.raw_bytes);
    uint8_t *stored = NULL;

    if (f->n + QH_TRACE_FRAME_BYTES + (int64_t)bound + QH_TRACE_FOOTER_BYTES > MAX_FILE ||
        QH_NEW_ARRAY(&stored, (int64_t)bound) < 0)
        return;
    if (h.kind == QH_FRAME_SAME) {
        memcpy(stored, raw, h.raw_bytes);
        h.stored_bytes = h.raw_bytes;
    } else {
        h.stored_bytes = (uint32_t)ZSTD_compress(stored, bound, raw, h.raw_bytes, 1);
    }
    h.number = f->n_frames++;
    qh_frame_put(&h, f->mark, f->n, stored, f->data + f->n);
    memcpy(f->data + f->n + QH_TRACE_FRAME_BYTES, stored, h.stored_bytes);
    if (h.kind != QH_FRAME_INDEX)
        note(f, &h, f->n);
    f->last = f->n;
    f->n += QH_TRACE_FRAME_BYTES + (int64_t)h.stored_bytes;
    qh_mem_free(stored);
}

/* Kind, part, device, epoch and items in a byte each, two of length, and the payload. */
static void take_frame(input *in, file *f)
{
    qh_frame h = {.kind = (uint16_t)(take(in) % 8), .part = (uint16_t)(take(in) % 4)};
    unsigned length;

    h.device = (int32_t)(take(in) % (MAX_DEVICES + 1)) - 1;
    h.epoch = (int32_t)(take(in) % 8);
    h.n = take(in) % 64;
    length = take(in);
    length += take(in) << 8;
    if (length > (unsigned)(in->end - in->at))
        length = (unsigned)(in->end - in->at);
    h.raw_bytes = length;
    add_frame(f, h, in->at);
    in->at += length;
}

static void add_foot(file *f)
{
    qh_trace_foot foot = {.index_at = (uint64_t)f->last,
                          .n_frames = f->n_frames,
                          .n_epochs = 3,
                          .file_bytes = (uint64_t)f->n + QH_TRACE_FOOTER_BYTES};

    qh_trace_foot_put(&foot, f->mark, f->data + f->n);
    f->n += QH_TRACE_FOOTER_BYTES;
}

static void make_file(input in, file *f)
{
    static const char json[] = "{}";
    unsigned end =
        take(&in) % 3; /* not closed; with an index; with a foot that names the last frame */

    qh_trace_head_put(1 + take(&in) % MAX_DEVICES, json, 2, f->data);
    memcpy(f->data + QH_TRACE_HEADER_BYTES, json, 2);
    f->n = QH_TRACE_HEADER_BYTES + 2;
    f->mark = qh_get_u64(f->data + QH_TRACE_HEADER_BYTES - 8);
    f->index[f->n_index++] = 0; /* there is no index frame before */
    while (in.at < in.end)
        take_frame(&in, f);
    if (end == 1)
        add_frame(f,
                  (qh_frame){.kind = QH_FRAME_INDEX,
                             .device = -1,
                             .epoch = -1,
                             .n = (uint32_t)f->n_entries,
                             .raw_bytes = (uint32_t)f->n_index},
                  f->index);
    if (end > 0)
        add_foot(f);
}

/* --- reading it --- */

static qh_status skip(void *ctx, const qh_trace_widths *w)
{
    (void)ctx;
    (void)w;
    return QH_OK;
}

static qh_status read_all(const qh_trace *t)
{
    const qh_trace_info *info = qh_trace_look(t);
    qh_trace_cursor *c = NULL;
    const qh_record *r = NULL;
    qh_time span[MAX_DEVICES];
    qh_epoch_metrics m;
    int64_t n = 0;
    qh_status st;

    QH_TRY(st, qh_trace_cursor_new(t, &c));
    for (int d = 0; d < info->n_devices; d++)
        for (int64_t i = 0; i < qh_trace_n_frames(t, d); i++)
            QH_TRY(st, qh_trace_read(c, d, i, &r, &n));
    for (int64_t i = 0; i < info->n_epochs; i++)
        QH_TRY(st, qh_trace_read_epoch(c, i, &m));
    for (int64_t i = 0; i < info->n_times; i++)
        QH_TRY(st, qh_trace_read_times(c, i, span));
    for (int64_t i = 0; i < info->n_widths; i++)
        QH_TRY(st, qh_trace_read_widths(c, i, skip, NULL));
out:
    qh_trace_cursor_free(c);
    return st;
}

static qh_status replay(const qh_trace *t, qh_exchange_order order)
{
    qh_replay_config c = {.trace = t, .order = order};
    qh_accelerator *accelerator = NULL;
    qh_netmodel *net = NULL;
    qh_replay_result r;
    qh_status st;

    QH_TRY(st, qh_accelerator_open("cpu-core", &accelerator));
    QH_TRY(st, qh_netmodel_open("switch-10g", qh_trace_look(t)->n_devices, &net));
    c.net = qh_trace_look(t)->n_devices > 1 ? net : NULL;
    c.accelerator = accelerator;
    QH_TRY(st, qh_replay(&c, &r));
out:
    qh_netmodel_close(net);
    qh_accelerator_free(accelerator);
    return st;
}

static void look(const uint8_t *data, int64_t n)
{
    char path[64];
    qh_trace *t = NULL;
    int fd = memfd_create("trace", MFD_CLOEXEC);

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, (size_t)n) != (ssize_t)n)
        QH_ASSERT(!"a file in memory");
    if (qh_trace_open(path, true, &t) == QH_OK) {
        fuzz_reached.opened++;
        if (qh_trace_look(t)->n_devices <= MAX_DEVICES && read_all(t) == QH_OK) {
            fuzz_reached.read++;
            fuzz_reached.replayed += replay(t, QH_EXCHANGE_POSTED) == QH_OK;
            fuzz_reached.replayed += replay(t, QH_EXCHANGE_ROUNDS) == QH_OK;
        }
    }
    qh_trace_close(t);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    file f = {0};

    fuzz_reached.inputs++;
    if (size == 0 || size > MAX_FILE)
        return 0;
    if (data[0] % 2 == 0) {
        look(data + 1, (int64_t)size - 1);
        return 0;
    }
    if (QH_NEW_ARRAY(&f.data, MAX_FILE + QH_TRACE_FOOTER_BYTES) < 0)
        return 0;
    make_file((input){data + 1, data + size}, &f);
    look(f.data, f.n);
    qh_mem_free(f.data);
    return 0;
}
