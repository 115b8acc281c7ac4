/* What an assigner for all channels chooses from: the ranges of the messages of each channel, and
 * how much their receivers make of an error (beta). Backward messages have the beta of the row that
 * they are added to. A receiver knows beta, its sender needs it: it travels once, 4 bytes a
 * message and direction. */
#include "src/base/mem.h"
#include "src/train/exchange_assign.h"

static int64_t n_pairs(const qh_exchange *x)
{
    return 2 * qh_model_n_layers(x->model);
}

/* Messages that this rank sends in a direction, to all peers. */
static int64_t n_sent(const qh_exchange *x, qh_direction dir)
{
    return dir == QH_FORWARD ? x->plan->send_ptr[x->plan->n_ranks] : x->plan->n_halo;
}

static int64_t pair_of(const qh_channel *c)
{
    return 2 * c->layer + (int)c->dir;
}

static double *squares_of(const qh_channel *c)
{
    qh_trace *t = &c->x->assign->trace;

    return t->square + t->at[pair_of(c)] + c->first;
}

int32_t *qh_channel_order(const qh_channel *c)
{
    qh_trace *t = &c->x->assign->trace;

    return t->order + t->at[pair_of(c)] + c->first;
}

bool qh_exchange_chooses(const qh_exchange *x, int layer, qh_direction dir)
{
    return qh_exchange_travels(x, &x->settings->codec, 1, layer, dir);
}

qh_status qh_trace_init(qh_exchange *x, qh_trace *t)
{
    int n_ranks = x->plan->n_ranks;
    int64_t longest = 0, all = n_sent(x, QH_FORWARD) + n_sent(x, QH_BACKWARD);
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&t->at, n_pairs(x) + 1));
    for (int64_t i = 0; i < n_pairs(x); i++) {
        qh_direction dir = (qh_direction)(i % 2);

        t->at[i + 1] = t->at[i] + (qh_exchange_chooses(x, (int)(i / 2), dir) ? n_sent(x, dir) : 0);
        for (int p = 0; p < n_ranks; p++) {
            const int64_t *ptr = dir == QH_FORWARD ? x->plan->send_ptr : x->plan->recv_ptr;

            longest = ptr[p + 1] - ptr[p] > longest ? ptr[p + 1] - ptr[p] : longest;
        }
    }
    QH_TRY(st, QH_NEW_ARRAY(&t->square, t->at[n_pairs(x)]));
    QH_TRY(st, QH_NEW_ARRAY(&t->order, t->at[n_pairs(x)]));
    QH_TRY(st, QH_NEW_ARRAY(&t->n_blocks, n_pairs(x) * n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&t->used, n_pairs(x) * n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&t->range, longest));
    QH_TRY(st, QH_NEW_ARRAY(&t->v, longest));
    QH_TRY(st, QH_NEW_ARRAY(&t->key, 2 * longest));
    QH_TRY(st, QH_NEW_ARRAY(&t->beta[QH_FORWARD], n_sent(x, QH_FORWARD)));
    QH_TRY(st, QH_NEW_ARRAY(&t->beta[QH_BACKWARD], n_sent(x, QH_BACKWARD)));
    QH_TRY(st, QH_NEW_ARRAY(&t->beta_out, all));
    QH_TRY(st, QH_NEW_ARRAY(&t->send, n_ranks));
out:
    return st;
}

void qh_trace_fini(qh_trace *t)
{
    qh_mem_free(t->send);
    qh_mem_free(t->beta_out);
    qh_mem_free(t->beta[QH_BACKWARD]);
    qh_mem_free(t->beta[QH_FORWARD]);
    qh_mem_free(t->key);
    qh_mem_free(t->v);
    qh_mem_free(t->range);
    qh_mem_free(t->used);
    qh_mem_free(t->n_blocks);
    qh_mem_free(t->order);
    qh_mem_free(t->square);
    qh_mem_free(t->at);
}

/* --- beta --- */

/* For the messages that peer p sends here: forward ones, then backward ones. */
static float *fill_betas(const qh_exchange *x, int p, int64_t *n)
{
    const qh_halo *plan = x->plan;
    const float *forward = qh_model_beta(x->model, QH_FORWARD) + plan->n_inner;
    const float *backward = qh_model_beta(x->model, QH_BACKWARD);
    float *out = x->assign->trace.beta_out + plan->recv_ptr[p] + plan->send_ptr[p];

    *n = 0;
    for (int64_t i = plan->recv_ptr[p]; i < plan->recv_ptr[p + 1]; i++)
        out[(*n)++] = forward[i];
    for (int64_t i = plan->send_ptr[p]; i < plan->send_ptr[p + 1]; i++)
        out[(*n)++] = backward[plan->send_row[i]];
    return out;
}

