/* qhalo compare: the same run with several methods and seeds, side by side. */
#include "tools/command.h"
#include "tools/compare.h"
#include "tools/compare_nets.h"
#include "tools/console.h"
#include "tools/expect.h"
#include "tools/json.h"
#include "tools/plot.h"
#include "tools/run.h"
#include "tools/runfolder.h"
#include "tools/stop.h"

#include "src/base/file.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <string.h>

typedef struct compare_options {
    qh_front front; /* first: its rows of the table say so */
    char *methods;
    int64_t seeds;
} compare_options;

static const qh_option options[] = {
    {"methods", QH_OPT_TEXT, offsetof(compare_options, methods), .value = "LIST",
     .help = "methods by commas; speed-ups are against the first", .group = "Comparison"},
    {"seeds", QH_OPT_INT, offsetof(compare_options, seeds), .def = 1, .min = 1, .max = 1000,
     .value = "K", .help = "runs of each method, with seeds from --seed on"},
    QH_FRONT_OPTIONS,
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fputc('\n', out);
    qh_options_help(qh_scenario_options, out);
    fprintf(out, "\nMethods:\n");
    qh_methods_help(out);
    fprintf(out,
            "\n--out leaves a run folder for each run, compare.csv, and pictures where gnuplot is "
            "installed.\nNames for --expect are METHOD.NAME with the names that --json shows, "
            "as 'int4.speedup>1'\nor 'int4.test_metric.mean>=0.8'.\n"
            "\n--net A,B,C compares on each of several networks, and puts the speed-ups side by "
            "side; --out\nhas a folder for each, and every --expect has to hold on all.\n");
}

/* --- the list of methods --- */

typedef struct method_list {
    char *text;     /* owned: the list, cut at its commas */
    char *name[64]; /* inside text */
    int64_t n;
} method_list;

