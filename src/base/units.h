/* Virtual time, and numbers with units: parsing and printing in one place. */
#ifndef QH_BASE_UNITS_H
#define QH_BASE_UNITS_H

#include "src/base/status.h"

#include <stdint.h>

/* Virtual time or a duration in integer picoseconds (2^63 ps = 106 days). A double never holds an
 * instant; it may hold a duration in seconds that is printed. */
typedef int64_t qh_time;

#define QH_PS_PER_S   INT64_C(1000000000000)
#define QH_TIME_NEVER INT64_MAX

static inline double qh_seconds(qh_time t)
{
    return (double)t / (double)QH_PS_PER_S;
}

/* Seconds to picoseconds, rounded to nearest; asserts 0 <= s < 106 days. */
qh_time qh_time_of_seconds(double s);

/* ceil(bytes * 1e12 / bytes_per_s) without overflow for any bytes >= 0; asserts a positive rate.
 * Saturates at QH_TIME_NEVER. */
qh_time qh_time_of_bytes(int64_t bytes, double bytes_per_s);

/* Each parser reads the whole of text and answers QH_OK, or QH_EUSAGE with an error text
 * "WHERE: 'text' ...; what would be right", where is a file:line or an option. A number without a
 * unit is an error, and so is anything not finite or negative.
 *   rate:     bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s,
 * GiB/s duration: ps, ns, us, ms, s bytes:    B, kB, MB, GB, TB, KiB, MiB, GiB, TiB flops: FLOP/s,
 * GFLOP/s, TFLOP/s, PFLOP/s (also MFLOP/s) Prefixes are decimal but for the Ki, Mi, Gi, Ti ones; a
 * space may stand before the unit. */
qh_status qh_parse_rate(const char *where, const char *text, double *bytes_per_s);
qh_status qh_parse_duration(const char *where, const char *text, qh_time *duration_ps);
qh_status qh_parse_bytes(const char *where, const char *text, int64_t *bytes);
qh_status qh_parse_flops(const char *where, const char *text, double *flops_per_s);

/* Plain numbers: the whole text, in range, or QH_EUSAGE with the range in the error text. */
qh_status qh_parse_int(const char *where, const char *text, int64_t min, int64_t max, int64_t *out);
qh_status qh_parse_real(const char *where, const char *text, double min, double max, double *out);

enum { QH_UNIT_TEXT_BYTES = 32 };

/* Three significant digits and a fitting prefix ("12.5 GB/s", "5.00 us", "1.21 MB"); buf holds
 * QH_UNIT_TEXT_BYTES and is returned. */
const char *qh_print_rate(double bytes_per_s, char *buf);
const char *qh_print_seconds(double seconds, char *buf);
const char *qh_print_bytes(double bytes, char *buf);
const char *qh_print_count(double n, char *buf); /* "1.21 M", "980" */

#endif
