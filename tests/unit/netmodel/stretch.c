/* A stretched network is the network of which every time is multiplied. */
#include "netmodel/stretch.h"

#include "tests/support/support.h"

#include <stdlib.h>

#define US INT64_C(1000000)

static const char *const nets[] = {
    "model: alphabeta\nlatency: 10us\nbandwidth: 1GB/s\n",
    "model: loggp\nlatency: 10us\nbandwidth: 1GB/s\noverhead: 2us\ngap: 1us\n",
    "model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 1GB/s}\n",
    ("model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 1GB/s}\n"
     "outages: [{device: 2, from: 50us, to: 80us}]\njitter: {delay: 20us}\n"),
};

enum { N_FLOWS = 40, N_DEVICES = 4 };

static qh_netmodel *open_text(const char *text, double factor)
{
    qh_netmodel *m = NULL;

    ck_assert_msg(qh_netmodel_open_text("net", text, N_DEVICES, &m) == QH_OK, "%s",
                  qh_error_text());
    ck_assert_int_eq(qh_netmodel_stretch(&m, factor), QH_OK);
    return m;
}

static void take(qh_netmodel *m, qh_time now, qh_time *finish)
{
    int64_t done[3], n;

    while ((n = m->ops->advance(m, now, done, 3)) > 0)
        for (int64_t i = 0; i < n; i++)
            finish[done[i]] = now;
    ck_assert_int_eq(n, 0);
}

/* Flow i starts at i * 17 us times factor. */
static void play(const char *text, double factor, qh_time *finish)
{
    qh_netmodel *m = open_text(text, factor);
    qh_time last = 0;

    for (int i = 0; i <= N_FLOWS; i++) {
        qh_time start = i < N_FLOWS ? (qh_time)((double)(i * 17 * US) * factor) : QH_TIME_NEVER;
        qh_flow f = {.id = i,
                     .src = i % N_DEVICES,
                     .dst = (i + 1 + i / N_DEVICES % 3) % N_DEVICES,
                     .bytes = 1000 * (1 + i * 37 % 100)};

        for (qh_time t; (t = m->ops->next(m)) <= start && t != QH_TIME_NEVER;) {
            ck_assert_int_ge(t, last);
            last = t;
            take(m, t, finish);
            ck_assert_int_gt(m->ops->next(m), t);
        }
        if (i < N_FLOWS)
            ck_assert_int_eq(m->ops->start(m, start, &f), QH_OK);
    }
    qh_netmodel_close(m);
}

static const double factors[] = {0.001, 0.3, 1, 2, 3.7, 1000, 123456.789};

START_TEST(every_instant_is_multiplied)
{
    for (size_t k = 0; k < QH_COUNT(nets); k++) {
        qh_time plain[N_FLOWS] = {0}, slow[N_FLOWS] = {0};
        double f = factors[_i], unit = f < 1 ? 1 : f;

        play(nets[k], 1, plain);
        play(nets[k], f, slow);
        /* Rounding of starts and finishes, which flows that share links hand on to others. */
        for (int i = 0; i < N_FLOWS; i++)
            ck_assert_msg(llabs(slow[i] - (qh_time)((double)plain[i] * f)) <= (qh_time)(40 * unit),
                          "net %zu, flow %d: %lld, not %g times %lld", k, i, (long long)slow[i], f,
                          (long long)plain[i]);
    }
}
END_TEST

START_TEST(figures_are_multiplied)
{
    qh_netmodel *m = open_text(nets[1], 10), *star = open_text(nets[2], 4);
    double theta, gamma;
    qh_net_link link;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    ck_assert_int_eq(m->ops->overhead(m, 0, 1, 1000), 20 * US);
    ck_assert_int_eq(star->ops->alone(star, 0, 1, 100000), 440 * US);
    star->ops->link(star, 0, &link);
    ck_assert_double_eq(link.bytes_per_s, 2.5e8);
    qh_netmodel_fit(star, 0, 1, &theta, &gamma);
    ck_assert_double_eq_tol(theta, 4e-9, 1e-12);
    ck_assert_double_eq_tol(gamma, 4e-5, 1e-8);
    qh_netmodel_show(star, out);
    fclose(out);
    ck_assert_msg(strstr(text, "takes 4 times as long") != NULL, "%s", text);
    free(text);
    qh_netmodel_close(star);
    qh_netmodel_close(m);
}
END_TEST

START_TEST(the_end_of_time_is_refused)
{
    qh_netmodel *m = open_text(nets[0], 1e6);
    qh_flow f = {.src = 0, .dst = 1, .bytes = INT64_C(100000000000)};

    ck_assert_int_eq(m->ops->start(m, 0, &f), QH_EINPUT);
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER);
    qh_netmodel_close(m);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("stretch");
    TCase *t = tcase_create("stretch");

    tcase_add_loop_test(t, every_instant_is_multiplied, 0, (int)QH_COUNT(factors));
    tcase_add_test(t, figures_are_multiplied);
    tcase_add_test(t, the_end_of_time_is_refused);
    suite_add_tcase(s, t);
    return s;
}
