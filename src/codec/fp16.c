/* fp16: IEEE half precision, rounded to nearest even; 2 bytes a value, no parameters. */
#include "src/codec/rows.h"

/* The last float under 65520, from where on values round to infinity. */
static qh_half half(const qh_codec *c)
{
    return (qh_half){c->kernels->to_fp16, c->kernels->from_fp16, 65519.996F};
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    (void)node;
    return qh_half_encode(c, half(c), b, rows, row_index, i0, i1, out, bad_row);
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    (void)node;
    qh_half_decode(half(c), b, in, i0, i1, out);
}

const qh_codec_ops qh_codec_fp16 = {
    .name = "fp16",
    .help = "IEEE half precision, rounded to nearest even",
    .width = qh_half_width,
    .bytes = qh_half_bytes,
    .encode = encode,
    .decode = decode,
};
