/* Choosing widths for all channels together (AdaQP, Wan, Zhao, Wu, MLSys 2023, section 4.2): every
 * rank groups its messages and sends the groups' variances to rank 0, which solves the trade-offs
 * and sends each rank the widths of its groups. The tables of exchange_widths.c tell the receivers.
 *
 * It is done for all layers and directions at once, before the forward pass of an epoch in which
 * widths change, from the second such epoch on. Everything that moves is counted and recorded, with
 * direction QH_ASSIGNMENT; layer 0: towards rank 0 (and in the first epoch beta and the sizes of
 * channels), layer 1: back. */
#include "src/train/exchange_assign.h"

#include "src/base/mem.h"

#include <string.h>

qh_status qh_exchange_assign_new(qh_exchange *x)
{
    const qh_train_settings *s = x->settings;
    int n = x->plan->n_ranks, n_pairs = 2 * qh_model_n_layers(x->model);
    qh_assignment *a;
    qh_status st = QH_OK;

    if (!qh_codec_takes_widths(&s->codec) || !s->assign->solve || n == 1)
        return QH_OK;
    QH_ASSERT(s->bits.group_size >= 1 && s->bits.theta && s->bits.gamma);
    QH_TRY(st, QH_NEW(&x->assign));
    a = x->assign;
    QH_TRY(st, qh_trace_init(x, &a->trace));
    QH_TRY(st, QH_NEW_ARRAY(&a->counts, n));
    for (int p = 0; p < n; p++)
        a->counts[p] = x->plan->send_ptr[p + 1] - x->plan->send_ptr[p];
    for (int i = 0; i < n_pairs; i++) {
        const int64_t *ptr = i % 2 == QH_FORWARD ? x->plan->send_ptr : x->plan->recv_ptr;

        for (int p = 0; p < n && qh_exchange_chooses(x, i / 2, (qh_direction)(i % 2)); p++)
            a->n_groups += qh_group_count(ptr[p + 1] - ptr[p], s->bits.group_size);
    }
    QH_TRY(st, QH_NEW_ARRAY(&a->sum, a->n_groups));
    QH_TRY(st, QH_NEW_ARRAY(&a->width, a->n_groups));
out:
    return st;
}

void qh_exchange_assign_free(qh_exchange *x)
{
    qh_assignment *a = x->assign;

    if (!a)
        return;
    qh_chooser_free(a->chooser);
    qh_mem_free(a->width);
    qh_mem_free(a->sum);
    qh_mem_free(a->counts);
    qh_trace_fini(&a->trace);
    qh_mem_free(a);
}

bool qh_exchange_chosen(const qh_exchange *x)
{
    return x->assign && x->assign->chosen;
}

qh_assign_result qh_exchange_assign_result(const qh_exchange *x)
{
    return x->assign ? x->assign->result : (qh_assign_result){0};
}

/* --- records --- */

static void emit(qh_exchange *x, const qh_record *r)
{
    if (x->exec->sink)
        x->exec->sink->emit(x->exec->sink, x->exec->rank, r);
}

void qh_assign_record_move(qh_exchange *x, qh_op op, int layer, int peer, int64_t bytes)
{
    int n = x->plan->n_ranks, rank = x->plan->rank;

    if (bytes > 0)
        emit(x, &(qh_record){.op = (uint8_t)op,
                             .direction = QH_ASSIGNMENT,
                             .layer = (uint16_t)layer,
                             .epoch = x->exec->epoch,
                             .peer = peer,
                             .round = (op == QH_OP_SEND ? peer - rank + n : rank - peer + n) % n,
                             .bytes = bytes});
}

static void record_wait(qh_exchange *x, int layer)
{
    emit(x, &(qh_record){.op = QH_OP_WAIT,
                         .direction = QH_ASSIGNMENT,
                         .layer = (uint16_t)layer,
                         .epoch = x->exec->epoch,
                         .peer = -1});
}

/* The radix sort reads and writes keys and indices of 8 bytes in each of 4 passes. */
enum { SORT_BYTES = 4 * 2 * 8 };

/* A message: its squares and beta are read, a variance is made, sorted, and added. */
static void record_grouping(qh_exchange *x, int64_t n_messages)
{
    qh_exec_record(x->exec, QH_OP_ASSIGN, 0, QH_ASSIGNMENT, 6 * n_messages,
                   (8 + 4 + 4 + SORT_BYTES + 4 + 4) * n_messages);
}

