#include "sim/scenario.h"

#include "sim/compute.h"
#include "src/base/mem.h"

#include <math.h>

void qh_result_fini(qh_result *r)
{
    qh_mem_free(r->partition_method);
    qh_mem_free(r->inner_nodes);
    qh_mem_free(r->links);
    qh_mem_free(r->traffic);
    *r = (qh_result){0};
}

double qh_result_break_even(const qh_settings *s, const qh_result *r)
{
    const qh_breakdown_seconds *b = &r->mean;
    double saved = (double)(r->fp32_bytes - r->bytes_sent);
    double coding = (b->quantize + b->dequantize + b->assign) * (double)r->train.epochs;
    double more = (double)s->devices * coding - r->fp32_coding;

    if (s->compute == QH_COMPUTE_MEASURED || !(saved > 0))
        return NAN;
    return more > 0 ? saved / more : INFINITY;
}
