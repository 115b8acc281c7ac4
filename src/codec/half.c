/* Rows of 16-bit floats, one after the other: what bf16 and fp16 have in common. */
#include "src/codec/rows.h"

#include <math.h>

int64_t qh_half_bytes(const qh_codec *c, const qh_block *b)
{
    (void)c;
    return b->n_rows * b->n_cols * 2;
}

int qh_half_width(const qh_codec *c)
{
    (void)c;
    return 16;
}

qh_status qh_half_encode(const qh_codec *c, qh_half half, const qh_block *b, qh_mat rows,
                         const int32_t *row_index, int64_t i0, int64_t i1, uint8_t *out,
                         int64_t *bad_row)
{
    uint16_t *wire = (uint16_t *)(void *)out;

    qh_range_assert(b, rows, row_index, i0, i1);
    QH_ASSERT((uintptr_t)out % 4 == 0);
    for (int64_t i = i0; i < i1; i++) {
        const float *x = qh_source_row(rows, row_index, i0, i);
        float min, max;

        if (!qh_row_min_max(c->kernels, x, b->n_cols, &min, &max))
            return qh_row_not_finite(c, i, bad_row);
        if (fabsf(min) > half.most || fabsf(max) > half.most) {
            /* It would arrive as an infinity: a silent start of NaN everywhere. */
            *bad_row = i;
            return qh_fail(QH_EINTERNAL, "codec %s: %g is more than it can hold (%g)", c->ops->name,
                           (double)(fabsf(min) > fabsf(max) ? min : max), (double)half.most);
        }
        half.encode(x, b->n_cols, wire + i * b->n_cols);
    }
    return QH_OK;
}

void qh_half_decode(qh_half half, const qh_block *b, const uint8_t *in, int64_t i0, int64_t i1,
                    qh_mat out)
{
    const uint16_t *wire = (const uint16_t *)(const void *)in;

    qh_range_assert(b, out, NULL, i0, i1);
    QH_ASSERT((uintptr_t)in % 4 == 0);
    for (int64_t i = i0; i < i1; i++)
        half.decode(wire + i * b->n_cols, b->n_cols, qh_mat_row(out, i - i0));
}
