/* The figures of qhalo compare: runs gathered by method, means over seeds, and their tables. */
#ifndef QH_TOOLS_COMPARE_H
#define QH_TOOLS_COMPARE_H

#include "sim/scenario.h"

#include <jansson.h>

/* What one run adds. */
typedef struct qh_sample {
    double test_metric, val_metric, final_loss;
    double sim_s, bytes, messages, floats; /* an epoch */
    double compression;
    qh_breakdown_seconds breakdown;
    double wall_s;
} qh_sample;

typedef struct qh_method_runs {
    const char *method; /* borrowed */
    qh_sample *run;     /* owned, [capacity] */
    int64_t n, capacity;
} qh_method_runs;

typedef struct qh_comparison {
    const char *dataset, *metric, *net; /* borrowed; net for pictures, may be NULL */
    int64_t devices, first_seed;
    qh_method_runs *method; /* owned, [n_methods]; the first is what speed-ups are against */
    int64_t n_methods;
} qh_comparison;

/* methods: borrowed names; room for n_seeds runs of each. */
qh_status qh_comparison_init(qh_comparison *c, char *const *methods, int64_t n_methods,
                             int64_t n_seeds);
void qh_comparison_fini(qh_comparison *c);

void qh_comparison_add(qh_comparison *c, int64_t method, const qh_result *r);

/* Mean, and standard deviation of the sample (0 for one run), of the member at offset. */
double qh_method_mean(const qh_method_runs *m, size_t offset);
double qh_method_std(const qh_method_runs *m, size_t offset);

/* Simulated time of the first method over this one's. */
double qh_method_speedup(const qh_comparison *c, int64_t method);

/* The channel rate, per device, below which sending this method's bytes in place of the first's
 * wins more time than its codec takes on top of the first's: saved bytes / extra codec time (of
 * devices, per epoch). INFINITY
 * where the codec takes no more time than the first's, NaN where no byte is saved. */
double qh_method_break_even(const qh_comparison *c, int64_t method);

/* One table for people, and the same as qhalo.compare/1 (NULL: no memory) and as compare.csv.
 * Methods without a run are left out. */
qh_status qh_comparison_print(const qh_comparison *c, FILE *out);
json_t *qh_comparison_json(const qh_comparison *c);
void qh_comparison_csv(const qh_comparison *c, FILE *out);

#endif