static qh_status read_methods(const char *text, method_list *l)
{
    char *rest = NULL;
    qh_status st;

    if (!text)
        return qh_fail(QH_EUSAGE, "--methods: is missing; --methods vanilla,int8,int4 is one");
    QH_TRY(st, qh_mem_strdup(text, &l->text));
    for (char *name = strtok_r(l->text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        qh_method m;

        if (l->n == QH_COUNT(l->name)) {
            st = qh_fail(QH_EUSAGE, "--methods: more than %zu are named", QH_COUNT(l->name));
            goto out;
        }
        QH_TRY(st, qh_method_choose("--methods", name, &m));
        l->name[l->n++] = name;
    }
    if (l->n == 0)
        st = qh_fail(QH_EUSAGE, "--methods: names no method; --methods vanilla,int8,int4 is one");
out:
    return st;
}

/* --- running --- */

/* DIR/METHOD-seedS with ':' out of the way, or NULL without --out. */
static qh_status folder_of(const char *out, const char *method, int64_t seed, char **folder)
{
    char name[128];

    *folder = NULL;
    if (!out)
        return QH_OK;
    snprintf(name, sizeof name, "%s-seed%" PRId64, method, seed);
    for (char *c = name; *c; c++)
        if (*c == ':' || *c == '/')
            *c = '-';
    return qh_path_join(out, name, folder);
}

typedef struct job {
    const compare_options *options;
    qh_settings *settings;
    const char *dataset_name;
    const qh_dataset *dataset;
    qh_comparison *comparison;
    const char *folder; /* for results, or NULL */
    json_t *all;        /* gathers results, or NULL: they are printed */
} job;

static qh_status run_one(const job *j, int64_t method, int64_t seed)
{
    qh_comparison *c = j->comparison;
    const char *name = c->method[method].method;
    qh_result r = {0};
    json_t *summary = NULL;
    qh_run_output to = {0};
    char *folder = NULL;
    qh_status st;

    QH_TRY(st, qh_options_set(qh_scenario_options, j->settings, "--methods", "method", name));
    j->settings->seed = c->first_seed + seed;
    QH_TRY(st, folder_of(j->folder, name, j->settings->seed, &folder));
    to.folder = folder;
    QH_TRY(st, qh_run_execute(j->settings, j->dataset_name, j->dataset, &to, &r, &summary));
    qh_comparison_add(c, method, &r);
out:
    qh_mem_free(folder);
    json_decref(summary);
    qh_result_fini(&r);
    return st;
}

static qh_status run_all(const job *j)
{
    qh_status st = QH_OK;

    /* Seed by seed, so that Ctrl-C leaves something to compare. */
    for (int64_t seed = 0; seed < j->options->seeds; seed++)
        for (int64_t m = 0; m < j->comparison->n_methods; m++)
            QH_TRY(st, run_one(j, m, seed));
out:
    return st;
}

/* --- results --- */

static qh_status write_csv(const char *folder, const qh_comparison *c, char **path)
{
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, qh_make_folder(folder));
    QH_TRY(st, qh_path_join(folder, "compare.csv", path));
    QH_TRY(st, qh_output_open(*path, &o));
    qh_comparison_csv(c, qh_output_stream(o));
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

/* "arxiv, 4 devices, switch-10g" */
static const char *picture_title(const qh_comparison *c, char *buf, size_t room)
{
    snprintf(buf, room, "%s, %" PRId64 " device%s, %s", c->dataset, c->devices,
             c->devices == 1 ? "" : "s", c->net);
    return buf;
}

static qh_status curve_picture(const char *folder, const qh_comparison *c, const char *name,
                               qh_axes axes)
{
    qh_curve curves[QH_COUNT(((method_list *)0)->name)] = {{0}};
    char *svg = NULL, *run, title[512];
    int n = 0;
    qh_status st;

    QH_TRY(st, qh_path_join(folder, name, &svg));
    for (int64_t i = 0; i < c->n_methods; i++) {
        if (c->method[i].n == 0)
            continue;
        QH_TRY(st, folder_of(folder, c->method[i].method, c->first_seed, &run));
        curves[n].title = c->method[i].method;
        st = qh_path_join(run, "epochs.csv", &curves[n++].csv);
        qh_mem_free(run);
        QH_TRY(st, st);
    }
    QH_TRY(st, qh_plot_curves(svg, picture_title(c, title, sizeof title), &axes, curves, n));
out:
    for (int i = 0; i < n; i++)
        qh_mem_free(curves[i].csv);
    qh_mem_free(svg);
    return st;
}

static qh_status draw(const char *folder, const qh_comparison *c, const char *csv)
{
    char *svg = NULL, title[512];
    qh_status st;

    if (!qh_plot_available()) {
        qh_console_note("qhalo: note: gnuplot is not installed, so there are no pictures beside %s",
                        csv);
        return QH_OK;
    }
    QH_TRY(st, curve_picture(folder, c, "loss.svg", (qh_axes){"loss", "training loss", 0, 0}));
    QH_TRY(st, curve_picture(folder, c, "metric.svg", (qh_axes){"test_metric", c->metric, 0, 0}));
    QH_TRY(st, curve_picture(folder, c, "floats.svg",
                             (qh_axes){"test_metric", c->metric, "floats", "floats sent so far"}));
    QH_TRY(st, curve_picture(folder, c, "bytes.svg",
                             (qh_axes){"test_metric", c->metric, "bytes", "bytes sent so far"}));
    QH_TRY(st, qh_path_join(folder, "time.svg", &svg));
    QH_TRY(st, qh_plot_breakdown(svg, picture_title(c, title, sizeof title), csv));
out:
    qh_mem_free(svg);
    return st;
}

/* The methods' objects by name, so that an expectation can say "int4.speedup". NULL: no memory. */
static json_t *by_name(const json_t *result)
{
    json_t *all = json_object(), *m;
    size_t i;

    json_array_foreach(json_object_get(result, "methods"), i, m)
        json_object_set(all, json_string_value(json_object_get(m, "method")), m);
    return all;
}

static qh_status hold_expectations(const qh_text_list *list, const json_t *result)
{
    json_t *named = by_name(result);
    qh_status st = qh_expect_hold(list, named);

    json_decref(named);
    return st;
}

static qh_status report(const job *j, bool whole)
{
    const qh_comparison *c = j->comparison;
    json_t *result = qh_comparison_json(c);
    char *csv = NULL;
    qh_status st = QH_OK;

    if (j->all)
        json_array_append(j->all, result);
    else if (j->options->front.json)
        QH_TRY(st, qh_json_print(result, stdout));
    if (!j->options->front.json)
        QH_TRY(st, qh_comparison_print(c, stdout));
    if (j->folder) {
        QH_TRY(st, write_csv(j->folder, c, &csv));
        QH_TRY(st, draw(j->folder, c, csv));
    }
    if (whole)
        QH_TRY(st, hold_expectations(&j->options->front.expect, result));
out:
    qh_mem_free(csv);
    json_decref(result);
    return st;
}

/* On the network of the settings. speedup, [methods], may be NULL. */
static qh_status compare(job *j, const method_list *methods, double *speedup)
{
    const qh_settings *s = j->settings;
    qh_comparison c = {.dataset = j->dataset->name,
                       .metric = j->dataset->multilabel ? "f1_micro" : "accuracy",
                       .net = s->net,
                       .devices = s->devices,
                       .first_seed = s->seed};
    char interruption[QH_ERROR_TEXT_BYTES];
    qh_status st;

    j->comparison = &c;
    QH_TRY(st, qh_comparison_init(&c, (char *const *)methods->name, methods->n, j->options->seeds));
    st = run_all(j);
    if (st == QH_EINTERRUPT && c.method[0].n > 0) {
        snprintf(interruption, sizeof interruption, "%s", qh_error_text());
        report(j, false);
        qh_error_set_text(interruption);
    }
    QH_TRY(st, st);
    QH_TRY(st, report(j, true));
    for (int64_t i = 0; speedup && i < methods->n; i++)
        speedup[i] = qh_method_speedup(&c, i);
out:
    j->settings->seed = c.first_seed;
    qh_comparison_fini(&c);
    return st;
}

/* --- on several networks --- */

static qh_status set_net(qh_settings *s, const char *name)
{
    return qh_options_set(qh_scenario_options, s, "--net", "net", name);
}

static qh_status compare_on(job *j, const method_list *methods, const qh_net_list *nets)
{
    const qh_front *front = &j->options->front;
    double *speedup = NULL;
    char *folder = NULL;
    qh_status st;

    if (nets->n == 1)
        return compare(j, methods, NULL);
    QH_TRY(st, QH_NEW_ARRAY(&speedup, nets->n * methods->n));
    j->all = front->json ? json_array() : NULL;
    for (int64_t n = 0; n < nets->n; n++) {
        QH_TRY(st, set_net(j->settings, nets->name[n]));
        qh_mem_free(folder);
        QH_TRY(st, qh_net_folder(front->out, nets->name[n], &folder));
        j->folder = folder;
        if (!front->json)
            printf("--- %s\n\n", nets->name[n]);
        QH_TRY(st, compare(j, methods, speedup + n * methods->n));
        if (!front->json)
            printf("\n");
    }
    QH_TRY(st, front->json
                   ? qh_nets_json(nets, j->all)
                   : qh_nets_print(nets, (char *const *)methods->name, methods->n, speedup));
out:
    json_decref(j->all);
    qh_mem_free(folder);
    qh_mem_free(speedup);
    return st;
}

/* A comparison of nothing has all the names that --expect may use. */
static qh_status check_expectations(const qh_text_list *list, const method_list *methods)
{
    qh_comparison c = {.dataset = "", .metric = ""};
    json_t *result = NULL, *named = NULL;
    qh_status st;

    QH_TRY(st, qh_comparison_init(&c, (char *const *)methods->name, methods->n, 1));
    for (int64_t i = 0; i < methods->n; i++)
        qh_comparison_add(&c, i, &(const qh_result){0});
    result = qh_comparison_json(&c);
    named = by_name(result);
    QH_TRY(st, qh_expect_check(list, named));
out:
    json_decref(named);
    json_decref(result);
    qh_comparison_fini(&c);
    return st;
}

/* Everything but what needs the data set, which may take long to load. */
static qh_status check(const compare_options *o, qh_settings *s, const method_list *methods,
                       const qh_net_list *nets)
{
    bool uses_bits = false, uses_mask = false;
    qh_parts parts = {0};
    qh_status st;

    QH_TRY(st, check_expectations(&o->front.expect, methods));
    QH_TRY(st, qh_runfolder_check(o->front.out));
    for (int64_t i = 0; i < methods->n; i++) {
        QH_TRY(st, qh_options_set(qh_scenario_options, s, "--methods", "method", methods->name[i]));
        for (int64_t n = nets->n - 1; n >= 0; n--) { /* the first stays */
            QH_TRY(st, set_net(s, nets->name[n]));
            QH_TRY(st, qh_settings_check(s));
        }
        QH_TRY(st, qh_settings_parts(s, &parts));
        uses_bits = uses_bits || parts.assign;
        uses_mask = uses_mask || qh_parts_have_mask(&parts);
    }
    qh_run_note_bits(&o->front, uses_bits);
    qh_run_note_mask(s, uses_mask);
out:
    return st;
}

/* What would be one and the same for all methods, each under its name. */
static qh_status refuse_parts(void *ctx, const char *where, const char *name, const char *text)
{
    static const char *const parts[] = {"codec",         "assign",        "overlap",
                                        "stale",         "skip-bound",    "boundary-sample",
                                        "rate-schedule", "error-feedback"};

    (void)ctx;
    if (strcmp(name, "method") == 0)
        return qh_fail(QH_EUSAGE, "%s: compare wants several; --methods vanilla,int8 names them",
                       where);
    for (size_t i = 0; i < QH_COUNT(parts); i++)
        if (strcmp(name, parts[i]) == 0 && !(text && strcmp(text, "false") == 0))
            return qh_fail(QH_EUSAGE,
                           "%s: compare's methods bring their own %s; train --%s is for one run",
                           where, i < 2 ? parts[i] : "strategy", parts[i]);
    return QH_OK;
}

static qh_status run(int argc, char **argv)
{
    compare_options o = {0};
    qh_settings s = {0};
    method_list methods = {0};
    qh_net_list nets = {0};
    job j = {0};
    qh_arg_set sets[] = {{options, &o}, {qh_scenario_options, &s}};
    qh_args args = {.set = sets, .n_sets = QH_COUNT(sets)};
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, qh_args_scan(&args, argc, argv, refuse_parts, NULL));
    QH_TRY(st, qh_run_read(&args, &s, &o.front, argc, argv));
    if (s.clock == QH_CLOCK_REAL)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--clock: compare puts virtual times side by side; real time "
                                      "is for train, a method at a time"));
    if (o.front.config)
        QH_TRY(st, qh_args_scan_file(&args, o.front.config, refuse_parts, NULL));
    QH_TRY(st, qh_args_want(&args, "compare", 1, "DATASET"));
    QH_TRY(st, read_methods(o.methods, &methods));
    qh_console_start(o.front.quiet);
    QH_TRY(st, qh_net_list_read(s.net, &nets));
    QH_TRY(st, check(&o, &s, &methods, &nets));
    QH_TRY(st, qh_run_open_dataset(args.operand[0], &s, &d));
    qh_stop_arm();
    j = (job){.options = &o,
              .settings = &s,
              .dataset_name = args.operand[0],
              .dataset = d,
              .folder = o.front.out};
    QH_TRY(st, compare_on(&j, &methods, &nets));
out:
    qh_net_list_fini(&nets);
    qh_dataset_free(d);
    qh_mem_free(methods.text);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_compare = {
    .name = "compare",
    .usage = "DATASET --methods LIST [--seeds K] [train options]",
    .about = "Trains with several methods and puts accuracy, bytes and time side by side.",
    .help = help,
    .run = run,
};
