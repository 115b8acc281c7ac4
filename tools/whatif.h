/* The replays that qhalo replay is asked for: traces times networks, with what is changed, and
 * their results. */
#ifndef QH_TOOLS_WHATIF_H
#define QH_TOOLS_WHATIF_H

#include "sim/replay.h"
#include "src/base/options.h"
#include "tools/recording.h"

typedef struct qh_whatif_options {
    qh_text_list net;
    char *accelerator, *slow;
    int exchange;  /* 0: as recorded, or 1 + qh_exchange_order */
    int allreduce; /* 0: as recorded, or 1 + qh_reduce_kind */
    double scale_bytes, scale_compute;
    int64_t threads;
    bool partial;
} qh_whatif_options;

/* One line of the table. */
typedef struct qh_whatif_run {
    int64_t trace;    /* number of the recording */
    bool as_recorded; /* nothing is changed: what it is compared with */
    const char *net;  /* borrowed: its name; NULL: one device */
    qh_replay_result r;
} qh_whatif_run;

typedef struct qh_whatif {
    const qh_whatif_options *options; /* borrowed */
    qh_recording *recording;          /* owned */
    int64_t n_recordings;
    qh_whatif_run
        *run; /* owned; recording by recording, the one as recorded first where there is one */
    int64_t n_runs;
    /* What the runs were made with: */
    qh_netmodel **net;            /* owned, [n_runs] */
    qh_accelerator **accelerator; /* owned, [n_runs] */
    double **scale;               /* owned, [n_runs]: of computing, by device; NULL: none */
    qh_replay_config *config;     /* owned, [n_runs] */
} qh_whatif;

/* Opens the traces and everything that the runs need, so that mistakes come before any work. */
qh_status qh_whatif_open(const qh_whatif_options *o, const char *const *paths, int64_t n_paths,
                         qh_whatif *out);
qh_status qh_whatif_execute(qh_whatif *w);
void qh_whatif_close(qh_whatif *w);

/* The run of the recording as it was recorded; NULL where the trace does not say how that was. */
const qh_whatif_run *qh_whatif_recorded(const qh_whatif *w, int64_t recording);
/* The first recording's run that stands on the same line of its networks; NULL: there is none. */
const qh_whatif_run *qh_whatif_first(const qh_whatif *w, const qh_whatif_run *run);

#endif
