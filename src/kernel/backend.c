#include "src/kernel/backend.h"

#include "src/kernel/fast/cut.h"
#include "src/kernel/fast/gemm.h"
#include "src/kernel/fast/isa.h"
#include "src/kernel/ref/ref.h"

#include <string.h>

const qh_kernels *qh_kernels_list(int index)
{
    if (index == 0)
        return &qh_kernels_ref;
    for (const qh_isa *isa = qh_isa_table; isa->kernels; isa++)
        if (isa->runs_here() && --index == 0)
            return isa->kernels;
    return NULL;
}

static const qh_isa *best(void)
{
    const qh_isa *isa = qh_isa_table;

    while (!isa->runs_here())
        isa++; /* the last but one, generic, runs anywhere */
    return isa;
}

const char *qh_kernels_isa(void)
{
    return best()->name;
}

const char *qh_kernels_blas(void)
{
    return qh_fast_gemm_library();
}

const qh_kernels *qh_kernels_find(const char *name)
{
    if (strcmp(name, "ref") == 0)
        return &qh_kernels_ref;
    return strcmp(name, "fast") == 0 ? best()->kernels : NULL;
}

static int64_t between(int64_t low, int64_t x, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

qh_spmm_cut qh_spmm_cut_of(qh_csr a, int64_t n_cols)
{
    enum { CACHED = 8 << 20 }; /* bytes of x that stay in the shared cache as they are */
    bool large = (double)a.n_cols * (double)n_cols * 4 > CACHED;

    if (cut_is_dense(a, 0, a.n_rows))
        return (qh_spmm_cut){between(512, a.n_rows / 8, CUT_STRIP_ROWS), n_cols};
    return (qh_spmm_cut){between(64, a.n_rows / 8, 1024), large ? CUT_TILE_BYTES / 4 : n_cols};
}
