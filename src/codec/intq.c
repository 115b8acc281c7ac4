/* Stochastic integers: `int:B`, every row at one width, and `mixed`, a width for each row.
 *
 * Wire form of both: the values of all rows, by width and then by position, each row in whole
 * bytes; behind them their parameters in the same order. Values stand first because rows then begin
 * on cache lines for the usual column counts, which is what vector stores want; a block of `mixed`
 * whose widths are all B is, byte for byte, the block of int:B. Width 16 is 16-bit integers, low
 * byte first; 32 is the raw floats, without parameters.
 *
 * Rounding: q = min(floor((h - Z) / S + u), L) with u = qh_rand16(key, node, column) / 65536, so
 * E[Z + q S] = h (Gupta et al., Deep learning with limited numerical precision, ICML 2015). u has
 * 16 bits, so the mean is right to 2^-16 of a step. */
#include "src/codec/rows.h"
#include "src/codec/scale.h"

#include <string.h>

/* Rows are taken in batches that stay in the first-level cache between the pass that finds their
 * range and the pass that rounds, and whose parameters are computed side by side. */
enum { BATCH = QH_SCALE_BATCH };

typedef struct place {
    int64_t payload, params; /* offsets in the block */
} place;

static place place_of(const qh_codec *c, const qh_block *b, int width, int64_t i)
{
    int64_t bytes = (b->n_cols * width + 7) / 8, params = c->params == QH_PARAMS_BF16 ? 4 : 8;

    if (b->index)
        return (place){b->index->payload[i], b->index->params[i]};
    return (place){i * bytes, b->n_rows * bytes + i * params};
}

static int width_of(const qh_codec *c, const qh_block *b, int64_t i)
{
    return c->ops->takes_widths ? b->width[i] : c->bits;
}

static int levels_of(int width)
{
    return width == 32 ? 1 : (1 << width) - 1; /* raw floats have none: any will do */
}

/* The 16-bit draws of columns [128 g, 128 g + 128) of a row, as qh_rand16 defines them. */
static void draw_group(qh_key key, uint64_t row, uint64_t g, uint16_t u[128])
{
    for (unsigned lane = 0; lane < 16; lane++) {
        qh_rand4 r = qh_rand_block(key, 16 * g + lane, row);

        for (unsigned slot = 0; slot < 8; slot++)
            u[16 * slot + lane] = (uint16_t)(r.v[slot / 2] >> 16 * (slot % 2));
    }
}

/* The rounding in double: for 16 bits, and where single precision would overflow. */
static void quantize_wide(const float *x, int64_t n, int width, qh_scale s, qh_key key,
                          uint64_t row, uint8_t *out)
{
    double zero = qh_scale_zero(s), step = qh_scale_step(s), most = levels_of(width);
    uint16_t u[128];

    memset(out, 0, (size_t)((n * width + 7) / 8));
    for (int64_t i = 0; i < n && step > 0; i++) {
        double t;
        unsigned q;

        if (i % 128 == 0)
            draw_group(key, row, (uint64_t)i / 128, u);
        t = (x[i] - zero) / step + u[i % 128] * 0x1p-16;
        q = (unsigned)(t < most ? t : most);
        for (int bit = 0; bit < width; bit++)
            out[(i * width + bit) / 8] |= (uint8_t)((q >> bit & 1) << (i * width + bit) % 8);
    }
}

static void dequantize_wide(const uint8_t *in, int64_t n, int width, qh_scale s, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        unsigned q = 0;

        for (int bit = 0; bit < width; bit++)
            q |= (in[(i * width + bit) / 8] >> (i * width + bit) % 8 & 1U) << bit;
        out[i] = qh_scale_value(s, levels_of(width), (int)q);
    }
}

/* Puts a row whose range is known into the block. */
static void encode_row(const qh_codec *c, const qh_block *b, int64_t i, const float *x, float max,
                       qh_scale s, uint64_t node, uint8_t *out)
{
    int width = width_of(c, b, i);
    place at = place_of(c, b, width, i);
    float inverse = s.step > 0 ? 1 / s.step : 0;

    if (width == 32) {
        memcpy(out + at.payload, x, (size_t)b->n_cols * sizeof *x);
        return;
    }
    qh_scale_put(s, c->params, out + at.params);
    if (qh_scale_is_single(s, levels_of(width)) && inverse <= FLT_MAX && max - s.zero <= FLT_MAX)
        c->kernels->quantize(x, b->n_cols, width, s.zero, inverse, b->key, node, out + at.payload);
    else
        quantize_wide(x, b->n_cols, width, s, b->key, node, out + at.payload);
}

