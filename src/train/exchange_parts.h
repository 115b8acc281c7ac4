/* The inside of an exchange, shared by exchange*.c alone. */
#ifndef QH_TRAIN_EXCHANGE_PARTS_H
#define QH_TRAIN_EXCHANGE_PARTS_H

#include "src/train/exchange.h"

#include <stdatomic.h>

/* Floats of the rows of a block that one thread works on at a time: a piece stays in the
 * second-level cache. */
enum { QH_PIECE_FLOATS = 64 * 1024 };

/* What the halo rows of layer 0 hold now. */
typedef enum qh_halo_rows { QH_HALO_NOTHING, QH_HALO_EXACT, QH_HALO_CODED } qh_halo_rows;

/* The widths of all messages of a layer and direction, peers one after the other. What has come is
 * decoded with the widths of its own epoch, so recv has those of the epochs under way: those of
 * epoch e at e % (stale + 1). */
typedef struct qh_width_pair {
    uint8_t *send, *recv; /* owned; NULL when nothing travels, or the codec takes no widths */
} qh_width_pair;

/* The last blocks of a layer and direction; see exchange_kept.c. */
typedef struct qh_kept {
    uint8_t *wire;    /* owned; NULL: not kept */
    int64_t *wire_at; /* owned, [n_ranks + 1]: that of p at wire + wire_at[p] */
    int32_t *epoch;   /* owned, [n_ranks]: of the block */
    uint8_t *width;   /* owned: of its messages, peers one after the other */
} qh_kept;

typedef struct qh_skips qh_skips; /* exchange_skip.c */

/* The blocks of one exchange on their way, one a peer. */
typedef struct qh_slot {
    int64_t *wire_at;          /* owned, [n_ranks + 1]: block to p at wire + wire_at[p] */
    qh_transfer *send, *recv;  /* owned, [n_ranks] */
    bool *sending, *receiving; /* owned, [n_ranks]: begun and not finished */
} qh_slot;

typedef struct qh_assignment qh_assignment; /* see exchange_assign.h */

/* Columns of a message that travel in an epoch, layer and direction. */
typedef struct qh_mask qh_mask;

struct qh_exchange {
    const qh_train_settings *settings;
    const qh_features *features;
    const qh_halo *plan;
    qh_transport *transport;
    qh_model *model;
    qh_exec *exec;
    qh_codec exact;      /* fp32 */
    bool raw_features;   /* layer 0 sends rows of the data set (maybe with dropout) */
    bool same_features;  /* ... and brings them unchanged: no dropout, no loss */
    bool known_features; /* ... and need not be moved */
    qh_halo_rows halo0;
    bool room_made;                           /* see put_features */
    int32_t *boundary_node, *boundary_degree; /* owned, [rows sent forward] */
    uint8_t *wire;                            /* owned */
    qh_slot *slot;                            /* owned, [n_slots] */
    int64_t n_slots;                          /* see exchange_slots.c */
    qh_mat *average; /* owned, [n_layers * 2]: see exchange_smooth.c; no data: as it comes */
    qh_transfer *table_send; /* owned, [n_ranks] */
    bool *table_in_flight;   /* owned, [n_ranks] */
    /* Widths, their packed tables, and the places of rows in the block at hand. */
    qh_width_pair *widths; /* owned, [n_layers * 2] */
    uint8_t *table;        /* owned: one a peer, at table + table_at[p] */
    int64_t *table_at;     /* owned, [n_ranks + 1] */
    qh_block_index index;
    qh_assignment *assign; /* owned; NULL: no widths, or each channel's are chosen by itself */
    qh_mask *mask;         /* owned: see exchange_rates.c; NULL: the codec takes no ratio */
    qh_mat *residual;   /* owned, [n_layers * 2]: see exchange_residual.c; no data: none is kept */
    qh_kept *kept;      /* owned, [n_layers * 2] */
    qh_skips *skips;    /* owned; NULL: nothing is skipped */
    float *scratch;     /* owned: n_pieces places of n_roles pieces */
    int64_t piece_size; /* floats of a piece */
    int64_t n_pieces;
    int n_roles;
};

/* The block between this rank and a peer in a layer and direction. At the owner's side its rows are
 * boundary rows (row[] picks them), at the other they are the halo rows of the peer. */
typedef struct qh_channel {
    qh_exchange *x;
    const qh_codec *codec;
    qh_block block;
    int32_t epoch;
    int layer, peer;
    qh_direction dir;
    bool sending;
    int64_t first;         /* in the plan's list of boundary rows, or in the halo range */
    const int32_t *row;    /* [n_rows] inner rows, or NULL: halo rows */
    const int32_t *node;   /* [n_rows] global ids */
    const int32_t *degree; /* [n_rows] global in-degrees */
} qh_channel;

/* Places and shape; codec is the run's, or x->exact. */
qh_channel qh_channel_at(qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                         qh_direction dir, bool sending, int peer);

/* Which columns are kept, into the block: the end of qh_channel_at. */
void qh_channel_thin(qh_channel *c);

/* Adds the widths and sets x->index for them, where the codec takes widths: before bytes, encode
 * and decode. The index is this channel's until the next call. */
void qh_channel_index(qh_channel *c);

/* The same for widths that are not the channel's present ones. */
void qh_channel_index_as(qh_channel *c, const uint8_t *width);