/* A group: sorted, summed up, given its width. A deadline: a step of a heap and of a tree of
 * channels, with the search for the best use of a unit of time. */
static void record_solving(qh_exchange *x, int64_t n_groups, int64_t n_deadlines)
{
    qh_exec_record(x->exec, QH_OP_ASSIGN, 1, QH_ASSIGNMENT, 8 * n_groups + 64 * n_deadlines,
                   (SORT_BYTES + 4 * 8) * n_groups + 256 * n_deadlines);
}

/* A message: its place in the order is read, its width written. */
static void record_spreading(qh_exchange *x, int64_t n_messages)
{
    qh_exec_record(x->exec, QH_OP_ASSIGN, 1, QH_ASSIGNMENT, 0, (4 + 1) * n_messages);
}

/* --- moving --- */

static qh_status send_to(qh_exchange *x, int layer, int peer, const void *data, int64_t bytes,
                         qh_transfer *out)
{
    qh_status st = QH_OK;

    if (bytes > 0)
        QH_TRY(st,
               x->transport->ops->send_begin(x->transport, x->plan->rank, peer, data, bytes, out));
    qh_assign_record_move(x, QH_OP_SEND, layer, peer, bytes);
out:
    return st;
}

static qh_status sent(qh_exchange *x, int64_t bytes, qh_transfer *t)
{
    return bytes > 0 ? x->transport->ops->send_finish(x->transport, x->plan->rank, t) : QH_OK;
}

static qh_status take_from(qh_exchange *x, int peer, void *out, int64_t bytes)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_transfer in;
    qh_status st = QH_OK;

    if (bytes == 0)
        return QH_OK;
    QH_TRY(st, t->recv_begin(x->transport, x->plan->rank, peer, NULL, bytes, &in));
    QH_TRY(st, t->recv_finish(x->transport, x->plan->rank, &in));
    memcpy(out, in.view, (size_t)bytes);
    t->recv_release(x->transport, x->plan->rank, &in);
out:
    return st;
}

/* --- the first epoch --- */

/* Rank 0 learns how many messages every rank sends to every other. */
static qh_status tell_counts(qh_exchange *x)
{
    qh_assignment *a = x->assign;
    int n = x->plan->n_ranks;
    int64_t bytes = n * (int64_t)sizeof *a->counts, *count = NULL;
    qh_transfer t;
    qh_status st = QH_OK;

    if (x->plan->rank > 0) {
        QH_TRY(st, send_to(x, 0, 0, a->counts, bytes, &t));
        QH_TRY(st, sent(x, bytes, &t));
        return QH_OK;
    }
    QH_TRY(st, QH_NEW_ARRAY(&count, (int64_t)n * n));
    memcpy(count, a->counts, (size_t)bytes);
    for (int r = 1; r < n; r++) {
        qh_assign_record_move(x, QH_OP_RECV, 0, r, bytes);
        QH_TRY(st, take_from(x, r, count + (int64_t)r * n, bytes));
    }
    QH_TRY(st, qh_chooser_new(x, count, &a->chooser));
    count = NULL;
out:
    qh_mem_free(count);
    return st;
}

int64_t qh_exchange_assign_first_bytes(const qh_exchange *x)
{
    if (!x->assign)
        return 0;
    return qh_trace_beta_bytes(x) +
           (x->plan->rank > 0 ? x->plan->n_ranks * (int64_t)sizeof *x->assign->counts : 0);
}

/* --- a choice --- */

/* Calls fn for each channel that this rank sends on and chooses for. */
static int64_t for_channels(qh_exchange *x, void (*fn)(const qh_channel *c, int64_t first_group))
{
    int64_t group = 0, n_messages = 0;

    for (int i = 0; i < 2 * qh_model_n_layers(x->model); i++)
        for (int p = 0; p < x->plan->n_ranks; p++) {
            qh_channel c = qh_channel_at(x, &x->settings->codec, x->exec->epoch, i / 2,
                                         (qh_direction)(i % 2), true, p);

            if (c.block.n_rows == 0 || !qh_exchange_chooses(x, c.layer, c.dir))
                continue;
            fn(&c, group);
            group += qh_group_count(c.block.n_rows, x->settings->bits.group_size);
            n_messages += c.block.n_rows;
        }
    return n_messages;
}

