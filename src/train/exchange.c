#include "src/train/exchange_parts.h"

#include "src/base/mem.h"

#include <string.h>

static const qh_codec *run_codec(const qh_exchange *x)
{
    return &x->settings->codec;
}

/* --- channels --- */

qh_channel qh_channel_at(qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                         qh_direction dir, bool sending, int peer)
{
    const qh_halo *plan = x->plan;
    bool owner = (dir == QH_FORWARD) == sending;
    const int64_t *ptr = owner ? plan->send_ptr : plan->recv_ptr;
    int64_t first = ptr[peer], halo = plan->n_inner + first;
    qh_channel c = {
        .x = x,
        .codec = codec,
        .block = {.n_rows = ptr[peer + 1] - first,
                  .n_cols = qh_model_message_cols(x->model, layer),
                  .key = qh_rand_key(x->settings->seed, QH_RAND_QUANTIZE, (uint32_t)epoch,
                                     (uint32_t)layer, (uint32_t)dir)},
        .epoch = epoch,
        .layer = layer,
        .peer = peer,
        .dir = dir,
        .sending = sending,
        .first = first,
        .row = owner ? plan->send_row + first : NULL,
        .node = owner ? x->boundary_node + first : plan->node + halo,
        .degree = owner ? x->boundary_degree + first : plan->in_deg + halo,
    };

    qh_channel_thin(&c);
    return c;
}

void qh_channel_index(qh_channel *c)
{
    if (qh_codec_takes_widths(c->codec))
        qh_channel_index_as(c, qh_channel_widths(c));
}

void qh_channel_index_as(qh_channel *c, const uint8_t *width)
{
    if (!qh_codec_takes_widths(c->codec) || c->block.n_rows == 0)
        return;
    c->x->index.n_rows = c->block.n_rows;
    c->block.width = width;
    qh_block_index_set(&c->x->index, c->block.n_kept, c->block.width, c->codec->params);
    c->block.index = &c->x->index;
}

int64_t qh_channel_bytes(const qh_channel *c)
{
    return c->codec->ops->bytes(c->codec, &c->block);
}

int64_t qh_channel_table_bytes(const qh_channel *c)
{
    bool told = qh_codec_takes_widths(c->codec) && qh_exchange_widths_change(c->x, c->epoch);

    return told ? qh_width_table_bytes(c->block.n_rows) : 0;
}

bool qh_exchange_travels(const qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                         qh_direction dir)
{
    bool once = x->settings->cache_features && x->raw_features && layer == 0 && dir == QH_FORWARD;
    bool needed = dir == QH_FORWARD || qh_model_has_gradient(x->model, layer);

    return needed && !codec->ops->silent && !(once && epoch > 0);
}

/* --- records --- */

static void emit(qh_exchange *x, const qh_record *r)
{
    if (x->exec->sink)
        x->exec->sink->emit(x->exec->sink, x->exec->rank, r);
}

static void tell_widths(qh_exchange *x, const qh_record *send, const uint8_t *width, int64_t n)
{
    qh_sink *sink = x->exec->sink;

    if (sink && sink->widths)
        sink->widths(sink, x->exec->rank, send, width, n);
}

/* Error feedback adds what was lost, decodes what is sent and keeps the difference: two more
 * operations a value, and the residual read and written. */
static void record_coding(const qh_channel *c, qh_op op, int64_t wire)
{
    int64_t values = c->block.n_rows * c->block.n_cols, bytes, flops;

    qh_codec_work(c->codec, &c->block, wire, op == QH_OP_QUANTIZE, &flops, &bytes);
    if (op == QH_OP_QUANTIZE && qh_channel_feeds_back(c)) {
        int64_t again, memory;

        qh_codec_work(c->codec, &c->block, wire, false, &again, &memory);
        flops += again + 2 * values;
        bytes += wire + 8 * values;
    }
    if (op == QH_OP_DEQUANTIZE && c->dir == QH_BACKWARD) { /* added to the owner's rows */
        flops += values;
        bytes += 4 * values;
    }
    qh_exec_record(c->x->exec, op, c->layer, c->dir, flops, bytes);
}

/* Average and value are read and written. */
static void record_smoothing(const qh_channel *c)
{
    int64_t values = c->block.n_rows * c->block.n_cols;

    qh_exec_record(c->x->exec, QH_OP_ELEMENTWISE, c->layer, c->dir, 3 * values, 16 * values);
}

