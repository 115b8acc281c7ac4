/* drop: nothing travels and the receiver's rows are 0, which shows what communication is worth. */
#include "src/codec/rows.h"

#include <string.h>

static int64_t bytes(const qh_codec *c, const qh_block *b)
{
    (void)c;
    (void)b;
    return 0;
}

static int width(const qh_codec *c)
{
    (void)c;
    return 0;
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    (void)node;
    (void)out;
    qh_range_assert(b, rows, row_index, i0, i1);
    for (int64_t i = i0; i < i1; i++) {
        float min, max;

        /* Not sent, yet checked: a run does not go on with a NaN whatever its codec. */
        if (!qh_row_min_max(c->kernels, qh_source_row(rows, row_index, i0, i), b->n_cols, &min,
                            &max))
            return qh_row_not_finite(c, i, bad_row);
    }
    return QH_OK;
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    (void)c;
    (void)in;
    (void)node;
    qh_range_assert(b, out, NULL, i0, i1);
    for (int64_t i = i0; i < i1; i++)
        memset(qh_mat_row(out, i - i0), 0, (size_t)b->n_cols * sizeof(float));
}

const qh_codec_ops qh_codec_drop = {
    .name = "drop",
    .help = "sends nothing; received rows are 0",
    .silent = true,
    .width = width,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
};
