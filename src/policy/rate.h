/* Rate schedules: the compression rate R >= 1 of every epoch and layer, which a codec turns into
 * the number of columns that it keeps (Cervino et al., VARCO, 2024, arXiv 2406.17611). Every rank
 * asks for itself, so an answer depends on the schedule, the epoch and the layer alone. */
#ifndef QH_POLICY_RATE_H
#define QH_POLICY_RATE_H

#include "src/base/status.h"

#include <stdint.h>
#include <stdio.h>

/* The run that a schedule is for: t = 0 .. epochs-1, layers 0 .. n_layers-1. */
typedef struct qh_rate_run {
    int64_t epochs;
    int n_layers;
} qh_rate_run;

/* What one schedule keeps; each member has its own. */
typedef struct qh_rate_state qh_rate_state;

typedef struct qh_rate_ops {
    const char *name, *help; /* help names the arguments: "linear:HIGH:LOW:SLOPE" */
    /* Reads the text after the first ':' ("" when there is none). where names the option.
     * QH_EUSAGE; a file: QH_EINPUT with file:line; QH_ERESOURCE. */
    qh_status (*open)(const char *where, const char *argument, const qh_rate_run *run,
                      qh_rate_state **out);
    void (*close)(qh_rate_state *state);                                /* NULL is fine */
    double (*at)(const qh_rate_state *state, int64_t epoch, int layer); /* at least 1 */
} qh_rate_ops;

const qh_rate_ops *qh_rate_ops_at(int i); /* the registry: NULL past the last */
void qh_rates_help(FILE *out);

/* A schedule for each layer, read-only, shared by all ranks. */
typedef struct qh_rate qh_rate;

/* "linear:128:1:5" for all layers, or "const:1,linear:128:1:5": by layer from 0, the last for all
 * that follow. file:PATH has the rest of the text for its path and stands alone (its lines may have
 * a rate for each layer). QH_EUSAGE: an unknown name, a bad argument, more schedules than layers.
 */
qh_status qh_rate_open(const char *where, const char *text, const qh_rate_run *run, qh_rate **out);
void qh_rate_close(qh_rate *r); /* NULL is fine */

double qh_rate_at(const qh_rate *r, int64_t epoch, int layer);
/* The smallest of the layer in all epochs of the run: what buffers have to hold. */
double qh_rate_least(const qh_rate *r, int layer);
/* Mean over layers, for reports. */
double qh_rate_mean(const qh_rate *r, int64_t epoch);

#endif
