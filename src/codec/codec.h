/* Codecs: a block of rows to wire bytes and back.
 *
 * A block is all messages of one channel, layer and direction. Its wire form is decided by the
 * codec's name, the widths and the shape alone, so both ends know its size before it travels. */
#ifndef QH_CODEC_CODEC_H
#define QH_CODEC_CODEC_H

#include "src/base/rng.h"
#include "src/base/status.h"
#include "src/base/view.h"
#include "src/kernel/backend.h"

#include <stdio.h>

/* How scale and zero point travel. */
typedef enum qh_params_format { QH_PARAMS_FP32, QH_PARAMS_BF16 } qh_params_format;

/* Where each row of a block of mixed widths stands on the wire; made anew when widths change. */
typedef struct qh_block_index {
    int64_t *payload;       /* owned, [n_rows]: offset of the row's values, in bytes */
    int64_t *params;        /* owned, [n_rows]: offset of its parameters (none for width 32) */
    int64_t n_rows, n_cols; /* n_cols of the last set */
    int64_t bytes;          /* of the whole block */
} qh_block_index;

/* The shape of a block, known to both ends. */
typedef struct qh_block {
    int64_t n_rows, n_cols;
    const uint8_t *width;        /* [n_rows] bit-width of each message, for codecs that take widths;
                                    else NULL */
    const qh_block_index *index; /* of these widths, and of n_cols columns (n_kept under a mask),
                                    for the same codecs; else NULL */
    float *range; /* encode writes max - min of each row here where the codec takes widths,
                     [n_rows]; NULL: nobody asks */
    qh_key key;   /* QH_RAND_QUANTIZE stream of epoch, layer, direction */
    /* For codecs that take a ratio: how many columns are kept (qh_kept_columns); for mask: which,
     * rising, and where anything but fp32 codes them, room for (i1 - i0) * n_kept floats, so that
     * each thread encodes or decodes with a copy of the block that has room of its own. */
    int64_t n_kept;
    const int32_t *column; /* [n_kept] */
    float *scratch;
} qh_block;

typedef struct qh_codec qh_codec; /* one configured codec, read-only, shared by ranks */

typedef struct qh_codec_ops {
    const char *name, *help; /* "int"; help names the argument: "int:B" */
    const char *argument;    /* its letter, "B"; NULL: takes none */
    bool takes_widths;       /* each row has its own width (block.width); else all are alike */
    bool takes_ratio;        /* keeps n_kept columns; how many may change from block to block */
    bool lossless;
    bool silent; /* sends nothing: the receiver's rows become 0 ("drop") */
    /* Reads the text after ':' (NULL: none) into c. NULL: the codec takes none. QH_EUSAGE. */
    qh_status (*configure)(qh_codec *c, const char *argument);
    /* Width that every message gets, for counting (0: takes_widths or silent). */
    int (*width)(const qh_codec *c);
    /* Wire bytes of a whole block. */
    int64_t (*bytes)(const qh_codec *c, const qh_block *b);
    /* Rows [i0,i1) of a block into their places. Row i of the block is rows(row_index[i]), or
     * rows(i - i0) when row_index is NULL; node[i] is its global id, the row index of its draws.
     * row_index and node are those of the whole block, and out is the start of the whole block:
     * aligned to 4 bytes (64 is faster), apart from rows. Exactly the bytes of these rows are
     * written, so ranges that cover the block write bytes() bytes, the same however it is cut, and
     * may run at once. A value that is not finite, or that the codec cannot hold: QH_EINTERNAL with
     * *bad_row = i; the text says what is wrong, the caller names node, layer and epoch. */
    qh_status (*encode)(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, int64_t i0, int64_t i1, uint8_t *out,
                        int64_t *bad_row);
    /* Rows [i0,i1) of the block at in: row i goes to row i - i0 of out. node and alignment as for
     * encode. Any bytes decode to some values. */
    void (*decode)(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   int64_t i0, int64_t i1, qh_mat out);
    /* See qh_codec_work; NULL: as said there. */
    void (*work)(const qh_codec *c, const qh_block *b, int64_t wire, bool encodes, int64_t *flops,
                 int64_t *memory);
} qh_codec_ops;

