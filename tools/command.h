/* A command of qhalo: one file cmd_NAME.c, one const table, one line in main.c. */
#ifndef QH_TOOLS_COMMAND_H
#define QH_TOOLS_COMMAND_H

#include "src/base/status.h"

#include <stdio.h>

typedef struct qh_command {
    const char *name;
    const char *usage; /* what follows the name: "DATASET --devices N [options]"; lines by '\n' */
    const char *about; /* one sentence */
    void (*help)(FILE *out); /* the rest of --help: options, known names; NULL: nothing */
    /* argv holds what follows the command's name. Results go to stdout; a failure leaves its line
     * in qh_error_text, which main prints. */
    qh_status (*run)(int argc, char **argv);
} qh_command;

extern const qh_command qh_cmd_train, qh_cmd_compare, qh_cmd_data, qh_cmd_partition, qh_cmd_net,
    qh_cmd_replay, qh_cmd_trace, qh_cmd_assign, qh_cmd_bench;

#endif
