/* goal: a schedule of LogGOPSim (Hoefler, Schneider, Lumsdaine, LogGOPSim, LSAP 2010). calc counts
 * nanoseconds; what is cut off a picosecond time is given to the next one. */
#include "traces/export_members.h"

#include <inttypes.h>

typedef struct goal {
    FILE *out;
    int64_t n_labels;
    int64_t last;  /* of the compute stream; 0: none */
    int64_t gate;  /* what sends have to wait for as well; 0: nothing */
    qh_time owing; /* picoseconds that no calc had room for */
} goal;

static void after(const goal *g, int64_t label, int64_t before)
{
    if (before > 0)
        fprintf(g->out, "l%" PRId64 " requires l%" PRId64 "\n", label, before);
}

static int64_t calc(goal *g, int64_t nanoseconds)
{
    int64_t label = ++g->n_labels;

    fprintf(g->out, "l%" PRId64 ": calc %" PRId64 "\n", label, nanoseconds);
    after(g, label, g->last);
    return label;
}

static qh_status compute(void *ctx, const qh_record *r, qh_time duration)
{
    goal *g = ctx;

    (void)r;
    g->owing += duration;
    if (g->owing < 1000)
        return QH_OK;
    g->last = calc(g, g->owing / 1000);
    g->owing %= 1000;
    return QH_OK;
}

static qh_status post_send(void *ctx, qh_program_request *q)
{
    goal *g = ctx;

    q->label = ++g->n_labels;
    fprintf(g->out, "l%" PRId64 ": send %" PRId64 "b to %d tag %" PRId64 "\n", q->label, q->bytes,
            q->dst, q->tag % 32768);
    after(g, q->label, g->last);
    after(g, q->label, g->gate);
    return QH_OK;
}

static qh_status post_recv(void *ctx, qh_program_request *q)
{
    goal *g = ctx;

    q->label = ++g->n_labels;
    fprintf(g->out, "l%" PRId64 ": recv %" PRId64 "b from %d tag %" PRId64 "\n", q->label, q->bytes,
            q->src, q->tag % 32768);
    after(g, q->label, g->last);
    return QH_OK;
}

static qh_status wait_for(void *ctx, const qh_program_request *q, int64_t n, qh_program_wait kind)
{
    goal *g = ctx;
    int64_t label;

    if (kind == QH_WAIT_DONE)
        return QH_OK;
    label = calc(g, 0);
    for (int64_t i = 0; i < n; i++)
        after(g, label, q[i].label);
    if (kind == QH_WAIT_GATE) {
        g->gate = label;
        return QH_OK;
    }
    g->last = label;
    g->gate = 0;
    return QH_OK;
}

/* A comment, which the import understands. */
static void end_epoch(void *ctx, int32_t epoch)
{
    fprintf(((const goal *)ctx)->out, "// epoch %" PRId32 " ends\n", epoch);
}

static const qh_program_ops ops = {
    .compute = compute, .send = post_send, .recv = post_recv, .wait = wait_for, .epoch = end_epoch};

static qh_status write_goal(const qh_export_job *job)
{
    int n = qh_trace_look(job->trace)->n_devices;
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, qh_output_open(job->path, &o));
    fprintf(qh_output_stream(o), "num_ranks %d\n", n);
    for (int d = 0; d < n; d++) {
        goal g = {.out = qh_output_stream(o)};

        fprintf(g.out, "\nrank %d {\n", d);
        QH_TRY(st, qh_program_walk(job, d, &ops, &g));
        if (g.n_labels == 0)
            fprintf(g.out, "l1: calc 0\n"); /* LogGOPSim wants something of each rank */
        fprintf(g.out, "}\n");
    }
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

const qh_export_ops qh_export_goal = {
    .name = "goal",
    .help = "a schedule for LogGOPSim",
    .write = write_goal,
};
