/* What qhalo and qhalo-mpi share: a table of commands, and the way in and out. */
#ifndef QH_TOOLS_PROGRAM_H
#define QH_TOOLS_PROGRAM_H

#include "tools/command.h"

#include <stdbool.h>

enum { QH_MAX_COMMANDS = 32 };

typedef struct qh_program {
    const char *name, *about;
    const char *before; /* on a command line: "mpirun -n N " */
    const qh_command *const *commands;
    size_t n_commands; /* <= QH_MAX_COMMANDS */
} qh_program;

/* Standard streams, signals, console. */
void qh_program_begin(void);

/* Finds the command and runs it; --help and --version. */
qh_status qh_program_run(const qh_program *p, int argc, char **argv);

/* Whether all that was printed has arrived; *quiet: nobody reads it any more, and there is nothing
 * to tell. st is what to return where it has. */
qh_status qh_program_close_stdout(qh_status st, bool *quiet);

#endif
