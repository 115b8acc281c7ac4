/* What qhalo train and qhalo-mpi train share: options, help, checks, and a run with its report. */
#ifndef QH_TOOLS_TRAIN_H
#define QH_TOOLS_TRAIN_H

#include "tools/run.h"

typedef struct qh_train_options {
    qh_front front; /* first, for QH_FRONT_OPTIONS */
    char *trace;
    bool payload, verbose;
} qh_train_options;

extern const qh_option qh_train_options_table[];

void qh_train_help(FILE *out);

/* Everything but what needs the data set, which may take long to load. */
qh_status qh_train_check(const qh_train_options *o, const qh_settings *s);

/* Runs, reports and holds expectations. `to` says how; its outputs are taken from o. */
qh_status qh_train_run(const qh_train_options *o, const qh_settings *s, const char *name,
                       const qh_dataset *d, qh_run_output to);

#endif
