/* Running kernels on one rank: cut into chunks whose size depends on the shape alone, shared out to
 * the rank's team, and one record left for each call. */
#ifndef QH_MODEL_EXEC_H
#define QH_MODEL_EXEC_H

#include "src/base/thread.h"
#include "src/kernel/backend.h"
#include "src/record/record.h"

typedef struct qh_exec {
    const qh_kernels *kernels; /* borrowed */
    qh_team *team;             /* borrowed; NULL: one thread */
    qh_sink *sink;             /* borrowed; NULL: leave no records (evaluation) */
    int rank;
    int32_t epoch;            /* stamped on records; kept up by the trainer */
    float *partial;           /* owned: scratch for partial sums, grown on first use */
    int64_t partial_capacity; /* floats */
} qh_exec;

void qh_exec_fini(qh_exec *x);

/* Leaves a compute record. */
void qh_exec_record(qh_exec *x, qh_op op, int layer, qh_direction dir, int64_t flops,
                    int64_t bytes);

/* Calls fn(ctx, rows) over [rows.first, rows.end) cut into chunks of `chunk` rows. */
void qh_exec_rows(qh_exec *x, qh_rows rows, int64_t chunk, void (*fn)(void *ctx, qh_rows rows),
                  void *ctx);

/* Kernel calls over a row range, parallel and recorded under (layer, dir). Sums over rows
 * (gemm_tn, colsum, gains) are partial sums of at most 32 chunks, added in chunk order; *_add adds
 * to out, so that a range can be done in parts. Errors: QH_ERESOURCE for scratch. */
void qh_exec_spmm(qh_exec *x, int layer, qh_direction dir, qh_csr a, qh_mat in, qh_rows rows,
                  qh_mat out, bool accumulate);
void qh_exec_gemm_nn(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, const float *bias,
                     qh_rows rows, qh_mat out, bool accumulate);
void qh_exec_gemm_nt(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, qh_rows rows,
                     qh_mat out, bool accumulate);
qh_status qh_exec_gemm_tn_add(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat g,
                              qh_rows rows, qh_mat out);
qh_status qh_exec_colsum_add(qh_exec *x, int layer, qh_direction dir, qh_mat g, qh_rows rows,
                             float *out);

#endif