/* Wire bytes of the block, and of the table in front of it. */
int64_t qh_channel_bytes(const qh_channel *c);
int64_t qh_channel_table_bytes(const qh_channel *c);

/* Whether blocks of this layer and direction travel in an epoch at all. */
bool qh_exchange_travels(const qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                         qh_direction dir);

/* Wire bytes of a block at most, whatever its widths. */
int64_t qh_channel_most_bytes(const qh_channel *c);

/* exchange_rates.c: how many columns are kept. */
qh_status qh_exchange_rates_new(qh_exchange *x);
void qh_exchange_rates_free(qh_exchange *x);
/* Columns kept at most in any epoch. */
int64_t qh_channel_most_kept(const qh_channel *c);

/* exchange_residual.c: error feedback of what is sent. */
qh_status qh_exchange_residual_new(qh_exchange *x);
void qh_exchange_residual_free(qh_exchange *x);
bool qh_channel_feeds_back(const qh_channel *c);
/* sum = rows piece of the block (as encode takes them) + what was lost of them. sum may be rows
 * when row_index is NULL. */
void qh_channel_add_residual(const qh_channel *c, qh_rows piece, qh_mat rows,
                             const int32_t *row_index, qh_mat sum);
/* What was lost of them now. */
void qh_channel_keep_residual(const qh_channel *c, qh_rows piece, qh_mat sum, qh_mat decoded);

/* exchange_slots.c: where the blocks of an exchange lie, and which are under way. */
qh_status qh_exchange_slots_new(qh_exchange *x);
void qh_exchange_slots_free(qh_exchange *x);
qh_slot *qh_channel_slot(const qh_channel *c);

/* exchange_smooth.c: moving averages of what comes. */
qh_status qh_exchange_smooth_new(qh_exchange *x);
void qh_exchange_smooth_free(qh_exchange *x);
bool qh_channel_is_smooth(const qh_channel *c);
/* Rows piece of the block, just decoded into rows: into their average, and the average into rows.
 * No two calls at once for a row. */
void qh_channel_smooth(const qh_channel *c, qh_rows piece, qh_mat rows);

/* exchange_rows.c: rows to wire and back, in pieces that the team shares out. Rows of sparse
 * features become dense in scratch, a piece at a time. Records are the caller's. */
qh_status qh_channel_encode(qh_channel *c, uint8_t *wire);
qh_status qh_channel_decode(qh_channel *c, const uint8_t *wire);
int64_t qh_piece_rows(int64_t n_cols);

const float *qh_channel_row(const qh_channel *c,
                            int64_t i); /* to be sent; not of sparse features */

/* exchange_kept.c: blocks to be decoded again. */
qh_status qh_exchange_kept_new(qh_exchange *x);
void qh_exchange_kept_free(qh_exchange *x);
bool qh_exchange_keeps(const qh_exchange *x, int layer, qh_direction dir);
void qh_channel_keep(const qh_channel *c, const uint8_t *wire);
/* The channel of the block that is kept, ready for decode_kept. */
qh_channel qh_channel_kept(qh_exchange *x, int layer, qh_direction dir, int peer);
qh_status qh_channel_decode_kept(qh_channel *c);

/* exchange_skip.c: blocks that are not sent again. */
qh_status qh_exchange_skips_new(qh_exchange *x);
void qh_exchange_skips_free(qh_exchange *x);
qh_status qh_exchange_skips_drain(qh_exchange *x);
/* Decides for each block that this rank would send, and learns what the others decided. */
qh_status qh_exchange_skips_tell(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);
bool qh_channel_is_skipped(const qh_channel *c); /* in its epoch, after tell */
int64_t qh_channel_flag_bytes(const qh_channel *c);

/* exchange_known.c: halo rows of layer 0 without a message: from the data set, or zeros. */
qh_status qh_exchange_read_features(qh_exchange *x);
void qh_exchange_clear_halo(qh_exchange *x, int layer);

/* exchange_widths.c: choosing widths, and the tables that tell them. */
bool qh_exchange_widths_change(const qh_exchange *x, int32_t epoch);
qh_status qh_exchange_widths_new(qh_exchange *x);
void qh_exchange_widths_free(qh_exchange *x);
uint8_t *qh_channel_widths(const qh_channel *c); /* [n_rows] */
/* Widths of every channel that this rank sends on. */
qh_status qh_exchange_widths_choose(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);
/* Sends them to the peers and learns theirs. */
qh_status qh_exchange_widths_tell(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);
/* Those of the epoch before are those of this one too. */
void qh_exchange_widths_keep(qh_exchange *x, int32_t epoch, int layer, qh_direction dir);

/* exchange_assign.c: choosing them for all channels together. */
qh_status qh_exchange_assign_new(qh_exchange *x);
void qh_exchange_assign_free(qh_exchange *x);
bool qh_exchange_chosen(const qh_exchange *x); /* the widths to send with are there */
int64_t qh_exchange_assign_first_bytes(const qh_exchange *x); /* that it sends in epoch 0 */
/* exchange_trace.c: where encode leaves the ranges of a block's rows, or NULL; and keeping them. */
float *qh_exchange_ranges(const qh_exchange *x);
void qh_channel_trace(const qh_channel *c);

#endif
