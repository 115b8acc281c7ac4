#include "tests/support/program.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char test_plain_accelerator[] =
    "peak: 1TFLOP/s\nmemory_bandwidth: 1TB/s\nlaunch: 0us\nhost_copy_bandwidth: 1GB/s\n"
    "efficiency: {spmm: 1, gemm: 1, elementwise: 1, loss: 1, optimizer: 1, quantize: 1, "
    "dequantize: 1, assign: 1}\n";

static qh_record at; /* epoch, layer, direction */

void program_fini(program *p)
{
    for (int d = 0; d < PROGRAM_DEVICES; d++)
        qh_record_list_fini(&p->device[d]);
}

void program_at(int epoch, int layer, int direction)
{
    at = (qh_record){
        .epoch = epoch, .layer = (uint16_t)layer, .direction = (uint8_t)direction, .peer = -1};
}

static void add(program *p, int device, const qh_record *r)
{
    ck_assert_int_eq(qh_record_list_add(&p->device[device], r), QH_OK);
}

static void add_op(program *p, int device, int op, int64_t flops, int64_t bytes)
{
    qh_record r = at;

    r.op = (uint8_t)op;
    r.flops = flops;
    r.bytes = bytes;
    add(p, device, &r);
}

void program_compute(program *p, int device, int op, int64_t picoseconds)
{
    add_op(p, device, op, picoseconds, 0);
}

static void add_block(program *p, int device, int op, int peer, int round, int64_t bytes)
{
    qh_record r = at;

    r.op = (uint8_t)op;
    r.peer = peer;
    r.round = round;
    r.bytes = bytes;
    add(p, device, &r);
}

void program_send(program *p, int device, int peer, int64_t bytes)
{
    add_block(p, device, QH_OP_SEND, peer, (peer - device + p->n_devices) % p->n_devices, bytes);
}

void program_recv(program *p, int device, int peer, int64_t bytes)
{
    add_block(p, device, QH_OP_RECV, peer, (device - peer + p->n_devices) % p->n_devices, bytes);
}

void program_wait(program *p, int device)
{
    add_op(p, device, QH_OP_WAIT, 0, 0);
}

void program_reduce(program *p, int device, int64_t bytes)
{
    add_op(p, device, QH_OP_ALLREDUCE, 0, bytes);
}

void program_end(program *p, int device)
{
    add_op(p, device, QH_OP_EPOCH_END, 0, 0);
}

void program_exchange(program *p, int device, int64_t bytes)
{
    int n = p->n_devices;

    for (int r = 1; r < n; r++)
        program_recv(p, device, (device - r + n) % n, bytes);
    for (int r = 1; r < n; r++)
        program_send(p, device, (device + r) % n, bytes);
}

/* A file of the text; the caller unlinks path. */
static void write_file(const char *text, char *path)
{
    int fd = mkstemps(path, 5);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

qh_status test_net_status(const char *text, int n_devices, qh_netmodel **out)
{
    char path[] = "/tmp/qh_netXXXXXX.yaml";
    qh_status st;

    write_file(text, path);
    st = qh_netmodel_open(path, n_devices, out);
    unlink(path);
    return st;
}

qh_netmodel *test_net(const char *text, int n_devices)
{
    qh_netmodel *m = NULL;

    ck_assert_msg(test_net_status(text, n_devices, &m) == QH_OK, "%s", qh_error_text());
    return m;
}

qh_status test_accelerator_status(const char *text, qh_accelerator **out)
{
    char path[] = "/tmp/qh_accXXXXXX.yaml";
    qh_status st;

    write_file(text, path);
    st = qh_accelerator_open(path, out);
    unlink(path);
    return st;
}

qh_accelerator *test_accelerator(const char *text)
{
    qh_accelerator *a = NULL;

    ck_assert_msg(test_accelerator_status(text, &a) == QH_OK, "%s", qh_error_text());
    return a;
}

static void on_epoch(void *ctx, const qh_epoch_times *t)
{
    outcome *o = ctx;

    ck_assert_int_lt(o->n_epochs, PROGRAM_EPOCHS);
    o->epoch[o->n_epochs] = *t;
    o->epoch[o->n_epochs].device = NULL; /* was only lent */
    memcpy(o->sums[o->n_epochs], t->device, (size_t)o->n_devices * sizeof *t->device);
    o->n_epochs++;
}

static void on_interval(void *ctx, const qh_interval *i)
{
    outcome *o = ctx;
    uint64_t word[] = {(uint64_t)i->stream,        (uint64_t)i->start,
                       (uint64_t)i->end,           i->record->op,
                       (uint64_t)i->record->epoch, (uint64_t)i->record->peer,
                       (uint64_t)i->record->bytes};

    for (size_t k = 0; k < QH_COUNT(word); k++) /* FNV-1a, a word at a time */
        o->interval_hash[i->device] =
            (o->interval_hash[i->device] ^ word[k]) * UINT64_C(0x100000001b3);
    o->disorder += i->end < o->last_end[i->device] || i->start > i->end;
    o->last_end[i->device] = i->end;
    o->n_intervals++;
}

/* How many of the records from first on are fed at once. */
static int64_t portion(const run_options *o, const qh_record_list *l, int64_t first, uint64_t draw)
{
    int64_t n = 0;

    if (o->feed == FEED_ALL)
        return l->n - first;
    if (o->feed == FEED_RANDOM) {
        n = (int64_t)qh_rand_below(qh_rand_key(o->seed, QH_RAND_SAMPLE, 1, 0, 0), draw, 6);
        return n < l->n - first ? n : l->n - first;
    }
    while (first + n < l->n && l->item[first + n].op != QH_OP_EPOCH_END)
        n++;
    return first + n < l->n ? n + 1 : n;
}

static qh_status feed_and_run(qh_engine *e, const program *p, const run_options *o)
{
    int64_t fed[PROGRAM_DEVICES] = {0}, left = 1;
    uint64_t draw = 0;
    qh_status st = QH_OK;

    while (left > 0) {
        left = 0;
        for (int d = 0; d < p->n_devices; d++) {
            int64_t n = portion(o, &p->device[d], fed[d], draw++);

            QH_TRY(st, qh_engine_feed(e, d, p->device[d].item + fed[d], n));
            fed[d] += n;
            left += p->device[d].n - fed[d];
            if (o->feed == FEED_RANDOM)
                QH_TRY(st, qh_engine_run(e));
        }
        QH_TRY(st, qh_engine_run(e));
    }
    QH_TRY(st, qh_engine_finish(e));
out:
    return st;
}

void program_run(const program *p, const run_options *o, outcome *out)
{
    qh_accelerator *a = test_accelerator(o->accelerator ? o->accelerator : test_plain_accelerator);
    qh_netmodel *net = p->n_devices > 1 ? test_net(o->net, p->n_devices) : NULL;
    qh_engine_config c = {
        .n_devices = p->n_devices,
        .net = net,
        .accelerator = a,
        .order = o->order,
        .reduce = o->reduce,
        .path = o->path,
        .timeline = {.interval = o->intervals ? on_interval : NULL, .epoch = on_epoch, .ctx = out}};
    qh_engine *e = NULL;

    memset(out, 0, sizeof *out);
    out->n_devices = p->n_devices;
    ck_assert_int_eq(qh_engine_new(&c, &e), QH_OK);
    out->status = feed_and_run(e, p, o);
    for (int d = 0; d < p->n_devices; d++)
        out->now[d] = qh_engine_now(e, d);
    out->path = qh_engine_path(e);
    qh_engine_free(e);
    qh_netmodel_close(net);
    qh_accelerator_free(a);
}
