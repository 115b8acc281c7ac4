/* Dropout -> LayerNorm -> ReLU in one pass over a row that stays in the first-level cache.
 * xhat and y are rounded as in src/kernel/ref/layernorm.c, which says why. */
#include "src/base/status.h"
#include "src/kernel/fast/draw.h"
#include "src/kernel/fast/fast.h"

#include <math.h>

static const double LAYER_NORM_EPS = 1e-5;

/* The mask bits of n columns (at most QH_LANES) from column c on, c a multiple of QH_LANES. */
INLINE uint32_t bits_get(const uint8_t *bits, int64_t c, int64_t n)
{
    uint32_t b = bits[c / 8];

    if (n > 8)
        b |= (uint32_t)bits[c / 8 + 1] << 8;
    return b >> c % 8;
}

/* Columns in rising order: the first of a byte sets it, later ones add to it. */
INLINE void bits_put(uint8_t *bits, int64_t c, int64_t n, uint32_t b)
{
    if (c % 8 == 0)
        bits[c / 8] = (uint8_t)b;
    else
        bits[c / 8] |= (uint8_t)(b << c % 8);
    if (n > 8)
        bits[c / 8 + 1] = (uint8_t)(b >> 8);
}

/* Columns first .. of one group, whose draws are the parts first_part on. */
INLINE void drop_group(vec_u words[4][DRAW_MOST], int first_part, int64_t first, uint32_t keep,
                       const float *x, int64_t cols, float *out, uint8_t *bits)
{
    vec scale = vec_set(65536.0F / (float)keep);

    for (int v = 0; v < 8 * DRAW_PARTS; v++) {
        int64_t c = first + v * QH_LANES, n = cols - c;
        vec_mask kept = draw_below(words, v / DRAW_PARTS, first_part + v % DRAW_PARTS, keep);

        if (n >= QH_LANES) {
            vec_store(out + c, vec_keep(kept, vec_load(x + c) * scale));
            if (bits)
                bits_put(bits, c, QH_LANES, vec_bits(kept));
        } else if (n > 0) {
            vec_mask part = vec_first(n);

            vec_store_part(out + c, vec_keep(kept, vec_load_part(x + c, part) * scale), part);
            if (bits)
                bits_put(bits, c, n, vec_bits(kept) & vec_bits(part));
        }
    }
}

/* Drops elements of the row x into out (x and out may be the same); bits may be NULL. */
INLINE void drop_row(const draw_row *d, uint32_t keep, const float *x, int64_t cols, float *out,
                     uint8_t *bits)
{
    vec_u words[4][DRAW_MOST];
    int64_t c = 0;

    for (; c + (DRAW_AT_ONCE - 1) * DRAW_COLS < cols; c += DRAW_AT_ONCE * DRAW_COLS) {
        draw_parts(d, (uint64_t)c / DRAW_COLS, DRAW_MOST, words);
        for (int g = 0; g < DRAW_AT_ONCE; g++)
            drop_group(words, g * DRAW_PARTS, c + g * DRAW_COLS, keep, x, cols, out, bits);
    }
    for (; c < cols; c += DRAW_COLS) {
        draw_parts(d, (uint64_t)c / DRAW_COLS, DRAW_PARTS, words);
        drop_group(words, 0, c, keep, x, cols, out, bits);
    }
}

