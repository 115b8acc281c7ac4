/* Random programs: the portions in which records are fed do not matter, intervals asked for or not
 * do not matter, sums hold, and without contention the instants are those of a plain recurrence
 * that knows no events. */
#include "tests/support/program.h"
#include "tests/support/support.h"

#include "src/base/mem.h"
#include "src/base/rng.h"

#include <string.h>

enum { US = 1000000, N_SEEDS = 60, EPOCHS = 5 };

static const char *const nets[] = {
    "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n",
    ("model: alphabeta\nnodes:\n  devices_per_node: 2\n"
     "  intra: {latency: 0us, bandwidth: 1GB/s}\n  inter: {latency: 4us, bandwidth: 1GB/s}\n"),
    "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\nstaging: true\n",
    "model: loggp\nlatency: 5us\noverhead: 1us\ngap: 1us\nbandwidth: 1GB/s\n",
    "model: loggp\nlatency: 0us\noverhead: 0us\ngap: 0us\nbandwidth: 1GB/s\nstaging: true\n",
};

static uint64_t draw(uint64_t seed, uint64_t stream, uint64_t index, uint64_t below)
{
    return qh_rand_below(qh_rand_key(seed, QH_RAND_SAMPLE, (uint32_t)stream, 7, 0), index, below);
}

/* Bytes from a to b, the same for both ends; -1: no block. Many equal ones, so that events tie. */
static int64_t block_bytes(uint64_t seed, int epoch, int layer, int a, int b)
{
    static const int64_t sizes[] = {-1, 0, 1000, 1000, 1000, 2000, 5000};

    return sizes[draw(seed, (uint64_t)(epoch * 8 + layer), (uint64_t)(a * 64 + b), 7)];
}

static void random_compute(program *p, int d, uint64_t seed, uint64_t *i)
{
    static const int ops[] = {QH_OP_SPMM, QH_OP_QUANTIZE, QH_OP_DEQUANTIZE, QH_OP_ASSIGN,
                              QH_OP_LOSS};
    uint64_t slow = d == (int)(seed % 5) ? 20 : 1; /* one device may be much slower */

    for (uint64_t n = draw(seed, 100 + (uint64_t)d, (*i)++, 3); n > 0; n--) {
        int op = ops[draw(seed, 100 + (uint64_t)d, (*i)++, QH_COUNT(ops))];
        qh_time span = (qh_time)(draw(seed, 100 + (uint64_t)d, (*i)++, 4) * slow) * US;

        program_compute(p, d, op, span);
    }
}

static void exchange(program *p, int d, uint64_t seed, int t, int layer, uint64_t *i)
{
    int n = p->n_devices;

    program_at(t, layer, layer % 2);
    for (int r = 1; r < n; r++)
        if (block_bytes(seed, t, layer, (d - r + n) % n, d) >= 0)
            program_recv(p, d, (d - r + n) % n, block_bytes(seed, t, layer, (d - r + n) % n, d));
    for (int r = 1; r < n; r++) {
        if (draw(seed, 200 + (uint64_t)d, (*i)++, 4) == 0)
            random_compute(p, d, seed, i);
        if (block_bytes(seed, t, layer, d, (d + r) % n) >= 0)
            program_send(p, d, (d + r) % n, block_bytes(seed, t, layer, d, (d + r) % n));
    }
}

/* Layers are waited for at once, or one epoch later (stale); all-reduce or not. */
static void random_program(program *p, uint64_t seed)
{
    bool stale = seed % 3 == 1, reduces = seed % 4 != 2;

    p->n_devices = 1 + (int)draw(seed, 1, 0, 7);
    for (int d = 0; d < p->n_devices; d++) {
        uint64_t i = 0;

        for (int t = 0; t < EPOCHS; t++) {
            for (int layer = 0; layer < 3; layer++) {
                random_compute(p, d, seed, &i);
                exchange(p, d, seed, t, layer, &i);
                random_compute(p, d, seed, &i);
                program_at(stale ? t - 1 : t, layer, layer % 2);
                program_wait(p, d);
            }
            program_at(t, 0, 0);
            if (reduces)
                program_reduce(p, d, 7777);
            random_compute(p, d, seed, &i);
            program_end(p, d);
        }
    }
}

static void same(const outcome *a, const outcome *b, uint64_t seed)
{
    ck_assert_int_eq(a->status, b->status);
    ck_assert_int_eq(a->n_epochs, b->n_epochs);
    for (int d = 0; d < a->n_devices; d++)
        ck_assert_msg(a->now[d] == b->now[d], "seed %d, device %d: %lld and %lld", (int)seed, d,
                      (long long)a->now[d], (long long)b->now[d]);
    for (int64_t t = 0; t < a->n_epochs; t++) {
        ck_assert_int_eq(a->epoch[t].start, b->epoch[t].start);
        ck_assert_int_eq(a->epoch[t].end, b->epoch[t].end);
        ck_assert_mem_eq(a->sums[t], b->sums[t], (size_t)a->n_devices * sizeof a->sums[t][0]);
    }
}

