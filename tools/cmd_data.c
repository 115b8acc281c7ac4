/* qhalo data: what a data set is, making one, converting one. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/table.h"

#include "src/base/file.h"
#include "src/base/units.h"
#include "src/graph/dataset.h"
#include "src/model/model.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

typedef struct data_options {
    char *output;
    bool json, quiet;
    int64_t layers, hidden;
    char *model;
} data_options;

static const qh_option options[] = {
    {"output", QH_OPT_TEXT, offsetof(data_options, output), .value = "FILE.qhd|FOLDER/",
     .help = "where synth and convert write; -o for short; a folder gets the neutral layout"},
    {"json", QH_OPT_FLAG, offsetof(data_options, json), .help = "info as one JSON object"},
    {"quiet", QH_OPT_FLAG, offsetof(data_options, quiet), .help = "no notes"},
    {"model", QH_OPT_TEXT, offsetof(data_options, model), .def_text = "gcn",
     .value = "gcn|sage|gin", .help = "model that info estimates memory for"},
    {"layers", QH_OPT_INT, offsetof(data_options, layers), .def = 3, .min = 1, .max = 1000,
     .value = "N", .help = "its layers"},
    {"hidden", QH_OPT_INT, offsetof(data_options, hidden), .def = 256, .min = 1, .max = 65536,
     .value = "N", .help = "its hidden columns"},
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(out,
            "\nDATASET is a .qhd file, a folder in the neutral layout (edges.npy, feat.npy, "
            "label.npy,\nsplit.npy, meta.json) or synth:SPEC. SPEC is PRESET[,key=value...]:\n\n");
    qh_synth_help(out);
}

/* --- info --- */

typedef struct data_figures {
    int64_t split[4];
    int64_t unlabelled, isolated, max_in, max_out;
    int64_t bytes, train_bytes; /* of the arrays, and estimated for training on one device */
} data_figures;

static bool is_unlabelled(const qh_dataset *d, int64_t node)
{
    const uint8_t *row;

    if (!d->multilabel)
        return d->label[node] < 0;
    row = d->multi_label + node * d->n_classes;
    return memchr(row, 1, (size_t)d->n_classes) == NULL;
}

static data_figures count(const qh_dataset *d, const data_options *o)
{
    const qh_graph *g = d->graph;
    const qh_model_config model = {.name = o->model,
                                   .n_layers = (int)o->layers,
                                   .n_features = d->n_features,
                                   .n_hidden = o->hidden,
                                   .n_classes = d->n_classes,
                                   .norm = true};
    data_figures f = {.bytes = qh_dataset_bytes(d)};

    for (int64_t v = 0; v < g->n_nodes; v++) {
        f.split[d->split[v]]++;
        f.unlabelled += is_unlabelled(d, v);
        f.isolated += g->in_deg[v] == 0 && g->out_deg[v] == 0;
        f.max_in = g->in_deg[v] > f.max_in ? g->in_deg[v] : f.max_in;
        f.max_out = g->out_deg[v] > f.max_out ? g->out_deg[v] : f.max_out;
    }
    f.train_bytes = f.bytes + qh_model_estimate_bytes(&model, g->n_nodes, 0, g->n_edges, d->sparse);
    return f;
}

static qh_status print_json(const qh_dataset *d, const data_figures *f)
{
    const qh_graph *g = d->graph;
    json_t *split = json_pack("{s:I,s:I,s:I,s:I}", "none", (json_int_t)f->split[QH_SPLIT_NONE],
                              "train", (json_int_t)f->split[QH_SPLIT_TRAIN], "validation",
                              (json_int_t)f->split[QH_SPLIT_VALIDATION], "test",
                              (json_int_t)f->split[QH_SPLIT_TEST]);
    json_t *dropped = json_pack("{s:I,s:I}", "duplicates", (json_int_t)d->edges.duplicates,
                                "self_loops", (json_int_t)d->edges.self_loops);
    json_t *all = json_pack(
        "{s:s,s:o,s:o,s:I,s:I,s:I,s:I,s:b,s:b,s:b,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "schema",
        "qhalo.data/1", "name", qh_json_text(d->name), "source", qh_json_text(d->source), "nodes",
        (json_int_t)g->n_nodes, "edges", (json_int_t)g->n_edges, "features",
        (json_int_t)d->n_features, "classes", (json_int_t)d->n_classes, "sparse", d->sparse,
        "multilabel", d->multilabel, "symmetric", g->symmetric, "split", split, "dropped", dropped,
        "one_way_edges", (json_int_t)d->edges.one_way, "isolated", (json_int_t)f->isolated,
        "unlabelled", (json_int_t)f->unlabelled, "max_in_degree", (json_int_t)f->max_in,
        "max_out_degree", (json_int_t)f->max_out, "bytes", (json_int_t)f->bytes,
        "train_bytes_estimate", (json_int_t)f->train_bytes);
    qh_status st = qh_json_print(all, stdout);

    json_decref(all);
    return st;
}

