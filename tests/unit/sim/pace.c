/* Devices that wait by the wall clock: by closed formulas. That nobody goes on too early is checked
 * each time; that nobody goes on late, of the best of many tries, since a busy machine wakes
 * threads late. */
#include "sim/pace.h"

#include "sim/stopwatch.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

#include <pthread.h>

enum { N = 3, MS = 1000000, TRIES = 40, LATE_NS = 2 * MS };

/* 1 MB/s: 1 kB takes a millisecond. */
static const char plain[] = "model: alphabeta\nlatency: 10ms\nbandwidth: 1MB/s\n";
static const char star[] =
    "model: fairshare\ntopology: star\nlink: {latency: 5ms, bandwidth: 1MB/s}\n";
static const char costly[] =
    "model: loggp\nlatency: 1ms\nbandwidth: 1GB/s\noverhead: 15ms\ngap: 0us\n";

/* --- what lies behind: nothing but what it was given --- */

typedef struct last_sink {
    qh_sink sink;
    int64_t n_records, host_ns;
    pthread_mutex_t lock;
    qh_status end_with;
} last_sink;

static void keep(qh_sink *sink, int rank, const qh_record *r)
{
    last_sink *l = (last_sink *)sink;

    (void)rank;
    pthread_mutex_lock(&l->lock);
    l->n_records++;
    l->host_ns = r->host_ns;
    pthread_mutex_unlock(&l->lock);
}

static qh_status end_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *m, int *stop)
{
    (void)rank;
    (void)m;
    (void)stop;
    return ((last_sink *)sink)->end_with;
}

/* --- devices --- */

typedef struct world {
    qh_pace *pace;
    qh_accelerator *accelerator;
    qh_netmodel *net;
    last_sink last;
    double scale[N];
} world;

typedef void (*program_of)(world *w, int rank);

typedef struct device {
    world *world;
    program_of run;
    int rank;
    pthread_t thread;
    int64_t end_ns;
} device;

static void open_world(world *w, const char *net)
{
    qh_pace_config c;

    *w = (world){.last = {.sink = {.emit = keep, .end_epoch = end_epoch}}, .scale = {1, 1, 1}};
    pthread_mutex_init(&w->last.lock, NULL);
    w->accelerator = test_accelerator(test_plain_accelerator);
    w->net = test_net(net, N);
    c = (qh_pace_config){.next = &w->last.sink,
                         .engine = {.n_devices = N,
                                    .net = w->net,
                                    .accelerator = w->accelerator,
                                    .compute_scale = w->scale}};
    ck_assert_int_eq(qh_pace_new(&c, &w->pace), QH_OK);
}

static void close_world(world *w)
{
    qh_pace_free(w->pace);
    qh_netmodel_close(w->net);
    qh_accelerator_free(w->accelerator);
    pthread_mutex_destroy(&w->last.lock);
}

static void emit(world *w, int rank, int op, int peer, int64_t bytes)
{
    qh_record r = {.op = (uint8_t)op, .peer = peer, .bytes = bytes};
    qh_sink *s = qh_pace_sink(w->pace);

    s->emit(s, rank, &r);
}

