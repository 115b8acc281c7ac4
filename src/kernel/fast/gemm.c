#include "src/kernel/fast/gemm.h"

#include "src/base/mem.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Every device calls from its own thread, so the library must not start others. With a flavour that
 * has threads this makes it run in the caller, whatever OPENBLAS_NUM_THREADS says; in that mode
 * calls may overlap. The sequential flavour, unless built with USE_LOCKING (Debian's is not), hands
 * one buffer to two callers and returns garbage (OpenBLAS issues 1755, 2126): its products take
 * turns. Whether a build has the locks cannot be asked. */
static bool takes_turns;

static void one_thread(void)
{
    openblas_set_num_threads(1);
    takes_turns = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
}

static void blas_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, one_thread);
}

/* m rows of out, from `first` on, += op(a) op(b) over a depth of k. */
static void add_product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t k,
                        const float *a, int64_t lda, const float *b, int64_t ldb, qh_mat out,
                        float *first)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

    if (takes_turns)
        pthread_mutex_lock(&turn);
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)out.cols, (int)k, 1, a, (int)lda, b, (int)ldb,
                1, first, (int)out.ld);
    if (takes_turns)
        pthread_mutex_unlock(&turn);
}

const char *qh_fast_gemm_library(void)
{
    blas_ready();
    return openblas_get_config();
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
        add_product(CblasNoTrans, CblasNoTrans, r1 - r0, a.cols, qh_mat_row(a, r0), a.ld, b.data,
                    b.ld, out, qh_mat_row(out, r0));
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
        add_product(CblasNoTrans, CblasTrans, r1 - r0, a.cols, qh_mat_row(a, r0), a.ld, b.data,
                    b.ld, out, qh_mat_row(out, r0));
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
        add_product(CblasTrans, CblasNoTrans, out.rows, r1 - r0, qh_mat_row(a, r0), a.ld,
                    qh_mat_row(g, r0), g.ld, out, out.data);
}