static void print_text(const qh_dataset *d, const data_figures *f, const data_options *o)
{
    const qh_graph *g = d->graph;
    char a[QH_UNIT_TEXT_BYTES], b[QH_UNIT_TEXT_BYTES];

    printf("name        %s\n", d->name);
    if (*d->source)
        printf("source      %s\n", d->source);
    printf("nodes       %" PRId64 ", %" PRId64 " of them isolated, %" PRId64 " without a label\n",
           g->n_nodes, f->isolated, f->unlabelled);
    printf("edges       %" PRId64 " directed, %s; %.2f a node, at most %" PRId64 " in, %" PRId64
           " out\n",
           g->n_edges, g->symmetric ? "each with its reverse" : "some without reverse",
           (double)g->n_edges / (double)g->n_nodes, f->max_in, f->max_out);
    printf("left out    %" PRId64 " duplicate edges, %" PRId64 " self loops\n", d->edges.duplicates,
           d->edges.self_loops);
    if (d->sparse)
        printf("features    %" PRId64 ", sparse: %.2f %% are not 0\n", d->n_features,
               100 * (double)d->sparse_features.ptr[g->n_nodes] /
                   ((double)g->n_nodes * (double)d->n_features));
    else
        printf("features    %" PRId64 ", dense\n", d->n_features);
    printf("classes     %" PRId64 "%s\n", d->n_classes,
           d->multilabel ? ", any number a node (metric: F1-micro)" : " (metric: accuracy)");
    printf("split       %" PRId64 " training, %" PRId64 " validation, %" PRId64 " test, %" PRId64
           " none\n",
           f->split[QH_SPLIT_TRAIN], f->split[QH_SPLIT_VALIDATION], f->split[QH_SPLIT_TEST],
           f->split[QH_SPLIT_NONE]);
    printf("memory      %s loaded; about %s to train %s with %" PRId64 " layers of %" PRId64
           " columns\n",
           qh_print_bytes((double)f->bytes, a), qh_print_bytes((double)f->train_bytes, b), o->model,
           o->layers, o->hidden);
}

static qh_status info(const data_options *o, const qh_dataset *d)
{
    data_figures f;

    if (!qh_model_known(o->model))
        return qh_fail(QH_EUSAGE, "--model: there is no model '%s'; it has to be gcn, sage or gin",
                       o->model);
    f = count(d, o);
    if (o->json)
        return print_json(d, &f);
    print_text(d, &f, o);
    return QH_OK;
}

/* --- writing --- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

static qh_status check_output(const char *path)
{
    if (!path)
        return qh_fail(QH_EUSAGE, "-o: is missing; -o FILE.qhd or -o FOLDER/ says where to write");
    if (ends_with(path, ".qhd") || ends_with(path, "/") || qh_is_folder(path))
        return QH_OK;
    return qh_fail(QH_EUSAGE, "-o: '%s' is neither FILE.qhd nor FOLDER/", path);
}

static qh_status write_dataset(const qh_dataset *d, const char *path)
{
    bool folder = ends_with(path, "/") || qh_is_folder(path);
    qh_status st;

    QH_TRY(st, folder ? qh_neutral_write(d, path) : qh_qhd_write(d, path));
    qh_console_note("%s: %s with %" PRId64 " nodes and %" PRId64 " edges", path, d->name,
                    d->graph->n_nodes, d->graph->n_edges);
out:
    return st;
}

/* What is read may be mapped while the same file is written. */
static qh_status check_apart(const char *name, const char *path)
{
    struct stat from, to;

    if (stat(name, &from) != 0 || stat(path, &to) != 0 || from.st_dev != to.st_dev ||
        from.st_ino != to.st_ino)
        return QH_OK;
    return qh_fail(QH_EUSAGE, "-o: %s is the data set itself; give another file or folder", path);
}

/* --- the command --- */

static qh_status carry_out(const char *action, const char *name, const data_options *o)
{
    qh_dataset *d = NULL;
    qh_status st;

    if (strcmp(action, "info") == 0) {
        if (o->output)
            QH_TRY(st,
                   qh_fail(QH_EUSAGE, "-o: is for data synth and convert; info writes nothing"));
        QH_TRY(st, qh_dataset_open(name, &d));
        QH_TRY(st, info(o, d));
    } else {
        QH_TRY(st, check_output(o->output));
        if (strcmp(action, "synth") == 0) {
            QH_TRY(st, qh_synth_new(strncmp(name, "synth:", 6) ? name : name + 6, &d));
        } else {
            QH_TRY(st, check_apart(name, o->output));
            QH_TRY(st, qh_dataset_open(name, &d));
        }
        QH_TRY(st, write_dataset(d, o->output));
    }
out:
    qh_dataset_free(d);
    return st;
}

static qh_status run(int argc, char **argv)
{
    static const char *const actions[] = {"info", "synth", "convert"};
    data_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    bool known = false;
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    for (size_t i = 0; i < QH_COUNT(actions) && args.n_operands > 0; i++)
        known = known || strcmp(args.operand[0], actions[i]) == 0;
    if (args.n_operands > 0 && !known) {
        st = qh_fail(QH_EUSAGE, "data: there is no '%s' here; it is info, synth or convert",
                     args.operand[0]);
        goto out;
    }
    QH_TRY(st, qh_args_want(&args, "data", 2, "info|synth|convert DATASET"));
    qh_console_start(o.quiet);
    QH_TRY(st, carry_out(args.operand[0], args.operand[1], &o));
out:
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_data = {
    .name = "data",
    .usage = "info DATASET [--json]\nsynth SPEC -o FILE.qhd|FOLDER/\n"
             "convert DATASET -o FILE.qhd|FOLDER/",
    .about = "Describes, makes and converts data sets.",
    .help = help,
    .run = run,
};
