/* What train and compare share: reading the settings of a run, running it, watching it. */
#ifndef QH_TOOLS_RUN_H
#define QH_TOOLS_RUN_H

#include "sim/scenario.h"
#include "tools/args.h"

#include <jansson.h>

/* Options of both commands that are about the program, not about the run. */
typedef struct qh_front {
    char *config, *out;
    bool json, quiet;
    qh_text_list expect;
    bool bits_given; /* not an option: set by qh_run_read where --bits was */
} qh_front;

/* Rows for a command's own table, whose settings begin with a qh_front. */
#define QH_FRONT_OPTIONS                                                                           \
    {"out",                                                                                        \
     QH_OPT_TEXT,                                                                                  \
     offsetof(qh_front, out),                                                                      \
     .value = "DIR",                                                                               \
     .help = "folder for run.json, epochs.csv, traffic.csv, bits.csv",                             \
     .group = "Output"},                                                                           \
        {"json", QH_OPT_FLAG, offsetof(qh_front, json), .help = "one JSON object on stdout"},      \
        {"quiet", QH_OPT_FLAG, offsetof(qh_front, quiet), .help = "no notes, no progress bar"},    \
        {"expect", QH_OPT_LIST, offsetof(qh_front, expect), .value = "'NAME OP NUMBER'",           \
         .help =                                                                                   \
             "fail with exit 5 unless it holds, as 'test_metric>=0.8'; OP is >=, <=, >, <, == or " \
             "!=; repeatable"},                                                                    \
    {                                                                                              \
        "config", QH_OPT_TEXT, offsetof(qh_front, config),                                         \
            .value = "FILE.yaml", .help = "options as KEY: VALUE lines; the command line wins"     \
    }

/* Tells of --bits when nothing of the run chooses among widths: otherwise it would be ignored
 * without a word. uses: whether something does. */
void qh_run_note_bits(const qh_front *front, bool uses);
/* The same of --mask-rescale, when no mask is in the run. */
void qh_run_note_mask(const qh_settings *s, bool uses);

/* Fills the sets of a: defaults; the configuration file, its recipe first; the command line, its
 * recipe first. So a recipe gives way to every single option, wherever it stands. s is the settings
 * of one of the sets, front those of another. */
qh_status qh_run_read(qh_args *a, qh_settings *s, qh_front *front, int argc, char **argv);

/* Opens DATASET and scales its features as s says. */
qh_status qh_run_open_dataset(const char *name, const qh_settings *s, qh_dataset **out);

/* What a run leaves; NULL: not asked for. */
typedef struct qh_run_output {
    const char *folder; /* a run folder */
    const char *trace;  /* a .qht file */
    bool payload;       /* with its bit-width tables */
    bool verbose;       /* say where devices run */
    bool measured;      /* epochs are also timed by the wall clock */
    /* Runs s on d and watches it with o; NULL: qh_scenario_run. */
    qh_status (*run)(void *ctx, const qh_settings *s, const qh_dataset *d, const qh_observer *o,
                     qh_result *out);
    void *ctx;
} qh_run_output;

/* Runs s on d with progress on the console. dataset is the name that the user gave. After
 * QH_EINTERRUPT (Ctrl-C) *out and *summary hold what was done, as after QH_OK; else they are
 * untouched. */
qh_status qh_run_execute(const qh_settings *s, const char *dataset, const qh_dataset *d,
                         const qh_run_output *to, qh_result *out, json_t **summary);

#endif
