#include "src/train/exchange_parts.h"

#include <string.h>

/* One call of encode or decode: pieces of a channel's rows, and who they are for. */
typedef struct job {
    const qh_channel *channel;
    uint8_t *out;
    const uint8_t *in;
    int64_t piece;       /* rows */
    int64_t first_piece; /* of this wave */
    atomic_llong bad;    /* the first row with a bad value, n_rows when there is none */
} job;

int64_t qh_piece_rows(int64_t n_cols)
{
    int64_t rows = QH_PIECE_FLOATS / (n_cols < 1 ? 1 : n_cols);

    return rows < 1 ? 1 : rows;
}

static bool is_sparse(const qh_channel *c)
{
    return c->layer == 0 && c->dir == QH_FORWARD && c->x->features->sparse;
}

static qh_rows piece_rows(const job *j, int64_t item)
{
    int64_t first = (j->first_piece + item) * j->piece, end = first + j->piece;

    return (qh_rows){first, end < j->channel->block.n_rows ? end : j->channel->block.n_rows};
}

/* Pieces of a place in scratch. */
enum { WHOLE_ROWS, DECODED_ROWS };

static float *scratch_at(const job *j, int64_t item, int role)
{
    const qh_exchange *x = j->channel->x;

    return x->scratch + (item * x->n_roles + role) * x->piece_size;
}

static qh_mat scratch(const job *j, int64_t item, int64_t n_rows, int role)
{
    int64_t cols = j->channel->block.n_cols;

    return (qh_mat){scratch_at(j, item, role), n_rows, cols, cols};
}

/* The block with room of the item's own for the columns kept: the last piece of its place. */
static qh_block block_of(const job *j, int64_t item)
{
    const qh_channel *c = j->channel;
    qh_block b = c->block;

    if (c->codec->ops->takes_ratio)
        b.scratch = scratch_at(j, item, c->x->n_roles - 1);
    return b;
}

/* The matrix whose rows travel, and in which the halo rows lie. */
static qh_mat matrix_of(const qh_channel *c)
{
    return c->dir == QH_FORWARD ? qh_model_message(c->x->model, c->layer)
                                : qh_model_gradient(c->x->model, c->layer);
}

const float *qh_channel_row(const qh_channel *c, int64_t i)
{
    return qh_mat_row(matrix_of(c), c->row ? c->row[i] : c->x->plan->n_inner + c->first + i);
}

static qh_mat halo_rows(const qh_channel *c, qh_rows piece)
{
    int64_t first = c->x->plan->n_inner + c->first;

    return qh_mat_sub(matrix_of(c), (qh_rows){first + piece.first, first + piece.end});
}

static void note_bad_row(job *j, int64_t row)
{
    long long seen = atomic_load(&j->bad);

    while (row < seen && !atomic_compare_exchange_weak(&j->bad, &seen, row))
        continue;
}

/* The rows of an item plus what was lost of them before, and what is lost now. */
static void encode_fed_back(job *j, int64_t item, qh_mat rows, const int32_t *row_index)
{
    const qh_channel *c = j->channel;
    const qh_codec_ops *ops = c->codec->ops;
    qh_rows piece = piece_rows(j, item);
    qh_block b = block_of(j, item);
    qh_mat sum = scratch(j, item, piece.end - piece.first, WHOLE_ROWS);
    qh_mat decoded = scratch(j, item, sum.rows, DECODED_ROWS);
    int64_t bad = 0;

    qh_channel_add_residual(c, piece, rows, row_index, sum);
    if (ops->encode(c->codec, &b, sum, NULL, c->node, piece.first, piece.end, j->out, &bad) < 0) {
        note_bad_row(j, bad);
        return;
    }
    ops->decode(c->codec, &b, j->out, c->node, piece.first, piece.end, decoded);
    qh_channel_keep_residual(c, piece, sum, decoded);
}

static void encode_piece(void *ctx, int64_t item)
{
    job *j = ctx;
    const qh_channel *c = j->channel;
    qh_rows piece = piece_rows(j, item);
    qh_block b = block_of(j, item);
    const int32_t *row_index = NULL;
    int64_t bad = 0;
    qh_mat rows;

    if (is_sparse(c)) {
        rows = scratch(j, item, piece.end - piece.first, WHOLE_ROWS);
        for (int64_t i = piece.first; i < piece.end; i++)
            qh_model_get_row(c->x->model, c->row[i], qh_mat_row(rows, i - piece.first));
    } else if (c->row) {
        rows = matrix_of(c);
        row_index = c->row;
    } else {
        rows = halo_rows(c, piece);
    }
    if (qh_channel_feeds_back(c))
        encode_fed_back(j, item, rows, row_index);
    else if (c->codec->ops->encode(c->codec, &b, rows, row_index, c->node, piece.first, piece.end,
                                   j->out, &bad) < 0)
        note_bad_row(j, bad);
}

