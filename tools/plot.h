/* Pictures as SVG, drawn by gnuplot where it is installed. */
#ifndef QH_TOOLS_PLOT_H
#define QH_TOOLS_PLOT_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Bars over a common scale of time. Rows count from the top, 1 high. */
typedef struct qh_bar_kind {
    const char *title, *color; /* "#rrggbb" */
} qh_bar_kind;

typedef struct qh_bar {
    int kind;
    double x0, x1; /* seconds */
    double y0, y1; /* rows */
} qh_bar;

typedef struct qh_bar_text {
    double y;
    char text[256];
} qh_bar_text;

typedef struct qh_bars {
    const char *x_label;
    const qh_bar_kind *kind; /* borrowed */
    qh_bar *bar;             /* these three are the caller's */
    qh_bar_text *tic;        /* at the left border */
    qh_bar_text *caption;    /* inside, from the left */
    int n_kinds, n_rows, n_tics, n_captions;
    int64_t n_bars;
    double x_max; /* seconds */
} qh_bars;

/* Kinds without a bar are left out of the key. Errors as above. */
qh_status qh_plot_bars(const char *svg, const qh_bars *b);

#endif
