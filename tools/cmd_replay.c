/* qhalo replay: the times of recorded runs, on their network and on others. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/exporting.h"
#include "tools/json.h"
#include "tools/summary.h"
#include "tools/table.h"
#include "tools/timeline.h"
#include "tools/whatif.h"

#include "sim/placement.h"

#include <inttypes.h>
#include <math.h>

typedef struct replay_options {
    qh_whatif_options what; /* first */
    bool json, quiet;
    char *chrome, *timeline;
    int64_t epoch;
} replay_options;

#define AT(member) offsetof(replay_options, member)

static const qh_option options[] = {
    {"net", QH_OPT_LIST, AT(what.net), .value = "NAME|FILE.yaml",
     .help = "a network to replay on; repeatable", .group = "What if"},
    {"accelerator", QH_OPT_TEXT, AT(what.accelerator), .value = "NAME|FILE.yaml",
     .help = "what devices compute on, in place of the recorded one"},
    {"exchange", QH_OPT_CHOICE, AT(what.exchange), .choices = "recorded|posted|rounds",
     .help = "all blocks of an exchange at once, or round by round"},
    {"allreduce", QH_OPT_CHOICE, AT(what.allreduce), .choices = "recorded|ring|tree|hierarchical",
     .help = "how gradients are summed"},
    {"scale-bytes", QH_OPT_REAL, AT(what.scale_bytes), .def = 1, .min = 1e-6, .max = 1e6,
     .value = "F", .help = "blocks of messages F times as large; all-reduces stay"},
    {"scale-compute", QH_OPT_REAL, AT(what.scale_compute), .def = 1, .min = 1e-6, .max = 1e6,
     .value = "F", .help = "computing and coding take F times as long"},
    {"devices-slow", QH_OPT_TEXT, AT(what.slow), .value = "LIST",
     .help = "the same for some devices: 3:1.5,8-15:2"},
    {"partial", QH_OPT_FLAG, AT(what.partial),
     .help = "take a trace that was cut as far as it goes, as is done with FILE.qht.part"},
    {"threads", QH_OPT_INT, AT(what.threads), .def = 0, .min = 0, .max = 4096, .value = "T",
     .help = "replays at a time; 0: as many as there are cores", .group = "Output"},
    {"chrome", QH_OPT_TEXT, AT(chrome), .value = "OUT.json",
     .help = "the timeline of the last line, for ui.perfetto.dev"},
    {"timeline", QH_OPT_TEXT, AT(timeline), .value = "OUT.svg",
     .help = "a picture of an epoch of every line, by gnuplot"},
    {"epoch", QH_OPT_INT, AT(epoch), .def = -1, .min = -1, .max = INT32_MAX, .value = "E",
     .help = "timeline: which; -1: the last whole one"},
    {"json", QH_OPT_FLAG, AT(json), .help = "one JSON object on stdout"},
    {"quiet", QH_OPT_FLAG, AT(quiet), .help = "no notes"},
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(
        out,
        "\nTRACE is a file of qhalo train --trace. The first line of each is the run as it was\n"
        "recorded; the others keep its bit-widths and sizes. Several traces are compared with\n"
        "the first.\n");
}

/* --- figures --- */

static double per_epoch(const qh_whatif_run *r)
{
    return r->r.n_epochs > 0 ? qh_seconds(r->r.end) / (double)r->r.n_epochs : NAN;
}

/* Of an epoch, over that of another run; NAN where there is none. */
static double speedup(const qh_whatif_run *run, const qh_whatif_run *over)
{
    return over && run->r.end > 0 ? per_epoch(over) / per_epoch(run) : NAN;
}

static double bits(const qh_whatif_run *r)
{
    double sum = 0;

    for (int i = 0; i < QH_N_WIDTHS; i++)
        sum += (double)r->r.messages_of_width[i] * qh_width_of_index[i];
    return r->r.messages > 0 ? sum / (double)r->r.messages : NAN;
}

