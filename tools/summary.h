/* What a run gave: the JSON object of the contract (schema qhalo.summary/1) and a readable page. */
#ifndef QH_TOOLS_SUMMARY_H
#define QH_TOOLS_SUMMARY_H

#include "sim/scenario.h"

#include <jansson.h>

/* NULL: no memory. A zeroed result gives an object of the same shape, for checks before a run. */
json_t *qh_summary_json(const qh_settings *s, const qh_dataset *d, const qh_result *r);

/* Seconds an epoch, as "breakdown" has them. NULL: no memory. */
json_t *qh_breakdown_json(const qh_breakdown_seconds *b);

/* For people. */
qh_status qh_summary_print(const qh_settings *s, const qh_dataset *d, const qh_result *r,
                           FILE *out);

enum { QH_METHOD_TEXT_BYTES = 256 };

/* What is sent, in words: the method and what the options put in place of its parts, as in "vanilla
 * with codec int:3". Gives buf. */
const char *qh_method_text(const qh_settings *s, char *buf, size_t room);

#endif
