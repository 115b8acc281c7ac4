/* Modifiers and measured tables by hand, and every way to write them wrong. */
#include "netmodel/netmodel.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define US   INT64_C(1000000)
#define AB   "model: alphabeta\nlatency: 10us\nbandwidth: 1GB/s\n"
#define STAR "model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 1GB/s}\n"
#define PORT "model: loggp\nlatency: 10us\nbandwidth: 1GB/s\noverhead: 0us\ngap: 0us\n"

static qh_netmodel *open_text(const char *text)
{
    qh_netmodel *m = NULL;

    ck_assert_msg(qh_netmodel_open_text("net", text, 4, &m) == QH_OK, "%s", qh_error_text());
    return m;
}

enum { N = 4 };

/* Flows k from src[k] to dst[k] of 100 kB each (100 us at 1 GB/s), started at start[k]. */
static const struct {
    const char *text;
    int n, src[N], dst[N];
    qh_time start_us[N], finish_us[N];
} row[] = {
    {AB, 2, {0, 1}, {2, 2}, {0, 0}, {110, 110}},
    {STAR, 2, {0, 1}, {2, 2}, {0, 0}, {210, 210}},
    /* slow: twice as long over the device's links, or as twice the bytes */
    {AB "slow: [{device: 1, factor: 2}]\n", 3, {0, 1, 3}, {2, 2, 1}, {0, 0, 0}, {110, 210, 210}},
    {STAR "slow: [{device: 1, factor: 2}]\n", 2, {0, 1}, {2, 3}, {0, 0}, {110, 210}},
    /* At the receiver the slow one takes its half GB/s, and the other what is left. */
    {STAR "slow: [{device: 1, factor: 4}]\n", 2, {0, 1}, {2, 2}, {0, 0}, {10 + 400 / 3, 410}},
    /* outages: a flow stands still for as long as it is in a window of one of its ends */
    {AB "outages: [{device: 2, from: 50us, to: 80us}]\n",
     3,
     {0, 1, 1},
     {2, 3, 2},
     {0, 0, 60},
     {140, 110, 190}},
    {AB "outages: [{device: 2, from: 50us, to: 80us}, {device: 0, from: 70us, to: 90us}, "
        "{device: 2, from: 140us, to: 150us}]\n",
     2,
     {0, 1},
     {2, 2},
     {0, 0},
     {160, 140}},
    {PORT "outages: [{device: 0, from: 0us, to: 40us}]\n", 2, {0, 0}, {1, 2}, {0, 0}, {149, 249}},
    {STAR "outages: [{device: 2, from: 50us, to: 80us}]\n",
     3,
     {0, 1, 1},
     {2, 3, 2},
     {0, 0, 1000},
     {140, 110, 1110}},
    {STAR "outages: [{link: device 0 out, from: 50us, to: 80us}]\n",
     2,
     {0, 2},
     {2, 0},
     {0, 0},
     {140, 110}},
    {STAR "outages: [{device: 0, from: 50us, to: 80us}, {device: 2, from: 60us, to: 100us}]\n",
     1,
     {0},
     {2},
     {0},
     {160}},
    /* background: 50 kB at 0, 1 ms, ... into device 2, half of the port each while both are there
     */
    {STAR "background: [{src: 3, dst: 2, bytes: 50kB, every: 1ms}]\n",
     3,
     {0, 0, 0},
     {2, 1, 2},
     {0, 400, 990},
     {160, 510, 1150}},
    {AB "background: [{src: 3, dst: 2, bytes: 50kB, every: 1ms}]\n", 1, {0}, {2}, {0}, {110}},
    {STAR "background: [{src: 3, dst: 2, bytes: 50kB, every: 1ms, from: 5ms, to: 6ms}]\n",
     2,
     {0, 1},
     {2, 2},
     {0, 7000},
     {110, 7110}},
    /* a table: lines between points, flat below, on beyond */
    {"model: table\npoints: [{bytes: 50kB, time: 10us}, {bytes: 150kB, time: 30us}]\n",
     1,
     {0},
     {1},
     {0},
     {20}},
    {"model: table\npoints: [{bytes: 200kB, time: 10us}, {bytes: 300kB, time: 30us}]\n",
     1,
     {0},
     {1},
     {0},
     {10}},
    {"model: table\npoints: [{bytes: 10kB, time: 10us}, {bytes: 20kB, time: 30us}]\n",
     1,
     {0},
     {1},
     {0},
     {190}},
    {"model: table\nnodes: {devices_per_node: 2, intra: [{bytes: 0B, time: 0us}, {bytes: 100kB, "
     "time: 7us}], inter: [{bytes: 0B, time: 0us}, {bytes: 10kB, time: 7us}]}\n",
     2,
     {0, 1},
     {1, 2},
     {0, 0},
     {7, 70}},
};

START_TEST(finish_times)
{
    qh_netmodel *m = open_text(row[_i].text);
    int64_t done[8];
    int next = 0, n_done = 0;

    while (n_done < row[_i].n) {
        qh_time begin = next < row[_i].n ? row[_i].start_us[next] * US : QH_TIME_NEVER;
        qh_time end = m->ops->next(m);

        ck_assert(begin != QH_TIME_NEVER || end != QH_TIME_NEVER);
        if (end <= begin) {
            int64_t n;

            while ((n = m->ops->advance(m, end, done, 8)) > 0)
                for (int64_t i = 0; i < n; i++, n_done++)
                    ck_assert_msg(llabs(end - row[_i].finish_us[done[i]] * US) < US &&
                                      end / US == row[_i].finish_us[done[i]],
                                  "flow %d ends at %lld ps", (int)done[i], (long long)end);
        } else {
            qh_flow f = {
                .id = next, .src = row[_i].src[next], .dst = row[_i].dst[next], .bytes = 100000};

            ck_assert_int_eq(m->ops->start(m, begin, &f), QH_OK);
            next++;
        }
    }
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER); /* whatever the background does */
    qh_netmodel_close(m);
}
END_TEST