static void sleep_ns(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void *device_main(void *ctx)
{
    device *d = ctx;

    qh_pace_begin(d->world->pace, d->rank);
    d->run(d->world, d->rank);
    d->end_ns = qh_wall_ns();
    return NULL;
}

/* took_ns: of each device, since before any of them began. */
static void run_all(world *w, program_of run, int64_t *took_ns)
{
    int64_t start = qh_wall_ns();
    device d[N];

    for (int i = 0; i < N; i++) {
        d[i] = (device){.world = w, .run = run, .rank = i};
        ck_assert_int_eq(pthread_create(&d[i].thread, NULL, device_main, &d[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(d[i].thread, NULL);
        took_ns[i] = d[i].end_ns - start;
    }
}

/* --- programs, and how long each device takes in them at least --- */

static void one_block(world *w, int rank)
{
    if (rank == 0)
        emit(w, 0, QH_OP_SEND, 1, 10000);
    if (rank != 1)
        return;
    emit(w, 1, QH_OP_RECV, 0, 10000);
    emit(w, 1, QH_OP_WAIT, -1, 0);
}

static void incast(world *w, int rank)
{
    if (rank > 0) {
        emit(w, rank, QH_OP_SEND, 0, 10000);
        return;
    }
    emit(w, 0, QH_OP_RECV, 1, 10000);
    emit(w, 0, QH_OP_RECV, 2, 10000);
    emit(w, 0, QH_OP_WAIT, -1, 0);
}

static void hidden(world *w, int rank)
{
    if (rank == 0)
        emit(w, 0, QH_OP_SEND, 1, 10000);
    if (rank != 1)
        return;
    emit(w, 1, QH_OP_RECV, 0, 10000);
    sleep_ns(40 * MS); /* computing; the block is there by then */
    emit(w, 1, QH_OP_WAIT, -1, 0);
}

static void sum(world *w, int rank)
{
    emit(w, rank, QH_OP_ALLREDUCE, -1, 3000);
}

static void computing(world *w, int rank)
{
    sleep_ns(10 * MS);
    emit(w, rank, QH_OP_GEMM, -1, 0);
    emit(w, rank, QH_OP_RECV, (rank + 1) % N, 0);
}

static const struct {
    const char *net;
    program_of run;
    int64_t least_ms[N];
    double scale;
} rows[] = {
    {plain, one_block, {0, 20, 0}, 1},
    {plain, incast, {20, 0, 0}, 1},
    {star, incast, {30, 0, 0}, 1},       /* both through one port: 10 + 2 * 10 */
    {plain, hidden, {0, 40, 0}, 1},      /* not 60 */
    {costly, one_block, {15, 31, 0}, 1}, /* the sender is held for o; o + L + o */
    {plain, sum, {44, 44, 44}, 1},       /* 2 (N - 1) steps of 10 ms and 1 kB */
    {plain, computing, {10, 10, 10}, 1},
    {plain, computing, {10, 25, 10}, 2.5}, /* device 1 is slow */
};

/* By how much this machine oversleeps. */
static int64_t lateness(void)
{
    int64_t start = qh_wall_ns();

    sleep_ns(MS);
    return qh_wall_ns() - start - MS;
}

START_TEST(waits_are_as_long_as_the_network_says)
{
    int64_t best = INT64_MAX, slack = 0;

    for (int i = 0; i < TRIES && best > LATE_NS; i++) {
        int64_t took[N], late = 0;
        world w;

        open_world(&w, rows[_i].net);
        w.scale[1] = rows[_i].scale;
        run_all(&w, rows[_i].run, took);
        close_world(&w);
        for (int d = 0; d < N; d++) {
            int64_t after = took[d] - rows[_i].least_ms[d] * MS;

            ck_assert_msg(after >= 0, "device %d took %lld ns", d, (long long)took[d]);
            late = after > late ? after : late;
        }
        best = late < best ? late : best;
        late = lateness();
        slack = late > slack ? late : slack;
    }
    ck_assert_msg(best <= LATE_NS + 4 * slack, "%lld ns late at best, a plain sleep %lld at worst",
                  (long long)best, (long long)slack);
}
END_TEST

/* While all are outside their epochs the network stands still. */
START_TEST(evaluation_is_no_time_to_travel)
{
    qh_epoch_metrics m = {0};
    qh_sink *s;
    int stop = 0;
    int64_t start, took;
    world w;

    open_world(&w, plain);
    s = qh_pace_sink(w.pace);
    qh_pace_begin(w.pace, 0);
    qh_pace_begin(w.pace, 1);
    emit(&w, 0, QH_OP_SEND, 1, 200000); /* 210 ms */
    emit(&w, 1, QH_OP_RECV, 0, 200000);
    emit(&w, 0, QH_OP_EPOCH_END, -1, 0);
    emit(&w, 1, QH_OP_EPOCH_END, -1, 0);
    start = qh_wall_ns();
    sleep_ns(30 * MS);
    ck_assert_int_eq(s->end_epoch(s, 0, &m, &stop), QH_OK);
    ck_assert_int_eq(s->end_epoch(s, 1, &m, &stop), QH_OK);
    emit(&w, 1, QH_OP_WAIT, -1, 0);
    took = qh_wall_ns() - start;
    /* What had passed before both ended is to be less than 150 ms, on the busiest machine. */
    ck_assert_msg(took > 30 * MS + 60 * MS, "%lld ns", (long long)took);
    close_world(&w);
}
END_TEST

static void *wait_for_nothing(void *ctx)
{
    world *w = ctx;

    emit(w, 1, QH_OP_RECV, 0, 10000);
    emit(w, 1, QH_OP_WAIT, -1, 0);
    return NULL;
}

START_TEST(a_failure_wakes_who_waits)
{
    pthread_t thread;
    world w;

    open_world(&w, plain);
    qh_pace_begin(w.pace, 0);
    qh_pace_begin(w.pace, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_nothing, &w), 0);
    sleep_ns(5 * MS);
    qh_pace_break(w.pace);
    pthread_join(thread, NULL);
    emit(&w, 0, QH_OP_WAIT, -1, 0); /* nobody waits any more */
    ck_assert_int_eq(w.last.n_records, 3);
    close_world(&w);
}
END_TEST

START_TEST(the_engines_failure_comes_out)
{
    qh_epoch_metrics m = {0};
    pthread_t thread;
    qh_sink *s;
    int stop = 0;
    world w;

    open_world(&w, plain);
    s = qh_pace_sink(w.pace);
    qh_pace_begin(w.pace, 0);
    qh_pace_begin(w.pace, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_nothing, &w), 0);
    emit(&w, 0, QH_OP_SEND, 77, 1);
    pthread_join(thread, NULL);
    qh_error_set_text("");
    ck_assert_int_eq(s->end_epoch(s, 1, &m, &stop), QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), "peer 77") != NULL, "%s", qh_error_text());
    close_world(&w);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("pace");
    TCase *t = tcase_create("pace");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, waits_are_as_long_as_the_network_says, 0, (int)QH_COUNT(rows));
    tcase_add_test(t, evaluation_is_no_time_to_travel);
    tcase_add_test(t, a_failure_wakes_who_waits);
    tcase_add_test(t, the_engines_failure_comes_out);
    suite_add_tcase(s, t);
    return s;
}
