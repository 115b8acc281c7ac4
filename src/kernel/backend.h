/* The kernels over row ranges, by backend: ref is the definition (plain loops), fast is what runs.
 *
 * Every entry is one thread's work on rows [r0, r1) and touches no other row of its outputs, so
 * that ranges may run at once. Shapes are asserted; there are no errors. Inputs and outputs are
 * apart unless said otherwise. The order of the sum within one element does not depend on the
 * range, so neither do the bits, but for gemm_*: there the same range gives the same bits.
 *
 * Parity of fast with ref: to the bit for the draws, masks, packing and conversions; sums within
 * c * n * eps * sum|a*b|, c stated beside each entry (default 4). */
#ifndef QH_KERNEL_BACKEND_H
#define QH_KERNEL_BACKEND_H

#include "src/base/rng.h"
#include "src/base/status.h"
#include "src/base/view.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What the hidden layers do after the convolution: dropout -> LayerNorm(1e-5) -> ReLU. */
typedef struct qh_hidden {
    bool norm;                /* LayerNorm or not */
    const float *gain, *bias; /* [cols], norm only */
    uint32_t keep; /* of 65536: an element is kept when its 16 random bits < keep; 65536 = all */
    qh_key key;    /* QH_RAND_DROPOUT stream of this epoch and layer */
    const int32_t *node; /* global id of each row: the row index of the draws */
} qh_hidden;

typedef struct qh_adam {
    float lr, beta1, beta2, eps, weight_decay; /* decay is added to the gradient (L2) */
    int64_t step;                              /* 1, 2, ... */
} qh_adam;

