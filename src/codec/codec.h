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

/* The shape of a block, known to both ends. */
typedef struct qh_block {
    int64_t n_rows, n_cols;
    const uint8_t *width; /* [n_rows] bit-width of each message, for codecs that take widths; else
                             NULL */
    qh_key key;           /* QH_RAND_QUANTIZE (or QH_RAND_MASK) stream of epoch, layer, direction */
} qh_block;

typedef struct qh_codec qh_codec; /* one configured codec, read-only, shared by ranks */

typedef struct qh_codec_ops {
    const char *name, *help; /* "int"; help names the argument: "int:B" */
    bool takes_widths;       /* each row has its own width (block.width); else all are alike */
    bool lossless;
    bool silent; /* sends nothing: the receiver's rows become 0 ("drop") */
    /* Reads the text after ':' (NULL: none) into c. QH_EUSAGE. */
    qh_status (*configure)(qh_codec *c, const char *argument);
    /* Wire bytes of a block. */
    int64_t (*bytes)(const qh_codec *c, const qh_block *b);
    /* Row i of the block is rows(row_index[i]) (row_index NULL: row i); node[i] is its global id,
     * the row index of its draws. Writes exactly bytes() bytes. A value that is not finite:
     * QH_EINTERNAL with *bad_row = i; the caller names node, layer and epoch. */
    qh_status (*encode)(const qh_codec *c, const qh_block *b, qh_mat rows, const int32_t *row_index,
                        const int32_t *node, uint8_t *out, int64_t *bad_row);
    /* Row i goes to row i of out. node as for encode. */
    void (*decode)(const qh_codec *c, const qh_block *b, const uint8_t *in, const int32_t *node,
                   qh_mat out);
} qh_codec_ops;

struct qh_codec {
    const qh_codec_ops *ops;
    const qh_kernels *kernels; /* borrowed */
    qh_params_format params;
    int bits;     /* int:B */
    double ratio; /* mask:R, topk:R */
};

/* "fp32", "bf16", "fp16", "int:B", "drop", ...; "mixed" is int with a width for each row (1..8, 16,
 * 32). QH_EUSAGE for an unknown name or argument, with the known ones. */
qh_status qh_codec_init(const char *text, qh_params_format params, const qh_kernels *kernels,
                        qh_codec *out);
void qh_codecs_help(FILE *out);

/* Width that a codec without widths gives every message (32, 16, B; 0 for none), for counting. */
int qh_codec_width(const qh_codec *c);

/* Bytes of one row of n_cols values at a width, parameters included (DESIGN section 5). */
int64_t qh_row_bytes(int64_t n_cols, int width, qh_params_format params);

/* Packed width tables, as they travel when the widths change: 4 bits a message. */
int64_t qh_width_table_bytes(int64_t n_rows);
void qh_width_table_pack(const uint8_t *width, int64_t n_rows, uint8_t *out);
/* QH_EINTERNAL for a code that stands for no width. */
qh_status qh_width_table_unpack(const uint8_t *in, int64_t n_rows, uint8_t *width);

#endif
