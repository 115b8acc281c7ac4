#include "src/base/units.h"

#include "tests/support/support.h"

#include <math.h>
#include <string.h>

typedef enum parser { RATE, DURATION, BYTES, FLOPS } parser;

/* error NULL: parsed to value. */
static const struct {
    parser parser;
    const char *text;
    double value;
    const char *error;
} rows[] = {
    {RATE, "10Gbit/s", 1.25e9, NULL},
    {RATE, "10 Gbit/s", 1.25e9, NULL},
    {RATE, "12.5GB/s", 12.5e9, NULL},
    {RATE, "8bit/s", 1, NULL},
    {RATE, "1MiB/s", 1048576, NULL},
    {RATE, "10", 0, "w: '10' has no unit; write it like 10Gbit/s or 1.25GB/s"},
    {RATE, "10Gbps", 0, "w: '10Gbps' has the unknown unit 'Gbps'"},
    {RATE, "10gb/s", 0, "w: '10gb/s' has the unknown unit"},
    {RATE, "10Gbit/s ", 0, "w: '10Gbit/s ' has the unknown unit"},
    {RATE, "0GB/s", 0, "w: '0GB/s' is nothing at all"},
    {RATE, "-1GB/s", 0, "w: '-1GB/s' is not a positive number"},
    {RATE, "infGB/s", 0, "w: 'infGB/s' is not a positive number"},
    {RATE, "nan", 0, "w: 'nan' is not a positive number"},
    {RATE, "1e999GB/s", 0, "w: '1e999GB/s' is not a positive number"},
    {RATE, "0x10GB/s", 0, "w: '0x10GB/s' is not a positive number"},
    {RATE, "GB/s", 0, "w: 'GB/s' is not a positive number"},
    {RATE, "", 0, "w: '' is not a positive number"},
    {RATE, " 1GB/s", 0, "w: ' 1GB/s' is not a positive number"},
    {RATE, "5us", 0, "w: '5us' has the unknown unit 'us'"},
    {DURATION, "5us", 5e6, NULL},
    {DURATION, "0s", 0, NULL},
    {DURATION, "1 ps", 1, NULL},
    {DURATION, "0.1us", 1e5, NULL},
    {DURATION, "1.5ms", 1.5e9, NULL},
    {DURATION, "1e-3s", 1e9, NULL},
    {DURATION, "5", 0, "w: '5' has no unit; write it like 5us or 0.3ms"},
    {DURATION, "5m", 0, "w: '5m' has the unknown unit"},
    {DURATION, "1e8s", 0, "w: '1e8s' is too large"},
    {BYTES, "64kB", 64e3, NULL},
    {BYTES, "2MiB", 2097152, NULL},
    {BYTES, "0B", 0, NULL},
    {BYTES, "64", 0, "w: '64' has no unit"},
    {BYTES, "64k", 0, "w: '64k' has the unknown unit 'k'"},
    {BYTES, "9e30B", 0, "w: '9e30B' is too large"},
    {FLOPS, "15.7TFLOP/s", 15.7e12, NULL},
    {FLOPS, "100GFLOP/s", 1e11, NULL},
    {FLOPS, "0FLOP/s", 0, "w: '0FLOP/s' is nothing at all"},
    {FLOPS, "15.7TFLOPS", 0, "w: '15.7TFLOPS' has the unknown unit 'TFLOPS'"},
};

static qh_status parse(parser p, const char *text, double *value)
{
    int64_t whole = -1;
    qh_status st;

    if (p == RATE)
        return qh_parse_rate("w", text, value);
    if (p == FLOPS)
        return qh_parse_flops("w", text, value);
    st = p == DURATION ? qh_parse_duration("w", text, &whole) : qh_parse_bytes("w", text, &whole);
    *value = (double)whole;
    return st;
}

START_TEST(parsing)
{
    double value = -1;
    qh_status st = parse(rows[_i].parser, rows[_i].text, &value);

    if (rows[_i].error) {
        ck_assert_int_eq(st, QH_EUSAGE);
        ck_assert_msg(strstr(qh_error_text(), rows[_i].error) == qh_error_text(), "%s",
                      qh_error_text());
    } else {
        ck_assert_int_eq(st, QH_OK);
        ck_assert_double_eq(value, rows[_i].value);
    }
}
END_TEST

