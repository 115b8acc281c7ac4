/* The micro-benchmarks of qhalo bench: shapes of real work, and what bounds each. */
#ifndef QH_TOOLS_BENCH_CASES_H
#define QH_TOOLS_BENCH_CASES_H

#include "src/base/mem.h"
#include "src/base/thread.h"
#include "src/kernel/backend.h"

/* What a case works on; prepare fills it, qh_bench_data_free frees it. */
typedef struct qh_bench_data {
    const qh_kernels *kernels;      /* borrowed */
    qh_team *team;                  /* borrowed */
    bool quick;                     /* a fiftieth of the rows: to see that it runs */
    int width;                      /* of packing; the ratio of codecs that keep columns */
    qh_mat in, weight, out;         /* owned */
    qh_csr graph;                   /* owned */
    int32_t *node;                  /* owned, [rows of in] */
    int32_t *column;                /* owned, [columns of in]: those kept */
    float *mean, *rstd;             /* owned, [rows of in] */
    uint8_t *bytes;                 /* owned: packed rows, or masks */
    float *partial;                 /* owned: sums of each chunk */
    struct qh_bench_assign *assign; /* owned: a problem of bit assignment */
} qh_bench_data;

typedef enum qh_bench_limit {
    QH_BENCH_MEMCPY,
    QH_BENCH_SGEMM,
    QH_BENCH_SORT,
    QH_BENCH_LIMITS
} qh_bench_limit;

typedef struct qh_bench_case {
    const char *name, *about;
    qh_bench_limit limit; /* memcpy: the rate is in bytes; sgemm: operations; sort: groups */
    int width;            /* of packing, a ratio, or 0 */
    /* Allocates; *work is bytes or operations of one run. QH_ERESOURCE. */
    qh_status (*prepare)(qh_bench_data *d, double *work);
    void (*run)(qh_bench_data *d);
} qh_bench_case;

extern const qh_bench_case qh_bench_cases[]; /* name NULL ends it */

/* The limits themselves: a copy of the matrix of the packing cases, products of 1024 x 1024
 * matrices, one in each thread, and the sort that bit assignment begins with, on one thread. */
extern const qh_bench_case qh_bench_limits[QH_BENCH_LIMITS]; /* by qh_bench_limit */

/* bench_assign.c: problems of 8 devices and about 11,000 groups of 100, or 1,000,000 single
 * messages; work counts groups. */
qh_status qh_bench_groups_new(qh_bench_data *d, double *work);
qh_status qh_bench_messages_new(qh_bench_data *d, double *work);
void qh_bench_assign_run(qh_bench_data *d);
void qh_bench_sort_run(qh_bench_data *d);
void qh_bench_assign_free(struct qh_bench_assign *a);

void qh_bench_data_free(qh_bench_data *d);

/* For files of cases: fn over chunks of the rows of in, shared out to the team; a chunk's rows;
 * rows in and out, and bytes to pack them into. */
void qh_bench_chunks(qh_bench_data *d, void (*fn)(void *ctx, int64_t item));
qh_rows qh_bench_chunk(const qh_bench_data *d, int64_t item);
qh_status qh_bench_pack_new(qh_bench_data *d, double *work);

/* bench_ratio.c */
qh_status qh_bench_ratio_new(qh_bench_data *d, double *work);
void qh_bench_mask(qh_bench_data *d);
void qh_bench_unmask(qh_bench_data *d);
void qh_bench_topk(qh_bench_data *d);

#endif
