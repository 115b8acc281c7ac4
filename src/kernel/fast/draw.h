/* Philox4x32-10 (Salmon et al., SC 2011) for 16 blocks at once, in the layout of qh_rand16: the 16
 * blocks of a group give the 16 bits of 128 columns of a row.
 *
 * A state word of 16 blocks is kept as even and odd blocks in 64-bit lanes, the word in the low
 * half and anything in the high half: a product then needs no shuffle, its low half is the next
 * word as it stands and its high half one shift away. What the first two rounds do is the same for
 * all blocks of a row but for one product each, so draw_row does the rest once. */
#ifndef QH_KERNEL_FAST_DRAW_H
#define QH_KERNEL_FAST_DRAW_H

#include "src/base/rng.h"
#include "src/kernel/fast/vec.h"

enum {
    DRAW_COLS = 128,                       /* of a group */
    DRAW_PARTS = 16 / QH_LANES,            /* vectors of blocks in a group */
    DRAW_AT_ONCE = QH_LANES == 16 ? 2 : 1, /* groups whose state fits the registers */
    DRAW_MOST = DRAW_PARTS * DRAW_AT_ONCE
};

typedef struct draw_row {
    uint32_t k0[10], k1[10]; /* round keys */
    uint32_t c2, c0, c2_next, c3_next;
} draw_row;

static const uint32_t PHILOX_M0 = 0xD2511F53, PHILOX_M1 = 0xCD9E8D57;

INLINE void draw_keys(draw_row *d, qh_key key)
{
    for (uint32_t i = 0; i < 10; i++) {
        d->k0[i] = key.k0 + i * 0x9E3779B9U;
        d->k1[i] = key.k1 + i * 0xBB67AE85U;
    }
}

/* Rounds 1 and 2 as far as they are one for the row. Counter: (block, 0, row, row's high half). */
INLINE void draw_begin(draw_row *d, uint64_t row)
{
    uint64_t first = (uint64_t)PHILOX_M1 * (uint32_t)row;
    uint64_t second = (uint64_t)PHILOX_M0 * ((uint32_t)(first >> 32) ^ d->k0[0]);

    d->c2 = (uint32_t)(row >> 32) ^ d->k1[0]; /* to be mixed with the high half of M0 block */
    d->c0 = (uint32_t)first ^ d->k0[1];       /* with the high half of M1 c2 */
    d->c2_next = (uint32_t)(second >> 32) ^ d->k1[1]; /* with the low half of M0 block */
    d->c3_next = (uint32_t)second;
}

/* words[w][p]: word w of blocks 16 group + p QH_LANES + (0 .. QH_LANES-1), p below n_parts: several
 * groups at once leave fewer steps that wait for the one before. */
INLINE void draw_parts(const draw_row *d, uint64_t group, int n_parts, vec_u words[4][DRAW_MOST])
{
    static const uint64_t even[8] = {0, 2, 4, 6, 8, 10, 12, 14};
    const vec_w m0 = (vec_w)vec_u_set(PHILOX_M0), m1 = (vec_w)vec_u_set(PHILOX_M1);
    vec_u c0[2 * DRAW_MOST], c1[2 * DRAW_MOST], c2[2 * DRAW_MOST], c3[2 * DRAW_MOST];

    for (int h = 0; h < 2 * n_parts; h++) /* even and odd blocks of each part */ {
        vec_w block, p, q;

        memcpy(&block, even, sizeof block);
        block += 16 * group + (uint64_t)(h / 2 * QH_LANES + h % 2);
        p = vec_mul_low(block, m0);
        q = vec_mul_low((vec_w)((vec_u)(p >> 32) ^ vec_u_set(d->c2)), m1);
        c0[h] = (vec_u)(q >> 32) ^ vec_u_set(d->c0);
        c1[h] = (vec_u)q;
        c2[h] = (vec_u)p ^ vec_u_set(d->c2_next);
        c3[h] = vec_u_set(d->c3_next);
    }
    for (int round = 2; round < 10; round++)
        for (int h = 0; h < 2 * n_parts; h++) {
            vec_w p = vec_mul_low((vec_w)c0[h], m0), q = vec_mul_low((vec_w)c2[h], m1);

            c0[h] = vec_xor3((vec_u)(q >> 32), c1[h], vec_u_set(d->k0[round]));
            c2[h] = vec_xor3((vec_u)(p >> 32), c3[h], vec_u_set(d->k1[round]));
            c1[h] = (vec_u)q;
            c3[h] = (vec_u)p;
        }
    for (int part = 0; part < n_parts; part++) {
        int e = 2 * part, o = e + 1;

        words[0][part] = vec_weave((vec_w)c0[e], (vec_w)c0[o]);
        words[1][part] = vec_weave((vec_w)c1[e], (vec_w)c1[o]);
        words[2][part] = vec_weave((vec_w)c2[e], (vec_w)c2[o]);
        words[3][part] = vec_weave((vec_w)c3[e], (vec_w)c3[o]);
    }
}

/* The draws of the QH_LANES columns from 128 group + slot 16 + part QH_LANES on, slot 0..7. */
INLINE vec_u draw_take(vec_u words[4][DRAW_MOST], int slot, int part)
{
    vec_u w = words[slot / 2][part];

    return slot % 2 ? w >> 16 : w & vec_u_set(0xffff);
}

/* Which of them are below keep (below 65536). */
INLINE vec_mask draw_below(vec_u words[4][DRAW_MOST], int slot, int part, uint32_t keep)
{
    vec_u w = words[slot / 2][part];

    return vec_u_lt(slot % 2 ? w : w << 16, vec_u_set(keep << 16));
}

#endif