static void take_betas(const qh_exchange *x, int p, const float *in)
{
    const qh_halo *plan = x->plan;
    float *const *beta = x->assign->trace.beta;

    for (int64_t i = plan->send_ptr[p]; i < plan->send_ptr[p + 1]; i++)
        beta[QH_FORWARD][i] = *in++;
    for (int64_t i = plan->recv_ptr[p]; i < plan->recv_ptr[p + 1]; i++)
        beta[QH_BACKWARD][i] = *in++;
}

/* Both ways alike: messages of one direction here are those of the other there. */
static int64_t beta_bytes(const qh_exchange *x, int p)
{
    const qh_halo *plan = x->plan;

    return (plan->recv_ptr[p + 1] - plan->recv_ptr[p] + plan->send_ptr[p + 1] - plan->send_ptr[p]) *
           (int64_t)sizeof(float);
}

int64_t qh_trace_beta_bytes(const qh_exchange *x)
{
    int64_t all = 0;

    for (int p = 0; p < x->plan->n_ranks; p++)
        all += beta_bytes(x, p);
    return all;
}

qh_status qh_trace_tell_betas(qh_exchange *x)
{
    const qh_transport_ops *t = x->transport->ops;
    int rank = x->plan->rank, n_ranks = x->plan->n_ranks;
    qh_transfer *send = x->assign->trace.send, in;
    qh_status st = QH_OK;

    for (int r = 1; r < n_ranks; r++) {
        int p = (rank + r) % n_ranks;
        int64_t n, bytes = beta_bytes(x, p);
        const float *out = fill_betas(x, p, &n);

        if (bytes > 0)
            QH_TRY(st, t->send_begin(x->transport, rank, p, out, bytes, &send[p]));
        qh_assign_record_move(x, QH_OP_SEND, 0, p, bytes);
    }
    for (int r = 1; r < n_ranks; r++)
        qh_assign_record_move(x, QH_OP_RECV, 0, (rank - r + n_ranks) % n_ranks,
                              beta_bytes(x, (rank - r + n_ranks) % n_ranks));
    for (int p = 0; p < n_ranks; p++) {
        if (beta_bytes(x, p) == 0)
            continue;
        QH_TRY(st, t->recv_begin(x->transport, rank, p, NULL, beta_bytes(x, p), &in));
        QH_TRY(st, t->recv_finish(x->transport, rank, &in));
        take_betas(x, p, in.view);
        t->recv_release(x->transport, rank, &in);
    }
    for (int p = 0; p < n_ranks; p++)
        if (beta_bytes(x, p) > 0)
            QH_TRY(st, t->send_finish(x->transport, rank, &send[p]));
out:
    return st;
}

/* --- ranges --- */

float *qh_exchange_ranges(const qh_exchange *x)
{
    return x->assign ? x->assign->trace.range : NULL;
}

/* A block that was not sent since the last choice keeps what is known of it. */
void qh_channel_trace(const qh_channel *c)
{
    qh_trace *t;
    double *square;
    int64_t block;

    if (!c->x->assign || !qh_exchange_chooses(c->x, c->layer, c->dir))
        return;
    t = &c->x->assign->trace;
    block = pair_of(c) * c->x->plan->n_ranks + c->peer;
    square = squares_of(c);
    if (t->used[block]) {
        t->used[block] = false;
        t->n_blocks[block] = 0;
    }
    for (int64_t i = 0; i < c->block.n_rows; i++) {
        double r = t->range[i];

        square[i] = (t->n_blocks[block] ? square[i] : 0) + r * r;
    }
    t->n_blocks[block]++;
}

void qh_channel_group(const qh_channel *c, float *sum)
{
    qh_trace *t = &c->x->assign->trace;
    int64_t block = pair_of(c) * c->x->plan->n_ranks + c->peer;
    const double *square = squares_of(c);
    double n = t->n_blocks[block] > 0 ? t->n_blocks[block] : 1;

    for (int64_t i = 0; i < c->block.n_rows; i++)
        t->v[i] =
            qh_message_variance(t->beta[c->dir][c->first + i], c->block.n_cols, square[i] / n);
    t->used[block] = true;
    qh_groups_form(t->v, c->block.n_rows, c->x->settings->bits.group_size, t->key,
                   qh_channel_order(c), sum);
}
