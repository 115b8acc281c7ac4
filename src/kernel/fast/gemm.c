#include "src/kernel/fast/gemm.h"

#include "src/base/mem.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Every device calls from its own thread, so the library must not start others. With a flavour that
 * has threads this makes it run in the caller, whatever OPENBLAS_NUM_THREADS says; in that mode
 * calls may overlap. */
static void one_thread(void)
{
    openblas_set_num_threads(1);
}

static void blas_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, one_thread);
}

/* OpenBLAS maps a buffer for each product at work, 128 MiB on x86-64, keeps it for later ones, and
 * asks for ever again, never to return, where the system has none. */
enum { BUFFER_BYTES = (128 << 20) + (64 << 10) };

qh_status qh_fast_gemm_prepare(int n_threads)
{
    static atomic_int n_ready; /* threads that an earlier call found room for */
    int n = atomic_load(&n_ready);
    qh_status st = QH_OK;

    blas_ready();
    if (n_threads > n)
        st = qh_mem_check_room((int64_t)(n_threads - n) * BUFFER_BYTES, "OpenBLAS");
    while (st == QH_OK && n < n_threads && !atomic_compare_exchange_weak(&n_ready, &n, n_threads))
        continue;
    return st;
}

/* What the product is added to: out itself, the bias, or 0. OpenBLAS first sweeps over out to
 * multiply it by beta and then adds the product to it, so a sweep of ours with beta 1 costs the
 * same. */
static void prefill(const float *bias, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    for (int64_t r = r0; r < r1; r++) {
        float *restrict o = qh_mat_row(out, r);

        if (accumulate && bias)
            for (int64_t c = 0; c < out.cols; c++)
                o[c] += bias[c];
        else if (bias)
            memcpy(o, bias, (size_t)out.cols * sizeof *o);
        else if (!accumulate)
            memset(o, 0, (size_t)out.cols * sizeof *o);
    }
}

static void check_shape(int64_t r0, int64_t r1, qh_mat a, qh_mat out)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.rows && r1 <= out.rows);
    QH_ASSERT(r1 - r0 <= INT32_MAX && a.ld <= INT32_MAX && out.ld <= INT32_MAX);
}

void qh_fast_gemm_nn(qh_mat a, qh_mat b, const float *bias, int64_t r0, int64_t r1, qh_mat out,
                     bool accumulate)
{
    check_shape(r0, r1, a, out);
    QH_ASSERT(a.cols == b.rows && b.cols == out.cols && b.ld <= INT32_MAX);
    if (r0 == r1 || out.cols == 0)
        return;
    blas_ready();
    prefill(bias, r0, r1, out, accumulate);
    if (a.cols > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(r1 - r0), (int)out.cols,
                    (int)a.cols, 1, qh_mat_row(a, r0), (int)a.ld, b.data, (int)b.ld, 1,
                    qh_mat_row(out, r0), (int)out.ld);
}

void qh_fast_gemm_nt(qh_mat a, qh_mat b, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    check_shape(r0, r1, a, out);
    QH_ASSERT(a.cols == b.cols && b.rows == out.cols && b.ld <= INT32_MAX);
    if (r0 == r1 || out.cols == 0)
        return;
    blas_ready();
    prefill(NULL, r0, r1, out, accumulate);
    if (a.cols > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(r1 - r0), (int)out.cols,
                    (int)a.cols, 1, qh_mat_row(a, r0), (int)a.ld, b.data, (int)b.ld, 1,
                    qh_mat_row(out, r0), (int)out.ld);
}

void qh_fast_gemm_tn(qh_mat a, qh_mat g, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.rows && r1 <= g.rows);
    QH_ASSERT(a.cols == out.rows && g.cols == out.cols);
    QH_ASSERT(r1 - r0 <= INT32_MAX && a.ld <= INT32_MAX && g.ld <= INT32_MAX);
    if (out.rows == 0 || out.cols == 0)
        return;
    blas_ready();
    prefill(NULL, 0, out.rows, out, false);
    if (r0 < r1)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)out.rows, (int)out.cols,
                    (int)(r1 - r0), 1, qh_mat_row(a, r0), (int)a.ld, qh_mat_row(g, r0), (int)g.ld,
                    1, out.data, (int)out.ld);
}