struct qh_codec {
    const qh_codec_ops *ops;
    const qh_kernels *kernels; /* borrowed */
    qh_params_format params;
    int bits;                  /* int:B */
    double ratio;              /* mask:R, topk:R; 0: the text gave none */
    const qh_codec_ops *coded; /* mask: what codes the columns that are kept */
    bool rescale;              /* mask: kept values times n_cols / n_kept, which has no bias */
};

/* "fp32", "bf16", "fp16", "int:B", "drop", "mask:R" or "mask" (the ratio comes from elsewhere),
 * ...; "mixed" is int with a width for each row (1..8, 16, 32). QH_EUSAGE for an unknown name or
 * argument, with the known ones. */
qh_status qh_codec_init(const char *text, qh_params_format params, const qh_kernels *kernels,
                        qh_codec *out);
void qh_codecs_help(FILE *out);

/* Lays a mask over a codec, so that a rate schedule can thin its columns; a codec that takes a
 * ratio itself stays as it is. QH_EUSAGE: one that sends nothing. */
qh_status qh_codec_cover(qh_codec *c);

/* The registry: member i, or NULL past the last. */
const qh_codec_ops *qh_codec_at(int i);

/* Width that a codec without widths gives every message (32, 16, B; 0 for none), for counting. */
int qh_codec_width(const qh_codec *c);

/* Whether each message has a width of its own: the codec's own way, or that of what a mask covers.
 */
bool qh_codec_takes_widths(const qh_codec *c);

/* Whether some columns may travel alone, so that rescale says something. */
bool qh_codec_is_mask(const qh_codec *c);

/* What a device computes to encode (or decode) a block of `wire` bytes: flops, and bytes of memory
 * read and written. Values are read to find their range and again to be coded; coding is a
 * subtraction, two multiplications, an addition, a floor and a minimum, after the two comparisons.
 * Without loss it is a copy. */
void qh_codec_work(const qh_codec *c, const qh_block *b, int64_t wire, bool encodes, int64_t *flops,
                   int64_t *memory);

/* Columns kept of n_cols at a ratio >= 1: max(1, round(n_cols / ratio)), 0 of 0. */
enum { QH_MAX_RATIO = 1000000000 };
int64_t qh_kept_columns(int64_t n_cols, double ratio);
/* Which: n_kept of 0..n_cols-1, rising, every subset as likely as any other; a function of the key
 * (a QH_RAND_MASK stream) and the two numbers alone. */
void qh_mask_draw(qh_key key, int64_t n_cols, int64_t n_kept, int32_t *column);

/* Whether a message may have this width: 1..8, 16, 32. */
bool qh_width_is_valid(int width);

/* Bytes of one row of n_cols values as integers of a width, parameters included (DESIGN section 5):
 * ceil(n_cols * width / 8) + 4 (bf16) or 8 (fp32); width 32 is the raw floats, without parameters.
 */
int64_t qh_row_bytes(int64_t n_cols, int width, qh_params_format params);

/* Room for the index of n_rows rows; nothing is set yet. QH_ERESOURCE. */
qh_status qh_block_index_init(int64_t n_rows, qh_block_index *out);
void qh_block_index_fini(qh_block_index *x);
/* Fills it for rows of n_cols values at width[n_rows] (valid ones): values of all rows by width,
 * then by position; behind them their parameters in the same order. O(n_rows), no allocation. */
void qh_block_index_set(qh_block_index *x, int64_t n_cols, const uint8_t *width,
                        qh_params_format params);

/* Packed width tables, as they travel when the widths change: 4 bits a message. */
int64_t qh_width_table_bytes(int64_t n_rows);
void qh_width_table_pack(const uint8_t *width, int64_t n_rows, uint8_t *out);
/* QH_EINTERNAL for a code that stands for no width. */
qh_status qh_width_table_unpack(const uint8_t *in, int64_t n_rows, uint8_t *width);

#endif
