/* qhalo-mpi train: one run, one rank a device. */
#include "tools/mpi_job.h"

#include "sim/cluster.h"
#include "src/base/mem.h"
#include "tools/console.h"
#include "tools/stop.h"
#include "tools/train.h"

#include <string.h>

typedef struct request {
    qh_train_options options;
    qh_settings settings;
    bool devices_given, norm_given, partition_given;
    qh_part *part;       /* owned; or */
    qh_dataset *dataset; /* owned */
} request;

static void help(FILE *out)
{
    qh_train_help(out);
    fprintf(
        out,
        "\nDATASET may also be a .qhp file that qhalo partition --with-parts made: then each rank\n"
        "reads its part alone. Every rank is a device; --devices says how many there have to "
        "be.\n");
}

static qh_status note_given(void *ctx, const char *where, const char *name, const char *text)
{
    request *q = ctx;

    (void)where;
    (void)text;
    q->devices_given = q->devices_given || strcmp(name, "devices") == 0;
    q->norm_given = q->norm_given || strcmp(name, "feature-norm") == 0;
    q->partition_given =
        q->partition_given || strcmp(name, "partition") == 0 || strcmp(name, "partitioner") == 0;
    return QH_OK;
}

static qh_status read_request(qh_args *a, request *q, int argc, char **argv)
{
    int n = qh_job_here()->n_ranks;
    qh_status st;

    QH_TRY(st, qh_run_read(a, &q->settings, &q->options.front, argc, argv));
    if (q->options.front.config)
        QH_TRY(st, qh_args_scan_file(a, q->options.front.config, note_given, q));
    QH_TRY(st, qh_args_scan(a, argc, argv, note_given, q));
    QH_TRY(st, qh_args_want(a, "train", 1, "DATASET"));
    if (q->devices_given && q->settings.devices != n)
        QH_TRY(st, qh_fail(QH_EUSAGE,
                           "--devices: %lld devices on %d ranks; mpirun -n %lld goes "
                           "with it",
                           (long long)q->settings.devices, n, (long long)q->settings.devices));
    q->settings.devices = n;
    if (q->settings.clock == QH_CLOCK_REAL || q->settings.time_scale != 1)
        QH_TRY(st, qh_fail(QH_EUSAGE,
                           "--%s: between ranks the network is a real one, and takes the time it "
                           "takes; `qhalo train` has one to be held up by",
                           q->settings.clock == QH_CLOCK_REAL ? "clock" : "time-scale"));
    QH_TRY(st, qh_job_here()->rank == 0 ? qh_train_check(&q->options, &q->settings)
                                        : qh_settings_check(&q->settings));
out:
    return st;
}

/* A part has its features scaled already, and says who has what. */
static qh_status open_part(const char *path, request *q)
{
    static const char *const norms[] = {"none", "row", "standard"};
    const qh_job *job = qh_job_here();
    qh_settings *s = &q->settings;
    qh_status st;

    if (q->partition_given)
        QH_TRY(st, qh_fail(QH_EUSAGE, "--partition: %s says who has what; leave it out", path));
    QH_TRY(st, qh_part_open(path, job->rank, job->n_ranks, &q->part));
    if (q->norm_given && s->feature_norm != (int)q->part->norm)
        QH_TRY(st, qh_fail(QH_EUSAGE,
                           "--feature-norm: the features in %s are scaled as '%s'; "
                           "qhalo partition --feature-norm makes others",
                           path, norms[q->part->norm]));
    s->feature_norm = (int)q->part->norm;
    QH_TRY(st, qh_mem_strdup(path, &s->partition_file));
out:
    return st;
}

static qh_status run_rank(void *ctx, const qh_settings *s, const qh_dataset *d,
                          const qh_observer *o, qh_result *out)
{
    const request *q = ctx;
    const qh_job *job = qh_job_here();
    qh_cluster c = {.transport = job->transport,
                    .rank = job->rank,
                    .n_here = job->n_here,
                    .index_here = job->index_here,
                    .part = q->part,
                    .dataset = q->part ? NULL : d,
                    .widths = q->options.payload};

    return qh_cluster_run(s, &c, o, out);
}

static qh_status train(request *q, const char *name)
{
    const qh_dataset *d = q->part ? &q->part->facts : q->dataset;
    qh_result result = {0};
    qh_status st;

    if (qh_job_here()->rank == 0) {
        qh_run_output to = {.measured = true, .run = run_rank, .ctx = q};

        return qh_train_run(&q->options, &q->settings, name, d, to);
    }
    st = run_rank(q, &q->settings, d, NULL, &result);
    qh_result_fini(&result);
    return st;
}

static qh_status run(int argc, char **argv)
{
    request q = {0};
    qh_arg_set sets[] = {{qh_train_options_table, &q.options}, {qh_scenario_options, &q.settings}};
    qh_args args = {.set = sets, .n_sets = QH_COUNT(sets)};
    qh_parts parts = {0};
    qh_status st;

    QH_TRY(st, read_request(&args, &q, argc, argv));
    qh_console_start(q.options.front.quiet);
    QH_TRY(st, qh_settings_parts(&q.settings, &parts));
    qh_run_note_bits(&q.options.front, parts.assign != NULL);
    qh_run_note_mask(&q.settings, qh_parts_have_mask(&parts));
    if (qh_parts_are_in(args.operand[0]))
        QH_TRY(st, open_part(args.operand[0], &q));
    else
        QH_TRY(st, qh_run_open_dataset(args.operand[0], &q.settings, &q.dataset));
    if (qh_job_here()->rank == 0)
        qh_stop_arm();
    QH_TRY(st, train(&q, args.operand[0]));
out:
    qh_part_close(q.part);
    qh_dataset_free(q.dataset);
    qh_args_free(&args);
    return st;
}

const qh_command qh_mpi_cmd_train = {
    .name = "train",
    .usage = "DATASET [options]",
    .about = "Trains one GNN, one rank a device, and says how well and how fast.",
    .help = help,
    .run = run,
};