/* Whatever is charged with a block: its bytes (none when it is skipped), and what tells of it. */
static void record_transfer(const qh_channel *c, int round, int64_t block)
{
    bool skipped = qh_channel_is_skipped(c);
    qh_record r = {.op = c->sending ? QH_OP_SEND : QH_OP_RECV,
                   .direction = (uint8_t)c->dir,
                   .layer = (uint16_t)c->layer,
                   .epoch = c->epoch,
                   .peer = c->peer,
                   .round = round,
                   .bytes =
                       (skipped ? 0 : block) + qh_channel_table_bytes(c) + qh_channel_flag_bytes(c),
                   .values = skipped ? 0 : c->block.n_rows * c->block.n_kept};

    if (skipped) {
        emit(c->x, &r);
        return;
    }
    if (c->sending && c->block.width)
        for (int64_t i = 0; i < c->block.n_rows; i++)
            r.messages[qh_width_index(c->block.width[i])]++;
    else if (c->sending)
        r.messages[qh_width_index(qh_codec_width(c->codec))] = (int32_t)c->block.n_rows;
    emit(c->x, &r);
    if (c->sending && c->block.width && qh_channel_table_bytes(c) > 0)
        tell_widths(c->x, &r, c->block.width, c->block.n_rows);
}

/* --- one exchange --- */

/* Whether they are moved: rows that the receiver has already are only charged. */
static bool moved(const qh_exchange *x, int layer, qh_direction dir)
{
    return !(x->known_features && layer == 0 && dir == QH_FORWARD);
}

static qh_status send_block(qh_exchange *x, qh_channel *c, int round)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_slot *slot = qh_channel_slot(c);
    int64_t bytes;
    qh_status st = QH_OK;

    qh_channel_index(c);
    bytes = qh_channel_bytes(c);
    if (qh_channel_is_skipped(c)) {
        record_transfer(c, round, 0);
        goto out;
    }
    if (moved(x, c->layer, c->dir)) {
        uint8_t *wire = x->wire + slot->wire_at[c->peer];

        if (slot->sending[c->peer])
            QH_TRY(st, t->send_finish(x->transport, x->plan->rank, &slot->send[c->peer]));
        slot->sending[c->peer] = false;
        QH_ASSERT(bytes <= slot->wire_at[c->peer + 1] - slot->wire_at[c->peer]);
        c->block.range = qh_exchange_ranges(x);
        QH_TRY(st, qh_channel_encode(c, wire));
        qh_channel_trace(c);
        record_coding(c, QH_OP_QUANTIZE, bytes);
        QH_TRY(st, t->send_begin(x->transport, x->plan->rank, c->peer, wire, bytes,
                                 &slot->send[c->peer]));
        slot->sending[c->peer] = true;
    } else {
        record_coding(c, QH_OP_QUANTIZE, bytes);
    }
    record_transfer(c, round, bytes);
out:
    return st;
}

static qh_status expect_block(qh_exchange *x, qh_channel *c, int round)
{
    qh_slot *slot = qh_channel_slot(c);
    qh_status st = QH_OK;
    int64_t bytes;

    qh_channel_index(c);
    bytes = qh_channel_bytes(c);
    if (moved(x, c->layer, c->dir) && !qh_channel_is_skipped(c)) {
        QH_TRY(st, x->transport->ops->recv_begin(x->transport, x->plan->rank, c->peer, NULL, bytes,
                                                 &slot->recv[c->peer]));
        slot->receiving[c->peer] = true;
    }
    record_transfer(c, round, bytes);
out:
    return st;
}

static qh_status begin(qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                       qh_direction dir)
{
    int n_ranks = x->plan->n_ranks, rank = x->plan->rank;
    qh_status st = QH_OK;

    if (!qh_exchange_travels(x, codec, epoch, layer, dir))
        return QH_OK;
    if (qh_codec_takes_widths(codec) && qh_exchange_widths_change(x, epoch)) {
        QH_TRY(st, qh_exchange_widths_choose(x, epoch, layer, dir));
        QH_TRY(st, qh_exchange_widths_tell(x, epoch, layer, dir));
    } else if (qh_codec_takes_widths(codec)) {
        qh_exchange_widths_keep(x, epoch, layer, dir);
    }
    if (x->skips && codec == run_codec(x))
        QH_TRY(st, qh_exchange_skips_tell(x, epoch, layer, dir));
    for (int round = 1; round < n_ranks; round++) {
        int to = (rank + round) % n_ranks, from = (rank - round + n_ranks) % n_ranks;
        qh_channel out = qh_channel_at(x, codec, epoch, layer, dir, true, to);
        qh_channel in = qh_channel_at(x, codec, epoch, layer, dir, false, from);

        if (out.block.n_rows > 0)
            QH_TRY(st, send_block(x, &out, round));
        if (in.block.n_rows > 0)
            QH_TRY(st, expect_block(x, &in, round));
    }
out:
    return st;
}

static qh_status receive_block(qh_exchange *x, qh_channel *c)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_slot *slot = qh_channel_slot(c);
    qh_transfer *in = &slot->recv[c->peer];
    int rank = x->plan->rank;
    qh_status st;

    QH_TRY(st, t->recv_finish(x->transport, rank, in));
    st = qh_channel_decode(c, in->view);
    if (c->codec == run_codec(x) && qh_exchange_keeps(x, c->layer, c->dir))
        qh_channel_keep(c, in->view);
    t->recv_release(x->transport, rank, in);
    slot->receiving[c->peer] = false;
out:
    return st;
}

