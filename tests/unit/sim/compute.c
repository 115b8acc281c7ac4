/* Accelerators: durations by hand, descriptions refused by line, all presets. */
#include "sim/compute.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char all_ops[] = "{spmm: 0.5, gemm: 0.25, elementwise: 1, loss: 1, optimizer: 1, "
                              "quantize: 1, dequantize: 1, assign: 1}";

/* A file of its own, whose XXXXXX in path are filled in. */
static void write_file(char *path, const char *head, const char *rest)
{
    int fd = mkstemps(path, 5);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    ck_assert_ptr_nonnull(f);
    fprintf(f, "%s%s\n", head, rest);
    fclose(f);
}

static qh_status open_text(const char *head, const char *efficiency, qh_accelerator **out)
{
    char path[] = "/tmp/qh_accXXXXXX.yaml", rest[256];
    qh_status st;

    snprintf(rest, sizeof rest, "efficiency: %s", efficiency);
    write_file(path, head, rest);
    st = qh_accelerator_open(path, out);
    unlink(path);
    return st;
}

START_TEST(roofline_by_hand)
{
    static const struct {
        int op;
        int64_t flops, bytes;
        qh_time want_ps;
    } row[] = {
        {QH_OP_GEMM, 0, 0, 2000000},                    /* launch alone */
        {QH_OP_GEMM, 1000000, 0, 2000000 + 4000000},    /* 1e6 / (1e12 * 0.25) = 4 us */
        {QH_OP_SPMM, 0, 1000000, 2000000 + 20000000},   /* 1e6 / (1e11 * 0.5) = 20 us */
        {QH_OP_SPMM, 1000000, 1000, 2000000 + 2000000}, /* arithmetic binds: 2 us > 20 ns */
        {QH_OP_LOSS, 1, 0, 2000000 + 1},                /* 1 ps */
        {QH_OP_LOSS, 0, 3, 2000000 + 30},
    };
    qh_accelerator *a = NULL;

    ck_assert_int_eq(
        open_text("peak: 1TFLOP/s\nmemory_bandwidth: 100GB/s\nlaunch: 2us\n", all_ops, &a), QH_OK);
    for (size_t i = 0; i < QH_COUNT(row); i++) {
        qh_record r = {.op = (uint8_t)row[i].op, .flops = row[i].flops, .bytes = row[i].bytes};

        ck_assert_int_eq(qh_compute_duration(a, QH_COMPUTE_MODELED, &r), row[i].want_ps);
        ck_assert_int_eq(qh_compute_duration(a, QH_COMPUTE_MEASURED, &r), 0);
    }
    ck_assert_int_eq(qh_compute_staging(a, 1 << 20), 0); /* no host copies here */
    qh_accelerator_free(a);
}
END_TEST

START_TEST(longer_than_time_is_never)
{
    qh_record r = {.op = QH_OP_GEMM, .flops = INT64_MAX};
    qh_accelerator *a = NULL;

    ck_assert_int_eq(open_text("peak: 1FLOP/s\nmemory_bandwidth: 1B/s\nlaunch: 0us\n", all_ops, &a),
                     QH_OK);
    ck_assert_int_eq(qh_compute_duration(a, QH_COMPUTE_MODELED, &r), QH_TIME_NEVER);
    qh_accelerator_free(a);
}
END_TEST

START_TEST(measured_and_staged_by_hand)
{
    qh_record r = {.op = QH_OP_GEMM, .flops = 1 << 30, .bytes = 1 << 30, .host_ns = 1500};
    qh_accelerator *a = NULL;

    ck_assert_int_eq(open_text("peak: 1TFLOP/s\nmemory_bandwidth: 100GB/s\nlaunch: 2us\n"
                               "measured_factor: 0.5\nhost_copy_bandwidth: 10GB/s\n",
                               all_ops, &a),
                     QH_OK);
    ck_assert_int_eq(qh_compute_duration(a, QH_COMPUTE_MEASURED, &r), 750000);
    ck_assert_int_eq(qh_compute_staging(a, 0), 2000000);
    ck_assert_int_eq(qh_compute_staging(a, 1000), 2000000 + 100000);
    qh_accelerator_free(a);
}
END_TEST

