/* qhalo bench: what the kernels reach on this machine, and what the machine could. */
#include "tools/args.h"
#include "tools/bench_cases.h"
#include "tools/bench_fit.h"
#include "tools/bench_net.h"
#include "tools/bench_replay.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/table.h"

#include "sim/placement.h"

#include <string.h>
#include <time.h>

typedef struct bench_options {
    bool json, quick;
    int64_t threads;
    int backend;
    bool fit;
    char *keep, *output;
} bench_options;

static const qh_option options[] = {
    {"threads", QH_OPT_INT, offsetof(bench_options, threads), .def = 0, .min = 0, .max = 4096,
     .value = "T", .help = "threads that work at once; 0: as many as there are cores"},
    {"backend", QH_OPT_CHOICE, offsetof(bench_options, backend), .choices = "fast|ref",
     .help = "the kernels to time"},
    {"quick", QH_OPT_FLAG, offsetof(bench_options, quick),
     .help = "small sizes, few runs: a look, not a measurement"},
    {"fit", QH_OPT_FLAG, offsetof(bench_options, fit),
     .help = "describe one core of this host as an accelerator, for --accelerator FILE.yaml"},
    {"output", QH_OPT_TEXT, offsetof(bench_options, output), .value = "FILE.yaml",
     .help = "fit: where to (also -o FILE.yaml); otherwise to stdout"},
    {"keep", QH_OPT_TEXT, offsetof(bench_options, keep), .value = "FOLDER",
     .help = "replay: leave the traces and networks here"},
    {"json", QH_OPT_FLAG, offsetof(bench_options, json), .help = "one JSON object on stdout"},
    {0}};

typedef struct figure {
    const qh_bench_case *of;
    double seconds, rate; /* of the best run; bytes or operations a second */
} figure;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of several runs, for others disturb a run and nothing makes it faster. */
static qh_status measure(const qh_bench_case *c, const bench_options *o, qh_team *team, figure *out)
{
    enum { LEAST_RUNS = 5, MOST_RUNS = 100 };
    qh_bench_data d = {.kernels = qh_kernels_find(o->backend ? "ref" : "fast"),
                       .team = team,
                       .quick = o->quick,
                       .width = c->width};
    double work = 0, best = 1e30, total = 0;
    qh_status st;

    qh_console_note("bench: %s", c->name);
    QH_TRY(st, c->prepare(&d, &work));
    c->run(&d);
    for (int i = 0; i < (o->quick ? 1 : MOST_RUNS) && (i < LEAST_RUNS || total < 1); i++) {
        double start = now_s(), seconds;

        c->run(&d);
        seconds = now_s() - start;
        best = seconds < best ? seconds : best;
        total += seconds;
    }
    *out = (figure){.of = c, .seconds = best, .rate = best > 0 ? work / best : 0};
out:
    qh_bench_data_free(&d);
    return st;
}

/* Does an operand ask for the case: its name, or the part in front of a '-'? */
static bool asked(const qh_args *args, const char *name)
{
    for (int i = 0; i < args->n_operands; i++) {
        size_t n = strlen(args->operand[i]);

        if (strncmp(name, args->operand[i], n) == 0 && (name[n] == '\0' || name[n] == '-'))
            return true;
    }
    return args->n_operands == 0;
}

static qh_status check_operands(const qh_args *args)
{
    for (int i = 0; i < args->n_operands; i++) {
        qh_args one = {.operand = {args->operand[i]}, .n_operands = 1};
        const char *names[64], *close;
        int n = 0;

        for (const qh_bench_case *c = qh_bench_cases; c->name; c++)
            names[n++] = c->name;
        while (n > 0 && !asked(&one, names[n - 1]))
            n--;
        if (n > 0)
            continue;
        for (const qh_bench_case *c = qh_bench_cases; c->name; c++)
            n++;
        close = qh_did_you_mean(args->operand[i], names, (size_t)n);
        if (close)
            return qh_fail(QH_EUSAGE, "bench: there is no kernel '%s'; did you mean %s?",
                           args->operand[i], close);
        return qh_fail(QH_EUSAGE, "bench: there is no kernel '%s'; qhalo bench --help lists them",
                       args->operand[i]);
    }
    return QH_OK;
}

