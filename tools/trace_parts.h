/* What the words of qhalo trace do; cmd_trace.c reads the command line. */
#ifndef QH_TOOLS_TRACE_PARTS_H
#define QH_TOOLS_TRACE_PARTS_H

#include "tools/recording.h"

/* What was run, sizes, and a line an epoch. */
qh_status qh_trace_info_print(const qh_recording *r, bool json);

/* The first record that differs, the settings that differ, and the time of each phase as recorded.
 */
qh_status qh_trace_diff_print(const qh_recording *a, const qh_recording *b, bool json);

/* Every frame read and every record replayed as it was recorded; a line when all is well. */
qh_status qh_trace_verify(const qh_recording *r, bool json);

#endif
