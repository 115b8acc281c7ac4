/* Every member of the registry is held to the promises of the flow interface, on random flows. */
#include "netmodel/netmodel.h"

#include "netmodel/members.h"
#include "netmodel/wrap.h"
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_FLOWS = 500, N_DEVICES = 7 };

#define AB   "model: alphabeta\nlatency: 3us\nbandwidth: 1GB/s\n"
#define STAR "model: fairshare\ntopology: star\nlink: {latency: 1us, bandwidth: 1GB/s}\n"

/* A description of each member and of each modifier, by name: a new one needs a row here. */
static const struct {
    const char *name, *text;
} described[] = {
    {"alphabeta", "model: alphabeta\nlatency: 3us\nbandwidth: 1GB/s\n"},
    {"loggp", "model: loggp\nnodes:\n  devices_per_node: 3\n  intra: {latency: 1us, bandwidth: "
              "9GB/s}\n  inter: {latency: 3us, bandwidth: 1GB/s}\noverhead: 500ns\ngap: 200ns\n"},
    {"alphabeta", "model: alphabeta\nlatency: 0us\nbandwidth: 1TB/s\n"},
    {"loggp", "model: loggp\nlatency: 0us\nbandwidth: 1TB/s\noverhead: 0us\ngap: 0us\n"},
    {"fairshare", "model: fairshare\ntopology: star\nlink: {latency: 1us, bandwidth: 1GB/s}\n"},
    {"fairshare", "model: fairshare\ntopology: star\nlink: {latency: 0us, bandwidth: 1TB/s}\n"},
    {"fairshare", "model: fairshare\ntopology: two-level\ndevices_per_node: 3\n"
                  "device: {latency: 1us, bandwidth: 3GB/s}\nnic: {latency: 0us, bandwidth: "
                  "1GB/s}\n"},
    {"fairshare", "model: fairshare\ntopology: ring\nlink: {latency: 1us, bandwidth: 1GB/s}\n"},
    {"fairshare", "model: fairshare\ntopology: torus\ndims: [3, 2, 2]\n"
                  "link: {latency: 1us, bandwidth: 1GB/s}\n"},
    {"fairshare", "model: fairshare\ntopology: fat-tree\narity: 2\nlevels: 3\n"
                  "device: {latency: 1us, bandwidth: 1GB/s}\n"
                  "switch: {latency: 1us, bandwidth: 999MB/s}\n"},
    {"fairshare",
     "model: fairshare\ntopology: dragonfly\ndevices_per_router: 1\nrouters_per_group: 3\n"
     "global_links_per_router: 1\n"
     "device: {latency: 1us, bandwidth: 1GB/s}\nlocal: {latency: 1us, bandwidth: 1GB/s}\n"
     "global: {latency: 10us, bandwidth: 500MB/s}\n"},
    {"table", "model: table\npoints: [{bytes: 1B, time: 1us}, {bytes: 1KiB, time: 1us}, "
              "{bytes: 1MB, time: 1ms}]\n"},
    {"table", "model: table\nnodes:\n  devices_per_node: 2\n"
              "  intra: [{bytes: 0B, time: 0us}, {bytes: 1KiB, time: 1us}]\n"
              "  inter: [{bytes: 1kB, time: 3us}, {bytes: 2kB, time: 3us}, {bytes: 3kB, time: "
              "4us}]\n"},
    {"plugin", "model: \"plugin:" BUS_PLUGIN "\"\nbus_MBps: 1000\n"},
    {"jitter", AB "jitter: {delay: 30us, seed: 5}\n"},
    {"slow", AB "slow: [{device: 2, factor: 3}, {device: 0, factor: 0.5}]\n"},
    {"outages", AB "outages: [{device: 1, from: 100us, to: 300us}, {device: 2, from: 200us, to: "
                   "400us}, {device: 1, from: 1ms, to: 1001us}]\n"},
    {"outages", "model: loggp\nlatency: 3us\nbandwidth: 1GB/s\noverhead: 0us\ngap: 200ns\n"
                "outages: [{device: 0, from: 0us, to: 2ms}]\n"},
    {"background", STAR "background: [{src: 0, dst: 1, bytes: 1kB, every: 3us, to: 100ms}, "
                        "{src: 2, dst: 1, bytes: 10B, every: 7us, from: 1ms, to: 90ms}]\n"},
    {"outages", STAR "outages: [{device: 1, from: 100us, to: 300us}, {link: device 2 in, from: "
                     "200us, to: 400us}]\n"},
    {"slow", STAR "slow: [{device: 6, factor: 3}]\njitter: {delay: 10us}\n"
                  "outages: [{device: 6, from: 1ms, to: 2ms}]\n"
                  "background: [{src: 3, dst: 6, bytes: 1kB, every: 9us, to: 50ms}]\n"},
};

