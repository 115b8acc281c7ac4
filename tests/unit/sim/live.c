/* A live engine gives the instants that the other one gives: devices that are driven through the
 * same records, each at the instant at which they come to it, are let go at the same picosecond. */
#include "src/base/rng.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const nets[] = {
    "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\n",
    "model: alphabeta\nlatency: 5us\nbandwidth: 1GB/s\nstaging: true\n",
    "model: loggp\nlatency: 10us\nbandwidth: 1GB/s\noverhead: 2us\ngap: 1us\n",
    "model: fairshare\ntopology: two-level\ndevices_per_node: 2\n"
    "device: {latency: 2us, bandwidth: 1GB/s}\nnic: {latency: 5us, bandwidth: 500MB/s}\n",
    "model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 1GB/s}\n"
    "outages: [{device: 2, from: 50us, to: 180us}]\njitter: {delay: 20us}\n",
};

enum { N = 4, EPOCHS = 5 };

static int64_t draw(uint64_t seed, int64_t below)
{
    static uint64_t n;

    return (int64_t)qh_rand_below(qh_rand_key(seed, QH_RAND_SAMPLE, 7, 0, 0), n++, (uint64_t)below);
}

/* Exchanges of odd sizes with computing before, inside and after them, and an all-reduce. */
static void build(program *p, uint64_t seed)
{
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int layer = 0; layer < 3; layer++) {
            int64_t bytes = 1 + draw(seed, 100000);

            for (int d = 0; d < N; d++) {
                program_at(epoch, layer, layer % 2 ? QH_BACKWARD : QH_FORWARD);
                program_compute(p, d, QH_OP_SPMM, draw(seed, 90000000));
                program_exchange(p, d, bytes);
                program_compute(p, d, QH_OP_GEMM, draw(seed, 90000000));
                program_wait(p, d);
                program_compute(p, d, QH_OP_DEQUANTIZE, draw(seed, 9000000));
                if (layer == 2) {
                    program_reduce(p, d, 40000);
                    program_end(p, d);
                }
            }
        }
}

/* What the engine does not know: how long a device computes. */
typedef struct driven {
    int64_t next;
    qh_time ready; /* it comes to its next record then */
    bool held;     /* it is let go at an instant that only the engine knows */
} driven;

static void let_go(qh_engine *e, driven *d, qh_time now)
{
    for (int i = 0; i < N; i++)
        if (d[i].held && qh_engine_is_idle(e, i)) {
            d[i].held = false;
            d[i].ready = now;
        }
}

static int first_ready(const program *p, const driven *d)
{
    int first = -1;

    for (int i = 0; i < N; i++)
        if (!d[i].held && d[i].next < p->device[i].n && (first < 0 || d[i].ready < d[first].ready))
            first = i;
    return first;
}

static void drive(qh_engine *e, const program *p, driven *d)
{
    ck_assert_int_eq(qh_engine_run_until(e, 0), QH_OK);
    for (;;) {
        int i = first_ready(p, d);
        qh_time next = qh_engine_next(e);
        const qh_record *r;

        if (i < 0 && next == QH_TIME_NEVER)
            return;
        if (i < 0 || next <= d[i].ready) {
            ck_assert_int_eq(qh_engine_run_until(e, next), QH_OK);
            let_go(e, d, next);
            continue;
        }
        r = &p->device[i].item[d[i].next++];
        if (r->op < QH_OP_SEND) {
            d[i].ready += r->flops;
        } else if (r->op != QH_OP_EPOCH_END) {
            ck_assert_msg(qh_engine_do(e, i, d[i].ready, r) == QH_OK, "%s", qh_error_text());
            d[i].held = !qh_engine_is_idle(e, i);
        }
    }
}

START_TEST(instants_are_the_same)
{
    int last = strstr(nets[_i], "two-level") ? QH_REDUCE_HIERARCHICAL : QH_REDUCE_TREE;

    for (int order = 0; order < 2; order++)
        for (int reduce = QH_REDUCE_RING; reduce <= last; reduce++) {
            uint64_t seed = (uint64_t)(100 * _i + 10 * order + reduce);
            run_options o = {.net = nets[_i],
                             .order = (qh_exchange_order)order,
                             .reduce = (qh_reduce_kind)reduce};
            qh_engine_config c = {.n_devices = N,
                                  .order = o.order,
                                  .reduce = o.reduce,
                                  .live = true,
                                  .net = test_net(nets[_i], N)};
            qh_accelerator *a = test_accelerator(test_plain_accelerator);
            program p = {.n_devices = N};
            driven d[N] = {{0}};
            qh_engine *e = NULL;
            static outcome out;

            build(&p, seed);
            program_run(&p, &o, &out);
            ck_assert_int_eq(out.status, QH_OK);
            c.accelerator = a;
            ck_assert_int_eq(qh_engine_new(&c, &e), QH_OK);
            drive(e, &p, d);
            for (int i = 0; i < N; i++) {
                ck_assert_int_eq(d[i].next, p.device[i].n);
                ck_assert_msg(d[i].ready == out.now[i],
                              "order %d, reduce %d, device %d: %lld, %lld", order, reduce, i,
                              (long long)d[i].ready, (long long)out.now[i]);
            }
            qh_engine_free(e);
            qh_netmodel_close(c.net);
            qh_accelerator_free(a);
            program_fini(&p);
        }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("live");
    TCase *t = tcase_create("live");

    tcase_add_loop_test(t, instants_are_the_same, 0, (int)QH_COUNT(nets));
    suite_add_tcase(s, t);
    return s;
}
