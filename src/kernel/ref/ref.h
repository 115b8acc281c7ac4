/* The entries of the ref backend: plain loops, the definition of each kernel. What each does is
 * said in src/kernel/backend.h; fast lays its own entries over these. */
#ifndef QH_KERNEL_REF_REF_H
#define QH_KERNEL_REF_REF_H

#include "src/kernel/backend.h"

void qh_ref_spmm(qh_csr a, qh_mat x, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
void qh_ref_spmm_tn(qh_csr a, qh_mat g, int64_t c0, int64_t c1, qh_mat out);

void qh_ref_gemm_nn(qh_mat a, qh_mat b, const float *bias, int64_t r0, int64_t r1, qh_mat out,
                    bool accumulate);
void qh_ref_gemm_nt(qh_mat a, qh_mat b, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
void qh_ref_gemm_tn(qh_mat a, qh_mat g, int64_t r0, int64_t r1, qh_mat out);
void qh_ref_colsum(qh_mat g, int64_t r0, int64_t r1, float *out);

void qh_ref_hidden_forward(const qh_hidden *h, qh_mat z, int64_t r0, int64_t r1, qh_mat out,
                           float *mean, float *rstd, uint8_t *dropped, int64_t stride);
void qh_ref_hidden_backward(const qh_hidden *h, qh_mat z, const float *mean, const float *rstd,
                            const uint8_t *dropped, int64_t stride, int64_t r0, int64_t r1,
                            qh_mat g, float *d_gain, float *d_bias);

void qh_ref_dropout(qh_mat x, uint32_t keep, qh_key key, const int32_t *node, int64_t r0,
                    int64_t r1, qh_mat out);
void qh_ref_axpy(qh_mat x, float s, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
double qh_ref_dot(qh_mat a, qh_mat b, int64_t r0, int64_t r1);
void qh_ref_add_bias(const float *bias, int64_t r0, int64_t r1, qh_mat out);
void qh_ref_relu(qh_mat x, int64_t r0, int64_t r1, qh_mat out);
void qh_ref_relu_backward(qh_mat y, int64_t r0, int64_t r1, qh_mat g);
void qh_ref_scatter_add(qh_mat x, const int32_t *row_index, int64_t r0, int64_t r1, qh_mat out);

double qh_ref_softmax_ce(qh_mat logits, const int32_t *label, const int32_t *list, int64_t r0,
                         int64_t r1, float scale, qh_mat grad);
double qh_ref_sigmoid_bce(qh_mat logits, const uint8_t *target, const int32_t *list, int64_t r0,
                          int64_t r1, float scale, qh_mat grad);

void qh_ref_adam(const qh_adam *p, int64_t n, float *w, const float *g, float *m, float *v);

bool qh_ref_min_max(const float *x, int64_t n, float *min, float *max);
void qh_ref_quantize(const float *x, int64_t n, int bits, float zero, float inverse, qh_key key,
                     uint64_t row, uint8_t *out);
void qh_ref_dequantize(const uint8_t *in, int64_t n, int bits, float zero, float scale, float *out);
void qh_ref_to_bf16(const float *x, int64_t n, uint16_t *out);
void qh_ref_from_bf16(const uint16_t *x, int64_t n, float *out);
void qh_ref_to_fp16(const float *x, int64_t n, uint16_t *out);
void qh_ref_from_fp16(const uint16_t *x, int64_t n, float *out);
void qh_ref_copy(const float *x, int64_t n, float *out);

void qh_ref_gather_cols(const float *x, const int32_t *column, int64_t n, float *out);
void qh_ref_scatter_cols(const float *x, const int32_t *column, int64_t n, float scale,
                         int64_t n_cols, float *out);
uint32_t qh_ref_kth_magnitude(const float *x, int64_t n, int64_t k);

extern const qh_kernels qh_kernels_ref;

#endif
