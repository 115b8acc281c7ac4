#include "src/kernel/fast/fast.h"
#include "src/kernel/fast/gemm.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const qh_kernels FAST(table) = {
    .name = "fast",
    .help = "vector code and OpenBLAS (" TEXT(QH_ISA) ")",
    .prepare = qh_fast_gemm_prepare,
    .gemm_nn = qh_fast_gemm_nn,
    .gemm_nt = qh_fast_gemm_nt,
    .gemm_tn = qh_fast_gemm_tn,
    .spmm = FAST(spmm),
    .spmm_tn = FAST(spmm_tn),
    .colsum = FAST(colsum),
    .hidden_forward = FAST(hidden_forward),
    .hidden_backward = FAST(hidden_backward),
    .dropout = FAST(dropout),
    .axpy = FAST(axpy),
    .dot = FAST(dot),
    .add_bias = FAST(add_bias),
    .relu = FAST(relu),
    .relu_backward = FAST(relu_backward),
    .scatter_add = FAST(scatter_add),
    .softmax_ce = FAST(softmax_ce),
    .sigmoid_bce = FAST(sigmoid_bce),
    .adam = FAST(adam),
    .min_max = FAST(min_max),
    .quantize = FAST(quantize),
    .dequantize = FAST(dequantize),
    .to_bf16 = FAST(to_bf16),
    .from_bf16 = FAST(from_bf16),
    .to_fp16 = FAST(to_fp16),
    .from_fp16 = FAST(from_fp16),
    .copy = FAST(copy),
    .gather_cols = FAST(gather_cols),
    .scatter_cols = FAST(scatter_cols),
    .kth_magnitude = FAST(kth_magnitude),
};
