/* What spmm and its callers must agree on. */
#ifndef QH_KERNEL_FAST_CUT_H
#define QH_KERNEL_FAST_CUT_H

#include "src/base/view.h"

#include <stdbool.h>

enum {
    CUT_TILE_BYTES = 128,  /* of a row, where the graph is sparse: two cache lines */
    CUT_BLOCK_ROWS = 3072, /* of x: 256 bytes of each are 3/4 of a 1 MiB second-level cache */
    CUT_STRIP_ROWS = 2048, /* of out, that share a block of x in the cache */
    CUT_MIN_RUN = 16       /* entries of a row in a block, from where blocks pay */
};

/* Do rows r0..r1 meet each block of x often enough? */
static inline bool cut_is_dense(qh_csr a, int64_t r0, int64_t r1)
{
    int64_t block = a.n_cols < CUT_BLOCK_ROWS ? a.n_cols : CUT_BLOCK_ROWS;
    double run = (double)(a.ptr[r1] - a.ptr[r0]) * (double)block;

    return run >= CUT_MIN_RUN * (double)a.n_cols * (double)(r1 - r0);
}

#endif
