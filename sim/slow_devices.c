#include "sim/slow_devices.h"

#include "src/base/mem.h"
#include "src/base/units.h"

#include <stdio.h>
#include <string.h>

/* "D:F" or "A-B:F" into the factors of devices. */
static qh_status parse(const char *where, const char *item, int n_devices, double *scale)
{
    char first[32], last[32], factor[32], extra;
    int64_t a, b;
    double f;
    qh_status st;

    if (sscanf(item, "%31[0-9]-%31[0-9]:%31[^:]%c", first, last, factor, &extra) != 3) {
        if (sscanf(item, "%31[0-9]:%31[^:]%c", first, factor, &extra) != 2)
            return qh_fail(QH_EUSAGE,
                           "%s: '%s' is no device and factor; 3:1.5 or 0-3:2, separated by commas",
                           where, item);
        strcpy(last, first);
    }
    QH_TRY(st, qh_parse_int(where, first, 0, n_devices - 1, &a));
    QH_TRY(st, qh_parse_int(where, last, a, n_devices - 1, &b));
    QH_TRY(st, qh_parse_real(where, factor, 1e-6, 1e6, &f));
    for (int64_t d = a; d <= b; d++)
        scale[d] *= f;
out:
    return st;
}

qh_status qh_slow_devices(const char *where, const char *list, int n_devices, double base,
                          double **out)
{
    char *text = NULL, *rest = NULL;
    double *scale = NULL;
    qh_status st = QH_OK;

    if (!list && base == 1)
        return QH_OK;
    QH_TRY(st, QH_NEW_ARRAY(&scale, n_devices));
    for (int d = 0; d < n_devices; d++)
        scale[d] = base;
    QH_TRY(st, qh_mem_strdup(list ? list : "", &text));
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        QH_TRY(st, parse(where, item, n_devices, scale));
    *out = scale;
    scale = NULL;
out:
    qh_mem_free(scale);
    qh_mem_free(text);
    return st;
}
