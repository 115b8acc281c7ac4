/* qhalo assign: one bit-assignment problem, solved. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/instance.h"
#include "tools/json.h"
#include "tools/table.h"

#include "src/base/mem.h"
#include "src/base/units.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

typedef struct assign_options {
    char *solver, *instance, *lambda;
    bool json;
} assign_options;

static const qh_option options[] = {
    {"instance", QH_OPT_TEXT, offsetof(assign_options, instance), .value = "NAME",
     .help = "the one of that name, where the file holds several"},
    {"solver", QH_OPT_TEXT, offsetof(assign_options, solver), .def_text = "exact", .value = "NAME",
     .help = "one of those below"},
    {"lambda", QH_OPT_TEXT, offsetof(assign_options, lambda), .value = "X",
     .help = "in place of the instance's: 0 is time alone, 1 is variance alone"},
    {"json", QH_OPT_FLAG, offsetof(assign_options, json), .help = "one JSON object on stdout"},
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(out, "\nSolvers:\n");
    for (int i = 0; qh_tradeoff_at(i); i++)
        fprintf(out, "  %-8s %s\n", qh_tradeoff_at(i)->name, qh_tradeoff_at(i)->help);
    fprintf(
        out,
        "\nINSTANCE.json is an object, or holds a list of them under \"instances\". Its keys:\n"
        "  N, dim, group_size, lambda   devices, values in a message, messages in a group\n"
        "  bits                         the widths: rising, of 1 to 8, 16 and 32\n"
        "  last_group                   \"true\": a smaller last group sends what it has;\n"
        "                               \"full\": it counts as a whole one (default: true)\n"
        "  name                         for --instance (default: none)\n"
        "  channels                     a list of objects with src and dst; alpha and beta, the\n"
        "                               time in ms of a MiB and of a block; messages; and\n"
        "                               variance, a list of the sums of the groups\n"
        "\nIn the results a channel's bits are one digit a group, to base 36: 1 to 8, g for 16\n"
        "and w for 32. The gap is between the objective and a bound that any choice of widths\n"
        "obeys, whatever the solver.\n");
}

typedef struct solution {
    const char *solver;
    qh_tradeoff_answer answer;
    uint8_t *width; /* owned, [n_groups] */
    double *z;      /* owned, [n_devices], ms */
    double seconds;
} solution;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static qh_status solve(const qh_tradeoff_solver *solver, const qh_instance *x, solution *s)
{
    qh_tradeoff_work *w = NULL;
    double start;
    qh_status st;

    s->solver = solver->name;
    QH_TRY(st, QH_NEW_ARRAY(&s->width, x->n_groups));
    QH_TRY(st, QH_NEW_ARRAY(&s->z, x->problem.n_devices));
    QH_TRY(st, qh_tradeoff_work_new(&x->problem, &w));
    start = now_s();
    QH_TRY(st, solver->solve(&x->problem, w, s->width, s->z, &s->answer));
    s->seconds = now_s() - start;
out:
    qh_tradeoff_work_free(w);
    return st;
}

/* A channel's widths in digits to base 36, into text[n + 1]. */
static void digits(const uint8_t *width, int64_t n, char *text)
{
    static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    for (int64_t g = 0; g < n; g++)
        text[g] = digit[width[g]];
    text[n] = '\0';
}

static json_t *bits_json(const qh_instance *x, const solution *s)
{
    json_t *all = json_array();
    char *text = NULL;
    int64_t first = 0;

    if (QH_NEW_ARRAY(&text, x->n_groups + 1) < 0) {
        json_decref(all);
        return NULL;
    }
    for (int64_t i = 0; i < x->problem.n_channels; i++) {
        int64_t n = x->channel[i].n_groups;

        digits(s->width + first, n, text);
        json_array_append_new(all, json_string(text));
        first += n;
    }
    qh_mem_free(text);
    return all;
}

static json_t *rounds_json(const qh_instance *x, const solution *s)
{
    json_t *all = json_object();
    char key[16];

    for (int r = 1; r < x->problem.n_devices; r++) {
        snprintf(key, sizeof key, "%d", r);
        json_object_set_new(all, key, qh_json_real(s->z[r]));
    }
    return all;
}

