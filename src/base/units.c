#include "src/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

typedef struct unit {
    const char *name;
    double factor;
} unit;

#define KI 1024.0

static const unit rates[] = {
    {"bit/s", 0.125},      {"kbit/s", 125}, {"Mbit/s", 125e3}, {"Gbit/s", 125e6},
    {"Tbit/s", 125e9},     {"B/s", 1},      {"kB/s", 1e3},     {"MB/s", 1e6},
    {"GB/s", 1e9},         {"TB/s", 1e12},  {"KiB/s", KI},     {"MiB/s", KI *KI},
    {"GiB/s", KI *KI *KI}, {NULL, 0},
};
static const unit durations[] = {{"ps", 1},   {"ns", 1e3}, {"us", 1e6},
                                 {"ms", 1e9}, {"s", 1e12}, {NULL, 0}};
static const unit sizes[] = {
    {"B", 1},        {"kB", 1e3},         {"MB", 1e6},
    {"GB", 1e9},     {"TB", 1e12},        {"KiB", KI},
    {"MiB", KI *KI}, {"GiB", KI *KI *KI}, {"TiB", KI *KI *KI *KI},
    {NULL, 0},
};
static const unit speeds[] = {{"FLOP/s", 1},     {"MFLOP/s", 1e6},  {"GFLOP/s", 1e9},
                              {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {NULL, 0}};

qh_time qh_time_of_seconds(double s)
{
    QH_ASSERT(s >= 0 && s * 1e12 < 9.2e18);
    return (qh_time)llrint(s * 1e12);
}

/* The rate is m * 2^e with whole m, so the quotient is exact: a double's rounding would make
 * instants depend on how a transfer is cut. */
qh_time qh_time_of_bytes(int64_t bytes, double bytes_per_s)
{
    int e;
    uint64_t m;
    u128 work, q, r;

    QH_ASSERT(bytes >= 0 && bytes_per_s > 0 && isfinite(bytes_per_s));
    if (bytes == 0)
        return 0;
    m = (uint64_t)ldexp(frexp(bytes_per_s, &e), 53);
    e -= 53;
    for (; e < 0 && m % 2 == 0; e++)
        m /= 2;
    work = (u128)(uint64_t)bytes * 1000000000000u; /* below 2^103 */
    if (e > 50)
        return 1; /* m * 2^e is above 2^103 */
    if (e >= 0) {
        u128 rate = (u128)m << e;

        q = work / rate + (work % rate != 0);
        return q < INT64_MAX ? (qh_time)q : QH_TIME_NEVER;
    }
    q = work / m;
    r = work % m;
    for (; e < 0; e++) { /* one more binary digit of the quotient */
        q = 2 * q;
        r = 2 * r;
        if (r >= m) {
            r -= m;
            q++;
        }
        if (q >= INT64_MAX)
            return QH_TIME_NEVER;
    }
    return (qh_time)(q + (r != 0));
}

/* A plain decimal number at the start of text: no hex, no inf, no sign. */
static bool leading_number(const char *text, double *value, const char **rest)
{
    char *end;
    size_t n = strspn(text, "0123456789.");

    if (n == 0 || text[n] == 'x' || text[n] == 'X')
        return false;
    *value = strtod(text, &end);
    *rest = end;
    return end != text && isfinite(*value);
}

static qh_status parse_unit(const char *where, const char *text, const unit *units,
                            const char *example, double *out)
{
    double value;
    const char *rest;

    if (!leading_number(text, &value, &rest))
        return qh_fail(QH_EUSAGE, "%s: '%s' is not a positive number with a unit; write it like %s",
                       where, text, example);
    rest += strspn(rest, " ");
    if (!*rest)
        return qh_fail(QH_EUSAGE, "%s: '%s' has no unit; write it like %s", where, text, example);
    for (const unit *u = units; u->name; u++)
        if (strcmp(u->name, rest) == 0) {
            *out = value * u->factor;
            return QH_OK;
        }
    return qh_fail(QH_EUSAGE, "%s: '%s' has the unknown unit '%s'; write it like %s", where, text,
                   rest, example);
}

static qh_status parse_positive(const char *where, const char *text, const unit *units,
                                const char *example, double *out)
{
    double value;
    qh_status st = parse_unit(where, text, units, example, &value);

    if (st == QH_OK && !(value > 0))
        return qh_fail(QH_EUSAGE, "%s: '%s' is nothing at all; a rate above 0 is wanted", where,
                       text);
    if (st == QH_OK)
        *out = value;
    return st;
}

/* Whole picoseconds or bytes, which fit in 63 bits. */
static qh_status parse_whole(const char *where, const char *text, const unit *units,
                             const char *example, int64_t *out)
{
    double value;
    qh_status st = parse_unit(where, text, units, example, &value);

    if (st == QH_OK && !(value < 9.2e18))
        return qh_fail(QH_EUSAGE, "%s: '%s' is too large; the limit is 106 days or 8 EiB", where,
                       text);
    if (st == QH_OK)
        *out = (int64_t)llrint(value);
    return st;
}

qh_status qh_parse_rate(const char *where, const char *text, double *bytes_per_s)
{
    return parse_positive(where, text, rates, "10Gbit/s or 1.25GB/s", bytes_per_s);
}

qh_status qh_parse_duration(const char *where, const char *text, qh_time *duration_ps)
{
    return parse_whole(where, text, durations, "5us or 0.3ms", duration_ps);
}

qh_status qh_parse_bytes(const char *where, const char *text, int64_t *bytes)
{
    return parse_whole(where, text, sizes, "64kB or 2MiB", bytes);
}

qh_status qh_parse_flops(const char *where, const char *text, double *flops_per_s)
{
    return parse_positive(where, text, speeds, "15.7TFLOP/s", flops_per_s);
}

qh_status qh_parse_int(const char *where, const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text + (*text == '-');
    long long value;

    errno = 0;
    value = strtoll(text, NULL, 10);
    if (!*digits || digits[strspn(digits, "0123456789")])
        return qh_fail(QH_EUSAGE,
                       "%s: '%s' is not a whole number; one from %" PRId64 " to %" PRId64
                       " is wanted",
                       where, text, min, max);
    if (errno == ERANGE || value < min || value > max)
        return qh_fail(QH_EUSAGE, "%s: %s is out of range; %" PRId64 " to %" PRId64 " is allowed",
                       where, text, min, max);
    *out = value;
    return QH_OK;
}

qh_status qh_parse_real(const char *where, const char *text, double min, double max, double *out)
{
    const char *rest;
    double value;

    if (!leading_number(text + (*text == '-'), &value, &rest) || *rest)
        return qh_fail(QH_EUSAGE, "%s: '%s' is not a number; one from %g to %g is wanted", where,
                       text, min, max);
    if (*text == '-')
        value = -value;
    if (!(value >= min && value <= max))
        return qh_fail(QH_EUSAGE, "%s: %s is out of range; %g to %g is allowed", where, text, min,
                       max);
    *out = value;
    return QH_OK;
}

/* value / factor to three significant digits; steps are rising factors, names theirs. */
static const char *print_scaled(double value, const unit *steps, int n, char *buf)
{
    int i = 0;
    double scaled;

    if (!isfinite(value)) {
        snprintf(buf, QH_UNIT_TEXT_BYTES, "n/a");
        return buf;
    }
    /* 999.5 of one step prints as 1.00 of the next. */
    while (i + 1 < n && fabs(value) >= 0.9995 * steps[i + 1].factor)
        i++;
    scaled = value / steps[i].factor;
    if (value == 0 || (fabs(scaled) >= 1000 && i == n - 1))
        snprintf(buf, QH_UNIT_TEXT_BYTES, fabs(scaled) < 1e9 ? "%.0f %s" : "%.3g %s", scaled,
                 steps[i].name);
    else
        snprintf(buf, QH_UNIT_TEXT_BYTES, "%.*f %s",
                 fabs(scaled) < 9.995   ? 2
                 : fabs(scaled) < 99.95 ? 1
                                        : 0,
                 scaled, steps[i].name);
    return buf;
}

const char *qh_print_rate(double bytes_per_s, char *buf)
{
    static const unit steps[] = {
        {"B/s", 1}, {"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}};

    return print_scaled(bytes_per_s, steps, QH_COUNT(steps), buf);
}

const char *qh_print_seconds(double seconds, char *buf)
{
    static const unit steps[] = {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

    if (seconds == 0)
        return snprintf(buf, QH_UNIT_TEXT_BYTES, "0 s"), buf;
    return print_scaled(seconds, steps, QH_COUNT(steps), buf);
}

const char *qh_print_bytes(double bytes, char *buf)
{
    static const unit steps[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};

    if (bytes >= 0 && bytes < 999.5 && bytes == floor(bytes)) /* whole bytes as they are */
        return snprintf(buf, QH_UNIT_TEXT_BYTES, "%.0f B", bytes), buf;
    return print_scaled(bytes, steps, QH_COUNT(steps), buf);
}

const char *qh_print_count(double n, char *buf)
{
    static const unit steps[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};

    if (fabs(n) < 999.5) /* without the blank of an empty prefix */
        return snprintf(buf, QH_UNIT_TEXT_BYTES, "%.3g", n), buf;
    return print_scaled(n, steps, QH_COUNT(steps), buf);
}
