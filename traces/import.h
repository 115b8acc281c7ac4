/* Programs of other tools into traces. A format is one file with one table and a line of import.c.
 *
 * What comes out has no times but those of its computations: a record's flops are its picoseconds,
 * which qh_import_accelerator says to whoever replays. Messages are QH_REQUESTs. */
#ifndef QH_TRACES_IMPORT_H
#define QH_TRACES_IMPORT_H

#include "src/base/units.h"

#include <stdbool.h>

typedef struct qh_import_options {
    double flops_per_s;  /* of a rank, where a format counts flops */
    int64_t eager_bytes; /* a send of fewer is done when it is posted, others when they have left */
} qh_import_options;

/* A program as it was read: a list of operations for each of its ranks. */
typedef struct qh_foreign qh_foreign;

typedef struct qh_import_ops {
    const char *name, *help;
    /* QH_EINPUT, "FILE:LINE: ..."; QH_ERESOURCE. */
    qh_status (*read)(const char *path, const qh_import_options *o, qh_foreign **out);
} qh_import_ops;

/* The registry: NULL past the last; QH_EUSAGE with the known ones. */
const qh_import_ops *qh_import_at(int i);
qh_status qh_import_find(const char *where, const char *name, const qh_import_ops **out);

/* Reads, matches every receive with its send, and makes sure that nobody waits for ever. */
qh_status qh_import_read(const qh_import_ops *format, const char *path, const qh_import_options *o,
                         qh_foreign **out);
int qh_foreign_n_ranks(const qh_foreign *f);
void qh_foreign_free(qh_foreign *f); /* NULL is fine */

/* Writes it as a trace with the JSON text in its head. QH_EINPUT where a rank waits for more things
 * at once than a trace has numbers for; QH_ERESOURCE. */
qh_status qh_foreign_write(qh_foreign *f, const char *json, const char *path);

/* The description of the accelerator on which the computations take as long as they are given. */
extern const char qh_import_accelerator[];

#endif
