/* topk:R: the k = max(1, round(D/R)) values of largest magnitude of each row, as floats, with their
 * columns; of equal magnitudes the lower column. The others arrive as 0. Aji and Heafield, Sparse
 * communication for distributed gradient descent, EMNLP 2017 (arXiv 1704.05021).
 *
 * Wire form: the values of all rows, each row's by rising column; behind them their columns, in 1
 * byte each for D <= 256, 2 for D <= 65536, else 4, low byte first. */
#include "src/codec/rows.h"

#include <string.h>

/* Values are picked in stretches of a row, into a place with room for one that is not taken. */
enum { STRETCH = 128 };

static int column_bytes(int64_t n_cols)
{
    return n_cols <= 256 ? 1 : n_cols <= 65536 ? 2 : 4;
}

static int width(const qh_codec *c)
{
    (void)c;
    return 32;
}

static int64_t bytes(const qh_codec *c, const qh_block *b)
{
    (void)c;
    QH_ASSERT(0 <= b->n_kept && b->n_kept <= b->n_cols);
    return b->n_rows * b->n_kept * (4 + column_bytes(b->n_cols));
}

static uint32_t magnitude_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

static uint8_t *put_columns(const int32_t *column, int64_t n, int each, uint8_t *out)
{
    if (each == 1) /* the usual width of hidden layers: a loop that vectors take */
        for (int64_t i = 0; i < n; i++)
            out[i] = (uint8_t)column[i];
    else
        for (int64_t i = 0; i < n * each; i++)
            out[i] = (uint8_t)((uint32_t)column[i / each] >> 8 * (i % each));
    return out + n * each;
}

/* Everything above the bound, and the first `equal` values at it. */
static void put_row(const float *x, int64_t n, uint32_t bound, int64_t equal, int each,
                    float *value, uint8_t *place)
{
    float kept[STRETCH + 1];
    int32_t column[STRETCH + 1];

    for (int64_t first = 0; first < n; first += STRETCH) {
        int64_t end = first + STRETCH < n ? first + STRETCH : n, m = 0;

        for (int64_t j = first; j < end; j++) { /* no branch: which are taken is anyone's guess */
            uint32_t bits = magnitude_bits(x[j]);
            bool tie = (bits == bound) & (equal > 0);

            kept[m] = x[j];
            column[m] = (int32_t)j;
            m += (bits > bound) | tie;
            equal -= tie;
        }
        memcpy(value, kept, (size_t)m * sizeof *kept);
        value += m;
        place = put_columns(column, m, each, place);
    }
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    int64_t n = b->n_cols, k = b->n_kept;
    int each = column_bytes(n);
    float *value = (float *)(void *)out;
    uint8_t *place = out + b->n_rows * k * 4;

    (void)node;
    qh_range_assert(b, rows, row_index, i0, i1);
    QH_ASSERT((uintptr_t)out % 4 == 0);
    for (int64_t i = i0; i < i1; i++) {
        const float *x = qh_source_row(rows, row_index, i0, i);
        int64_t above = 0;
        uint32_t bound;
        float min, max;

        if (!qh_row_min_max(c->kernels, x, n, &min, &max))
            return qh_row_not_finite(c, i, bad_row);
        if (n == 0)
            continue;
        bound = c->kernels->kth_magnitude(x, n, k);
        for (int64_t j = 0; j < n; j++)
            above += magnitude_bits(x[j]) > bound;
        put_row(x, n, bound, k - above, each, value + i * k, place + i * k * each);
    }
    return QH_OK;
}

static int64_t get_column(const uint8_t *in, int each)
{
    uint32_t column = 0;

    for (int byte = 0; byte < each; byte++)
        column |= (uint32_t)in[byte] << 8 * byte;
    return column;
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    int64_t n = b->n_cols, k = b->n_kept;
    int each = column_bytes(n);
    const float *value = (const float *)(const void *)in;
    const uint8_t *place = in + b->n_rows * k * 4;

    (void)c;
    (void)node;
    qh_range_assert(b, out, NULL, i0, i1);
    QH_ASSERT((uintptr_t)in % 4 == 0);
    for (int64_t i = i0; i < i1; i++) {
        float *y = qh_mat_row(out, i - i0);

        memset(y, 0, (size_t)n * sizeof *y);
        for (int64_t j = i * k; j < (i + 1) * k; j++) {
            int64_t column = get_column(place + j * each, each);

            if (column < n) /* any bytes decode to something */
                y[column] = value[j];
        }
    }
}

/* The bound is found bit by bit, a comparison and a count for each value and bit; a row stays near
 * while that is done, so it is read once more to pick. */
static void work(const qh_codec *c, const qh_block *b, int64_t wire, bool encodes, int64_t *flops,
                 int64_t *memory)
{
    enum { BITS = 31 };
    int64_t values = b->n_rows * b->n_cols;

    (void)c;
    *flops = encodes ? 2 * BITS * values : 0;
    *memory = wire + (encodes ? 8 : 4) * values;
}

const qh_codec_ops qh_codec_topk = {
    .name = "topk",
    .argument = "R",
    .help = "topk:R, the largest 1/R of a row and their columns; the others arrive as 0",
    .takes_ratio = true,
    .configure = qh_ratio_configure,
    .width = width,
    .bytes = bytes,
    .encode = encode,
    .decode = decode,
    .work = work,
};
