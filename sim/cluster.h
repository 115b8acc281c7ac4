/* One rank of a run whose devices are processes. */
#ifndef QH_SIM_CLUSTER_H
#define QH_SIM_CLUSTER_H

#include "sim/scenario.h"
#include "src/partition/part.h"
#include "src/transport/transport.h"

/* All borrowed. */
typedef struct qh_cluster {
    qh_transport *transport;
    int rank;
    int n_here, index_here;    /* ranks on this machine, which share its CPUs; which one this is */
    const qh_part *part;       /* this rank's; or NULL, and the whole: */
    const qh_dataset *dataset; /* normalised */
    bool widths;               /* rank 0's observer wants them */
} qh_cluster;

/* Trains this rank's part: what qh_scenario_run does for all, of the same settings with the same
 * numbers; settings.devices is the number of ranks. o is rank 0's (elsewhere it is not looked at,
 * but for stop, and may be NULL). *out: on rank 0 all of it, peak_rss_bytes the largest of the
 * ranks; elsewhere what the rank knows. A failure aborts the transport. */
qh_status qh_cluster_run(const qh_settings *s, const qh_cluster *cluster, const qh_observer *o,
                         qh_result *out);

#endif
