/* Bit-widths of messages: the sender of a channel chooses them, a table tells the receiver. Tables
 * travel before the blocks of the same exchange, because a receiver has to know a block's size;
 * they are charged with the block that they stand in front of. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

#include <string.h>

static qh_width_pair *pair_of(const qh_exchange *x, int layer, qh_direction dir)
{
    return &x->widths[2 * layer + (int)dir];
}

/* Messages that come in an exchange, of all peers. */
static int64_t n_coming(const qh_exchange *x, qh_direction dir)
{
    return dir == QH_FORWARD ? x->plan->n_halo : x->plan->send_ptr[x->plan->n_ranks];
}

static uint8_t *coming_widths(const qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    return pair_of(x, layer, dir)->recv + epoch % (x->settings->relax.stale + 1) * n_coming(x, dir);
}

uint8_t *qh_channel_widths(const qh_channel *c)
{
    if (c->sending)
        return pair_of(c->x, c->layer, c->dir)->send + c->first;
    return coming_widths(c->x, c->epoch, c->layer, c->dir) + c->first;
}

void qh_exchange_widths_keep(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    uint8_t *now = coming_widths(x, epoch, layer, dir);
    const uint8_t *before = coming_widths(x, epoch - 1, layer, dir);

    if (now != before)
        memcpy(now, before, (size_t)n_coming(x, dir));
}

static qh_channel channel(qh_exchange *x, int32_t epoch, int layer, qh_direction dir, bool sending,
                          int peer)
{
    return qh_channel_at(x, &x->settings->codec, epoch, layer, dir, sending, peer);
}

bool qh_exchange_widths_change(const qh_exchange *x, int32_t epoch)
{
    return qh_codec_takes_widths(&x->settings->codec) &&
           x->settings->assign->changes(&x->settings->bits, epoch);
}

qh_status qh_exchange_widths_new(qh_exchange *x)
{
    int n_ranks = x->plan->n_ranks, n_layers = qh_model_n_layers(x->model);
    int64_t n_send = x->plan->send_ptr[n_ranks], n_recv = x->plan->n_halo, longest = 0;
    int64_t n_epochs = x->settings->relax.stale + 1;
    qh_status st;

    if (!qh_codec_takes_widths(&x->settings->codec))
        return QH_OK;
    QH_TRY(st, QH_NEW_ARRAY(&x->widths, 2 * n_layers));
    for (int l = 0; l < n_layers; l++)
        for (int d = QH_FORWARD; d <= QH_BACKWARD; d++) {
            qh_width_pair *p = pair_of(x, l, (qh_direction)d);

            if (!qh_exchange_travels(x, &x->settings->codec, 0, l, (qh_direction)d))
                continue;
            QH_TRY(st, QH_NEW_ARRAY(&p->send, d == QH_FORWARD ? n_send : n_recv));
            QH_TRY(st, QH_NEW_ARRAY(&p->recv, n_epochs * n_coming(x, (qh_direction)d)));
        }
    QH_TRY(st, QH_NEW_ARRAY(&x->table_at, n_ranks + 1));
    for (int p = 0; p < n_ranks; p++) {
        int64_t owned = x->plan->send_ptr[p + 1] - x->plan->send_ptr[p];
        int64_t halo = x->plan->recv_ptr[p + 1] - x->plan->recv_ptr[p];
        int64_t most = owned > halo ? owned : halo;

        longest = most > longest ? most : longest;
        x->table_at[p + 1] = x->table_at[p] + qh_width_table_bytes(most);
    }
    QH_TRY(st, QH_NEW_ARRAY(&x->table, x->table_at[n_ranks]));
    QH_TRY(st, QH_NEW_ARRAY(&x->table_send, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&x->table_in_flight, n_ranks));
    QH_TRY(st, qh_block_index_init(longest, &x->index));
out:
    return st;
}

void qh_exchange_widths_free(qh_exchange *x)
{
    for (int i = 0; x->widths && i < 2 * qh_model_n_layers(x->model); i++) {
        qh_mem_free(x->widths[i].send);
        qh_mem_free(x->widths[i].recv);
    }
    qh_block_index_fini(&x->index);
    qh_mem_free(x->table_in_flight);
    qh_mem_free(x->table_send);
    qh_mem_free(x->table);
    qh_mem_free(x->table_at);
    qh_mem_free(x->widths);
}

qh_status qh_exchange_widths_choose(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    const qh_train_settings *s = x->settings;
    qh_status st = QH_OK;

    for (int p = 0; p < x->plan->n_ranks && !qh_exchange_chosen(x); p++) {
        qh_channel c = channel(x, epoch, layer, dir, true, p);
        qh_bits_request r = {.epoch = epoch,
                             .layer = layer,
                             .direction = (int)dir,
                             .n_messages = c.block.n_rows,
                             .node = c.node,
                             .degree = c.degree};

        if (c.block.n_rows > 0)
            QH_TRY(st, s->assign->assign(&s->bits, s->bits_state, &r, qh_channel_widths(&c)));
    }
out:
    return st;
}

static qh_status send_tables(qh_exchange *x, int layer, qh_direction dir)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_status st = QH_OK;

    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = channel(x, 0, layer, dir, true, p);
        int64_t n = c.block.n_rows;

        if (n == 0)
            continue;
        if (x->table_in_flight[p])
            QH_TRY(st, t->send_finish(x->transport, x->plan->rank, &x->table_send[p]));
        x->table_in_flight[p] = false;
        qh_width_table_pack(qh_channel_widths(&c), n, x->table + x->table_at[p]);
        QH_TRY(st, t->send_begin(x->transport, x->plan->rank, p, x->table + x->table_at[p],
                                 qh_width_table_bytes(n), &x->table_send[p]));
        x->table_in_flight[p] = true;
    }
out:
    return st;
}

qh_status qh_exchange_widths_tell(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_transfer in;
    qh_status st;

    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_TABLES);
    QH_TRY(st, send_tables(x, layer, dir));
    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = channel(x, epoch, layer, dir, false, p);
        int64_t n = c.block.n_rows;

        if (n == 0)
            continue;
        QH_TRY(st,
               t->recv_begin(x->transport, x->plan->rank, p, NULL, qh_width_table_bytes(n), &in));
        QH_TRY(st, t->recv_finish(x->transport, x->plan->rank, &in));
        QH_TRY(st, qh_width_table_unpack(in.view, n, qh_channel_widths(&c)));
        t->recv_release(x->transport, x->plan->rank, &in);
    }
out:
    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_EXCHANGE);
    return st;
}
