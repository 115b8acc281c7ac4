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

/* What a picture of curves shows: a column (its heading), over epochs, or, where `spent` names
 * another column, over what has been spent of that so far, on a scale of powers of ten. */
typedef struct qh_axes {
    const char *column, *label;
    const char *spent, *spent_label; /* NULL: epochs */
} qh_axes;

/* QH_ERESOURCE when gnuplot fails or the file cannot be
 * written; the old picture then stays. */
qh_status qh_plot_curves(const char *svg, const char *title, const qh_axes *axes,
                         const qh_curve *curves, int n);

/* Stacked bars of an epoch's parts, one bar a method, from a compare.csv. */
qh_status qh_plot_breakdown(const char *svg, const char *title, const char *compare_csv);

#endif
