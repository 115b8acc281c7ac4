/* Entries of the fast backend for the instruction set that the including file is compiled for. */
#ifndef QH_KERNEL_FAST_FAST_H
#define QH_KERNEL_FAST_FAST_H

#include "src/kernel/backend.h"
#include "src/kernel/fast/vec.h"

void FAST(spmm)(qh_csr a, qh_mat x, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
void FAST(spmm_tn)(qh_csr a, qh_mat g, int64_t c0, int64_t c1, qh_mat out);
void FAST(colsum)(qh_mat g, int64_t r0, int64_t r1, float *out);
void FAST(hidden_forward)(const qh_hidden *h, qh_mat z, int64_t r0, int64_t r1, qh_mat out,
                          float *mean, float *rstd, uint8_t *dropped, int64_t stride);
void FAST(hidden_backward)(const qh_hidden *h, qh_mat z, const float *mean, const float *rstd,
                           const uint8_t *dropped, int64_t stride, int64_t r0, int64_t r1, qh_mat g,
                           float *d_gain, float *d_bias);
void FAST(dropout)(qh_mat x, uint32_t keep, qh_key key, const int32_t *node, int64_t r0, int64_t r1,
                   qh_mat out);
void FAST(axpy)(qh_mat x, float s, int64_t r0, int64_t r1, qh_mat out, bool accumulate);
double FAST(dot)(qh_mat a, qh_mat b, int64_t r0, int64_t r1);
void FAST(add_bias)(const float *bias, int64_t r0, int64_t r1, qh_mat out);
void FAST(relu)(qh_mat x, int64_t r0, int64_t r1, qh_mat out);
void FAST(relu_backward)(qh_mat y, int64_t r0, int64_t r1, qh_mat g);
void FAST(scatter_add)(qh_mat x, const int32_t *row_index, int64_t r0, int64_t r1, qh_mat out);
double FAST(softmax_ce)(qh_mat logits, const int32_t *label, const int32_t *list, int64_t r0,
                        int64_t r1, float scale, qh_mat grad);
double FAST(sigmoid_bce)(qh_mat logits, const uint8_t *target, const int32_t *list, int64_t r0,
                         int64_t r1, float scale, qh_mat grad);
void FAST(adam)(const qh_adam *p, int64_t n, float *w, const float *g, float *m, float *v);
bool FAST(min_max)(const float *x, int64_t n, float *min, float *max);
void FAST(quantize)(const float *x, int64_t n, int bits, float zero, float inverse, qh_key key,
                    uint64_t row, uint8_t *out);
void FAST(dequantize)(const uint8_t *in, int64_t n, int bits, float zero, float scale, float *out);
void FAST(to_bf16)(const float *x, int64_t n, uint16_t *out);
void FAST(from_bf16)(const uint16_t *x, int64_t n, float *out);
void FAST(to_fp16)(const float *x, int64_t n, uint16_t *out);
void FAST(from_fp16)(const uint16_t *x, int64_t n, float *out);
void FAST(copy)(const float *x, int64_t n, float *out);
void FAST(gather_cols)(const float *x, const int32_t *column, int64_t n, float *out);
void FAST(scatter_cols)(const float *x, const int32_t *column, int64_t n, float scale,
                        int64_t n_cols, float *out);
uint32_t FAST(kth_magnitude)(const float *x, int64_t n, int64_t k);

/* Their table, a symbol for each set: qh_fast_v4_table, ... */
extern const qh_kernels FAST(table);

#endif
