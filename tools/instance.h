/* Bit-assignment problems in JSON: the format of qhalo assign. */
#ifndef QH_TOOLS_INSTANCE_H
#define QH_TOOLS_INSTANCE_H

#include "src/policy/tradeoff.h"

#include <jansson.h>

/* A file of instances, or of one. */
typedef struct qh_instances {
    const char *path; /* borrowed */
    json_t *file;     /* owned */
    json_t *list;     /* borrowed from file: the array, NULL where the file is one instance */
} qh_instances;

/* QH_EINPUT with FILE:line, or naming the key. */
qh_status qh_instances_open(const char *path, qh_instances *out);
void qh_instances_close(qh_instances *x);

/* The instance of that name; name NULL: the only one. QH_EUSAGE, naming those there are. */
qh_status qh_instances_find(const qh_instances *x, const char *name, const json_t **out);

/* A problem and what it points to. Times are in ms; bytes count bits, so theta is ms a bit. */
typedef struct qh_instance {
    char *name; /* owned; "" where it has none */
    qh_tradeoff problem;
    qh_tradeoff_channel *channel; /* owned */
    float *variance;              /* owned, [n_groups], channel after channel */
    int64_t n_groups;
} qh_instance;

/* Negative alpha and beta, as a fit may give them, become 0 with a warning. QH_EINPUT naming file
 * and key for what is missing, misspelt, of another type or out of range; QH_ERESOURCE. */
qh_status qh_instance_read(const qh_instances *x, const json_t *o, qh_instance *out);
void qh_instance_fini(qh_instance *x);

#endif
