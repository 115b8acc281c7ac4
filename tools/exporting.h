/* Traces into other tools' formats: joins traces/export.h with the engine. */
#ifndef QH_TOOLS_EXPORTING_H
#define QH_TOOLS_EXPORTING_H

#include "sim/replay.h"
#include "traces/export.h"

/* Writes what the replay is configured for to path; its interval and ctx are ours to set. title: of
 * the run, in words. */
qh_status qh_export_run(const qh_export_ops *format, const qh_replay_config *c, const char *path,
                        const char *title);

/* Lists the formats. */
void qh_export_help(FILE *out);

#endif
