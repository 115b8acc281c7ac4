#include "sim/totals.h"

#include "src/base/mem.h"

qh_status qh_totals_init(qh_totals *t, int n_devices)
{
    *t = (qh_totals){.n_devices = n_devices};
    return QH_NEW_ARRAY(&t->sum, n_devices);
}

void qh_totals_fini(qh_totals *t)
{
    qh_mem_free(t->sum);
    *t = (qh_totals){0};
}

void qh_breakdown_add(const qh_breakdown *b, qh_breakdown *sum)
{
    sum->compute += b->compute;
    sum->quantize += b->quantize;
    sum->dequantize += b->dequantize;
    sum->assign += b->assign;
    sum->comm += b->comm;
    sum->exposed_comm += b->exposed_comm;
    sum->allreduce += b->allreduce;
    sum->idle += b->idle;
    sum->total += b->total;
}

void qh_totals_epoch(qh_totals *t, const qh_epoch_times *e)
{
    for (int d = 0; d < t->n_devices; d++)
        qh_breakdown_add(&e->device[d], &t->sum[d]);
    t->end = e->end;
    t->n_epochs++;
}

static qh_breakdown_seconds seconds_per_epoch(const qh_breakdown *b, int64_t n)
{
    double k = 1.0 / (double)(n > 0 ? n : 1);

    return (qh_breakdown_seconds){.compute = k * qh_seconds(b->compute),
                                  .comm = k * qh_seconds(b->comm),
                                  .exposed_comm = k * qh_seconds(b->exposed_comm),
                                  .quantize = k * qh_seconds(b->quantize),
                                  .dequantize = k * qh_seconds(b->dequantize),
                                  .allreduce = k * qh_seconds(b->allreduce),
                                  .assign = k * qh_seconds(b->assign),
                                  .idle = k * qh_seconds(b->idle)};
}

static qh_time larger(qh_time a, qh_time b)
{
    return a > b ? a : b;
}

void qh_totals_finish(qh_totals *t, qh_breakdown_seconds *mean, qh_breakdown_seconds *max)
{
    qh_breakdown all = {0}, most = {0};

    for (int d = 0; d < t->n_devices; d++) {
        qh_breakdown *b = &t->sum[d];

        b->idle += t->end - b->total;
        b->total = t->end;
        qh_breakdown_add(b, &all);
        most = (qh_breakdown){.compute = larger(most.compute, b->compute),
                              .quantize = larger(most.quantize, b->quantize),
                              .dequantize = larger(most.dequantize, b->dequantize),
                              .assign = larger(most.assign, b->assign),
                              .comm = larger(most.comm, b->comm),
                              .exposed_comm = larger(most.exposed_comm, b->exposed_comm),
                              .allreduce = larger(most.allreduce, b->allreduce),
                              .idle = larger(most.idle, b->idle)};
    }
    *mean = seconds_per_epoch(&all, t->n_epochs * t->n_devices);
    *max = seconds_per_epoch(&most, t->n_epochs);
}