/* ceil(bytes * 1e12 / rate), worked out by hand or with exact fractions. */
static const struct {
    int64_t bytes;
    double rate;
    qh_time time;
} transfers[] = {
    {0, 1e9, 0},
    {1, 1e9, 1000},
    {1, 1.25e9, 800},
    {3, 12.5e9, 240},
    {1, 3, 333333333334},
    {3, 3, 1000000000000},
    {1, 3e12, 1},
    {7, 3e12, 3},
    {1, 1e300, 1},
    {INT64_MAX, 1e300, 1},
    {INT64_MAX, 1e12, INT64_MAX},
    {INT64_MAX, 1e13, 922337203685477581},
    {INT64_MAX, 1, QH_TIME_NEVER},
    {1, 1e-300, QH_TIME_NEVER},
    {1, 0.125, INT64_C(8000000000000)},
    {5, 0.375, INT64_C(13333333333334)},
    {1 << 30, 12.5e9, 85899345920},
    /* 0.1 is 3602879701896397 / 2^55: 1e12 * 2^55 / 3602879701896397 is just under 1e13. */
    {1, 0.1, INT64_C(10000000000000)},
    {9007199254740993, 1e9, INT64_C(9007199254740993000)},
};

START_TEST(time_of_bytes)
{
    ck_assert_int_eq(qh_time_of_bytes(transfers[_i].bytes, transfers[_i].rate), transfers[_i].time);
}
END_TEST

START_TEST(time_of_bytes_never_falls_with_bytes)
{
    qh_time last = 0;

    for (int64_t bytes = 1; bytes < INT64_C(1) << 40; bytes += bytes / 3 + 1) {
        qh_time t = qh_time_of_bytes(bytes, 1e10 / 7);

        ck_assert_int_gt(t, last);
        ck_assert_double_le(fabs((double)t - (double)bytes * 700), (double)t * 1e-15 + 1);
        last = t;
    }
}
END_TEST

START_TEST(time_of_seconds)
{
    ck_assert_int_eq(qh_time_of_seconds(0), 0);
    ck_assert_int_eq(qh_time_of_seconds(1e-12), 1);
    ck_assert_int_eq(qh_time_of_seconds(0.4e-12), 0);
    ck_assert_int_eq(qh_time_of_seconds(5e-6), 5000000);
    ck_assert_double_eq(qh_seconds(5000000), 5e-6);
}
END_TEST

typedef enum printer { P_RATE, P_SECONDS, P_BYTES, P_COUNT } printer;

static const struct {
    printer printer;
    double value;
    const char *text;
} shown[] = {
    {P_RATE, 12.5e9, "12.5 GB/s"},   {P_RATE, 1, "1.00 B/s"},
    {P_RATE, 999.6e6, "1.00 GB/s"},  {P_SECONDS, 5e-6, "5.00 us"},
    {P_SECONDS, 0, "0 s"},           {P_SECONDS, 12.34, "12.3 s"},
    {P_SECONDS, 123456, "123456 s"}, {P_SECONDS, 9.996e-3, "10.0 ms"},
    {P_SECONDS, NAN, "n/a"},         {P_SECONDS, INFINITY, "n/a"},
    {P_SECONDS, 1e-12, "1.00 ps"},   {P_BYTES, 0, "0 B"},
    {P_BYTES, 999, "999 B"},         {P_BYTES, 1000, "1.00 kB"},
    {P_BYTES, 1.21e6, "1.21 MB"},    {P_BYTES, 1e15, "1000 TB"},
    {P_BYTES, -5e3, "-5.00 kB"},     {P_COUNT, 0, "0"},
    {P_COUNT, 980, "980"},           {P_COUNT, 1.21e6, "1.21 M"},
    {P_COUNT, 0.5, "0.5"},
};

START_TEST(printing)
{
    char buf[QH_UNIT_TEXT_BYTES];
    double v = shown[_i].value;

    ck_assert_str_eq(shown[_i].printer == P_RATE      ? qh_print_rate(v, buf)
                     : shown[_i].printer == P_SECONDS ? qh_print_seconds(v, buf)
                     : shown[_i].printer == P_COUNT   ? qh_print_count(v, buf)
                                                      : qh_print_bytes(v, buf),
                     shown[_i].text);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("units");
    TCase *t = tcase_create("units");

    tcase_add_loop_test(t, parsing, 0, QH_COUNT(rows));
    tcase_add_loop_test(t, time_of_bytes, 0, QH_COUNT(transfers));
    tcase_add_test(t, time_of_bytes_never_falls_with_bytes);
    tcase_add_test(t, time_of_seconds);
    tcase_add_loop_test(t, printing, 0, QH_COUNT(shown));
    suite_add_tcase(s, t);
    return s;
}
