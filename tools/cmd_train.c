/* qhalo train: one run. */
#include "tools/command.h"
#include "tools/console.h"
#include "tools/expect.h"
#include "tools/json.h"
#include "tools/run.h"
#include "tools/runfolder.h"
#include "tools/stop.h"
#include "tools/summary.h"
#include "tools/tracer.h"

typedef struct train_options {
    qh_front front; /* first, for QH_FRONT_OPTIONS */
    char *trace;
    bool payload;
} train_options;

static const qh_option options[] = {
    QH_FRONT_OPTIONS,
    {"trace", QH_OPT_TEXT, offsetof(train_options, trace), .value = "FILE.qht",
     .help = "record what every device does, for qhalo replay and qhalo trace"},
    {"trace-payload", QH_OPT_FLAG, offsetof(train_options, payload),
     .help = "with the bit-width of every message, for a replay that sends real bytes"},
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fputc('\n', out);
    qh_options_help(qh_scenario_options, out);
    fprintf(out, "\nMethods:\n");
    qh_methods_help(out);
    fprintf(out,
            "\nDATASET is a .qhd file, a folder in the neutral layout, or synth:SPEC; qhalo data\n"
            "--help says more.\n");
}

/* Everything but what needs the data set, which may take long to load. */
static qh_status check(const train_options *o, const qh_settings *s)
{
    const qh_front *front = &o->front;
    const qh_result none = {0};
    qh_graph no_graph = {0};
    const qh_dataset no_data = {.name = (char[]){""}, .graph = &no_graph};
    json_t *sample = qh_summary_json(s, &no_data, &none);
    qh_status st;

    QH_TRY(st, qh_expect_check(&front->expect, sample));
    QH_TRY(st, qh_settings_check(s));
    QH_TRY(st, qh_runfolder_check(front->out));
    if (o->payload && !o->trace)
        QH_TRY(st,
               qh_fail(QH_EUSAGE, "--trace-payload: is for --trace FILE.qht, which is missing"));
    QH_TRY(st, qh_tracer_check(o->trace));
out:
    json_decref(sample);
    return st;
}

static qh_status report(const qh_front *front, const qh_settings *s, const qh_dataset *d,
                        const qh_result *r, const json_t *summary)
{
    return front->json ? qh_json_print(summary, stdout) : qh_summary_print(s, d, r, stdout);
}

static qh_status train(const train_options *o, const qh_settings *s, const char *name,
                       const qh_dataset *d)
{
    const qh_front *front = &o->front;
    qh_run_output to = {.folder = front->out, .trace = o->trace, .payload = o->payload};
    char interruption[QH_ERROR_TEXT_BYTES];
    qh_result r = {0};
    json_t *summary = NULL;
    qh_status st;

    st = qh_run_execute(s, name, d, &to, &r, &summary);
    if (st < 0 && st != QH_EINTERRUPT)
        goto out;
    snprintf(interruption, sizeof interruption, "%s", qh_error_text());
    if (summary && report(front, s, d, &r, summary) < 0)
        st = st < 0 ? st : QH_ERESOURCE;
    else if (st == QH_OK) /* what was promised of the whole says nothing of a part */
        st = qh_expect_hold(&front->expect, summary);
    if (st == QH_EINTERRUPT)
        qh_error_set_text(interruption);
out:
    json_decref(summary);
    qh_result_fini(&r);
    return st;
}

static qh_status run(int argc, char **argv)
{
    train_options o = {0};
    qh_settings s = {0};
    qh_arg_set sets[] = {{options, &o}, {qh_scenario_options, &s}};
    qh_args args = {.set = sets, .n_sets = QH_COUNT(sets)};
    qh_parts parts = {0};
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, qh_run_read(&args, &s, &o.front, argc, argv));
    QH_TRY(st, qh_args_want(&args, "train", 1, "DATASET"));
    QH_TRY(st, check(&o, &s));
    qh_console_start(o.front.quiet);
    QH_TRY(st, qh_settings_parts(&s, &parts));
    qh_run_note_bits(&o.front, parts.assign != NULL);
    qh_run_note_mask(&s, qh_parts_have_mask(&parts));
    QH_TRY(st, qh_run_open_dataset(args.operand[0], &s, &d));
    qh_stop_arm();
    QH_TRY(st, train(&o, &s, args.operand[0], d));
out:
    qh_dataset_free(d);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_train = {
    .name = "train",
    .usage = "DATASET --devices N [options]",
    .about = "Trains one GNN on simulated devices and says how well and how fast.",
    .help = help,
    .run = run,
};