static void decode_piece(void *ctx, int64_t item)
{
    job *j = ctx;
    const qh_channel *c = j->channel;
    qh_rows piece = piece_rows(j, item);
    qh_block b = block_of(j, item);
    int64_t n = piece.end - piece.first;
    qh_mat rows;

    rows = c->dir == QH_FORWARD && !is_sparse(c) ? halo_rows(c, piece)
                                                 : scratch(j, item, n, WHOLE_ROWS);
    c->codec->ops->decode(c->codec, &b, j->in, c->node, piece.first, piece.end, rows);
    if (qh_channel_is_smooth(c))
        qh_channel_smooth(c, piece, rows);
    /* The rows of one block are distinct, so pieces may be added at once. */
    if (c->dir == QH_BACKWARD)
        c->x->exec->kernels->scatter_add(rows, c->row + piece.first, 0, n, matrix_of(c));
}

static int64_t n_pieces(const job *j)
{
    return (j->channel->block.n_rows + j->piece - 1) / j->piece;
}

/* The error text may stand in a helper's thread: coding the row again, here, brings it. */
static qh_status bad_value(const job *j, int64_t row)
{
    const qh_channel *c = j->channel;
    int64_t bad;
    job one = {.channel = c, .out = j->out, .piece = 1, .first_piece = row};

    atomic_init(&one.bad, c->block.n_rows);
    encode_piece(&one, 0);
    bad = atomic_load(&one.bad);
    QH_ASSERT(bad == row);
    return qh_fail(QH_EINTERNAL,
                   "epoch %d, layer %d, %s: the message of node %d: %s; a smaller --lr or another "
                   "--codec would do",
                   c->epoch, c->layer, qh_direction_name(c->dir), c->node[row], qh_error_text());
}

qh_status qh_channel_encode(qh_channel *c, uint8_t *wire)
{
    job j = {.channel = c, .out = wire, .piece = qh_piece_rows(c->block.n_cols)};
    bool in_place = !is_sparse(c) && !qh_channel_feeds_back(c) && !c->codec->ops->takes_ratio;
    int64_t n = n_pieces(&j), wave = in_place ? n : c->x->n_pieces;

    atomic_init(&j.bad, c->block.n_rows);
    for (; j.first_piece < n; j.first_piece += wave)
        qh_team_run(c->x->exec->team, wave < n - j.first_piece ? wave : n - j.first_piece,
                    encode_piece, &j);
    if (atomic_load(&j.bad) < c->block.n_rows)
        return bad_value(&j, atomic_load(&j.bad));
    return QH_OK;
}

/* The pieces of one wave into the model, in rising order of rows. */
static qh_status put_wave(const job *j, int64_t n_items)
{
    const qh_channel *c = j->channel;
    qh_status st = QH_OK;

    for (int64_t item = 0; item < n_items; item++) {
        qh_rows piece = piece_rows(j, item);
        qh_mat rows = scratch(j, item, piece.end - piece.first, WHOLE_ROWS);

        for (int64_t i = piece.first; i < piece.end; i++)
            QH_TRY(st, qh_model_put_row(c->x->model, c->x->plan->n_inner + c->first + i,
                                        qh_mat_row(rows, i - piece.first)));
    }
out:
    return st;
}

qh_status qh_channel_decode(qh_channel *c, const uint8_t *wire)
{
    job j = {.channel = c, .in = wire, .piece = qh_piece_rows(c->block.n_cols)};
    bool in_place = c->dir == QH_FORWARD && !is_sparse(c) && !c->codec->ops->takes_ratio;
    int64_t n = n_pieces(&j), wave = in_place ? n : c->x->n_pieces;
    qh_status st = QH_OK;

    for (; j.first_piece < n; j.first_piece += wave) {
        int64_t items = wave < n - j.first_piece ? wave : n - j.first_piece;

        qh_team_run(c->x->exec->team, items, decode_piece, &j);
        if (is_sparse(c))
            QH_TRY(st, put_wave(&j, items));
    }
out:
    return st;
}