/* Asks for row i of the range that ends at i1, so that the memory works while the rounding does:
 * nothing else can see the rows of a gather coming. */
static void prefetch_row(const qh_block *b, qh_mat rows, const int32_t *row_index, int64_t i0,
                         int64_t i1, int64_t i)
{
    enum { LINE = 16 };
    const float *x;

    if (i >= i1)
        return;
    x = qh_source_row(rows, row_index, i0, i);
    for (int64_t j = 0; j < b->n_cols; j += LINE)
        __builtin_prefetch(x + j);
}

static void assert_block(const qh_codec *c, const qh_block *b)
{
    if (c->ops->takes_widths)
        QH_ASSERT(b->width && b->index && b->index->n_rows == b->n_rows &&
                  b->index->n_cols == b->n_cols);
    else
        QH_ASSERT(!b->index);
}

static qh_status encode(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out, int64_t *bad_row)
{
    qh_range_assert(b, rows, row_index, i0, i1);
    assert_block(c, b);
    for (int64_t i = i0; i < i1; i += BATCH) {
        int64_t n = i1 - i < BATCH ? i1 - i : BATCH;
        const float *x[BATCH];
        float min[BATCH] = {0}, max[BATCH] = {0};
        int32_t levels[BATCH];
        qh_scale s[BATCH];

        for (int64_t k = 0; k < BATCH; k++)
            levels[k] = k < n ? levels_of(width_of(c, b, i + k)) : 1;
        for (int64_t k = 0; k < n; k++) {
            x[k] = qh_source_row(rows, row_index, i0, i + k);
            if (!qh_row_min_max(c->kernels, x[k], b->n_cols, min + k, max + k))
                return qh_row_not_finite(c, i + k, bad_row);
            if (b->range)
                b->range[i + k] = max[k] - min[k];
        }
        qh_scale_choose(min, max, levels, (int)n, c->params, s);
        for (int64_t k = 0; k < n; k++) {
            prefetch_row(b, rows, row_index, i0, i1, i + k + BATCH);
            encode_row(c, b, i + k, x[k], max[k], s[k], (uint64_t)node[i + k], out);
        }
    }
    return QH_OK;
}

static void decode(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out)
{
    (void)node;
    qh_range_assert(b, out, NULL, i0, i1);
    assert_block(c, b);
    for (int64_t i = i0; i < i1; i++) {
        int width = width_of(c, b, i);
        place at = place_of(c, b, width, i);
        float *y = qh_mat_row(out, i - i0);
        qh_scale s;

        if (width == 32) {
            memcpy(y, in + at.payload, (size_t)b->n_cols * sizeof *y);
            continue;
        }
        s = qh_scale_get(c->params, in + at.params);
        if (qh_scale_is_single(s, levels_of(width)))
            c->kernels->dequantize(in + at.payload, b->n_cols, width, s.zero, s.step, y);
        else
            dequantize_wide(in + at.payload, b->n_cols, width, s, y);
    }
}

static qh_status configure(qh_codec *c, const char *argument)
{
    if (!argument || strlen(argument) != 1 || *argument < '1' || *argument > '8')
        return qh_fail(QH_EUSAGE, "--codec: 'int:%s' has no width of 1 to 8; as in int:4",
                       argument ? argument : "");
    c->bits = *argument - '0';
    return QH_OK;
}

static int uniform_width(const qh_codec *c)
{
    return c->bits;
}

static int64_t uniform_bytes(const qh_codec *c, const qh_block *b)
{
    return b->n_rows * qh_row_bytes(b->n_cols, c->bits, c->params);
}

static int mixed_width(const qh_codec *c)
{
    (void)c;
    return 0;
}

static int64_t mixed_bytes(const qh_codec *c, const qh_block *b)
{
    assert_block(c, b);
    return b->index->bytes;
}

const qh_codec_ops qh_codec_int = {
    .name = "int",
    .argument = "B",
    .help = "int:B, stochastic integers of B = 1 to 8 bits, scale and zero point a row",
    .configure = configure,
    .width = uniform_width,
    .bytes = uniform_bytes,
    .encode = encode,
    .decode = decode,
};

const qh_codec_ops qh_codec_mixed = {
    .name = "mixed",
    .help = "stochastic integers, each row as wide as the bit assigner says",
    .takes_widths = true,
    .width = mixed_width,
    .bytes = mixed_bytes,
    .encode = encode,
    .decode = decode,
};
