/* fp32: the values as they are; the codec that all others are compared with. */
#include "src/codec/rows.h"

static int width(const qh_codec *c)
{
    (void)c;
    return 32;
}

static int64_t bytes(const qh_codec *c, const qh_block *b)
{
    (void)c;
    return b->n_rows * b->n_cols * 4;
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    float *wire = (float *)(void *)out;

    (void)node;
    qh_range_assert(b, rows, row_index, i0, i1);
    QH_ASSERT((uintptr_t)out % 4 == 0);
    for (int64_t i = i0; i < i1; i++) {
        const float *x = qh_source_row(rows, row_index, i0, i);
        float min, max;

        if (!qh_row_min_max(c->kernels, x, b->n_cols, &min, &max))
            return qh_row_not_finite(c, i, bad_row);
        c->kernels->copy(x, b->n_cols, wire + i * b->n_cols);
    }
    return QH_OK;
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    const float *wire = (const float *)(const void *)in;

    (void)node;
    qh_range_assert(b, out, NULL, i0, i1);
    QH_ASSERT((uintptr_t)in % 4 == 0);
    for (int64_t i = i0; i < i1; i++)
        c->kernels->copy(wire + i * b->n_cols, b->n_cols, qh_mat_row(out, i - i0));
}

const qh_codec_ops qh_codec_fp32 = {
    .name = "fp32",
    .help = "single precision, as it is",
    .lossless = true,
    .width = width,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