/* Rates are counted in the unit of the limit. */
typedef struct unit {
    const char *printed, *json;
    double scale;
} unit;

static const unit *unit_of(const figure *f)
{
    static const unit units[QH_BENCH_LIMITS] = {
        {"GB/s", "B/s", 1e-9}, {"GFLOP/s", "flop/s", 1e-9}, {"Mgroup/s", "group/s", 1e-6}};

    return &units[f->of->limit];
}

static qh_status print_table(const figure *all, int n, const figure limit[QH_BENCH_LIMITS],
                             const char *backend, int threads)
{
    qh_table t = {0};

    printf("%s kernels (%s), %d thread%s\n\n", backend, qh_kernels_isa(), threads,
           threads == 1 ? "" : "s");
    for (int i = -1; i < n; i++) {
        const figure *f = &all[i];

        if (i < 0) {
            for (size_t h = 0; h < 6; h++)
                qh_table_cell(
                    &t, "%s",
                    (const char *[]){"kernel", "work", "ms", "rate", "limit", "of limit"}[h]);
        } else {
            const figure *top = &limit[f->of->limit];

            qh_table_cell(&t, "%s", f->of->name);
            qh_table_cell(&t, "%s", f->of->about);
            qh_table_cell(&t, "%.2f", f->seconds * 1e3);
            qh_table_cell(&t, "%.1f %s", f->rate * unit_of(f)->scale, unit_of(f)->printed);
            qh_table_cell(&t, "%s %.1f", top->of->name, top->rate * unit_of(f)->scale);
            qh_table_cell(&t, "%.2f", f->rate / top->rate);
        }
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static json_t *figure_json(const figure *f)
{
    return json_pack("{s:s,s:s,s:o,s:o}", "name", f->of->name, "unit", unit_of(f)->json, "seconds",
                     qh_json_real(f->seconds), "rate", qh_json_real(f->rate));
}

static qh_status print_json(const figure *all, int n, const figure limit[QH_BENCH_LIMITS],
                            const char *backend, int threads)
{
    json_t *kernels = json_array();
    json_t *o = json_pack("{s:s,s:s,s:s,s:i,s:o,s:o,s:o,s:o}", "schema", "qhalo.bench/1", "backend",
                          backend, "isa", qh_kernels_isa(), "threads", threads, "memcpy",
                          figure_json(&limit[QH_BENCH_MEMCPY]), "sgemm",
                          figure_json(&limit[QH_BENCH_SGEMM]), "sort",
                          figure_json(&limit[QH_BENCH_SORT]), "kernels", kernels);
    qh_status st;

    for (int i = 0; i < n; i++) {
        json_t *k = figure_json(&all[i]);

        json_object_set_new(k, "limit", json_string(limit[all[i].of->limit].of->name));
        json_object_set_new(k, "of_limit",
                            qh_json_real(all[i].rate / limit[all[i].of->limit].rate));
        json_array_append_new(kernels, k);
    }
    st = qh_json_print(o, stdout);
    json_decref(o);
    return st;
}

static qh_status bench_kernels(const bench_options *o, const qh_args *args)
{
    qh_placement *place = NULL;
    qh_team *team = NULL;
    figure all[64], limit[QH_BENCH_LIMITS];
    qh_status st;
    int n = 0;

    QH_TRY(st, check_operands(args));
    QH_TRY(st, qh_placement_new(1, (int)o->threads, "on", &place));
    QH_TRY(st, qh_placement_bind(&place->cpu_sets[0][0]));
    QH_TRY(st, qh_team_new(place->team_size[0], place->cpu_sets[0], &team));
    for (int i = 0; i < QH_BENCH_LIMITS; i++)
        QH_TRY(st, measure(&qh_bench_limits[i], o, team, &limit[i]));
    for (const qh_bench_case *c = qh_bench_cases; c->name; c++)
        if (asked(args, c->name))
            QH_TRY(st, measure(c, o, team, &all[n++]));
    if (o->json)
        QH_TRY(st, print_json(all, n, limit, o->backend ? "ref" : "fast", qh_team_size(team)));
    else
        QH_TRY(st, print_table(all, n, limit, o->backend ? "ref" : "fast", qh_team_size(team)));
out:
    qh_team_free(team);
    qh_placement_free(place);
    return st;
}

/* Network models and replays are no kernels: they are measured by flows and messages a second. */
static bool asks_for(const qh_args *args, const char *what)
{
    return args->n_operands == 1 && strcmp(args->operand[0], what) == 0;
}

/* On one thread: what one device is. */
static qh_status fit(const bench_options *o)
{
    qh_placement *place = NULL;
    qh_team *team = NULL;
    figure limit[2];
    qh_status st;

    QH_TRY(st, qh_placement_new(1, 1, "on", &place));
    QH_TRY(st, qh_team_new(1, place->cpu_sets[0], &team));
    QH_TRY(st, measure(&qh_bench_limits[QH_BENCH_MEMCPY], o, team, &limit[0]));
    QH_TRY(st, measure(&qh_bench_limits[QH_BENCH_SGEMM], o, team, &limit[1]));
    /* memcpy's rate is of the bytes copied; each is read and written. */
    QH_TRY(st, qh_bench_fit(limit[1].rate, 2 * limit[0].rate, o->quick, o->output));
out:
    qh_team_free(team);
    qh_placement_free(place);
    return st;
}

static qh_status check_options(const bench_options *o, const qh_args *args, bool simulated)
{
    if (simulated && (o->threads || o->backend))
        return qh_fail(QH_EUSAGE, "--%s: bench %s runs on one core and has no kernels",
                       o->threads ? "threads" : "backend", args->operand[0]);
    if (o->keep && !asks_for(args, "replay"))
        return qh_fail(QH_EUSAGE, "--keep: is for the traces of qhalo bench replay");
    if (o->output && !o->fit)
        return qh_fail(QH_EUSAGE, "--output: is for the description of qhalo bench --fit");
    if (o->fit && (args->n_operands || o->json || o->threads || o->backend))
        return qh_fail(QH_EUSAGE, "--fit: goes alone, or with --quick and -o FILE.yaml");
    return QH_OK;
}

static qh_status run(int argc, char **argv)
{
    bench_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    bool simulated;
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    simulated = asks_for(&args, "net") || asks_for(&args, "replay");
    QH_TRY(st, check_options(&o, &args, simulated));
    if (o.fit) {
        st = fit(&o);
        goto out;
    }
    if (asks_for(&args, "net"))
        QH_TRY(st, qh_bench_net(o.quick, o.json));
    else if (simulated)
        QH_TRY(st, qh_bench_replay(o.keep, o.quick, o.json));
    else
        QH_TRY(st, bench_kernels(&o, &args));
    if (o.quick && !o.json)
        printf(
            "\n--quick: sizes are a fraction of those named and each ran once; no measurement.\n");
out:
    qh_args_free(&args);
    return st;
}

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(out, "\nKERNEL is one of these, or the part before the '-' (default: all); 256 columns:"
                 "\n\n");
    for (const qh_bench_case *c = qh_bench_cases; c->name; c++)
        fprintf(out, "  %-16s %s\n", c->name, c->about);
    fprintf(out,
            "\nRates count the fp32 values that a kernel takes, or gathers; the limit is memcpy "
            "of a matrix\nor sgemm in the cache, by the same threads in the same run. For bit "
            "assignment, which runs on\none thread, they count groups, and the limit is the sort "
            "of the variances that it begins with.\n\nbench net and bench replay time, on one "
            "core, flows through network models and messages of\ntraces; the cases of replay:\n\n");
    qh_bench_replay_help(out);
    fprintf(out, "\nand those of net, where every device sends every other 50 to 150 kB:\n\n");
    qh_bench_net_help(out);
}

const qh_command qh_cmd_bench = {
    .name = "bench",
    .usage = "[KERNEL...] [--threads T] [--quick] [--json]\nnet [--quick] [--json]\n"
             "replay [--quick] [--json] [--keep FOLDER]\n--fit [--quick] [-o FILE.yaml]",
    .about = "Times the kernels beside the limits of this machine, network models and replays.",
    .help = help,
    .run = run,
};
