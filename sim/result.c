#include "sim/scenario.h"

#include "sim/compute.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void qh_result_fini(qh_result *r)
{
    qh_mem_free(r->partition_method);
    qh_mem_free(r->inner_nodes);
    qh_mem_free(r->links);
    qh_mem_free(r->wall_s);
    qh_mem_free(r->traffic);
    *r = (qh_result){0};
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool qh_result_measured(const qh_result *r, qh_measured *out)
{
    int64_t first = r->n_wall > 1, n = r->n_wall - first;
    double *sorted = NULL;

    if (!r->wall_s || n < 1 || QH_NEW_ARRAY(&sorted, n) < 0)
        return false;
    memcpy(sorted, r->wall_s + first, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    *out = (qh_measured){.n = n,
                         .median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2,
                         .min = sorted[0],
                         .max = sorted[n - 1]};
    qh_mem_free(sorted);
    return true;
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
