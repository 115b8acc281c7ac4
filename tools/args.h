/* The command line: GNU long options from option tables, and operands. */
#ifndef QH_TOOLS_ARGS_H
#define QH_TOOLS_ARGS_H

#include "src/base/options.h"

/* A table and the settings that it fills. */
typedef struct qh_arg_set {
    const qh_option *table;
    void *settings;
} qh_arg_set;

enum { QH_MAX_OPERANDS = 256 };

typedef struct qh_args {
    const qh_arg_set *set; /* borrowed, [n_sets] */
    int n_sets;
    const char *operand[QH_MAX_OPERANDS]; /* borrowed from argv */
    int n_operands;
} qh_args;

/* One option as given: where is "--name" or "file:line"; text NULL for a flag without value. */
typedef qh_status (*qh_args_visit)(void *ctx, const char *where, const char *name,
                                   const char *text);

/* Reads --name=value, --name value, flags, -o FILE (for --output) and operands; what follows "--"
 * is operands. Each option goes to visit in order; the operands are gathered anew. An option that
 * no set knows: QH_EUSAGE with the closest name. */
qh_status qh_args_scan(qh_args *a, int argc, char **argv, qh_args_visit visit, void *ctx);

/* The pairs of a configuration file, keys being names of options, in the same way. A list gives one
 * call an item. QH_EUSAGE with file:line for an unknown key, a bad value, or "config" itself. */
qh_status qh_args_scan_file(const qh_args *a, const char *path, qh_args_visit visit, void *ctx);

/* A visit that stores the value where its table says; ctx is the qh_args. */
qh_status qh_args_store(void *ctx, const char *where, const char *name, const char *text);

/* The set that knows the option, or NULL. */
const qh_arg_set *qh_args_find(const qh_args *a, const char *name, const qh_option **option);

/* The names of all options, into an array that the caller frees (the texts are borrowed). */
qh_status qh_args_names(const qh_args *a, const char ***names, int64_t *n);

/* Defaults, then the command line, for commands without configuration files. */
qh_status qh_args_read(qh_args *a, int argc, char **argv);

/* Defaults of every set; and what their texts and lists hold, freed. */
qh_status qh_args_default(const qh_args *a);
void qh_args_free(const qh_args *a);

/* Refuses another number of operands: "qhalo partition: DATASET is missing". names: "DATASET FILE".
 */
qh_status qh_args_want(const qh_args *a, const char *command, int n, const char *names);

#endif
