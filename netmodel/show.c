/* What a model will do, in words and numbers, and the line fitted to a channel. */
#include "netmodel/netmodel.h"

#include "src/base/units.h"

enum { MATRIX_DEVICES = 8, FIT_FROM_LOG2 = 10, FIT_TO_LOG2 = 26 };

static void show_cell(const qh_netmodel *m, int src, int dst, int bandwidth, FILE *out)
{
    const int64_t large = INT64_C(1) << 30;
    char text[QH_UNIT_TEXT_BYTES];
    double latency_s, span_s;

    if (src == dst) {
        fprintf(out, " %11s", "-");
        return;
    }
    latency_s = qh_seconds(m->ops->alone(m, src, dst, 0));
    span_s = qh_seconds(m->ops->alone(m, src, dst, large)) - latency_s;
    if (!bandwidth)
        qh_print_seconds(latency_s, text);
    else if (span_s > 0)
        qh_print_rate((double)large / span_s, text);
    else
        snprintf(text, sizeof text, "unlimited");
    fprintf(out, " %11s", text);
}

static void show_matrix(const qh_netmodel *m, int bandwidth, FILE *out)
{
    int n = m->n_devices < MATRIX_DEVICES ? m->n_devices : MATRIX_DEVICES;

    fprintf(out, "%s from (row) to (column), one flow alone%s:\n",
            bandwidth ? "bandwidth" : "latency", n < m->n_devices ? ", first devices" : "");
    fprintf(out, "    ");
    for (int dst = 0; dst < n; dst++)
        fprintf(out, " %11d", dst);
    fprintf(out, "\n");
    for (int src = 0; src < n; src++) {
        fprintf(out, "%4d", src);
        for (int dst = 0; dst < n; dst++)
            show_cell(m, src, dst, bandwidth, out);
        fprintf(out, "\n");
    }
}

void qh_netmodel_show(const qh_netmodel *m, FILE *out)
{
    fprintf(out, "%s: model %s, %d device%s\n", m->name, m->ops->name, m->n_devices,
            m->n_devices == 1 ? "" : "s");
    if (m->about[0])
        fprintf(out, "  %s\n", m->about);
    m->ops->show(m, out);
    fprintf(out, "  %s\n",
            m->staging ? "staging: each block is copied to the host before it travels and to the "
                         "device after"
                       : "no staging: blocks leave from and arrive in device memory");
    show_matrix(m, 0, out);
    show_matrix(m, 1, out);
}

/* Sums over sizes x with times t and weights 1 / t^2. */
typedef struct sums {
    double w, wx, wxx, wt, wxt;
} sums;

/* Relative errors, because sizes span four decades: with plain squares the largest would decide
 * alone and the latency would be noise. */
void qh_netmodel_fit(const qh_netmodel *m, int src, int dst, double *theta, double *gamma)
{
    sums s = {0};
    double slope, offset, det;

    for (int log2 = FIT_FROM_LOG2; log2 <= FIT_TO_LOG2; log2++) {
        double x = (double)(INT64_C(1) << log2);
        double t = qh_seconds(m->ops->alone(m, src, dst, INT64_C(1) << log2)), w;

        if (!(t > 0)) { /* a network that takes no time at all */
            *theta = *gamma = 0;
            return;
        }
        w = 1 / (t * t);
        s.w += w;
        s.wx += w * x;
        s.wxx += w * x * x;
        s.wt += w * t;
        s.wxt += w * x * t;
    }
    det = s.w * s.wxx - s.wx * s.wx; /* > 0: the sizes differ */
    slope = (s.w * s.wxt - s.wx * s.wt) / det;
    offset = (s.wt - slope * s.wx) / s.w;
    if (offset < 0) { /* the best line with gamma = 0 */
        offset = 0;
        slope = s.wxt / s.wxx;
    } else if (slope < 0) {
        slope = 0;
        offset = s.wt / s.w;
    }
    *theta = slope;
    *gamma = offset;
}