static qh_status print_json(const qh_instance *x, const solution *s)
{
    const qh_tradeoff_answer *a = &s->answer;
    json_t *normalisation =
        json_pack("{s:o,s:o,s:o,s:o}", "var_nadir", qh_json_real(a->var_nadir), "var_utopia",
                  qh_json_real(a->var_utopia), "time_nadir", qh_json_real(a->time_nadir),
                  "time_utopia", qh_json_real(a->time_utopia));
    json_t *o = json_pack(
        "{s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:I,s:o,s:o}", "schema", "qhalo.assign/1",
        "name", qh_json_text(x->name), "solver", s->solver, "lambda",
        qh_json_real(x->problem.lambda), "objective", qh_json_real(a->objective), "var_sum",
        qh_json_real(a->var_sum), "time_sum", qh_json_real(a->time_sum), "Z", rounds_json(x, s),
        "bits", bits_json(x, s), "lower_bound", qh_json_real(a->lower_bound), "gap",
        qh_json_real(a->gap), "optimal", a->optimal, "candidates", (json_int_t)a->candidates,
        "seconds", qh_json_real(s->seconds), "normalisation", normalisation);
    qh_status st = qh_json_print(o, stdout);

    json_decref(o);
    return st;
}

/* Groups and share of each width. */
static qh_status print_widths(const qh_instance *x, const solution *s)
{
    int64_t count[33] = {0};
    qh_table t = {0};

    for (int64_t g = 0; g < x->n_groups; g++)
        count[s->width[g]]++;
    for (size_t i = 0; i < 3; i++)
        qh_table_cell(&t, "%s", (const char *[]){"bits", "groups", "share"}[i]);
    qh_table_row(&t);
    for (int k = 0; k < x->problem.n_widths; k++) {
        int64_t n = count[x->problem.width[k]];

        qh_table_cell(&t, "%d", x->problem.width[k]);
        qh_table_cell(&t, "%" PRId64, n);
        qh_table_cell(&t, "%.1f %%", x->n_groups ? 100 * (double)n / (double)x->n_groups : 0);
        qh_table_row(&t);
    }
    return qh_table_print(&t, stdout);
}

static qh_status print_text(const qh_instance *x, const solution *s)
{
    const qh_tradeoff_answer *a = &s->answer;
    char text[QH_UNIT_TEXT_BYTES];

    printf("%s%s%d devices, %" PRId64 " channels, %" PRId64 " groups, lambda %g\n\n", x->name,
           *x->name ? ": " : "", x->problem.n_devices, x->problem.n_channels, x->n_groups,
           x->problem.lambda);
    printf("objective    %.12g%s\n", a->objective, a->optimal ? " (optimal)" : "");
    printf("lower bound  %.12g, gap %.2g %%\n", a->lower_bound, 100 * a->gap);
    printf("variance     %.6g of %.6g (widest) to %.6g (narrowest)\n", a->var_sum, a->var_utopia,
           a->var_nadir);
    printf("time         %.6g ms of %.6g (cheapest) to %.6g (dearest)\n", a->time_sum,
           a->time_utopia, a->time_nadir);
    printf("solved in    %s (%s, %" PRId64 " deadlines tried)\n\n",
           qh_print_seconds(s->seconds, text), s->solver, a->candidates);
    return print_widths(x, s);
}

static qh_status run(int argc, char **argv)
{
    assign_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    const qh_tradeoff_solver *solver = NULL;
    qh_instances file = {0};
    const json_t *chosen = NULL;
    qh_instance x = {0};
    solution s = {0};
    double lambda = 0;
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    QH_TRY(st, qh_args_want(&args, "assign", 1, "INSTANCE.json"));
    QH_TRY(st, qh_tradeoff_find("--solver", o.solver, &solver));
    if (o.lambda)
        QH_TRY(st, qh_parse_real("--lambda", o.lambda, 0, 1, &lambda));
    QH_TRY(st, qh_instances_open(args.operand[0], &file));
    QH_TRY(st, qh_instances_find(&file, o.instance, &chosen));
    QH_TRY(st, qh_instance_read(&file, chosen, &x));
    if (o.lambda)
        x.problem.lambda = lambda;
    QH_TRY(st, solve(solver, &x, &s));
    QH_TRY(st, o.json ? print_json(&x, &s) : print_text(&x, &s));
out:
    qh_mem_free(s.z);
    qh_mem_free(s.width);
    qh_instance_fini(&x);
    qh_instances_close(&file);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_assign = {
    .name = "assign",
    .usage = "INSTANCE.json [--instance NAME] [--solver NAME] [--lambda X] [--json]",
    .about = "Solves one bit-assignment problem: a bit-width for every group of messages.",
    .help = help,
    .run = run,
};
