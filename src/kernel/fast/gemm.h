/* Dense products by OpenBLAS, one thread a call, from any number of threads at once (the sequential
 * flavour is not made for that, so there calls take turns). Not compiled for each instruction set:
 * OpenBLAS chooses its own. */
#ifndef QH_KERNEL_FAST_GEMM_H
#define QH_KERNEL_FAST_GEMM_H

#include "src/kernel/backend.h"

qh_status qh_fast_gemm_prepare(int n_threads);
/* What OpenBLAS says of itself: version, flavour (SINGLE_THREADED or MAX_THREADS=), CPU. */
const char *qh_fast_gemm_library(void);
void qh_fast_gemm_nn(qh_mat a, qh_mat b, const float *bias, int64_t r0, int64_t r1, qh_mat out,
                     bool accumulate);
void qh_fast_gemm_nt(qh_mat a, qh_mat b, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
void qh_fast_gemm_tn(qh_mat a, qh_mat g, int64_t r0, int64_t r1, qh_mat out);

#endif
