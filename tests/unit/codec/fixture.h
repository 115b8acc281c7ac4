/* Blocks for tests: rows of floats, wire bytes between guards, an index where widths are mixed. */
#ifndef QH_TESTS_UNIT_CODEC_FIXTURE_H
#define QH_TESTS_UNIT_CODEC_FIXTURE_H

#include "src/base/mem.h"
#include "src/codec/codec.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

static const char *const kernel_names[] = {"ref", "fast"};
static const qh_params_format formats[] = {QH_PARAMS_FP32, QH_PARAMS_BF16};
static const uint8_t all_widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};

typedef struct fixture {
    qh_codec codec;
    qh_block block;
    qh_block_index index;
    qh_mat rows, back; /* what is sent, what arrives */
    uint8_t *width;
    int32_t *node, *column; /* column: of the mask, [n_cols] */
    uint8_t *wire;          /* of block.bytes, guards before and after */
    uint8_t *memory;
    int64_t bytes;
} fixture;

static inline qh_codec make_codec(const char *text, qh_params_format params, const char *kernels)
{
    const qh_kernels *k = qh_kernels_find(kernels);
    qh_codec c = {0};

    ck_assert_ptr_nonnull(k);
    ck_assert_msg(qh_codec_init(text, params, k, &c) == QH_OK, "%s", qh_error_text());
    return c;
}

/* A codec under a mask: ratio as mask:R has it. */
static inline qh_codec covered_codec(const char *text, double ratio, qh_params_format params,
                                     const char *kernels)
{
    qh_codec c = make_codec(text, params, kernels);

    ck_assert_int_eq(qh_codec_cover(&c), QH_OK);
    c.ratio = ratio;
    return c;
}

/* The block as one thread has it that works on rows from i0 on, at the same time as others. */
static inline qh_block block_from(const fixture *t, int64_t i0)
{
    qh_block b = t->block;

    if (b.scratch)
        b.scratch += i0 * b.n_kept;
    return b;
}

/* Room for the block's bytes, all of them set to something else than a codec would. */
static inline void fixture_room(fixture *t)
{
    t->bytes = t->codec.ops->bytes(&t->codec, &t->block);
    ck_assert_int_eq(QH_NEW_ARRAY(&t->memory, t->bytes + 2 * (int64_t)GUARD), QH_OK);
    memset(t->memory, GUARD_BYTE, (size_t)t->bytes + 2 * GUARD);
    t->wire = t->memory + GUARD;
}

/* Widths cycle through all; nodes are not their rows. Rows are uniform in [offset, offset+spread).
 */
static inline void fixture_init(fixture *t, qh_codec codec, int64_t n, int64_t d, double offset,
                                double spread)
{
    qh_key key = qh_rand_key(11, QH_RAND_SAMPLE, 0, 0, 0);

    *t = (fixture){.codec = codec};
    ck_assert_int_eq(qh_mat_new(n, d, &t->rows), QH_OK);
    ck_assert_int_eq(qh_mat_new(n, d, &t->back), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&t->node, n), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&t->width, n), QH_OK);
    for (int64_t i = 0; i < n; i++) {
        t->node[i] = (int32_t)(i * 17 + 5);
        t->width[i] = all_widths[i * 7 % 10];
        for (int64_t j = 0; j < d; j++)
            qh_mat_row(t->rows, i)[j] =
                (float)(offset + spread * qh_rand_unit(key, (uint64_t)(i * d + j)));
    }
    t->block = (qh_block){.n_rows = n, .n_cols = d};
    t->block.key = qh_rand_key(5, QH_RAND_QUANTIZE, 3, 1, 0);
    if (codec.ops->takes_ratio) {
        t->block.n_kept = qh_kept_columns(d, codec.ratio);
        ck_assert_int_eq(QH_NEW_ARRAY(&t->column, d), QH_OK);
        ck_assert_int_eq(QH_NEW_ARRAY(&t->block.scratch, n * t->block.n_kept), QH_OK);
        qh_mask_draw(qh_rand_key(5, QH_RAND_MASK, 3, 1, 0), d, t->block.n_kept, t->column);
        t->block.column = t->column;
    }
    if (qh_codec_takes_widths(&codec)) {
        ck_assert_int_eq(qh_block_index_init(n, &t->index), QH_OK);
        qh_block_index_set(&t->index, codec.ops->takes_ratio ? t->block.n_kept : d, t->width,
                           codec.params);
        t->block.width = t->width;
        t->block.index = &t->index;
    }
    fixture_room(t);
}

/* All rows of a mixed block at one width. */
static inline void fixture_set_width(fixture *t, int width)
{
    memset(t->width, width, (size_t)t->block.n_rows);
    qh_block_index_set(&t->index, t->block.n_cols, t->width, t->codec.params);
    qh_mem_free(t->memory);
    fixture_room(t);
}

static inline void fixture_fini(fixture *t)
{
    qh_mem_free(t->memory);
    qh_block_index_fini(&t->index);
    qh_mem_free(t->block.scratch);
    qh_mem_free(t->column);
    qh_mem_free(t->width);
    qh_mem_free(t->node);
    qh_mat_free(&t->back);
    qh_mat_free(&t->rows);
}

static inline qh_status fixture_encode(fixture *t)
{
    int64_t bad = -1;

    return t->codec.ops->encode(&t->codec, &t->block, t->rows, NULL, t->node, 0, t->block.n_rows,
                                t->wire, &bad);
}

static inline void fixture_decode(fixture *t)
{
    t->codec.ops->decode(&t->codec, &t->block, t->wire, t->node, 0, t->block.n_rows, t->back);
}

static inline void check_guards(const fixture *t)
{
    for (int i = 0; i < GUARD; i++)
        ck_assert(t->memory[i] == GUARD_BYTE && t->wire[t->bytes + i] == GUARD_BYTE);
}

#endif
