/* qhalo trace import: programs of other tools become traces. */
#ifndef QH_TOOLS_IMPORTING_H
#define QH_TOOLS_IMPORTING_H

#include "traces/import.h"

#include <stdio.h>

typedef struct qh_importing {
    const char *format, *input, *output; /* borrowed */
    const char *speed, *eager;           /* borrowed: 1GFLOP/s, 64KiB; NULL: that, and 0B */
} qh_importing;

/* QH_EUSAGE for what was asked in a wrong way, or where output is there and is no trace; else what
 * reading and writing give. */
qh_status qh_import_run(const qh_importing *i);

/* Lists the formats. */
void qh_import_help(FILE *out);

#endif
