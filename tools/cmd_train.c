/* qhalo train: one run. */
#include "tools/command.h"
#include "tools/console.h"
#include "tools/stop.h"
#include "tools/train.h"

static qh_status run(int argc, char **argv)
{
    qh_train_options o = {0};
    qh_settings s = {0};
    qh_arg_set sets[] = {{qh_train_options_table, &o}, {qh_scenario_options, &s}};
    qh_args args = {.set = sets, .n_sets = QH_COUNT(sets)};
    qh_parts parts = {0};
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, qh_run_read(&args, &s, &o.front, argc, argv));
    QH_TRY(st, qh_args_want(&args, "train", 1, "DATASET"));
    QH_TRY(st, qh_train_check(&o, &s));
    qh_console_start(o.front.quiet);
    QH_TRY(st, qh_settings_parts(&s, &parts));
    qh_run_note_bits(&o.front, parts.assign != NULL);
    qh_run_note_mask(&s, qh_parts_have_mask(&parts));
    QH_TRY(st, qh_run_open_dataset(args.operand[0], &s, &d));
    qh_stop_arm();
    QH_TRY(st, qh_train_run(&o, &s, args.operand[0], d, (qh_run_output){0}));
out:
    qh_dataset_free(d);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_train = {
    .name = "train",
    .usage = "DATASET --devices N [options]",
    .about = "Trains one GNN on simulated devices and says how well and how fast.",
    .help = qh_train_help,
    .run = run,
};
