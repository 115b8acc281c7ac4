/* Quantizing and packing, to the bit as src/kernel/ref/pack.c: single precision and one rounding an
 * operation (a fused u * 2^-16 + t is one rounding as well, for u * 2^-16 is exact). */
#include "src/base/status.h"
#include "src/kernel/fast/draw.h"
#include "src/kernel/fast/fast.h"

enum {
    STEP = 4 * QH_LANES, /* values that vec_pack4 makes bytes of */
    BATCH = 128          /* values unpacked at once */
};

#define ALL_WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)

bool FAST(min_max)(const float *x, int64_t n, float *min, float *max)
{
    vec lo[4], hi[4], odd[4]; /* odd: x * 0, NaN as soon as one x is not finite */
    float least = x[0], most = x[0], strange = 0;
    int64_t i = 0;

    QH_ASSERT(n >= 1);
    for (int v = 0; v < 4; v++) {
        lo[v] = hi[v] = vec_set(x[0]);
        odd[v] = vec_set(0);
    }
    for (; i + STEP <= n; i += STEP)
        for (int v = 0; v < 4; v++) {
            vec a = vec_load(x + i + v * QH_LANES);

            lo[v] = vec_min(lo[v], a);
            hi[v] = vec_max(hi[v], a);
            odd[v] = vec_fma(a, vec_set(0), odd[v]);
        }
    for (; i < n; i += QH_LANES) {
        vec_mask part = vec_first(n - i);
        vec a = vec_choose(part, vec_load_part(x + i, part), vec_set(x[0]));

        lo[0] = vec_min(lo[0], a);
        hi[0] = vec_max(hi[0], a);
        odd[0] = vec_fma(a, vec_set(0), odd[0]);
    }
    lo[0] = vec_min(vec_min(lo[0], lo[1]), vec_min(lo[2], lo[3]));
    hi[0] = vec_max(vec_max(hi[0], hi[1]), vec_max(hi[2], hi[3]));
    odd[0] = (odd[0] + odd[1]) + (odd[2] + odd[3]);
    for (int lane = 0; lane < QH_LANES; lane++) {
        least = lo[0][lane] < least ? lo[0][lane] : least;
        most = hi[0][lane] > most ? hi[0][lane] : most;
        strange += odd[0][lane];
    }
    if (strange != 0) /* NaN */
        return false;
    *min = least + 0.0F;
    *max = most + 0.0F;
    return true;
}

/* The integers of one vector of values, for vec_pack4 to make bytes of: what is negative, as the
 * integer of NaN is, becomes 0 there. most: 2^bits - 1. */
INLINE vec_u quantize_vec(vec x, vec_u draw, vec zero, vec inverse, vec most)
{
    vec t = vec_fma(vec_from_u(draw), vec_set(0x1p-16F), (x - zero) * inverse);

    return vec_to_u(vec_min(most, t));
}

/* n bytes to ceil(n * bits / 8) bytes of the bit stream. q is readable, and 0, up to the next
 * multiple of 8. */
INLINE void pack_bytes(const uint8_t *q, int64_t n, int bits, uint8_t *out)
{
    uint64_t w;

    if (bits == 8) {
        memcpy(out, q, (size_t)n);
        return;
    }
    while (n >= 64 && vec_squeeze(q, bits, out)) {
        n -= 64;
        q += 64;
        out += (ptrdiff_t)8 * bits;
    }
    for (int64_t left = (n * bits + 7) / 8; left > 0; left -= bits, q += 8, out += bits) {
        memcpy(&w, q, sizeof w);
        w = squeeze(w, bits);
        if (left >= 8)
            memcpy(out, &w, sizeof w); /* what is too much comes again */
        else
            for (int64_t b = 0; b < bits && b < left; b++)
                out[b] = (uint8_t)(w >> 8 * b);
    }
}

/* n columns, at most DRAW_COLS, with the draws of parts first_part on. */
INLINE void quantize_group(const float *x, int64_t n, int bits, float zero, float inverse,
                           vec_u words[4][DRAW_MOST], int first_part, uint8_t *out)
{
    vec z = vec_set(zero), inv = vec_set(inverse), most = vec_set((float)((1 << bits) - 1));
    vec_u value[8 * DRAW_PARTS];
    uint8_t q[DRAW_COLS];

    for (int v = 0; v < 8 * DRAW_PARTS; v++) {
        const float *from = x + v * QH_LANES;
        vec_u draw = draw_take(words, v / DRAW_PARTS, first_part + v % DRAW_PARTS);

        if (n == DRAW_COLS) {
            value[v] = quantize_vec(vec_load(from), draw, z, inv, most);
        } else {
            vec_mask part = vec_first(n - v * QH_LANES);
            vec_u u = quantize_vec(vec_load_part(from, part), draw, z, inv, most);

            value[v] = (vec_u)vec_keep(part, (vec)u);
        }
    }
    for (int v = 0; v < 8 * DRAW_PARTS; v += 4)
        vec_pack4(value + v, q + v * QH_LANES);
    pack_bytes(q, n, bits, out);
}