static qh_netmodel *open_row(size_t i)
{
    char path[] = "/tmp/qh_netXXXXXX.yaml";
    int fd = mkstemps(path, 5);
    qh_netmodel *m = NULL;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, described[i].text, strlen(described[i].text)),
                     (ssize_t)strlen(described[i].text));
    close(fd);
    ck_assert_int_eq(qh_netmodel_open(path, N_DEVICES, &m), QH_OK);
    unlink(path);
    return m;
}

/* Flow number k of a seed: sizes include 0, 1 and equal ones; several start at one instant. */
static qh_flow flow_of(uint64_t seed, int64_t k, qh_time *start)
{
    static const int64_t sizes[] = {0, 1, 2, 1000, 1000, 1023, 65536, 1000003};
    qh_key key = qh_rand_key(seed, QH_RAND_SAMPLE, 0, 0, 0);
    int32_t src = (int32_t)qh_rand_below(key, (uint64_t)(4 * k), N_DEVICES);
    int32_t hop = 1 + (int32_t)qh_rand_below(key, (uint64_t)(4 * k + 1), N_DEVICES - 1);

    *start += qh_rand_below(key, (uint64_t)(4 * k + 2), 3) ? 0 : 40000000;
    return (qh_flow){.id = 10 * k,
                     .src = src,
                     .dst = (src + hop) % N_DEVICES,
                     .bytes = sizes[qh_rand_below(key, (uint64_t)(4 * k + 3), QH_COUNT(sizes))]};
}

typedef struct run {
    qh_time finish[N_FLOWS], start[N_FLOWS];
    qh_flow flow[N_FLOWS];
    int64_t n_finished;
    bool in_order; /* no modifier holds flows back */
} run;

/* Moves the model on to everything due at or before until; capacity cuts the answers short. */
static void drain(qh_netmodel *m, qh_time until, int64_t capacity, run *r)
{
    int64_t done[N_FLOWS];

    while (m->ops->next(m) <= until && m->ops->next(m) != QH_TIME_NEVER) {
        qh_time now = m->ops->next(m);
        int64_t n, last = -1;

        while ((n = m->ops->advance(m, now, done, capacity)) > 0)
            for (int64_t i = 0; i < n; i++) {
                ck_assert_int_eq(r->finish[done[i] / 10], -1); /* once */
                ck_assert(!r->in_order || done[i] > last);     /* in the order of starts */
                last = done[i];
                r->finish[done[i] / 10] = now;
                r->n_finished++;
            }
        ck_assert_int_gt(m->ops->next(m), now);
    }
}

static void play(qh_netmodel *m, uint64_t seed, int64_t capacity, run *r)
{
    qh_time now = 0;

    memset(r, 0, sizeof *r);
    r->in_order = strcmp(m->ops->name, described[seed].name) == 0;
    for (int64_t k = 0; k < N_FLOWS; k++) {
        r->flow[k] = flow_of(seed, k, &now);
        r->start[k] = now;
        r->finish[k] = -1;
        drain(m, now, capacity, r);
        ck_assert_int_eq(m->ops->start(m, now, &r->flow[k]), QH_OK);
    }
    drain(m, QH_TIME_NEVER - 1, capacity, r);
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER);
}

