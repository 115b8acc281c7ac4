/* Random numbers as a function of (seed, stream, index): no state, so that threads, devices and
 * back ends draw the same whatever their order.
 *
 * Generator: Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011),
 * through Random123. The key is made of the seed and of the stream; the counter of (index).
 */
#ifndef QH_BASE_RNG_H
#define QH_BASE_RNG_H

#include <stdint.h>

/* What the numbers are for; part of the stream, so that no two uses share noise. */
typedef enum qh_purpose {
    QH_RAND_INIT = 1, /* initial weights */
    QH_RAND_DROPOUT,
    QH_RAND_QUANTIZE,
    QH_RAND_MASK, /* random-subset codec */
    QH_RAND_BITS, /* random bit-widths */
    QH_RAND_PARTITION,
    QH_RAND_SYNTH, /* generators of data sets */
    QH_RAND_SAMPLE,
    QH_RAND_JITTER
} qh_purpose;

typedef struct qh_key {
    uint32_t k0, k1; /* the two words of a Philox key */
} qh_key;

typedef struct qh_rand4 {
    uint32_t v[4];
} qh_rand4;

/* The key of one stream: an injective packing of purpose (8 bits), layer (16), direction (8) and
 * epoch (32) is encrypted by Philox under the seed, so that near streams share nothing. */
qh_key qh_rand_key(uint64_t seed, qh_purpose purpose, uint32_t epoch, uint32_t layer,
                   uint32_t direction);

/* Block number (hi, lo) of the stream: four independent uniform 32-bit words. */
qh_rand4 qh_rand_block(qh_key key, uint64_t lo, uint64_t hi);

/* 64 uniform bits, number index of the stream. */
uint64_t qh_rand_u64(qh_key key, uint64_t index);

/* Uniform in [0, 1) with 53 bits. */
double qh_rand_unit(qh_key key, uint64_t index);

/* Uniform integer in [0, n), n >= 1, without modulo bias worth speaking of (n / 2^64). */
uint64_t qh_rand_below(qh_key key, uint64_t index, uint64_t n);

/* Standard normal (Box-Muller). */
double qh_rand_normal(qh_key key, uint64_t index);

/* The 16 random bits of element (row, col), which kernels draw for dropout and for stochastic
 * rounding. Laid out for vectors of 16 lanes: with g = col / 128 and j = col % 128, lane = j % 16
 * and slot = j / 16, they are half slot % 2 (0 = low) of word slot / 2 of the Philox block whose
 * counter words are (16 g + lane, 0, low word of row, high word of row). So 16 consecutive blocks
 * fill 128 columns without a shuffle. */
uint16_t qh_rand16(qh_key key, uint64_t row, uint64_t col);

#endif
