/* Running kernels on one rank: cut into chunks whose size depends on the shape alone, shared out to
 * the rank's team, and one record left for each operation.
 *
 * Chunks never span row `cut` (a model sets it to its number of central rows), so work on all inner
 * rows and work on the central, then the marginal rows give the same bits. */
#ifndef QH_MODEL_EXEC_H
#define QH_MODEL_EXEC_H

#include "src/base/thread.h"
#include "src/kernel/backend.h"
#include "src/record/record.h"

typedef struct qh_exec {
    const qh_kernels *kernels; /* borrowed */
    qh_team *team;             /* borrowed; NULL: one thread */
    qh_sink *sink;             /* borrowed; NULL: leave no records (evaluation); may be switched */
    int rank;
    int32_t epoch;            /* stamped on records; kept up by the trainer */
    bool separate;            /* run fused steps one by one, so that a sink that measures sees each
                                 operation's own time; the same bits */
    int64_t cut;              /* 0: none */
    float *partial;           /* owned: scratch for partial sums, grown on first use */
    int64_t partial_capacity; /* floats */
} qh_exec;

void qh_exec_fini(qh_exec *x);

/* Makes sure of scratch for partial sums. QH_ERESOURCE. */
qh_status qh_exec_reserve(qh_exec *x, int64_t n_floats);

/* Leaves a compute record; nothing when flops and bytes are 0. */
void qh_exec_record(qh_exec *x, qh_op op, int layer, qh_direction dir, int64_t flops,
                    int64_t bytes);

/* Calls fn(ctx, rows) over [rows.first, rows.end) cut into chunks of `chunk` rows. */
void qh_exec_rows(qh_exec *x, qh_rows rows, int64_t chunk, void (*fn)(void *ctx, qh_rows rows),
                  void *ctx);

/* The chunks that qh_exec_rows makes: their number, and the i-th. */
int64_t qh_exec_n_chunks(const qh_exec *x, qh_rows rows, int64_t chunk);
qh_rows qh_exec_chunk(const qh_exec *x, qh_rows rows, int64_t chunk, int64_t i);

/* Scratch for a sum over rows: n floats for the chunk that begins at row, of a pass that begins at
 * row 0 (qh_exec_reserve n_chunks * n before). */
float *qh_exec_partial(const qh_exec *x, int64_t row, int64_t chunk, int64_t n);
/* out += floats offset .. offset + n of each chunk's `stride`, in chunk order. */
void qh_exec_add_partials(const qh_exec *x, int64_t n_chunks, int64_t stride, int64_t offset,
                          int64_t n, float *out);

/* One step of work on a chunk of rows, and what it costs over all of them. */
typedef struct qh_step {
    void (*run)(void *ctx, qh_rows rows);
    qh_op op;
    int64_t flops, bytes;
} qh_step;

/* Runs the steps one after the other on each chunk while its rows are in the cache, then leaves
 * their records. A step may use rows of its own chunk only, of what the steps before it made. */
void qh_exec_steps(qh_exec *x, int layer, qh_direction dir, qh_rows rows, int64_t chunk,
                   const qh_step *step, int n_steps, void *ctx);

/* Kernel calls over a row range, parallel and recorded under (layer, dir). Flops and bytes:
 * spmm 2*nnz*f and nnz*(4 + 4 with values + 4f) read (every gathered row counts: graphs have little
 * reuse) + 4*rows*f written; gemm 2*m*n*k and each matrix once. Sums over rows are partial sums of
 * chunks, added in chunk order (gemm_tn: at most 32); *_add adds to out, so that a range can be
 * done in parts. Errors: QH_ERESOURCE for scratch. */
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
/* out = a^T g over all rows of a, overwritten. */
void qh_exec_spmm_tn(qh_exec *x, int layer, qh_direction dir, qh_csr a, qh_mat g, qh_mat out);
/* The sum of <a[r,:], b[r,:]> over rows, in double. QH_ERESOURCE. */
qh_status qh_exec_dot(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, qh_rows rows,
                      double *out);

/* Floats of scratch that gemm_tn_add wants for a [rows x k], g [rows x f]. */
int64_t qh_exec_gemm_tn_scratch(int64_t rows, int64_t k, int64_t f);

#endif