START_TEST(every_flow_finishes_once_and_never_early)
{
    static run a, b;
    qh_netmodel *m = open_row((size_t)_i), *again = open_row((size_t)_i);
    int64_t late = 0;

    play(m, (uint64_t)_i, N_FLOWS, &a);
    play(again, (uint64_t)_i, 1, &b);
    ck_assert_int_eq(a.n_finished, N_FLOWS);
    for (int64_t k = 0; k < N_FLOWS; k++) {
        qh_flow f = a.flow[k];
        qh_time alone = m->ops->alone(m, f.src, f.dst, f.bytes);

        ck_assert_int_eq(a.finish[k], b.finish[k]); /* and whatever the capacity */
        ck_assert_int_ge(a.finish[k], a.start[k] + alone);
        late += a.finish[k] > a.start[k] + alone;
    }
    if (strcmp(m->ops->name, described[_i].name) == 0 && !m->ops->contention)
        ck_assert_int_eq(late, 0); /* no modifier, nothing shared */
    qh_netmodel_close(again);
    qh_netmodel_close(m);
}
END_TEST

START_TEST(no_allocation_once_warm)
{
    qh_netmodel *m = open_row((size_t)_i);
    qh_flow f = {.id = 0, .src = 0, .dst = 1, .bytes = 4096};
    int64_t before, done;
    qh_time now = 0;

    for (f.id = 0; f.id < 50; f.id++)
        ck_assert_int_eq(m->ops->start(m, now, &f), QH_OK);
    before = 0;
    for (int64_t n = 0; n < 20000;) {
        if (n < 8000)
            before = qh_mem_count();
        now = m->ops->next(m);
        while (m->ops->advance(m, now, &done, 1) > 0) {
            n++;
            f.id = done;
            ck_assert_int_eq(m->ops->start(m, now, &f), QH_OK);
        }
    }
    ck_assert_int_eq(qh_mem_count(), before);
    qh_netmodel_close(m);
}
END_TEST

START_TEST(every_member_is_described_and_complete)
{
    for (int64_t i = 0; i < qh_net_members_count; i++) {
        const qh_netmodel_ops *ops = qh_net_members[i];
        int found = 0;

        for (size_t k = 0; k < QH_COUNT(described); k++)
            found |= strcmp(described[k].name, ops->name) == 0;
        ck_assert_msg(found, "no description of %s here", ops->name);
        ck_assert(ops->help && ops->open && ops->close && ops->start && ops->next && ops->advance &&
                  ops->alone && ops->show);
        ck_assert_str_eq(qh_net_model_name(i), ops->name);
    }
    for (int64_t i = 0; i < qh_net_modifiers_count; i++) {
        int found = 0;

        for (size_t k = 0; k < QH_COUNT(described); k++)
            found |= strcmp(described[k].name, qh_net_modifiers[i]->key) == 0;
        ck_assert_msg(found, "no description with %s here", qh_net_modifiers[i]->key);
    }
}
END_TEST

START_TEST(time_ends_after_106_days)
{
    qh_netmodel *m = open_row((size_t)_i);
    qh_flow f = {.id = 1, .src = 0, .dst = 6, .bytes = INT64_MAX};

    ck_assert_int_eq(m->ops->start(m, QH_TIME_NEVER / 2, &f), QH_EINPUT);
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER);
    qh_netmodel_close(m);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("netmodel flows");
    TCase *t = tcase_create("flows");

    tcase_add_loop_test(t, every_flow_finishes_once_and_never_early, 0, (int)QH_COUNT(described));
    tcase_add_loop_test(t, no_allocation_once_warm, 0, (int)QH_COUNT(described));
    tcase_add_test(t, every_member_is_described_and_complete);
    tcase_add_loop_test(t, time_ends_after_106_days, 0, (int)QH_COUNT(described));
    suite_add_tcase(s, t);
    return s;
}
