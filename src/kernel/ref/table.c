#include "src/kernel/ref/ref.h"

static qh_status prepare(int n_threads)
{
    (void)n_threads; /* plain loops take nothing */
    return QH_OK;
}

const qh_kernels qh_kernels_ref = {
    .name = "ref",
    .help = "plain loops, the definition; slow",
    .prepare = prepare,
    .spmm = qh_ref_spmm,
    .spmm_tn = qh_ref_spmm_tn,
    .gemm_nn = qh_ref_gemm_nn,
    .gemm_nt = qh_ref_gemm_nt,
    .gemm_tn = qh_ref_gemm_tn,
    .colsum = qh_ref_colsum,
    .hidden_forward = qh_ref_hidden_forward,
    .hidden_backward = qh_ref_hidden_backward,
    .dropout = qh_ref_dropout,
    .axpy = qh_ref_axpy,
    .dot = qh_ref_dot,
    .add_bias = qh_ref_add_bias,
    .relu = qh_ref_relu,
    .relu_backward = qh_ref_relu_backward,
    .scatter_add = qh_ref_scatter_add,
    .softmax_ce = qh_ref_softmax_ce,
    .sigmoid_bce = qh_ref_sigmoid_bce,
    .adam = qh_ref_adam,
    .min_max = qh_ref_min_max,
    .quantize = qh_ref_quantize,
    .dequantize = qh_ref_dequantize,
    .to_bf16 = qh_ref_to_bf16,
    .from_bf16 = qh_ref_from_bf16,
    .to_fp16 = qh_ref_to_fp16,
    .from_fp16 = qh_ref_from_fp16,
    .copy = qh_ref_copy,
    .gather_cols = qh_ref_gather_cols,
    .scatter_cols = qh_ref_scatter_cols,
    .kth_magnitude = qh_ref_kth_magnitude,
};