void FAST(dropout)(qh_mat x, uint32_t keep, qh_key key, const int32_t *node, int64_t r0, int64_t r1,
                   qh_mat out)
{
    draw_row d;

    QH_ASSERT(keep <= 65536 && x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    draw_keys(&d, key);
    for (int64_t r = r0; r < r1; r++) {
        const float *in = qh_mat_row(x, r);
        float *o = qh_mat_row(out, r);

        if (keep < 65536) {
            draw_begin(&d, (uint64_t)node[r]);
            drop_row(&d, keep, in, x.cols, o, NULL);
        } else if (in != o) {
            memcpy(o, in, (size_t)x.cols * sizeof *in);
        }
    }
}

INLINE void row_moments(const float *z, int64_t cols, float *mean, float *rstd)
{
    vec sum[2] = {vec_set(0), vec_set(0)}, square[2] = {vec_set(0), vec_set(0)}, m;
    int64_t c = 0;

    for (; c + 2 * QH_LANES <= cols; c += 2 * QH_LANES) {
        sum[0] += vec_load(z + c);
        sum[1] += vec_load(z + c + QH_LANES);
    }
    for (; c < cols; c += QH_LANES)
        sum[0] += vec_load_part(z + c, vec_first(cols - c));
    *mean = (float)(vec_sum(sum[0] + sum[1]) / (double)cols);
    m = vec_set(*mean);
    for (c = 0; c + 2 * QH_LANES <= cols; c += 2 * QH_LANES) {
        vec a = vec_load(z + c) - m, b = vec_load(z + c + QH_LANES) - m;

        square[0] = vec_fma(a, a, square[0]);
        square[1] = vec_fma(b, b, square[1]);
    }
    for (; c < cols; c += QH_LANES) {
        vec_mask part = vec_first(cols - c);
        vec a = vec_keep(part, vec_load_part(z + c, part) - m);

        square[0] = vec_fma(a, a, square[0]);
    }
    *rstd = (float)(1 / sqrt(vec_sum(square[0] + square[1]) / (double)cols + LAYER_NORM_EPS));
}

INLINE vec normed(vec z, vec mean, vec rstd)
{
    return (z - mean) * rstd;
}

INLINE void norm_relu_row(const qh_hidden *h, const float *z, int64_t cols, float mean, float rstd,
                          float *out)
{
    vec m = vec_set(mean), s = vec_set(rstd), nil = vec_set(0);

    for (int64_t c = 0; c < cols; c += QH_LANES) {
        if (c + QH_LANES <= cols) {
            vec y = normed(vec_load(z + c), m, s) * vec_load(h->gain + c) + vec_load(h->bias + c);

            vec_store(out + c, vec_max(nil, y)); /* NaN, the second, passes */
        } else {
            vec_mask part = vec_first(cols - c);
            vec y = normed(vec_load_part(z + c, part), m, s) * vec_load_part(h->gain + c, part) +
                    vec_load_part(h->bias + c, part);

            vec_store_part(out + c, vec_max(nil, y), part);
        }
    }
}

INLINE void relu_row(const float *x, int64_t cols, float *out)
{
    int64_t c = 0;

    for (; c + QH_LANES <= cols; c += QH_LANES)
        vec_store(out + c, vec_max(vec_set(0), vec_load(x + c)));
    if (c < cols) {
        vec_mask part = vec_first(cols - c);

        vec_store_part(out + c, vec_max(vec_set(0), vec_load_part(x + c, part)), part);
    }
}

void FAST(hidden_forward)(const qh_hidden *h, qh_mat z, int64_t r0, int64_t r1, qh_mat out,
                          float *mean, float *rstd, uint8_t *dropped, int64_t stride)
{
    draw_row d;

    QH_ASSERT(h->keep <= 65536 && z.cols == out.cols && r1 <= z.rows && r1 <= out.rows);
    draw_keys(&d, h->key);
    for (int64_t r = r0; r < r1; r++) {
        float *in = qh_mat_row(z, r);

        if (h->keep < 65536) {
            draw_begin(&d, (uint64_t)h->node[r]);
            drop_row(&d, h->keep, in, z.cols, in, dropped ? dropped + r * stride : NULL);
        }
        if (h->norm) {
            row_moments(in, z.cols, &mean[r], &rstd[r]);
            norm_relu_row(h, in, z.cols, mean[r], rstd[r], qh_mat_row(out, r));
        } else {
            relu_row(in, z.cols, qh_mat_row(out, r));
        }
    }
}

void FAST(relu)(qh_mat x, int64_t r0, int64_t r1, qh_mat out)
{
    QH_ASSERT(x.cols == out.cols && r1 <= x.rows && r1 <= out.rows);
    for (int64_t r = r0; r < r1; r++)
        relu_row(qh_mat_row(x, r), x.cols, qh_mat_row(out, r));
}

/* Sums over a row on the way back. */
typedef struct back {
    vec sum, dot; /* of a, of a * xhat */
} back;

/* One vector of the way back: g becomes a = gy * gain. */
INLINE vec norm_back(vec z, vec g, vec gain, vec bias, vec m, vec s, back *b, vec *d_gain,
                     vec *d_bias)
{
    vec xhat = normed(z, m, s);
    vec gy = vec_keep(vec_gt(xhat * gain + bias, vec_set(0)), g);
    vec a = gy * gain;

    *d_gain = vec_fma(gy, xhat, *d_gain);
    *d_bias += gy;
    b->sum += a;
    b->dot = vec_fma(a, xhat, b->dot);
    return a;
}

INLINE void norm_row_back(const qh_hidden *h, const float *z, int64_t cols, float mean, float rstd,
                          const uint8_t *bits, float *g, float *d_gain, float *d_bias)
{
    vec m = vec_set(mean), s = vec_set(rstd), mean_a, mean_dot;
    vec scale = vec_set(65536.0F / (float)h->keep);
    back b = {vec_set(0), vec_set(0)};
    int64_t whole = cols / QH_LANES * QH_LANES;
    vec_mask part = vec_first(cols - whole);

    for (int64_t c = 0; c < whole; c += QH_LANES) {
        vec dg = vec_load(d_gain + c), db = vec_load(d_bias + c);

        vec_store(g + c, norm_back(vec_load(z + c), vec_load(g + c), vec_load(h->gain + c),
                                   vec_load(h->bias + c), m, s, &b, &dg, &db));
        vec_store(d_gain + c, dg);
        vec_store(d_bias + c, db);
    }
    if (whole < cols) {
        vec dg = vec_load_part(d_gain + whole, part), db = vec_load_part(d_bias + whole, part);

        /* Lanes past the end: gain, bias and g are 0, so they add nothing. */
        vec_store_part(g + whole,
                       norm_back(vec_load_part(z + whole, part), vec_load_part(g + whole, part),
                                 vec_load_part(h->gain + whole, part),
                                 vec_load_part(h->bias + whole, part), m, s, &b, &dg, &db),
                       part);
        vec_store_part(d_gain + whole, dg, part);
        vec_store_part(d_bias + whole, db, part);
    }
    mean_a = vec_set((float)(vec_sum(b.sum) / (double)cols));
    mean_dot = vec_set((float)(vec_sum(b.dot) / (double)cols));
    for (int64_t c = 0; c < cols; c += QH_LANES) {
        int64_t n = cols - c < QH_LANES ? cols - c : QH_LANES;
        vec zc = n == QH_LANES ? vec_load(z + c) : vec_load_part(z + c, part);
        vec a = n == QH_LANES ? vec_load(g + c) : vec_load_part(g + c, part);

        a = s * (a - mean_a - normed(zc, m, s) * mean_dot);
        if (bits)
            a = vec_keep(vec_of_bits(bits_get(bits, c, n)), a * scale);
        if (n == QH_LANES)
            vec_store(g + c, a);
        else
            vec_store_part(g + c, a, part);
    }
}

/* Without a norm what was dropped is 0 in z, and the ReLU stops it anyway. */
INLINE void relu_row_back(const float *y, int64_t cols, float factor, float *g)
{
    for (int64_t c = 0; c < cols; c += QH_LANES)
        if (c + QH_LANES <= cols) {
            vec pass = vec_load(g + c) * vec_set(factor);

            vec_store(g + c, vec_keep(vec_gt(vec_load(y + c), vec_set(0)), pass));
        } else {
            vec_mask part = vec_first(cols - c);
            vec pass = vec_load_part(g + c, part) * vec_set(factor);

            vec_store_part(g + c, vec_keep(vec_gt(vec_load_part(y + c, part), vec_set(0)), pass),
                           part);
        }
}

void FAST(hidden_backward)(const qh_hidden *h, qh_mat z, const float *mean, const float *rstd,
                           const uint8_t *dropped, int64_t stride, int64_t r0, int64_t r1, qh_mat g,
                           float *d_gain, float *d_bias)
{
    QH_ASSERT(h->keep <= 65536 && z.cols == g.cols && r1 <= z.rows && r1 <= g.rows);
    QH_ASSERT(!h->norm || h->keep == 65536 || dropped);
    for (int64_t c = 0; h->norm && c < g.cols; c++)
        d_gain[c] = d_bias[c] = 0;
    for (int64_t r = r0; r < r1; r++)
        if (h->norm)
            norm_row_back(h, qh_mat_row(z, r), z.cols, mean[r], rstd[r],
                          h->keep < 65536 ? dropped + r * stride : NULL, qh_mat_row(g, r), d_gain,
                          d_bias);
        else
            relu_row_back(qh_mat_row(z, r), z.cols, 65536.0F / (float)h->keep, qh_mat_row(g, r));
}

void FAST(relu_backward)(qh_mat y, int64_t r0, int64_t r1, qh_mat g)
{
    QH_ASSERT(y.cols == g.cols && r1 <= y.rows && r1 <= g.rows);
    for (int64_t r = r0; r < r1; r++)
        relu_row_back(qh_mat_row(y, r), g.cols, 1, qh_mat_row(g, r));
}