static qh_status take_block(qh_exchange *x, qh_channel *c)
{
    qh_status st = QH_OK;

    qh_channel_index(c);
    if (moved(x, c->layer, c->dir) && qh_channel_is_skipped(c)) {
        *c = qh_channel_kept(x, c->layer, c->dir, c->peer);
        QH_TRY(st, qh_channel_decode_kept(c));
    } else if (moved(x, c->layer, c->dir)) {
        QH_TRY(st, receive_block(x, c));
    }
    record_coding(c, QH_OP_DEQUANTIZE, qh_channel_bytes(c));
    if (qh_channel_is_smooth(c))
        record_smoothing(c);
out:
    return st;
}

/* Layer 0's halo rows as they came in the first epoch. */
static qh_status decode_kept(qh_exchange *x)
{
    qh_status st = QH_OK;

    if (x->features->sparse)
        qh_model_put_begin(x->model);
    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = qh_channel_kept(x, 0, QH_FORWARD, p);

        if (c.block.n_rows > 0)
            QH_TRY(st, qh_channel_decode_kept(&c));
    }
out:
    return st;
}

static qh_status finish_blocks(qh_exchange *x, const qh_codec *codec, int32_t epoch, int layer,
                               qh_direction dir)
{
    qh_status st = QH_OK;
    bool waits = false;

    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = qh_channel_at(x, codec, epoch, layer, dir, false, p);

        if (c.block.n_rows == 0)
            continue;
        if (!waits)
            emit(x, &(qh_record){.op = QH_OP_WAIT,
                                 .direction = (uint8_t)dir,
                                 .layer = (uint16_t)layer,
                                 .epoch = epoch,
                                 .peer = -1});
        waits = true;
        QH_TRY(st, take_block(x, &c));
    }
out:
    return st;
}

/* The exact rows of layer 0, unless they are there already. */
static qh_status know_features(qh_exchange *x)
{
    qh_status st = QH_OK;

    if (x->halo0 != QH_HALO_EXACT)
        QH_TRY(st, qh_exchange_read_features(x));
    x->halo0 = QH_HALO_EXACT;
out:
    return st;
}

qh_status qh_exchange_begin(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    return begin(x, run_codec(x), epoch, layer, dir);
}

/* Room for the sparse features of the halo, where later rows may have more values than the first (a
 * mask keeps other columns, late rows are 0 at first): the exact rows are put there once. */
static qh_status make_room(qh_exchange *x)
{
    const qh_train_settings *s = x->settings;
    qh_status st = QH_OK;

    if (x->raw_features && x->features->sparse && !x->room_made &&
        (s->codec.ops->takes_ratio || s->relax.stale > 0))
        QH_TRY(st, qh_exchange_read_features(x));
    x->room_made = true;
out:
    return st;
}

/* Puts what is there of an epoch in its place. */
static qh_status finish(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    const qh_codec *codec = run_codec(x);
    bool features = layer == 0 && dir == QH_FORWARD && x->raw_features;
    qh_status st = QH_OK;

    if (!qh_exchange_travels(x, codec, epoch, layer, dir)) {
        if (x->halo0 == QH_HALO_EXACT && qh_exchange_keeps(x, 0, QH_FORWARD))
            QH_TRY(st, decode_kept(x));
    } else {
        if (features && !moved(x, layer, dir))
            QH_TRY(st, know_features(x));
        else if (features && x->features->sparse)
            qh_model_put_begin(x->model);
        QH_TRY(st, finish_blocks(x, codec, epoch, layer, dir));
    }
    if (features && moved(x, layer, dir))
        x->halo0 = x->same_features ? QH_HALO_EXACT : QH_HALO_CODED;
out:
    return st;
}

/* With staleness K (PipeGCN, Wan et al., ICLR 2022, arXiv 2203.10428, algorithm 1) what is used in
 * epoch t is what was sent in epoch t - K: halo rows H(t - K) forward, halo gradients added
 * backward. Before epoch K nothing has come: both are 0. */
qh_status qh_exchange_finish(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    int64_t of = epoch - x->settings->relax.stale;
    qh_status st = QH_OK;

    if (layer == 0 && dir == QH_FORWARD)
        QH_TRY(st, make_room(x));
    if (of >= 0 && !run_codec(x)->ops->silent)
        QH_TRY(st, finish(x, (int32_t)of, layer, dir));
    else if (dir == QH_FORWARD)
        qh_exchange_clear_halo(x, layer);
out:
    return st;
}

qh_status qh_exchange_exact(qh_exchange *x, int layer)
{
    qh_status st = QH_OK;

    if (layer == 0 && x->raw_features) {
        QH_TRY(st, know_features(x));
    } else {
        qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_OTHER);
        QH_TRY(st, begin(x, &x->exact, x->exec->epoch, layer, QH_FORWARD));
        QH_TRY(st, finish_blocks(x, &x->exact, x->exec->epoch, layer, QH_FORWARD));
    }
out:
    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_EXCHANGE);
    return st;
}
