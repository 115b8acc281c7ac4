/* What this program is and what was compiled in. */
#ifndef QH_TOOLS_VERSION_H
#define QH_TOOLS_VERSION_H

#include <jansson.h>
#include <stdio.h>

extern const char qh_version[];

/* Readable lines, for --version. */
void qh_version_print(FILE *out);

/* {"qhalo": "0.1.0", "compiler": ..., "metis": ...} for run.json; NULL: no memory. */
json_t *qh_version_json(void);

#endif
