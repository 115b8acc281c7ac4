/* Descriptions: what is accepted, and what is refused with which words. */
#include "netmodel/netmodel.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes text to a file of its own, opens it as a network, removes it. */
static qh_status open_text(const char *text, int n_devices, qh_netmodel **out)
{
    char path[] = "/tmp/qh_netXXXXXX.yaml";
    int fd = mkstemps(path, 5);
    qh_status st;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    st = qh_netmodel_open(path, n_devices, out);
    unlink(path);
    return st;
}

static const struct {
    const char *text, *error; /* a part of the error text */
} bad[] = {
    {"about: \"x\"\n", ":1: 'model' is missing"},
    {"model: alphabet\nlatency: 1us\nbandwidth: 1GB/s\n", ":1: there is no network model"},
    {"model: alphabet\nlatency: 1us\nbandwidth: 1GB/s\n", "did you mean 'alphabeta'"},
    {"model: alphabeta\nlatency: 1us\n", "bandwidth"},
    {"model: alphabeta\nbandwidth: 1GB/s\n", "latency"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 0GB/s\n", ":3: bandwidth"},
    {"model: alphabeta\nlatency: -1us\nbandwidth: 1GB/s\n", ":2"},
    {"model: alphabeta\nlatency: 5\nbandwidth: 1GB/s\n", ":2"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 10\n", ":3"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 10Gbps\n", ":3"},
    {"model: alphabeta\nlatency: 1us\nbandwidht: 1GB/s\n", "did you mean"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 1GB/s\ngap: 1us\n", ":4"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 1GB/s\nlatency: 1us\n", ":4"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 1GB/s\nstaging: 3\n", ":4"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 1GB/s\ndevices: 0\n", ":4"},
    {"model: alphabeta\nlatency: 1us\nnodes: {devices_per_node: 2}\n", ":2: latency stands beside"},
    {"model: alphabeta\nnodes: {devices_per_node: 2}\n", "no 'intra'"},
    {"model: alphabeta\nnodes:\n  devices_per_node: 0\n  intra: {latency: 1us, bandwidth: "
     "1GB/s}\n  inter: {latency: 1us, bandwidth: 1GB/s}\n",
     ":3"},
    {"model: alphabeta\nnodes:\n  devices_per_node: 2\n  intra: {latency: 1us, bandwidth: "
     "1GB/s}\n  inter: {latency: 1us, bandwidth: 0B/s}\n",
     ":5: bandwidth"},
    {"model: loggp\nlatency: 1us\nbandwidth: 1GB/s\noverhead: 1us\n", "gap"},
    {"model: loggp\nlatency: 1us\nbandwidth: 1GB/s\ngap: 1us\n", "overhead"},
    {"- a\n- b\n", ":1"},
    {"7\n", ":1"},
    {"model: [alphabeta\n", ".yaml"},
};

START_TEST(bad_descriptions_are_refused_by_line)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(open_text(bad[_i].text, 3, &m), QH_EINPUT);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(qh_error_text(), bad[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), bad[_i].error);
}
END_TEST

/* Good files, and not what is asked for. */
static const struct {
    const char *text, *error;
} unwanted[] = {
    {"about: \"x\"\npeak: 1TFLOP/s\n", ":2: 'peak' is an accelerator's"},
    {"model: alphabeta\nlatency: 1us\nbandwidth: 1GB/s\ndevices: 4\n", "4 devices and 3 are"},
};

START_TEST(a_file_for_something_else_is_no_bad_file)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(open_text(unwanted[_i].text, 3, &m), QH_EUSAGE);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(qh_error_text(), unwanted[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), unwanted[_i].error);
}
END_TEST

START_TEST(an_unknown_name_gets_a_hint)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(qh_netmodel_open("switch-10", 2, &m), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), "did you mean 'switch-1") != NULL, "%s", qh_error_text());
    ck_assert_int_eq(qh_netmodel_open("/nonexistent/net.yaml", 2, &m), QH_EINPUT);
    ck_assert_ptr_null(m);
}
END_TEST

START_TEST(classes_of_channels)
{
    static const char text[] = "model: alphabeta\n"
                               "staging: true\n"
                               "about: three on two nodes\n"
                               "nodes:\n"
                               "  devices_per_node: 2\n"
                               "  intra: {latency: 1us, bandwidth: 8Gbit/s}\n"
                               "  inter: {latency: 10us, bandwidth: 1MB/s}\n";
    qh_netmodel *m = NULL;
    double theta, gamma;

    ck_assert_int_eq(open_text(text, 3, &m), QH_OK);
    ck_assert(m->staging);
    ck_assert_int_eq(m->n_devices, 3);
    ck_assert_str_eq(m->about, "three on two nodes");
    ck_assert_int_eq(m->ops->alone(m, 0, 1, 1000), 2 * 1000000);
    ck_assert_int_eq(m->ops->alone(m, 1, 2, 1000), 10 * 1000000 + INT64_C(1000000000));
    qh_netmodel_fit(m, 2, 0, &theta, &gamma);
    ck_assert_double_eq_tol(theta, 1e-6, 1e-15);
    ck_assert_double_eq_tol(gamma, 10e-6, 1e-12);
    qh_netmodel_close(m);
}
END_TEST

START_TEST(device_counts)
{
    static const char free_text[] = "model: alphabeta\nlatency: 0us\nbandwidth: 1GB/s\n";
    static const char fixed_text[] =
        "model: alphabeta\nlatency: 0us\nbandwidth: 1GB/s\ndevices: 5\n";
    const struct {
        const char *text;
        int asked, given;
    } row[] = {{free_text, 0, 2},
               {free_text, 1, 1},
               {free_text, 67, 67},
               {fixed_text, 0, 5},
               {fixed_text, 5, 5}};

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        qh_netmodel *m = NULL;

        ck_assert_int_eq(open_text(row[i].text, row[i].asked, &m), QH_OK);
        ck_assert_int_eq(m->n_devices, row[i].given);
        qh_netmodel_close(m);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("netmodel descriptions");
    TCase *t = tcase_create("describe");

    tcase_add_loop_test(t, bad_descriptions_are_refused_by_line, 0, (int)QH_COUNT(bad));
    tcase_add_loop_test(t, a_file_for_something_else_is_no_bad_file, 0, (int)QH_COUNT(unwanted));
    tcase_add_test(t, an_unknown_name_gets_a_hint);
    tcase_add_test(t, classes_of_channels);
    tcase_add_test(t, device_counts);
    suite_add_tcase(s, t);
    return s;
}