static const struct {
    const char *head, *efficiency, *error;
} bad[] = {
    {"memory_bandwidth: 1GB/s\nlaunch: 1us\n", all_ops, "peak"},
    {"peak: 1TFLOP/s\nlaunch: 1us\n", all_ops, "memory_bandwidth"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\n", all_ops, "launch"},
    {"peak: 0TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", all_ops, ":1: peak"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 0GB/s\nlaunch: 1us\n", all_ops, ":2: memory_bandwidth"},
    {"peak: 1000\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", all_ops, ":1"},
    {"peak: 1TFLOP/s\nmemory_bandwidht: 1GB/s\nlaunch: 1us\n", all_ops, "did you mean"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: -1us\n", all_ops, ":3"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", "{spmm: 0.5}", "gemm"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", "{spnm: 0.5}", "did you mean"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", "{spmm: 0}", "efficiency of 0"},
    {"peak: 1TFLOP/s\nmemory_bandwidth: 1GB/s\nlaunch: 1us\n", "{spmm: 1.5}", ":4"},
    {"model: loggp\nlaunch: 1us\n", all_ops, ":1: 'model' is a network's"},
};

START_TEST(bad_descriptions_are_refused_by_line)
{
    qh_accelerator *a = NULL;

    ck_assert_int_eq(open_text(bad[_i].head, bad[_i].efficiency, &a),
                     strncmp(bad[_i].head, "model", 5) == 0 ? QH_EUSAGE : QH_EINPUT);
    ck_assert_ptr_null(a);
    ck_assert_msg(strstr(qh_error_text(), bad[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), bad[_i].error);
}
END_TEST

START_TEST(files_for_accelerators_are_known)
{
    static const struct {
        const char *text;
        bool is_one;
    } row[] = {
        {"peak: 1TFLOP/s\n", true},
        {"peek: 1TFLOP/s\nlaunch: 1us\n", true},
        {"about: x\n", false},
        {"model: loggp\npeak: 1TFLOP/s\n", false},
        {"- peak\n", false},
        {"peak: [\n", false},
        {"", false},
    };

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        char path[] = "/tmp/qh_accXXXXXX.yaml";

        write_file(path, row[i].text, "");
        ck_assert_msg(qh_accelerator_describes(path) == row[i].is_one, "'%s'", row[i].text);
        unlink(path);
    }
    ck_assert(!qh_accelerator_describes("/nonexistent.yaml"));
}
END_TEST

START_TEST(every_preset_opens_and_shows)
{
    static const char *const names[] = {"a100", "cpu-core", "h100",    "h200",
                                        "t4",   "v100",     "v100-dgl"};

    ck_assert_int_eq(qh_accelerator_preset_count(), (int64_t)QH_COUNT(names));
    for (size_t i = 0; i < QH_COUNT(names); i++) {
        qh_accelerator *a = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        ck_assert_str_eq(qh_accelerator_preset_name((int64_t)i), names[i]);
        ck_assert_msg(qh_accelerator_open(names[i], &a) == QH_OK, "%s", qh_error_text());
        ck_assert_str_eq(a->about, qh_accelerator_preset_about((int64_t)i));
        qh_accelerator_show(a, out);
        fclose(out);
        ck_assert_ptr_nonnull(strstr(text, names[i]));
        ck_assert_ptr_nonnull(strstr(text, "assign"));
        free(text);
        qh_accelerator_free(a);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("compute");
    TCase *t = tcase_create("compute");

    tcase_add_test(t, roofline_by_hand);
    tcase_add_test(t, longer_than_time_is_never);
    tcase_add_test(t, measured_and_staged_by_hand);
    tcase_add_loop_test(t, bad_descriptions_are_refused_by_line, 0, (int)QH_COUNT(bad));
    tcase_add_test(t, every_preset_opens_and_shows);
    tcase_add_test(t, files_for_accelerators_are_known);
    suite_add_tcase(s, t);
    return s;
}
