/* Reading YAML descriptions (networks, accelerators, configurations) with file:line in every error;
 * libfyaml does the parsing. */
#ifndef QH_BASE_YAML_H
#define QH_BASE_YAML_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qh_yaml qh_yaml;           /* a document, owned */
typedef struct qh_yaml_node qh_yaml_node; /* a node of it, borrowed */

/* Parses size bytes of text; name stands for it in errors. status_when_bad is QH_EUSAGE for
 * configurations, QH_EINPUT for data; every error of this document has that code. Duplicate keys
 * are refused. */
qh_status qh_yaml_parse(const char *name, const char *text, int64_t size, qh_status status_when_bad,
                        qh_yaml **out);
void qh_yaml_free(qh_yaml *y);

const qh_yaml_node *qh_yaml_root(const qh_yaml *y);

/* The text that was parsed, borrowed from the document. */
const char *qh_yaml_source(const qh_yaml *y);

/* "name:line" of a node, borrowed from the document. */
const char *qh_yaml_where(const qh_yaml *y, const qh_yaml_node *node);

/* "name:line: text" with the code of the document, for what its reader finds wrong. node NULL: the
 * name alone stands in front. */
qh_status qh_yaml_fail(const qh_yaml *y, const qh_yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Mappings. check refuses a node that is no mapping and any key outside keys (n of them), with "did
 * you mean". get gives NULL when the key is absent. */
qh_status qh_yaml_check_keys(const qh_yaml *y, const qh_yaml_node *map, const char *const *keys,
                             int64_t n);
const qh_yaml_node *qh_yaml_get(const qh_yaml_node *map, const char *key);
int64_t qh_yaml_size(const qh_yaml_node *node); /* entries of a mapping or sequence; scalar: 0 */
bool qh_yaml_is_sequence(const qh_yaml_node *node);
bool qh_yaml_is_scalar(const qh_yaml_node *node);
/* Pair i of a mapping in file order: its key text (borrowed) and value. */
const char *qh_yaml_key(const qh_yaml *y, const qh_yaml_node *map, int64_t i);
const qh_yaml_node *qh_yaml_value(const qh_yaml_node *map, int64_t i);
const qh_yaml_node *qh_yaml_item(const qh_yaml_node *sequence, int64_t i);

/* The text of a scalar, borrowed; an error naming what for any other node. */
qh_status qh_yaml_text(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                       const char **out);

/* A scalar as a plain number in [min, max]; what names it in errors. */
qh_status qh_yaml_parse_int(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                            int64_t min, int64_t max, int64_t *out);
qh_status qh_yaml_parse_real(const qh_yaml *y, const qh_yaml_node *node, const char *what,
                             double min, double max, double *out);

/* The scalar under key with its unit; required: absent is an error, else *out stays as it is. */
qh_status qh_yaml_rate(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       double *bytes_per_s);
qh_status qh_yaml_duration(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                           bool required, int64_t *duration_ps);
qh_status qh_yaml_bytes(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                        int64_t *bytes);
qh_status qh_yaml_flops(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                        double *flops_per_s);
qh_status qh_yaml_int(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                      int64_t min, int64_t max, int64_t *out);
qh_status qh_yaml_real(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       double min, double max, double *out);
qh_status qh_yaml_bool(const qh_yaml *y, const qh_yaml_node *map, const char *key, bool required,
                       bool *out);

#endif
