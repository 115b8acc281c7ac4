/* The run folder: run.json, epochs.csv, traffic.csv, bits.csv.
 *
 * epochs.csv is written in place, one flushed line an epoch, so that a run can be watched and
 * outlives a crash. The others appear under their names when they are complete. A run.json of an
 * earlier run is removed at the start: it would not belong to the epochs beside it. */
#ifndef QH_TOOLS_RUNFOLDER_H
#define QH_TOOLS_RUNFOLDER_H

#include "sim/scenario.h"

#include <jansson.h>

typedef struct qh_runfolder qh_runfolder;

/* Refuses a folder that holds something, but no run: somebody's files would stand among those of
 * the run. NULL, a path that is not there, an empty folder and an old run (or comparison, or what a
 * stopped one left) are fine. QH_EUSAGE. */
qh_status qh_runfolder_check(const char *path);

qh_status qh_runfolder_open(const char *path, bool measured, qh_runfolder **out);

qh_status qh_runfolder_epoch(qh_runfolder *f, const qh_epoch_row *row);
qh_status qh_runfolder_bits(qh_runfolder *f, int32_t epoch, int layer, int direction, int width,
                            int64_t messages);

/* What was run: versions, dataset (as the user gave it), configuration (all settings but those of
 * this host), effective (the parts in force). NULL: no memory. */
json_t *qh_configuration_json(const char *dataset, const qh_settings *s);

/* Writes traffic.csv and run.json, and closes bits.csv. dataset is its name as the user gave it. */
qh_status qh_runfolder_finish(qh_runfolder *f, const char *dataset, const qh_settings *s,
                              const qh_result *r, const json_t *summary);

/* Closes what is open; of a folder that was not finished epochs.csv stays. NULL is fine. */
void qh_runfolder_free(qh_runfolder *f);

/* PATH/NAME into a text that the caller frees. */
qh_status qh_path_join(const char *path, const char *name, char **out);

#endif