/* --- for people --- */

static void print_recording(const qh_whatif *w, int64_t i)
{
    const qh_recording *rec = &w->recording[i];
    const qh_whatif_run *base = qh_whatif_recorded(w, i);

    printf("%s: %s%s%s, %d device%s, %" PRId64 " epoch%s", rec->path, rec->method,
           *rec->graph ? " on " : "", rec->graph, rec->info->n_devices,
           rec->info->n_devices == 1 ? "" : "s", rec->info->n_epochs,
           rec->info->n_epochs == 1 ? "" : "s");
    if (rec->net.name)
        printf(", recorded on %s with %s", rec->net.name, rec->accelerator.name);
    if (base && base->r.n_timed > 0 && base->r.n_same == base->r.n_timed)
        printf("; its times are those of the run, to the picosecond");
    printf("\n");
}

/* By qh_reduce_kind. */
static const char *const reduce_names[] = {"ring", "tree", "hierarchical"};

static void print_changes(const qh_whatif_options *o)
{
    const char *between = "changed: ";

    if (o->accelerator)
        printf("%saccelerator %s", between, o->accelerator), between = ", ";
    if (o->exchange)
        printf("%s%s exchange", between, o->exchange == 1 ? "posted" : "round by round"),
            between = ", ";
    if (o->allreduce)
        printf("%sall-reduce by %s", between, reduce_names[o->allreduce - 1]), between = ", ";
    if (o->scale_bytes != 1)
        printf("%sbytes of blocks x %g", between, o->scale_bytes), between = ", ";
    if (o->scale_compute != 1)
        printf("%scomputing x %g", between, o->scale_compute), between = ", ";
    if (o->slow)
        printf("%scomputing of devices x %s", between, o->slow), between = ", ";
    if (*between == ',')
        printf("\n");
}

static void head_row(qh_table *t, bool many)
{
    static const char *const names[] = {"network",          "time/epoch", "epochs/s",
                                        "speed-up",         "compute",    "codec",
                                        "exposed transfer", "all-reduce", "waiting"};

    if (many)
        qh_table_cell(t, "trace");
    for (size_t i = 0; i < QH_COUNT(names); i++)
        qh_table_cell(t, "%s", names[i]);
    qh_table_row(t);
}

static void time_cell(qh_table *t, double seconds)
{
    char buf[QH_UNIT_TEXT_BYTES];

    qh_table_cell(t, "%s", qh_print_seconds(seconds, buf));
}

static void name_cell(qh_table *t, const qh_whatif_run *run)
{
    qh_table_cell(t, "%s%s", run->net ? run->net : "none", run->as_recorded ? " (recorded)" : "");
}

static void run_row(qh_table *t, const qh_whatif *w, const qh_whatif_run *run, bool many)
{
    const qh_breakdown_seconds *b = &run->r.mean;
    double ratio = speedup(run, many ? qh_whatif_first(w, run) : qh_whatif_recorded(w, run->trace));

    if (many)
        qh_table_cell(t, "%s", w->recording[run->trace].path);
    name_cell(t, run);
    time_cell(t, per_epoch(run));
    qh_table_cell(t, "%.4g", 1 / per_epoch(run));
    if (isfinite(ratio))
        qh_table_cell(t, "%.2fx", ratio);
    else
        qh_table_cell(t, "-");
    time_cell(t, b->compute + b->assign);
    time_cell(t, b->quantize + b->dequantize);
    time_cell(t, b->exposed_comm);
    time_cell(t, b->allreduce);
    time_cell(t, b->idle);
    qh_table_row(t);
}

/* Of a line, its share of the critical path. */
static double share(const qh_whatif_run *run, qh_path_part part)
{
    qh_time whole = qh_path_end(&run->r.path);

    return whole > 0 ? (double)run->r.path.part[part] / (double)whole : 0;
}