/* The critical path is as long as the run, whatever was fed when, and following it changes nothing.
 */
static void check_path(const outcome *o, const outcome *without, uint64_t seed)
{
    qh_time last = 0;

    same(o, without, seed);
    for (int d = 0; d < o->n_devices; d++)
        last = o->now[d] > last ? o->now[d] : last;
    ck_assert_msg(qh_path_end(&o->path) == last, "seed %d: a path of %lld, a run of %lld",
                  (int)seed, (long long)qh_path_end(&o->path), (long long)last);
    for (int i = 0; i < QH_PATH_PARTS; i++)
        ck_assert_int_ge(o->path.part[i], 0);
}

static void check_sums(const outcome *o)
{
    for (int64_t t = 0; t < o->n_epochs; t++)
        for (int d = 0; d < o->n_devices; d++) {
            const qh_breakdown *b = &o->sums[t][d];

            ck_assert_int_eq(b->compute + b->quantize + b->dequantize + b->assign +
                                 b->exposed_comm + b->allreduce + b->idle,
                             b->total);
            ck_assert_int_ge(b->idle, 0);
            ck_assert_int_ge(b->comm, 0);
            ck_assert_int_le(b->comm, b->total);
        }
}

START_TEST(portions_do_not_matter)
{
    static outcome all, other, told, told_random;
    uint64_t seed = (uint64_t)_i / 2;
    program p = {0};
    run_options options = {.net = nets[seed % QH_COUNT(nets)],
                           .order = _i % 2 ? QH_EXCHANGE_ROUNDS : QH_EXCHANGE_POSTED,
                           .seed = seed};

    random_program(&p, seed);
    program_run(&p, &options, &all);
    ck_assert_msg(all.status == QH_OK, "seed %d: %s", (int)seed, qh_error_text());
    ck_assert_int_eq(all.n_epochs, EPOCHS);
    check_sums(&all);
    options.feed = FEED_EPOCHS;
    program_run(&p, &options, &other);
    same(&all, &other, seed);
    options.path = true;
    program_run(&p, &options, &other);
    check_path(&other, &all, seed);
    options.feed = FEED_RANDOM;
    program_run(&p, &options, &told);
    check_path(&told, &all, seed);
    ck_assert_mem_eq(&told.path, &other.path, sizeof told.path);
    options.path = false;
    options.feed = FEED_RANDOM;
    program_run(&p, &options, &other);
    same(&all, &other, seed);
    options.intervals = 1;
    program_run(&p, &options, &told_random);
    same(&all, &told_random, seed);
    options.feed = FEED_ALL;
    program_run(&p, &options, &told);
    same(&all, &told, seed);
    ck_assert_int_eq(told.disorder + told_random.disorder, 0);
    ck_assert_int_eq(told.n_intervals, told_random.n_intervals);
    ck_assert_mem_eq(told.interval_hash, told_random.interval_hash, sizeof told.interval_hash);
    program_fini(&p);
}
END_TEST

/* --- the recurrence --- */

typedef struct naive {
    const program *p;
    qh_time alpha, now[PROGRAM_DEVICES];
    int64_t at[PROGRAM_DEVICES];
} naive;

/* The instants of the SENDs that are done, by device and record. */
static qh_time sent[PROGRAM_DEVICES][4096];

/* The record of the k-th SEND of a device to peer. */
static int64_t nth(const program *p, int device, int op, int peer, int64_t k)
{
    const qh_record_list *l = &p->device[device];

    for (int64_t i = 0; i < l->n; i++)
        if (l->item[i].op == op && l->item[i].peer == peer && k-- == 0)
            return i;
    ck_abort_msg("a program without the other half");
    return -1;
}

static bool same_exchange(const qh_record *a, const qh_record *b)
{
    return a->epoch == b->epoch && a->layer == b->layer && a->direction == b->direction;
}

/* The arrival of the last block that the WAIT at index `at` waits for; -1: not known yet. */
static qh_time wait_until(const naive *w, int d, int64_t at)
{
    const qh_record_list *l = &w->p->device[d];
    int64_t seen[PROGRAM_DEVICES] = {0};
    qh_time last = 0;

    for (int64_t i = 0; i < at; i++) {
        const qh_record *r = &l->item[i];

        if (r->op != QH_OP_RECV)
            continue;
        if (same_exchange(r, &l->item[at])) {
            int64_t s = nth(w->p, r->peer, QH_OP_SEND, d, seen[r->peer]);
            qh_time arrival = sent[r->peer][s] + w->alpha + r->bytes * 1000;

            if (w->at[r->peer] <= s)
                return -1;
            last = arrival > last ? arrival : last;
        }
        seen[r->peer]++;
    }
    return last;
}

/* All devices stand at their all-reduce: 2 (n - 1) steps, each ending when a device's own chunk
 * and the one of the device before have been sent. */
