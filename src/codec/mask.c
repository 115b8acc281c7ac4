/* mask:R: k of the D columns of every row, the same for all rows of a block, drawn by both ends
 * from one stream, so that no index travels; the other columns arrive as 0. Cervino et al.,
 * Distributed training of large graph neural networks with variable communication rates, 2024
 * (arXiv 2406.17611).
 *
 * What is kept can be coded further: the wire form is that of a block of k columns under c->coded,
 * fp32 unless a rate schedule was laid over another codec. */
#include "src/codec/rows.h"

#include <string.h>

static qh_codec inner_codec(const qh_codec *c)
{
    qh_codec inner = *c;

    inner.ops = c->coded;
    return inner;
}

/* The kept columns as a block of their own. */
static qh_block inner_block(const qh_block *b)
{
    qh_block inner = *b;

    QH_ASSERT(0 <= b->n_kept && b->n_kept <= b->n_cols);
    inner.n_cols = b->n_kept;
    return inner;
}

static bool keeps_all(const qh_block *b)
{
    return b->n_kept == b->n_cols;
}

static qh_mat scratch_rows(const qh_block *b, int64_t n_rows)
{
    QH_ASSERT(b->scratch && b->column);
    return (qh_mat){b->scratch, n_rows, b->n_kept, b->n_kept};
}

static int width(const qh_codec *c)
{
    qh_codec inner = inner_codec(c);

    return inner.ops->width(&inner);
}

static int64_t bytes(const qh_codec *c, const qh_block *b)
{
    qh_codec inner = inner_codec(c);
    qh_block kept = inner_block(b);

    return inner.ops->bytes(&inner, &kept);
}

/* Columns that are not sent are checked too: a run does not go on with a NaN whatever its codec. */
static qh_status encode_kept(const qh_codec *c, const qh_block *b, qh_mat rows,
                             const int32_t *row_index, const int32_t *node, int64_t i0, int64_t i1,
                             uint8_t *out, int64_t *bad_row)
{
    qh_codec inner = inner_codec(c);
    qh_block kept = inner_block(b);
    bool plain = c->coded == &qh_codec_fp32;
    float *to = (float *)(void *)out;

    QH_ASSERT((uintptr_t)out % 4 == 0);
    if (plain)
        to += i0 * b->n_kept;
    else
        to = scratch_rows(b, i1 - i0).data;
    for (int64_t i = i0; i < i1; i++, to += b->n_kept) {
        const float *x = qh_source_row(rows, row_index, i0, i);
        float min, max;

        if (!qh_row_min_max(c->kernels, x, b->n_cols, &min, &max))
            return qh_row_not_finite(c, i, bad_row);
        c->kernels->gather_cols(x, b->column, b->n_kept, to);
    }
    return plain ? QH_OK
                 : inner.ops->encode(&inner, &kept, scratch_rows(b, i1 - i0), NULL, node, i0, i1,
                                     out, bad_row);
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    qh_codec inner = inner_codec(c);

    qh_range_assert(b, rows, row_index, i0, i1);
    if (keeps_all(b))
        return inner.ops->encode(&inner, b, rows, row_index, node, i0, i1, out, bad_row);
    return encode_kept(c, b, rows, row_index, node, i0, i1, out, bad_row);
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    qh_codec inner = inner_codec(c);
    qh_block kept = inner_block(b);
    const float *from = (const float *)(const void *)in;
    float scale = c->rescale ? (float)((double)b->n_cols / (double)b->n_kept) : 1;

    qh_range_assert(b, out, NULL, i0, i1);
    if (keeps_all(b)) {
        inner.ops->decode(&inner, b, in, node, i0, i1, out);
        return;
    }
    QH_ASSERT((uintptr_t)in % 4 == 0);
    if (c->coded == &qh_codec_fp32) {
        from += i0 * b->n_kept;
    } else {
        inner.ops->decode(&inner, &kept, in, node, i0, i1, scratch_rows(b, i1 - i0));
        from = b->scratch;
    }
    for (int64_t i = i0; i < i1; i++, from += b->n_kept)
        c->kernels->scatter_cols(from, b->column, b->n_kept, scale, b->n_cols,
                                 qh_mat_row(out, i - i0));
}

/* The columns that are kept are read in their places and coded; the receiver writes whole rows. */
static void work(const qh_codec *c, const qh_block *b, int64_t wire, bool encodes, int64_t *flops,
                 int64_t *memory)
{
    qh_codec inner = inner_codec(c);
    qh_block kept = inner_block(b);

    qh_codec_work(&inner, &kept, wire, encodes, flops, memory);
    if (encodes)
        return;
    *memory += 4 * b->n_rows * (b->n_cols - b->n_kept);
    *flops += c->rescale ? b->n_rows * b->n_kept : 0;
}

const qh_codec_ops qh_codec_mask = {
    .name = "mask",
    .argument = "R",
    .help = "mask:R, a random 1/R of the columns, drawn by both ends; the others arrive as 0",
    .takes_ratio = true,
    .configure = qh_ratio_configure,
    .width = width,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
    .work = work,
};