static const char *const part_names[QH_PATH_PARTS] = {"compute", "codec", "transfer", "all-reduce"};

static qh_status print_paths(const qh_whatif *w)
{
    bool many = w->n_recordings > 1;
    qh_table t = {0};

    qh_table_cell(&t, "critical path");
    if (many)
        qh_table_cell(&t, "network");
    for (int i = 0; i < QH_PATH_PARTS; i++)
        qh_table_cell(&t, "%s", part_names[i]);
    qh_table_row(&t);
    for (int64_t i = 0; i < w->n_runs; i++) {
        const qh_whatif_run *run = &w->run[i];

        if (many)
            qh_table_cell(&t, "%s", w->recording[run->trace].path);
        name_cell(&t, run);
        for (int k = 0; k < QH_PATH_PARTS; k++)
            qh_table_cell(&t, "%.1f %%", 100 * share(run, (qh_path_part)k));
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static qh_status print_tables(const qh_whatif *w)
{
    bool many = w->n_recordings > 1;
    qh_table t = {0};
    qh_status st;

    for (int64_t i = 0; i < w->n_recordings; i++)
        print_recording(w, i);
    print_changes(w->options);
    printf("\n");
    head_row(&t, many);
    for (int64_t i = 0; i < w->n_runs; i++)
        run_row(&t, w, &w->run[i], many);
    QH_TRY(st, qh_table_print(&t, stdout));
    printf("\n");
    QH_TRY(st, print_paths(w));
out:
    return st;
}

/* --- for programs --- */

static json_t *name_json(const char *name)
{
    return name ? qh_json_text(name) : json_null();
}

static json_t *recording_json(const qh_whatif *w, int64_t i)
{
    const qh_recording *rec = &w->recording[i];
    const qh_whatif_run *base = qh_whatif_recorded(w, i);
    json_t *same = !base || base->r.n_timed == 0 ? json_null()
                                                 : json_boolean(base->r.n_same == base->r.n_timed);

    return json_pack("{s:o,s:o,s:o,s:i,s:I,s:b,s:o,s:o,s:s,s:s,s:s,s:o,s:b}", "path",
                     qh_json_text(rec->path), "method", qh_json_text(rec->method), "graph",
                     qh_json_text(rec->graph), "devices", rec->info->n_devices, "epochs",
                     (json_int_t)rec->info->n_epochs, "closed", rec->info->closed, "net",
                     name_json(rec->net.name), "accelerator", name_json(rec->accelerator.name),
                     "exchange", rec->order == QH_EXCHANGE_ROUNDS ? "rounds" : "posted",
                     "allreduce", reduce_names[rec->reduce], "compute",
                     rec->compute == QH_COMPUTE_MEASURED ? "measured" : "modeled",
                     "times_of_the_run", same, "widths_follow_network", rec->follows_network);
}

/* Seconds an epoch. */
static json_t *path_json(const qh_whatif_run *run)
{
    double k = run->r.n_epochs > 0 ? 1 / (double)run->r.n_epochs : 0;
    const qh_time *p = run->r.path.part;

    return json_pack("{s:o,s:o,s:o,s:o}", "compute",
                     qh_json_real(k * qh_seconds(p[QH_PATH_COMPUTE])), "codec",
                     qh_json_real(k * qh_seconds(p[QH_PATH_CODEC])), "transfer",
                     qh_json_real(k * qh_seconds(p[QH_PATH_TRANSFER])), "allreduce",
                     qh_json_real(k * qh_seconds(p[QH_PATH_ALLREDUCE])));
}

static json_t *run_json(const qh_whatif *w, const qh_whatif_run *run)
{
    int64_t i = run - w->run;
    json_t *what =
        json_pack("{s:I,s:o,s:o,s:s,s:s,s:b}", "trace", (json_int_t)run->trace, "net",
                  name_json(run->net), "accelerator", qh_json_text(w->accelerator[i]->name),
                  "exchange", w->config[i].order == QH_EXCHANGE_ROUNDS ? "rounds" : "posted",
                  "allreduce", reduce_names[w->config[i].reduce], "as_recorded", run->as_recorded);
    json_t *gave = json_pack(
        "{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "sim_ps", (json_int_t)run->r.end,
        "sim_seconds", qh_json_real(qh_seconds(run->r.end)), "sim_seconds_per_epoch",
        qh_json_real(per_epoch(run)), "epochs_per_second", qh_json_real(1 / per_epoch(run)),
        "speedup_over_recorded", qh_json_real(speedup(run, qh_whatif_recorded(w, run->trace))),
        "speedup_over_first", qh_json_real(speedup(run, qh_whatif_first(w, run))), "breakdown",
        qh_breakdown_json(&run->r.mean), "breakdown_max", qh_breakdown_json(&run->r.max),
        "critical_path", path_json(run), "bytes", (json_int_t)run->r.bytes, "messages",
        (json_int_t)run->r.messages, "mean_bits", qh_json_real(bits(run)));

    if (!what || !gave || json_object_update(what, gave) != 0) {
        json_decref(what);
        what = NULL;
    }
    json_decref(gave);
    return what;
}

static qh_status print_json(const qh_whatif *w)
{
    const qh_whatif_options *o = w->options;
    json_t *traces = json_array(), *runs = json_array();
    json_t *all =
        json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "schema", "qhalo.replay/1", "scale_bytes",
                  qh_json_real(o->scale_bytes), "scale_compute", qh_json_real(o->scale_compute),
                  "devices_slow", name_json(o->slow), "traces", traces, "runs", runs);
    qh_status st;

    for (int64_t i = 0; i < w->n_recordings; i++)
        json_array_append_new(traces, recording_json(w, i));
    for (int64_t i = 0; i < w->n_runs; i++)
        json_array_append_new(runs, run_json(w, &w->run[i]));
    st = qh_json_print(all, stdout);
    json_decref(all);
    return st;
}

/* --- the command --- */

/* The timeline of the last line of the table. */
static qh_status draw(const qh_whatif *w, const char *path)
{
    const qh_whatif_run *run = &w->run[w->n_runs - 1];
    const qh_export_ops *format = NULL;
    char title[QH_TITLE_BYTES + 64], was[QH_TITLE_BYTES];
    qh_status st;

    qh_recording_title(&w->recording[run->trace], was, sizeof was);
    snprintf(title, sizeof title, "%s%s%s", was, run->as_recorded ? "" : "; replayed on ",
             run->as_recorded ? ""
             : run->net       ? run->net
                              : "no network");
    QH_TRY(st, qh_export_find("--chrome", "chrome", &format));
    QH_TRY(st, qh_export_run(format, &w->config[w->n_runs - 1], path, title));
out:
    return st;
}

static qh_status run(int argc, char **argv)
{
    replay_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    qh_whatif w = {0};
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    if (args.n_operands == 0)
        QH_TRY(st, qh_fail(QH_EUSAGE, "replay: TRACE is missing; qhalo replay --help says more"));
    qh_console_start(o.quiet);
    if (o.what.threads == 0)
        o.what.threads = qh_placement_cores();
    QH_TRY(st, qh_whatif_open(&o.what, args.operand, args.n_operands, &w));
    QH_TRY(st, qh_whatif_execute(&w));
    if (o.chrome)
        QH_TRY(st, draw(&w, o.chrome));
    if (o.timeline)
        QH_TRY(st, qh_timeline_draw(&w, o.epoch, o.timeline));
    QH_TRY(st, o.json ? print_json(&w) : print_tables(&w));
out:
    qh_whatif_close(&w);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_replay = {
    .name = "replay",
    .usage = "TRACE... [--net NET]... [options]",
    .about = "Times recorded runs again, on their own network and on others.",
    .help = help,
    .run = run,
};
