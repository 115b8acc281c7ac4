/* What the codecs share: where row i of a block is, and the check of its values. */
#ifndef QH_CODEC_ROWS_H
#define QH_CODEC_ROWS_H

#include "src/codec/codec.h"

/* Row i of a block whose range begins at i0, as encode defines it. */
static inline const float *qh_source_row(qh_mat rows, const int32_t *row_index, int64_t i0,
                                         int64_t i)
{
    return qh_mat_row(rows, row_index ? row_index[i] : i - i0);
}

/* The shapes that every encode and decode may rely on. rows: the matrix read or written. */
static inline void qh_range_assert(const qh_block *b, qh_mat rows, const int32_t *row_index,
                                   int64_t i0, int64_t i1)
{
    QH_ASSERT(0 <= i0 && i0 <= i1 && i1 <= b->n_rows);
    QH_ASSERT(rows.cols == b->n_cols && (row_index || i1 - i0 <= rows.rows));
}

/* Least and greatest value of a row (0 and 0 of an empty one); false: one is not finite. */
static inline bool qh_row_min_max(const qh_kernels *k, const float *x, int64_t n, float *min,
                                  float *max)
{
    *min = *max = 0;
    return n == 0 || k->min_max(x, n, min, max);
}

/* Notes the row and writes the error text of a value that is not finite. */
qh_status qh_row_not_finite(const qh_codec *c, int64_t row, int64_t *bad_row);

/* The two codecs of 16-bit floats: convert is the kernel, most the largest float it can hold. */
typedef struct qh_half {
    void (*encode)(const float *x, int64_t n, uint16_t *out);
    void (*decode)(const uint16_t *x, int64_t n, float *out);
    float most;
} qh_half;

int64_t qh_half_bytes(const qh_codec *c, const qh_block *b);
int qh_half_width(const qh_codec *c);
qh_status qh_half_encode(const qh_codec *c, qh_half half, const qh_block *b, qh_mat rows,
                         const int32_t *row_index, int64_t i0, int64_t i1, uint8_t *out,
                         int64_t *bad_row);
void qh_half_decode(qh_half half, const qh_block *b, const uint8_t *in, int64_t i0, int64_t i1,
                    qh_mat out);

extern const qh_codec_ops qh_codec_fp32, qh_codec_bf16, qh_codec_fp16, qh_codec_int, qh_codec_mixed,
    qh_codec_mask, qh_codec_topk, qh_codec_drop;

/* The argument of codecs that take a ratio: R of mask:R, or none. */
qh_status qh_ratio_configure(qh_codec *c, const char *argument);

#endif
