#include "tests/support/records.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"
#include "traces/writer.h"

#include <string.h>

static uint64_t draw(uint64_t seed, uint64_t index, uint64_t below)
{
    return qh_rand_below(qh_rand_key(seed, QH_RAND_SAMPLE, 3, 1, 4), index, below);
}

/* Small or huge. */
static int64_t count(uint64_t seed, uint64_t index, bool wild)
{
    int shift = (int)draw(seed, index, wild ? 64 : 20);

    return shift == 63 ? INT64_MAX : (int64_t)draw(seed, index + 1, UINT64_C(1) << shift);
}

qh_record records_draw(uint64_t seed, int device, int n_devices, int32_t epoch, int64_t i,
                       bool wild)
{
    uint64_t k = (uint64_t)i * 64 + (uint64_t)device * 7;
    qh_record r = {.op = (uint8_t)(1 + draw(seed, k, QH_OP_COUNT - 1)),
                   .direction = (uint8_t)draw(seed, k + 1, 3),
                   .layer = (uint16_t)draw(seed, k + 2, wild ? 65536 : 3),
                   .epoch = epoch - (wild ? (int32_t)draw(seed, k + 3, 2) : 0),
                   .peer = -1,
                   .flops = count(seed, k + 4, wild),
                   .bytes = count(seed, k + 6, wild),
                   .host_ns = wild ? count(seed, k + 8, wild) : 0};
    bool moves = r.op == QH_OP_SEND || r.op == QH_OP_RECV;

    if (moves && n_devices > 1) {
        r.peer = (device + 1 + (int)draw(seed, k + 10, (uint64_t)n_devices - 1)) % n_devices;
        r.round = wild ? (int32_t)draw(seed, k + 11, INT32_MAX) : 1;
    } else if (moves) {
        r.op = QH_OP_SPMM;
    }
    for (int w = 0; r.op == QH_OP_SEND && w < QH_N_WIDTHS; w++)
        r.messages[w] = wild || w == 7 ? (int32_t)draw(seed, k + 20 + (uint64_t)w, INT32_MAX) : 0;
    return r;
}

bool records_same(const qh_record *a, const qh_record *b)
{
    return a->op == b->op && a->direction == b->direction && a->layer == b->layer &&
           a->epoch == b->epoch && a->peer == b->peer && a->round == b->round &&
           a->flops == b->flops && a->bytes == b->bytes && a->host_ns == b->host_ns &&
           memcmp(a->messages, b->messages, sizeof a->messages) == 0;
}

static void write_epoch(qh_trace_writer *w, const records_trace *t, int epoch)
{
    static const uint8_t width[] = {2, 4, 8, 16, 32, 1, 3};
    uint64_t seed = t->same ? t->seed : t->seed + 1000 * (uint64_t)epoch;
    qh_epoch_metrics m = {.epoch = epoch,
                          .loss = 1.0 / (1 + epoch),
                          .evaluated = epoch % 2,
                          .metric = {0, 0.5, 0.25, 0.125},
                          .rate = 1};

    for (int d = t->n_devices - 1; d >= 0; d--) { /* devices need not come in order */
        qh_record *r = NULL, end = {.op = QH_OP_EPOCH_END, .epoch = epoch, .peer = -1};
        int64_t n = t->n[d];

        ck_assert_int_eq(QH_NEW_ARRAY(&r, n + 1), QH_OK);
        for (int64_t i = 0; i < n; i++)
            r[i] = records_draw(seed, d, t->n_devices, epoch, i, false);
        r[n] = end;
        if (t->widths && t->n_devices > 1)
            ck_assert_int_eq(qh_trace_writer_widths(w, d,
                                                    &(qh_record){.op = QH_OP_SEND,
                                                                 .epoch = epoch,
                                                                 .layer = 1,
                                                                 .peer = (d + 1) % t->n_devices},
                                                    width, sizeof width),
                             QH_OK);
        ck_assert_int_eq(qh_trace_writer_records(w, d, epoch, r, n + 1), QH_OK);
        qh_mem_free(r);
    }
    ck_assert_int_eq(qh_trace_writer_epoch(w, &m), QH_OK);
}

void records_write(const records_trace *t)
{
    qh_trace_writer *w = NULL;
    qh_time span[8];

    ck_assert_msg(qh_trace_writer_open(t->path, t->n_devices, &w) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(qh_trace_writer_begin(w, "{\"schema\":\"qhalo.trace/1\"}"), QH_OK);
    for (int e = 0; e < t->n_epochs; e++) {
        write_epoch(w, t, e);
        for (int d = 0; d < t->n_devices; d++)
            span[d] = 1000 * (e + 1) + d;
        if (e < t->n_epochs - t->untimed)
            ck_assert_int_eq(qh_trace_writer_times(w, e, span), QH_OK);
    }
    if (t->open)
        qh_trace_writer_abandon(&w);
    else
        ck_assert_msg(qh_trace_writer_close(&w) == QH_OK, "%s", qh_error_text());
}