INLINE void quantize_row(const float *x, int64_t n, int bits, float zero, float inverse,
                         const draw_row *d, uint8_t *out)
{
    enum { AT_ONCE = DRAW_AT_ONCE * DRAW_COLS };
    vec_u words[4][DRAW_MOST];
    int64_t c = 0;

    for (; c + AT_ONCE <= n; c += AT_ONCE) {
        draw_parts(d, (uint64_t)c / DRAW_COLS, DRAW_MOST, words);
        for (int g = 0; g < DRAW_AT_ONCE; g++)
            quantize_group(x + c + g * DRAW_COLS, DRAW_COLS, bits, zero, inverse, words,
                           g * DRAW_PARTS, out + (c + g * DRAW_COLS) / 8 * bits);
    }
    for (; c < n; c += DRAW_COLS) {
        draw_parts(d, (uint64_t)c / DRAW_COLS, DRAW_PARTS, words);
        quantize_group(x + c, n - c < DRAW_COLS ? n - c : DRAW_COLS, bits, zero, inverse, words, 0,
                       out + c / 8 * bits);
    }
}

void FAST(quantize)(const float *x, int64_t n, int bits, float zero, float inverse, qh_key key,
                    uint64_t row, uint8_t *out)
{
    draw_row d;

    QH_ASSERT(1 <= bits && bits <= 8);
    if (inverse == 0) {
        memset(out, 0, (size_t)((n * bits + 7) / 8));
        return;
    }
    draw_keys(&d, key);
    draw_begin(&d, row);
    switch (bits) { /* a body for each width: the shifts are constants */
#define CASE(B)                                                                                    \
    case B:                                                                                        \
        quantize_row(x, n, B, zero, inverse, &d, out);                                             \
        break;
        ALL_WIDTHS(CASE)
#undef CASE
    }
}

/* The bytes of the next n values, n at most BATCH. Reads no byte past ceil(n * bits / 8). */
INLINE void unpack_bytes(const uint8_t *in, int64_t n, int bits, uint8_t *q)
{
    for (int64_t left = (n * bits + 7) / 8; left > 0; left -= bits, q += 8, in += bits) {
        uint64_t w = 0;

        if (left >= 8)
            memcpy(&w, in, sizeof w);
        else
            for (int64_t b = 0; b < bits && b < left; b++)
                w |= (uint64_t)in[b] << 8 * b;
        w = spread(w, bits);
        memcpy(q, &w, sizeof w);
    }
}

INLINE void dequantize_row(const uint8_t *in, int64_t n, int bits, float zero, float scale,
                           float *out)
{
    vec z = vec_set(zero), s = vec_set(scale);
    uint8_t q[BATCH];

    for (int64_t c = 0; c < n; c += BATCH) {
        int64_t left = n - c < BATCH ? n - c : BATCH;
        const uint8_t *from = in + c / 8 * bits;

        if (bits < 8) {
            unpack_bytes(from, left, bits, q);
            from = q;
        }
        for (int64_t i = 0; i < left; i += QH_LANES) {
            if (i + QH_LANES <= left) {
                vec_store(out + c + i, vec_from_u(vec_of_bytes(from + i)) * s + z);
            } else {
                uint8_t rest[QH_LANES] = {0};

                memcpy(rest, from + i, (size_t)(left - i));
                vec_store_part(out + c + i, vec_from_u(vec_of_bytes(rest)) * s + z,
                               vec_first(left - i));
            }
        }
    }
}

void FAST(dequantize)(const uint8_t *in, int64_t n, int bits, float zero, float scale, float *out)
{
    QH_ASSERT(1 <= bits && bits <= 8);
    switch (bits) {
#define CASE(B)                                                                                    \
    case B:                                                                                        \
        dequantize_row(in, n, B, zero, scale, out);                                                \
        break;
        ALL_WIDTHS(CASE)
#undef CASE
    }
}