/* Later by 0 to 50 us, evenly, and the same whenever it is asked with one seed. */
START_TEST(jitter_is_a_function)
{
    qh_time end[2][100], sum = 0;
    int n_same = 0;

    for (int k = 0; k < 3; k++) {
        qh_netmodel *m = open_text(k < 2 ? AB "jitter: {delay: 50us, seed: 7}\n"
                                         : AB "jitter: {delay: 50us, seed: 8}\n");

        for (int i = 0; i < 100; i++) {
            qh_flow f = {.id = i, .src = i % 3, .dst = 3, .bytes = 100000};
            int64_t done;

            ck_assert_int_eq(m->ops->start(m, i * 1000 * US, &f), QH_OK);
            while (m->ops->advance(m, m->ops->next(m), &done, 1) == 0)
                end[k % 2][i] = m->ops->next(m) - i * 1000 * US;
            if (k == 0)
                continue;
            n_same += end[0][i] == end[1][i];
        }
        if (k == 1)
            ck_assert_int_eq(n_same, 100);
        qh_netmodel_close(m);
    }
    ck_assert_int_lt(n_same, 110);
    for (int i = 0; i < 100; i++) {
        ck_assert(end[1][i] >= 110 * US && end[1][i] <= 160 * US);
        sum += end[1][i] - 110 * US;
    }
    ck_assert(sum > 2000 * US && sum < 3000 * US); /* 25 us each, give or take */
}
END_TEST

static const struct {
    const char *text, *error;
} bad[] = {
    {AB "jitter: 5us\n", "net:4"},
    {AB "jitter: {dealy: 5us}\n", "did you mean 'delay'"},
    {AB "jitter: {seed: 5}\n", "'delay' is missing"},
    {AB "slow: {device: 1}\n", "'slow' is to be a list"},
    {AB "slow: [{device: 4, factor: 2}]\n", "net:4: device"},
    {AB "slow: [{device: 1, factor: 0}]\n", "net:4: factor"},
    {AB "slow: [{device: 1}]\n", "'factor' is missing"},
    {AB "outages: [{device: 1, from: 2ms, to: 1ms}]\n", "ends before it begins"},
    {AB "outages: [{from: 2ms, to: 3ms}]\n", "name one of the two"},
    {STAR "outages: [{device: 1, link: device 0 in, from: 2ms, to: 3ms}]\n", "name one of the two"},
    {AB "outages: [{link: x, from: 2ms, to: 3ms}]\n", "has no links to cut"},
    {STAR "outages: [{link: device 9 in, from: 2ms, to: 3ms}]\n", "there is no link 'device 9 in'"},
    {STAR "outages: [{device: 1, from: 2, to: 3ms}]\n", "net:4: from"},
    {STAR "background: [{src: 1, dst: 1, bytes: 1kB, every: 1ms}]\n", "to itself"},
    {STAR "background: [{src: 1, dst: 2, bytes: 1000, every: 1ms}]\n", "net:4: bytes"},
    {STAR "background: [{src: 1, dst: 2, bytes: 1kB, every: 0us}]\n", "every"},
    {STAR "background: [{src: 1, dst: 7, bytes: 1kB, every: 1ms}]\n", "net:4: dst"},
    {STAR "backgrund: []\n", "did you mean 'background'"},
    {"model: table\n", "'points' is to be a list"},
    {"model: table\npoints: [{bytes: 1kB, time: 1us}]\n", "two points or more"},
    {"model: table\npoints: [{bytes: 2kB, time: 1us}, {bytes: 1kB, time: 2us}]\n", "have to rise"},
    {"model: table\npoints: [{bytes: 1kB, time: 2us}, {bytes: 2kB, time: 1us}]\n", "may not fall"},
    {"model: table\npoints: [{bytes: 1kB, time: 2us}, {bytes: 2kB, time: 2us}]\n", "would be free"},
    {"model: table\npoints: [{bytes: 1kB, tyme: 2us}, {bytes: 2kB, time: 2us}]\n", "did you mean"},
};

START_TEST(bad_modifiers)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(qh_netmodel_open_text("net", bad[_i].text, 4, &m), QH_EINPUT);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(qh_error_text(), bad[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), bad[_i].error);
}
END_TEST

START_TEST(all_of_it_is_shown)
{
    qh_netmodel *m = open_text(STAR "slow: [{device: 1, factor: 2}]\njitter: {delay: 1us}\n"
                                    "outages: [{device: 2, from: 1us, to: 2us}]\n"
                                    "background: [{src: 0, dst: 1, bytes: 1kB, every: 1ms}]\n");
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    qh_netmodel_show(m, out);
    fclose(out);
    for (size_t i = 0; i < 4; i++) {
        static const char *const part[] = {"slow: the links of device 1 have 1 / 2", "jitter: each",
                                           "outage: device 2 from 1.00 us to 2.00 us",
                                           "background: 1.00 kB from device 0 to device 1"};

        ck_assert_msg(strstr(text, part[i]) != NULL, "'%s' lacks '%s'", text, part[i]);
    }
    free(text);
    qh_netmodel_close(m);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("modifiers");
    TCase *t = tcase_create("modifiers");

    tcase_add_loop_test(t, finish_times, 0, (int)QH_COUNT(row));
    tcase_add_test(t, jitter_is_a_function);
    tcase_add_loop_test(t, bad_modifiers, 0, (int)QH_COUNT(bad));
    tcase_add_test(t, all_of_it_is_shown);
    suite_add_tcase(s, t);
    return s;
}
