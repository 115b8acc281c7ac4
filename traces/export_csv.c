/* csv: one line a piece of time, in picoseconds. */
#include "src/base/file.h"
#include "traces/export_members.h"

#include <inttypes.h>

static qh_status take(void *to, const qh_span *s)
{
    const qh_record *r = s->record;
    FILE *out = to;
    int64_t messages = 0, bits = 0;

    for (int w = 0; w < QH_N_WIDTHS; w++) {
        messages += r->messages[w];
        bits += (int64_t)r->messages[w] * qh_width_of_index[w];
    }
    fprintf(out, "%d,%s,%s,%" PRId32 ",%d,%s,", s->device, s->stream ? "send" : "compute",
            qh_op_name(r->op), r->epoch, r->layer, qh_direction_name(r->direction));
    if (r->peer >= 0)
        fprintf(out, "%" PRId32 ",%" PRId32 ",", r->peer, r->round);
    else
        fprintf(out, ",,");
    fprintf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 ",", r->flops, r->bytes, messages);
    if (messages > 0)
        fprintf(out, "%.4g", (double)bits / (double)messages);
    fprintf(out, ",%" PRId64 ",%" PRId64 "\n", s->start, s->end);
    return QH_OK; /* a full disk shows in the commit */
}

static qh_status write_csv(const qh_export_job *job)
{
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, qh_output_open(job->path, &o));
    fprintf(qh_output_stream(o), "device,stream,op,epoch,layer,direction,peer,round,flops,bytes,"
                                 "messages,mean_bits,start_ps,end_ps\n");
    QH_TRY(st, job->play(job->ctx, take, qh_output_stream(o)));
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

const qh_export_ops qh_export_csv = {
    .name = "csv",
    .help = "one line an operation, wait or block in flight, with its times",
    .plays = true,
    .write = write_csv,
};
