/* JSON out, through jansson: never Infinity or NaN, numbers as short as 15 digits allow. */
#ifndef QH_TOOLS_JSON_H
#define QH_TOOLS_JSON_H

#include "src/base/options.h"

#include <jansson.h>
#include <stdio.h>

/* value, or null where it is not finite. */
json_t *qh_json_real(double value);

/* text, or a copy of it with U+FFFD for each byte that is not UTF-8: a path may hold any bytes and
 * JSON may not. NULL: no memory. */
json_t *qh_json_text(const char *text);

/* Prints o and a newline. NULL (memory was short while it was built) is QH_ERESOURCE. */
qh_status qh_json_print(const json_t *o, FILE *out);

/* The settings of a table as an object, with the types of the options; a text that was not given is
 * null. NULL: no memory. skip(name) true leaves an option out (skip NULL: none). */
json_t *qh_json_settings(const qh_option *table, const void *settings,
                         bool (*skip)(const char *name));

/* The number at a dotted path ("breakdown.compute"), into *out; NaN for null. False: no number is
 * there. */
bool qh_json_number(const json_t *o, const char *path, double *out);

/* A real in the fewest digits that read back as the same double; nothing where it is not finite.
 * What CSV files hold. */
void qh_print_real(double value, FILE *out);

#endif