typedef struct qh_kernels {
    const char *name, *help;
    /* Called before n_threads threads in all run kernels: whether what a library behind them takes
     * for each is to be had, as it cannot say so later. QH_ERESOURCE. */
    qh_status (*prepare)(int n_threads);

    /* --- aggregation --- */
    /* out[r,:] = sum_e a.val[e] * x[a.col[e],:] (+ out[r,:] when accumulate), columns in rising e.
     * a [n x m], x [m x f], out [n x f]. 2*nnz*f flops. */
    void (*spmm)(qh_csr a, qh_mat x, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
    /* out[:, c0..c1) = a^T g, all rows of a, in rising row order; out [m x f] is overwritten in
     * these columns. a [n x m], g [n x f]. The range is of columns here. */
    void (*spmm_tn)(qh_csr a, qh_mat g, int64_t c0, int64_t c1, qh_mat out);

    /* --- dense products (rows r0..r1 of a) --- */
    /* out[r,:] = a[r,:] b (+ bias) (+ out[r,:] when accumulate). a [n x k], b [k x f], bias [f] or
     * NULL. */
    void (*gemm_nn)(qh_mat a, qh_mat b, const float *bias, int64_t r0, int64_t r1, qh_mat out,
                    bool accumulate);
    /* out[r,:] = a[r,:] b^T (+ out[r,:]). a [n x k], b [f x k]. */
    void (*gemm_nt)(qh_mat a, qh_mat b, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
    /* out = a[r0..r1,:]^T g[r0..r1,:], overwritten: a partial sum. a [n x k], g [n x f], out [k x
     * f]. */
    void (*gemm_tn)(qh_mat a, qh_mat g, int64_t r0, int64_t r1, qh_mat out);
    /* out[j] = sum of g[r0..r1, j], overwritten. */
    void (*colsum)(qh_mat g, int64_t r0, int64_t r1, float *out);

    /* --- rows, element by element --- */
    /* z (in) becomes dropout(z) (kept elements times 65536/keep, others 0); out = ReLU(LN(z)).
     * mean, rstd [n] and mask bits are kept for the way back when norm; dropped: 1 bit an element,
     * row r at dropped + r * stride bytes (bit c%8 of byte c/8, 1 = kept), NULL when keep is all.
     */
    void (*hidden_forward)(const qh_hidden *h, qh_mat z, int64_t r0, int64_t r1, qh_mat out,
                           float *mean, float *rstd, uint8_t *dropped, int64_t stride);
    /* g (in: gradient of out) becomes the gradient of the convolution's result. z, mean, rstd,
     * dropped as hidden_forward left them. d_gain, d_bias [cols]: sums over r0..r1, overwritten. */
    void (*hidden_backward)(const qh_hidden *h, qh_mat z, const float *mean, const float *rstd,
                            const uint8_t *dropped, int64_t stride, int64_t r0, int64_t r1,
                            qh_mat g, float *d_gain, float *d_bias);
    /* out = x with elements dropped as above (x and out may be the same). */
    void (*dropout)(qh_mat x, uint32_t keep, qh_key key, const int32_t *node, int64_t r0,
                    int64_t r1, qh_mat out);
    /* out[r,:] += s * x[r,:] (out = s * x when !accumulate). */
    void (*axpy)(qh_mat x, float s, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
    /* sum over r0..r1 of <a[r,:], b[r,:]>, in double. */
    double (*dot)(qh_mat a, qh_mat b, int64_t r0, int64_t r1);
    void (*add_bias)(const float *bias, int64_t r0, int64_t r1, qh_mat out);
    /* out = max(x, 0), x and out may be the same; and g *= (y > 0). */
    void (*relu)(qh_mat x, int64_t r0, int64_t r1, qh_mat out);
    void (*relu_backward)(qh_mat y, int64_t r0, int64_t r1, qh_mat g);
    /* out[row_index[i],:] += x[i,:] for i in r0..r1 (distinct row_index: ranges may run at once).
     */
    void (*scatter_add)(qh_mat x, const int32_t *row_index, int64_t r0, int64_t r1, qh_mat out);

    /* --- loss --- */
    /* Over list[r0..r1) of rows of logits: gradient rows grad[row,:] = scale * dloss/dlogits, and
     * the sum of the losses (double). Rows not listed are not touched. label, target: [n], of each
     * row, at least 0. grad.data NULL: the loss only. */
    double (*softmax_ce)(qh_mat logits, const int32_t *label, const int32_t *list, int64_t r0,
                         int64_t r1, float scale, qh_mat grad);
    /* Binary cross-entropy with logits, summed over classes. target [n x classes] of 0 and 1. */
    double (*sigmoid_bce)(qh_mat logits, const uint8_t *target, const int32_t *list, int64_t r0,
                          int64_t r1, float scale, qh_mat grad);

    /* --- optimizer --- */
    /* Kingma and Ba, Adam, ICLR 2015: m_hat / (sqrt(v_hat) + eps). All [n]. */
    void (*adam)(const qh_adam *p, int64_t n, float *w, const float *g, float *m, float *v);

    /* --- packing, one row of n values; to the bit on every backend --- */
    /* Least and greatest value (-0 as +0); false, and nothing written, when one is not finite.
     * n >= 1. */
    bool (*min_max)(const float *x, int64_t n, float *min, float *max);
    /* q = min(floor((x - zero) * inverse + u), 2^bits - 1), u = qh_rand16(key, row, c) / 65536, as
     * a little-endian bit stream of ceil(n * bits / 8) bytes (last bits 0). bits 1..8; inverse 0
     * gives q = 0. x >= zero (below it, and NaN: q = 0). Single precision, one rounding an
     * operation (no fused multiply-add).
     */
    void (*quantize)(const float *x, int64_t n, int bits, float zero, float inverse, qh_key key,
                     uint64_t row, uint8_t *out);
    /* out = zero + q * scale, one rounding an operation. */
    void (*dequantize)(const uint8_t *in, int64_t n, int bits, float zero, float scale, float *out);
    /* Round to nearest even; NaN stays NaN. Overflow of fp16 gives infinity. */
    void (*to_bf16)(const float *x, int64_t n, uint16_t *out);
    void (*from_bf16)(const uint16_t *x, int64_t n, float *out);
    void (*to_fp16)(const float *x, int64_t n, uint16_t *out);
    void (*from_fp16)(const uint16_t *x, int64_t n, float *out);
    /* memcpy of n floats that may go past the cache (out is not read soon). */
    void (*copy)(const float *x, int64_t n, float *out);

    /* --- some columns of a row; to the bit on every backend --- */
    /* out[i] = x[column[i]], i in 0..n. */
    void (*gather_cols)(const float *x, const int32_t *column, int64_t n, float *out);
    /* out[0..n_cols) = 0, but out[column[i]] = scale * x[i], i in 0..n, column rising. */
    void (*scatter_cols)(const float *x, const int32_t *column, int64_t n, float scale,
                         int64_t n_cols, float *out);
    /* The k-th largest of |x[0]|, ..., |x[n-1]|, as the bits of that float: they rise as it does.
     * 1 <= k <= n, x finite. */
    uint32_t (*kth_magnitude)(const float *x, int64_t n, int64_t k);
} qh_kernels;

/* "ref" or "fast"; NULL for another name. "fast" picks the best instruction set of this CPU. */
const qh_kernels *qh_kernels_find(const char *name);
/* The instruction set that "fast" uses here: "x86-64-v4", "x86-64-v3", "generic". */
const char *qh_kernels_isa(void);
/* The library that "fast" multiplies with, in its own words: name, version, flavour, CPU. */
const char *qh_kernels_blas(void);
/* Every table that runs on this CPU, for tests: 0 is ref, then fast for each instruction set; NULL
 * past the last. */
const qh_kernels *qh_kernels_list(int index);

/* How spmm likes to be called: views of x and out of `cols` columns, one after the other, and in
 * each of them ranges of `rows` rows, so that threads work in the same columns at once (a tile of
 * a large sparse graph then fits the shared cache). It changes no bit. */
typedef struct qh_spmm_cut {
    int64_t rows, cols;
} qh_spmm_cut;
qh_spmm_cut qh_spmm_cut_of(qh_csr a, int64_t n_cols);

/* bf16 rounded towards minus and plus infinity (parameters of codecs), as float. Finite input;
 * a result past the largest finite bf16 stays at it. */
float qh_bf16_down(float x);
float qh_bf16_up(float x);

#endif
