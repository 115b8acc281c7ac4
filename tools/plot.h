/* Pictures as SVG, drawn by gnuplot where it is installed. */
#ifndef QH_TOOLS_PLOT_H
#define QH_TOOLS_PLOT_H

#include "src/base/status.h"

#include <stdbool.h>

/* One curve: a column of a run's epochs.csv. */
typedef struct qh_curve {
    const char *title; /* borrowed */
    char *csv;         /* owned by the caller */
} qh_curve;

/* Whether gnuplot can be started. */
bool qh_plot_available(void);

/* Curves of column (its heading) over epochs. QH_ERESOURCE when gnuplot fails or the file cannot be
 * written; the old picture then stays. */
qh_status qh_plot_curves(const char *svg, const char *title, const char *column, const char *label,
                         const qh_curve *curves, int n);

/* Stacked bars of an epoch's parts, one bar a method, from a compare.csv. */
qh_status qh_plot_breakdown(const char *svg, const char *title, const char *compare_csv);

#endif
