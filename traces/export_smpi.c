/* smpi: SimGrid's time-independent trace, a file a device (in the folder: smpirun -replay
 * trace.txt). One flop is a nanosecond: give the hosts of the platform a speed of 1Gf. All-reduces
 * are spelt out, so the platform's network and nothing else says what they cost. */
#include "traces/export_members.h"

#include <inttypes.h>

typedef struct smpi {
    FILE *out;
    int device;
} smpi;

static qh_status compute(void *ctx, const qh_record *r, qh_time duration)
{
    const smpi *s = ctx;

    (void)r;
    if (duration > 0)
        fprintf(s->out, "%d compute %" PRId64 ".%03" PRId64 "\n", s->device, duration / 1000,
                duration % 1000);
    return QH_OK;
}

static qh_status post_send(void *ctx, qh_program_request *q)
{
    const smpi *s = ctx;

    fprintf(s->out, "%d isend %d %" PRId64 " %" PRId64 "\n", s->device, q->dst, q->tag % 32768,
            q->bytes);
    return QH_OK;
}

static qh_status post_recv(void *ctx, qh_program_request *q)
{
    const smpi *s = ctx;

    fprintf(s->out, "%d irecv %d %" PRId64 " %" PRId64 "\n", s->device, q->src, q->tag % 32768,
            q->bytes);
    return QH_OK;
}

static qh_status wait_for(void *ctx, const qh_program_request *q, int64_t n, qh_program_wait kind)
{
    const smpi *s = ctx;

    (void)kind; /* there is one thread, so it waits at gates, too */
    for (int64_t i = 0; i < n; i++)
        fprintf(s->out, "%d wait %d %d %" PRId64 "\n", s->device, q[i].src, q[i].dst,
                q[i].tag % 32768);
    return QH_OK;
}

/* A comment, which the import understands. */
static void end_epoch(void *ctx, int32_t epoch)
{
    fprintf(((const smpi *)ctx)->out, "# epoch %" PRId32 " ends\n", epoch);
}

static const qh_program_ops ops = {
    .compute = compute, .send = post_send, .recv = post_recv, .wait = wait_for, .epoch = end_epoch};

static qh_status write_device(const qh_export_job *job, int device)
{
    char name[32];
    qh_output *o = NULL;
    smpi s = {.device = device};
    qh_status st;

    snprintf(name, sizeof name, "%d.txt", device);
    QH_TRY(st, qh_export_open(job, name, &o));
    s.out = qh_output_stream(o);
    fprintf(s.out, "%d init\n", device);
    QH_TRY(st, qh_program_walk(job, device, &ops, &s));
    fprintf(s.out, "%d finalize\n", device);
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

/* The list of the devices' files comes last: it is what names a whole export. */
static qh_status write_smpi(const qh_export_job *job)
{
    int n = qh_trace_look(job->trace)->n_devices;
    qh_output *o = NULL;
    qh_status st = QH_OK;

    for (int d = 0; d < n; d++)
        QH_TRY(st, write_device(job, d));
    QH_TRY(st, qh_export_open(job, "trace.txt", &o));
    for (int d = 0; d < n; d++)
        fprintf(qh_output_stream(o), "%d.txt\n", d);
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

const qh_export_ops qh_export_smpi = {
    .name = "smpi",
    .help = "a folder for SimGrid: cd FOLDER, smpirun -replay trace.txt",
    .folder = true,
    .write = write_smpi,
};
