/* Traces into formats of other tools. A format is one file with one table and a line of export.c.
 */
#ifndef QH_TRACES_EXPORT_H
#define QH_TRACES_EXPORT_H

#include "src/base/units.h"
#include "traces/reader.h"

#include <stdbool.h>
#include <stdio.h>

/* A piece of a device's time, as sim/timeline.h has it: stream 0 computes (and waits), stream 1 is
 * the flow of a SEND. */
typedef struct qh_span {
    int device, stream;
    qh_time start, end;
    const qh_record *record; /* borrowed during the call */
} qh_span;

/* What is exported, and what the one who knows about time does for it. All borrowed. */
typedef struct qh_export_job {
    const qh_trace *trace;
    const char *path;  /* a file, or a folder (see qh_export_ops) */
    const char *title; /* of what was run, for those who look at it */
    bool rounds;       /* a send of a round waits for what the device posted for earlier ones */
    /* How long a compute record takes. Programs are exported with these. */
    qh_time (*duration)(void *ctx, int device, const qh_record *r);
    /* Runs it all and calls span, in order of the ends for one device. An error of span ends it. */
    qh_status (*play)(void *ctx, qh_status (*span)(void *to, const qh_span *s), void *to);
    void *ctx;
} qh_export_job;

typedef struct qh_export_ops {
    const char *name, *help;
    bool folder; /* path is a folder, which is made: a file for each device */
    bool plays;  /* it calls play, for which there has to be a network */
    /* QH_ERESOURCE, or what reading and playing gives. Nothing half-written is left of a file. */
    qh_status (*write)(const qh_export_job *job);
} qh_export_ops;

/* The registry: NULL past the last. */
const qh_export_ops *qh_export_at(int i);

/* QH_EUSAGE with the known ones; also for one that this build was made without. */
qh_status qh_export_find(const char *where, const char *name, const qh_export_ops **out);

#endif
