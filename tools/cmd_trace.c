/* qhalo trace: what a recorded run holds. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/exporting.h"
#include "tools/importing.h"
#include "tools/trace_parts.h"

#include <string.h>

typedef struct trace_options {
    bool json, partial, quiet;
    char *format, *output, *net, *speed, *eager;
} trace_options;

#define AT(member) offsetof(trace_options, member)

static const qh_option options[] = {
    {"format", QH_OPT_TEXT, AT(format), .value = "FORMAT",
     .help = "export: into which format; import: from which"},
    {"output", QH_OPT_TEXT, AT(output), .value = "PATH",
     .help = "export, import: the file or folder to write (also -o PATH)"},
    {"net", QH_OPT_TEXT, AT(net), .value = "NAME|FILE.yaml",
     .help = "export: on this network, not on the recorded one"},
    {"speed", QH_OPT_TEXT, AT(speed), .value = "FLOPS",
     .help = "import smpi: of a rank that computes [1GFLOP/s, so a flop is a nanosecond]"},
    {"eager", QH_OPT_TEXT, AT(eager), .value = "BYTES",
     .help = "import: a send of fewer bytes is done when it is posted, others when they have left "
             "[0B]"},
    {"partial", QH_OPT_FLAG, AT(partial),
     .help = "take a trace that was cut as far as it goes, as is done with FILE.qht.part"},
    {"json", QH_OPT_FLAG, AT(json), .help = "one JSON object on stdout"},
    {"quiet", QH_OPT_FLAG, AT(quiet), .help = "no notes"},
    {0}};

static qh_status run_info(const trace_options *o, const qh_args *args)
{
    qh_recording r = {0};
    qh_status st;

    QH_TRY(st, qh_args_want(args, "trace", 2, "info FILE.qht"));
    QH_TRY(st, qh_recording_open(args->operand[1], o->partial, &r));
    QH_TRY(st, qh_trace_info_print(&r, o->json));
out:
    qh_recording_close(&r);
    return st;
}

/* A trace that was not closed is not whole, so it is an error unless asked for. */
static qh_status run_verify(const trace_options *o, const qh_args *args)
{
    qh_recording r = {0};
    qh_status st;

    QH_TRY(st, qh_args_want(args, "trace", 2, "verify FILE.qht"));
    QH_TRY(st, qh_recording_open(args->operand[1], o->partial, &r));
    if (!r.info->closed && !o->partial)
        QH_TRY(st, qh_fail(QH_EINPUT,
                           "%s: was not closed: %s; %lld whole epochs, up to byte %lld, can be "
                           "read",
                           r.path, qh_trace_end(r.trace), (long long)r.info->n_epochs,
                           (long long)r.info->read_bytes));
    QH_TRY(st, qh_trace_verify(&r, o->json));
out:
    qh_recording_close(&r);
    return st;
}

static qh_status run_diff(const trace_options *o, const qh_args *args)
{
    qh_recording a = {0}, b = {0};
    qh_status st;

    QH_TRY(st, qh_args_want(args, "trace", 3, "diff A.qht B.qht"));
    QH_TRY(st, qh_recording_open(args->operand[1], o->partial, &a));
    QH_TRY(st, qh_recording_open(args->operand[2], o->partial, &b));
    QH_TRY(st, qh_trace_diff_print(&a, &b, o->json));
out:
    qh_recording_close(&a);
    qh_recording_close(&b);
    return st;
}

static qh_status run_export(const trace_options *o, const qh_args *args)
{
    const qh_export_ops *format = NULL;
    qh_recording r = {0};
    qh_status st;

    QH_TRY(st, qh_args_want(args, "trace", 2, "export FILE.qht"));
    if (!o->format)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--format: is missing; qhalo trace --help lists formats"));
    if (!o->output)
        QH_TRY(st, qh_fail(QH_EUSAGE, "-o: where to write is missing; give -o PATH"));
    QH_TRY(st, qh_export_find("--format", o->format, &format));
    QH_TRY(st, qh_recording_open(args->operand[1], o->partial, &r));
    QH_TRY(st, qh_recording_export(&r, format, o->net, o->output));
out:
    qh_recording_close(&r);
    return st;
}

static qh_status run_import(const trace_options *o, const qh_args *args)
{
    qh_importing i = {
        .format = o->format, .output = o->output, .speed = o->speed, .eager = o->eager};
    qh_status st;

    QH_TRY(st, qh_args_want(args, "trace", 2, "import INPUT"));
    if (!o->format)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--format: is missing; it has to be smpi or goal"));
    if (!o->output)
        QH_TRY(st, qh_fail(QH_EUSAGE, "-o: where to write is missing; give -o FILE.qht"));
    i.input = args->operand[1];
    QH_TRY(st, qh_import_run(&i));
out:
    return st;
}

static const struct {
    const char *name;
    qh_status (*run)(const trace_options *o, const qh_args *args);
} words[] = {{"info", run_info},
             {"verify", run_verify},
             {"diff", run_diff},
             {"export", run_export},
             {"import", run_import}};

static qh_status run(int argc, char **argv)
{
    trace_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    if (args.n_operands == 0)
        QH_TRY(st,
               qh_fail(QH_EUSAGE, "trace: info, verify, diff, export or import is missing; qhalo "
                                  "trace --help says more"));
    qh_console_start(o.quiet);
    for (size_t i = 0; i < QH_COUNT(words); i++)
        if (strcmp(args.operand[0], words[i].name) == 0) {
            st = words[i].run(&o, &args);
            goto out;
        }
    st = qh_fail(QH_EUSAGE,
                 "trace: there is no '%s' here; it is info, verify, diff, export or import",
                 args.operand[0]);
out:
    qh_args_free(&args);
    return st;
}

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(
        out,
        "\ninfo says what was run and gives a line an epoch; verify reads every byte and replays\n"
        "every record; diff shows the first record and the settings that differ, and the time\n"
        "of each phase.\n\nexport writes\n");
    qh_export_help(out);
    fprintf(out, "\nimport reads\n");
    qh_import_help(out);
}

const qh_command qh_cmd_trace = {
    .name = "trace",
    .usage = "info FILE.qht [--json]\nverify FILE.qht [--json]\ndiff A.qht B.qht [--json]\n"
             "export FILE.qht --format FORMAT -o PATH\nimport INPUT --format FORMAT -o FILE.qht",
    .about = "Looks into traces that qhalo train --trace recorded.",
    .help = help,
    .run = run,
};