static void group(const qh_channel *c, int64_t first_group)
{
    qh_channel_group(c, c->x->assign->sum + first_group);
}

static void spread(const qh_channel *c, int64_t first_group)
{
    qh_groups_spread(qh_channel_order(c), c->block.n_rows, c->x->settings->bits.group_size,
                     c->x->assign->width + first_group, qh_channel_widths(c));
}

static qh_status gather(qh_exchange *x)
{
    qh_assignment *a = x->assign;
    qh_chooser *k = a->chooser;
    int64_t bytes = a->n_groups * (int64_t)sizeof *a->sum;
    qh_transfer t;
    qh_status st = QH_OK;

    if (x->plan->rank > 0) {
        QH_TRY(st, send_to(x, 0, 0, a->sum, bytes, &t));
        QH_TRY(st, sent(x, bytes, &t));
        return QH_OK;
    }
    if (a->n_groups > 0)
        memcpy(k->sum, a->sum, (size_t)bytes);
    for (int r = 1; r < x->plan->n_ranks; r++) {
        bytes = (k->at[r + 1] - k->at[r]) * (int64_t)sizeof *k->sum;
        qh_assign_record_move(x, QH_OP_RECV, 0, r, bytes);
        QH_TRY(st, take_from(x, r, k->sum + k->at[r], bytes));
    }
    record_wait(x, 0);
out:
    return st;
}

static qh_status scatter(qh_exchange *x)
{
    qh_assignment *a = x->assign;
    qh_chooser *k = a->chooser;
    uint8_t *packed = k->packed;
    qh_status st = QH_OK;

    if (a->n_groups > 0)
        memcpy(a->width, k->width, (size_t)a->n_groups);
    for (int r = 1; r < x->plan->n_ranks; r++) {
        int64_t n = k->at[r + 1] - k->at[r], bytes = qh_width_table_bytes(n);

        qh_width_table_pack(k->width + k->at[r], n, packed);
        QH_TRY(st, send_to(x, 1, r, packed, bytes, &k->send[r]));
        packed += bytes;
    }
    for (int r = 1; r < x->plan->n_ranks; r++)
        QH_TRY(st, sent(x, qh_width_table_bytes(k->at[r + 1] - k->at[r]), &k->send[r]));
out:
    return st;
}

static qh_status take_widths(qh_exchange *x)
{
    const qh_transport_ops *t = x->transport->ops;
    qh_assignment *a = x->assign;
    int64_t bytes = qh_width_table_bytes(a->n_groups);
    qh_transfer in;
    qh_status st = QH_OK;

    if (bytes == 0)
        return QH_OK;
    qh_assign_record_move(x, QH_OP_RECV, 1, 0, bytes);
    record_wait(x, 1);
    QH_TRY(st, t->recv_begin(x->transport, x->plan->rank, 0, NULL, bytes, &in));
    QH_TRY(st, t->recv_finish(x->transport, x->plan->rank, &in));
    st = qh_width_table_unpack(in.view, a->n_groups, a->width);
    t->recv_release(x->transport, x->plan->rank, &in);
out:
    return st;
}

static qh_status choose(qh_exchange *x)
{
    qh_assignment *a = x->assign;
    int64_t n_messages = for_channels(x, group), n_deadlines;
    qh_status st = QH_OK;

    record_grouping(x, n_messages);
    QH_TRY(st, gather(x));
    if (x->plan->rank == 0) {
        QH_TRY(st, qh_chooser_solve(x, a->chooser, &a->result, &n_deadlines));
        record_solving(x, a->chooser->at[x->plan->n_ranks], n_deadlines);
        QH_TRY(st, scatter(x));
    } else {
        QH_TRY(st, take_widths(x));
    }
    for_channels(x, spread);
    record_spreading(x, n_messages);
    a->chosen = true;
out:
    return st;
}

qh_status qh_exchange_assign(qh_exchange *x, int32_t epoch)
{
    qh_assignment *a = x->assign;
    qh_status st = QH_OK;

    if (!a)
        return QH_OK;
    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_TABLES);
    if (!a->told) {
        QH_TRY(st, qh_trace_tell_betas(x));
        QH_TRY(st, tell_counts(x));
        record_wait(x, 0);
        a->told = true;
    } else if (qh_exchange_widths_change(x, epoch)) {
        QH_TRY(st, choose(x));
    }
out:
    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_EXCHANGE);
    return st;
}
