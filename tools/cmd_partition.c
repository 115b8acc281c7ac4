/* qhalo partition: cuts a graph into parts and says what they will have to exchange. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json.h"

#include "src/base/mem.h"
#include "src/base/units.h"
#include "src/graph/dataset.h"
#include "src/partition/part.h"
#include "src/partition/partition.h"

#include <inttypes.h>

typedef struct partition_options {
    char *partitioner, *output;
    int64_t parts, seed;
    int objective, feature_norm;
    bool with_parts, json, quiet;
} partition_options;

static const qh_option options[] = {
    {"parts", QH_OPT_INT, offsetof(partition_options, parts), .def = 4, .min = 1, .max = 1 << 20,
     .value = "N", .help = "parts, one a device"},
    {"partitioner", QH_OPT_TEXT, offsetof(partition_options, partitioner), .def_text = "metis",
     .value = "NAME", .help = "one of those below"},
    {"objective", QH_OPT_CHOICE, offsetof(partition_options, objective), .choices = "cut|vol",
     .help = "what metis makes small: edges cut, or nodes to be sent"},
    {"seed", QH_OPT_INT, offsetof(partition_options, seed), .def = 1, .min = 0,
     .max = 9007199254740992.0, .value = "N", .help = "of the partitioner"},
    {"output", QH_OPT_TEXT, offsetof(partition_options, output), .value = "FILE.qhp",
     .help = "keeps the parts for train --partition; -o for short"},
    {"with-parts", QH_OPT_FLAG, offsetof(partition_options, with_parts),
     .help = "the file also has each part's graph, features and labels: a DATASET for qhalo-mpi"},
    {"feature-norm", QH_OPT_CHOICE, offsetof(partition_options, feature_norm),
     .choices = "none|row|standard", .help = "how the features of the parts are scaled"},
    {"json", QH_OPT_FLAG, offsetof(partition_options, json), .help = "one JSON object on stdout"},
    {"quiet", QH_OPT_FLAG, offsetof(partition_options, quiet), .help = "no notes"},
    {0}};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(out, "\nPartitioners:\n");
    qh_partitioners_help(out);
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double balance(const qh_partition_figures *f, const qh_graph *g)
{
    return (double)f->max_inner * f->n_parts / (double)g->n_nodes;
}

static qh_status print_json(const partition_options *o, const qh_dataset *d,
                            const qh_partition_figures *f)
{
    int64_t nodes = d->graph->n_nodes;
    json_t *sizes =
        json_pack("{s:I,s:I,s:I,s:I,s:I}", "max_inner", (json_int_t)f->max_inner, "min_inner",
                  (json_int_t)f->min_inner, "max_halo", (json_int_t)f->max_halo, "min_halo",
                  (json_int_t)f->min_halo, "min_train", (json_int_t)f->min_train);
    json_t *all = json_pack(
        "{s:s,s:o,s:o,s:I,s:I,s:I,s:I,s:o,s:I,s:I,s:o,s:o,s:o}", "schema", "qhalo.partition/1",
        "dataset", qh_json_text(d->name), "method", qh_json_text(o->partitioner), "parts",
        (json_int_t)f->n_parts, "nodes", (json_int_t)nodes, "edge_cut", (json_int_t)f->edge_cut,
        "pairs", (json_int_t)f->n_pairs, "cut_share", qh_json_real(share(f->edge_cut, f->n_pairs)),
        "halo_nodes", (json_int_t)f->halo_nodes, "boundary_nodes", (json_int_t)f->boundary_nodes,
        "boundary_share", qh_json_real(share(f->boundary_nodes, nodes)), "marginal_share",
        qh_json_real(share(f->marginal_nodes, nodes)), "balance",
        qh_json_real(balance(f, d->graph)));
    qh_status st;

    if (all && json_object_update(all, sizes) != 0) {
        json_decref(all);
        all = NULL;
    }
    st = qh_json_print(all, stdout);
    json_decref(sizes);
    json_decref(all);
    return st;
}

static void print_text(const partition_options *o, const qh_dataset *d,
                       const qh_partition_figures *f)
{
    int64_t nodes = d->graph->n_nodes;

    printf("%s in %d part%s by %s\n\n", d->name, f->n_parts, f->n_parts == 1 ? "" : "s",
           o->partitioner);
    printf("cut         %" PRId64 " of %" PRId64 " pairs of neighbours (%.2f %%)\n", f->edge_cut,
           f->n_pairs, 100 * share(f->edge_cut, f->n_pairs));
    printf("inner       %" PRId64 " to %" PRId64 " nodes a part, balance %.3f (most / mean)\n",
           f->min_inner, f->max_inner, balance(f, d->graph));
    printf("halo        %" PRId64 " nodes in all, %" PRId64 " to %" PRId64
           " a part: %.2f rows received for each node\n",
           f->halo_nodes, f->min_halo, f->max_halo, share(f->halo_nodes, nodes));
    printf("boundary    %" PRId64 " nodes (%.2f %%) are sent to some other part\n",
           f->boundary_nodes, 100 * share(f->boundary_nodes, nodes));
    printf("marginal    %" PRId64 " nodes (%.2f %%) wait for halo rows, the others are central\n",
           f->marginal_nodes, 100 * share(f->marginal_nodes, nodes));
    printf("training    at least %" PRId64 " nodes a part\n", f->min_train);
}

static qh_status write_file(const partition_options *o, const qh_dataset *d, const int32_t *part,
                            qh_partition_request r)
{
    char made_by[256];
    qh_status st;

    if (!o->output)
        return QH_OK;
    QH_TRY(st, qh_partition_made_by(o->partitioner, r, made_by, sizeof made_by));
    if (o->with_parts)
        st = qh_parts_write(o->output, d, (qh_feature_norm)o->feature_norm, part, r.n_parts,
                            made_by);
    else
        st = qh_partition_write(o->output, d->graph, part, r.n_parts, made_by);
out:
    return st;
}

static qh_status make(const partition_options *o, const qh_dataset *d)
{
    qh_partition_request r = {.n_parts = (int)o->parts,
                              .objective = (qh_objective)o->objective,
                              .seed = (uint64_t)o->seed};
    qh_partition_figures f;
    int32_t *part = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&part, d->graph->n_nodes));
    QH_TRY(st, qh_partition_make(d->graph, o->partitioner, r, part));
    QH_TRY(st, qh_partition_measure(d->graph, part, r.n_parts, d->split, &f));
    QH_TRY(st, write_file(o, d, part, r));
    if (o->json)
        QH_TRY(st, print_json(o, d, &f));
    else
        print_text(o, d, &f);
out:
    qh_mem_free(part);
    return st;
}

static qh_status run(int argc, char **argv)
{
    partition_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    qh_dataset *d = NULL;
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    QH_TRY(st, qh_args_want(&args, "partition", 1, "DATASET"));
    if (o.with_parts && !o.output)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--with-parts: is for -o FILE.qhp, which is missing"));
    if (o.feature_norm && !o.with_parts)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--feature-norm: is for --with-parts, which is missing"));
    qh_console_start(o.quiet);
    QH_TRY(st, qh_dataset_open(args.operand[0], &d));
    QH_TRY(st, qh_dataset_normalise(d, (qh_feature_norm)o.feature_norm));
    QH_TRY(st, make(&o, d));
out:
    qh_dataset_free(d);
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_partition = {
    .name = "partition",
    .usage = "DATASET --parts N [options] [-o FILE.qhp]",
    .about = "Cuts a graph into parts and counts what they will exchange.",
    .help = help,
    .run = run,
};