static void ring(naive *w, int64_t bytes)
{
    int n = w->p->n_devices;

    for (int s = 0; s < 2 * (n - 1); s++) {
        qh_time sent_at[PROGRAM_DEVICES];

        for (int d = 0; d < n; d++) {
            int chunk = ((d - s) % n + n) % n;

            sent_at[d] = w->now[d] + w->alpha + (bytes / n + (chunk < bytes % n)) * 1000;
        }
        for (int d = 0; d < n; d++) {
            qh_time other = sent_at[(d + n - 1) % n];

            w->now[d] = sent_at[d] > other ? sent_at[d] : other;
        }
    }
    for (int d = 0; d < n; d++)
        w->at[d]++;
}

/* One record of a device, if its instant can be known; how many were done. */
static int naive_step(naive *w, int d)
{
    const qh_record_list *l = &w->p->device[d];
    const qh_record *r = &l->item[w->at[d]];
    qh_time until;

    if (w->at[d] == l->n || r->op == QH_OP_ALLREDUCE)
        return 0;
    if (r->op == QH_OP_SEND)
        sent[d][w->at[d]] = w->now[d];
    if (r->op < QH_OP_SEND)
        w->now[d] += r->flops;
    if (r->op == QH_OP_WAIT) {
        until = wait_until(w, d, w->at[d]);
        if (until < 0)
            return 0;
        w->now[d] = until > w->now[d] ? until : w->now[d];
    }
    w->at[d]++;
    return 1;
}

static void naive_run(naive *w)
{
    int n = w->p->n_devices, moved;

    do {
        int reducing = 0;

        moved = 0;
        for (int d = 0; d < n; d++) {
            while (naive_step(w, d))
                moved++;
            reducing += w->at[d] < w->p->device[d].n &&
                        w->p->device[d].item[w->at[d]].op == QH_OP_ALLREDUCE;
        }
        if (reducing == n) {
            ring(w, w->p->device[0].item[w->at[0]].bytes);
            moved++;
        }
    } while (moved);
}

START_TEST(the_instants_of_a_plain_recurrence)
{
    static outcome o;
    uint64_t seed = (uint64_t)_i;
    program p = {0};
    naive w = {.p = &p, .alpha = 5 * US};

    random_program(&p, seed);
    program_run(&p, &(run_options){.net = nets[0], .feed = FEED_EPOCHS}, &o);
    ck_assert_msg(o.status == QH_OK, "seed %d: %s", (int)seed, qh_error_text());
    naive_run(&w);
    for (int d = 0; d < p.n_devices; d++) {
        ck_assert_int_le(p.device[d].n, 4096);
        ck_assert_int_eq(w.at[d], p.device[d].n);
        ck_assert_msg(w.now[d] == o.now[d], "seed %d, device %d: %lld, the engine says %lld",
                      (int)seed, d, (long long)w.now[d], (long long)o.now[d]);
    }
    program_fini(&p);
}
END_TEST

START_TEST(no_allocation_once_warm)
{
    program p = {.n_devices = 5};
    qh_accelerator *a = test_accelerator(test_plain_accelerator);
    qh_netmodel *net = test_net(nets[_i % (int)QH_COUNT(nets)], p.n_devices);
    qh_engine_config c = {.n_devices = p.n_devices,
                          .net = net,
                          .accelerator = a,
                          .order = _i % 2 ? QH_EXCHANGE_ROUNDS : QH_EXCHANGE_POSTED};
    qh_engine *e = NULL;
    int64_t before = 0;

    program_at(0, 0, QH_FORWARD);
    for (int d = 0; d < p.n_devices; d++) {
        program_compute(&p, d, QH_OP_SPMM, (d + 1) * US);
        program_exchange(&p, d, 1000);
        program_wait(&p, d);
        program_reduce(&p, d, 4000);
        program_end(&p, d);
    }
    ck_assert_int_eq(qh_engine_new(&c, &e), QH_OK);
    for (int t = 0; t < 40; t++) {
        if (t == 2)
            before = qh_mem_count();
        for (int d = 0; d < p.n_devices; d++)
            ck_assert_int_eq(qh_engine_feed(e, d, p.device[d].item, p.device[d].n), QH_OK);
        ck_assert_int_eq(qh_engine_run(e), QH_OK);
    }
    ck_assert_int_eq(qh_engine_finish(e), QH_OK);
    ck_assert_int_eq(qh_mem_count(), before);
    qh_engine_free(e);
    qh_netmodel_close(net);
    qh_accelerator_free(a);
    program_fini(&p);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("engine: random programs");
    TCase *t = tcase_create("random");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, portions_do_not_matter, 0, 2 * N_SEEDS);
    tcase_add_loop_test(t, the_instants_of_a_plain_recurrence, 0, N_SEEDS);
    tcase_add_loop_test(t, no_allocation_once_warm, 0, 2 * (int)QH_COUNT(nets));
    suite_add_tcase(s, t);
    return s;
}
