/* Skipping blocks that have hardly changed (SANCUS: Peng, Chen, Shao, Shen, Chen, Cao, PVLDB 15(9),
 * 2022): a sender does not send its rows of a layer again as long as their drift since they were
 * last sent stays under a bound; receivers go on with what they have.
 *
 * Of SANCUS's measures of staleness this is the variation gap with a limit on the age, applied to
 * each block (channel, layer, direction), relative to the rows so that one bound suits all layers:
 *
 *     drift(t) = |H(t) - H(s)|_F / |H(s)|_F,    s the epoch in which the block was last sent;
 *     skip     iff  drift(t) < EPS and t - s < AGE.
 *
 * So EPS = 0 and AGE = 1 skip nothing, and what a receiver uses is at most AGE - 1 epochs old. A
 * byte in front of each block tells whether it follows; it is charged with the block's SEND, and
 * with that of a skipped block, which then has no other bytes. Input features without dropout never
 * drift, and need no copy to know it; with input dropout they are drawn anew and always sent. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

#include <math.h>

typedef struct last_sent {
    qh_mat rows; /* owned, messages of all peers one after the other; no data: they never drift */
    int32_t *epoch; /* owned, [n_ranks]; -1: never */
} last_sent;

struct qh_skips {
    last_sent *last;     /* owned, [n_layers * 2]; epoch NULL: does not travel */
    double *piece;       /* owned, [n_pieces * 2]: sums of a piece of rows */
    uint8_t *flag;       /* owned, [n_ranks]: to each peer */
    qh_transfer *send;   /* owned, [n_ranks]: of flags */
    bool *sending;       /* owned, [n_ranks] */
    bool *skipped;       /* owned, [n_ranks]: by this rank, in the exchange at hand */
    bool *skipped_there; /* owned, [(stale + 1) * n_layers * 2 * n_ranks]: by peers */
};

static last_sent *last_of(const qh_channel *c)
{
    return &c->x->skips->last[2 * c->layer + (int)c->dir];
}

static bool is_features(const qh_exchange *x, int layer, qh_direction dir)
{
    return x->raw_features && layer == 0 && dir == QH_FORWARD;
}

/* --- drift --- */

typedef struct job {
    const qh_channel *channel;
    int64_t piece; /* rows */
    bool copy;     /* else measure */
} job;

static qh_rows piece_of(const job *j, int64_t item)
{
    int64_t end = (item + 1) * j->piece, n = j->channel->block.n_rows;

    return (qh_rows){item * j->piece, end < n ? end : n};
}

static int64_t count_pieces(const job *j)
{
    return (j->channel->block.n_rows + j->piece - 1) / j->piece;
}

static void work_on_piece(void *ctx, int64_t item)
{
    const job *j = ctx;
    const qh_channel *c = j->channel;
    qh_mat last = last_of(c)->rows;
    qh_rows piece = piece_of(j, item);
    double gap = 0, size = 0;

    for (int64_t i = piece.first; i < piece.end; i++) {
        float *old = qh_mat_row(last, c->first + i);
        const float *now = qh_channel_row(c, i);

        if (j->copy) {
            c->x->exec->kernels->copy(now, last.cols, old);
            continue;
        }
        for (int64_t k = 0; k < last.cols; k++) {
            double d = (double)now[k] - (double)old[k];

            gap += d * d;
            size += (double)old[k] * (double)old[k];
        }
    }
    c->x->skips->piece[2 * item] = gap;
    c->x->skips->piece[2 * item + 1] = size;
}

static job job_of(const qh_channel *c, bool copy)
{
    return (job){.channel = c, .piece = qh_piece_rows(last_of(c)->rows.cols), .copy = copy};
}

/* Sums of pieces in their order, so that threads change nothing. */
static double drift(const qh_channel *c)
{
    job j = job_of(c, false);
    int64_t n = count_pieces(&j), values = c->block.n_rows * last_of(c)->rows.cols;
    double gap = 0, size = 0;

    qh_team_run(c->x->exec->team, n, work_on_piece, &j);
    for (int64_t i = 0; i < n; i++) {
        gap += c->x->skips->piece[2 * i];
        size += c->x->skips->piece[2 * i + 1];
    }
    qh_exec_record(c->x->exec, QH_OP_ELEMENTWISE, c->layer, c->dir, 5 * values, 8 * values);
    if (gap == 0)
        return 0;
    return size > 0 ? sqrt(gap / size) : HUGE_VAL;
}

static void remember(const qh_channel *c)
{
    job j = job_of(c, true);
    int64_t values = c->block.n_rows * last_of(c)->rows.cols;

    qh_team_run(c->x->exec->team, count_pieces(&j), work_on_piece, &j);
    qh_exec_record(c->x->exec, QH_OP_ELEMENTWISE, c->layer, c->dir, 0, 8 * values);
}

/* --- decisions --- */

/* With new widths a block goes with its table. Rows that are not finite are sent, so that encoding
 * them says which. */
static bool decide(const qh_channel *c)
{
    const qh_relax *r = &c->x->settings->relax;
    last_sent *last = last_of(c);
    int32_t sent = last->epoch[c->peer];
    bool features = is_features(c->x, c->layer, c->dir), skip;

    skip = sent >= 0 && c->epoch - sent < r->skip_age && r->skip_bound > 0 &&
           !qh_exchange_widths_change(c->x, c->epoch);
    if (features)
        skip = skip && c->x->settings->model.input_dropout == 0;
    else
        skip = skip && drift(c) < r->skip_bound;
    if (skip)
        return true;
    last->epoch[c->peer] = c->epoch;
    if (!features)
        remember(c);
    return false;
}

static bool *there(const qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    int64_t n_pairs = 2 * qh_model_n_layers(x->model);

    return x->skips->skipped_there +
           (epoch % (x->settings->relax.stale + 1) * n_pairs + 2 * layer + (int)dir) *
               x->plan->n_ranks;
}

static qh_status tell(qh_channel *c)
{
    qh_exchange *x = c->x;
    qh_skips *s = x->skips;
    const qh_transport_ops *t = x->transport->ops;
    int p = c->peer;
    qh_status st = QH_OK;

    s->skipped[p] = decide(c);
    if (s->sending[p])
        QH_TRY(st, t->send_finish(x->transport, x->plan->rank, &s->send[p]));
    s->sending[p] = false;
    s->flag[p] = s->skipped[p];
    QH_TRY(st, t->send_begin(x->transport, x->plan->rank, p, &s->flag[p], 1, &s->send[p]));
    s->sending[p] = true;
out:
    return st;
}

static qh_status learn(const qh_channel *c)
{
    qh_exchange *x = c->x;
    const qh_transport_ops *t = x->transport->ops;
    qh_transfer in;
    qh_status st;

    QH_TRY(st, t->recv_begin(x->transport, x->plan->rank, c->peer, NULL, 1, &in));
    QH_TRY(st, t->recv_finish(x->transport, x->plan->rank, &in));
    there(x, c->epoch, c->layer, c->dir)[c->peer] = *(const uint8_t *)in.view != 0;
    t->recv_release(x->transport, x->plan->rank, &in);
out:
    return st;
}

qh_status qh_exchange_skips_tell(qh_exchange *x, int32_t epoch, int layer, qh_direction dir)
{
    qh_status st = QH_OK;

    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_TABLES);
    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = qh_channel_at(x, &x->settings->codec, epoch, layer, dir, true, p);

        if (c.block.n_rows > 0)
            QH_TRY(st, tell(&c));
    }
    for (int p = 0; p < x->plan->n_ranks; p++) {
        qh_channel c = qh_channel_at(x, &x->settings->codec, epoch, layer, dir, false, p);

        if (c.block.n_rows > 0)
            QH_TRY(st, learn(&c));
    }
out:
    qh_transport_use_lane(x->transport, x->plan->rank, QH_LANE_EXCHANGE);
    return st;
}

bool qh_channel_is_skipped(const qh_channel *c)
{
    const qh_exchange *x = c->x;

    if (!x->skips || c->codec == &x->exact)
        return false;
    return c->sending ? x->skips->skipped[c->peer] : there(x, c->epoch, c->layer, c->dir)[c->peer];
}

int64_t qh_channel_flag_bytes(const qh_channel *c)
{
    return c->x->skips && c->codec != &c->x->exact ? 1 : 0;
}

qh_status qh_exchange_skips_drain(qh_exchange *x)
{
    qh_status st = QH_OK;

    for (int p = 0; x->skips && p < x->plan->n_ranks; p++) {
        if (x->skips->sending[p])
            QH_TRY(st,
                   x->transport->ops->send_finish(x->transport, x->plan->rank, &x->skips->send[p]));
        x->skips->sending[p] = false;
    }
out:
    return st;
}

/* --- building --- */

/* Messages that leave in a direction, of all peers. */
static int64_t n_leaving(const qh_exchange *x, qh_direction dir)
{
    return dir == QH_FORWARD ? x->plan->send_ptr[x->plan->n_ranks] : x->plan->n_halo;
}

static qh_status new_last(qh_exchange *x, int layer, qh_direction dir)
{
    last_sent *l = &x->skips->last[2 * layer + (int)dir];
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&l->epoch, x->plan->n_ranks));
    for (int p = 0; p < x->plan->n_ranks; p++)
        l->epoch[p] = -1;
    if (!is_features(x, layer, dir))
        QH_TRY(st, qh_mat_new(n_leaving(x, dir), qh_model_message_cols(x->model, layer), &l->rows));
out:
    return st;
}

static qh_status new_flags(qh_exchange *x)
{
    int n_ranks = x->plan->n_ranks, n_layers = qh_model_n_layers(x->model);
    int64_t most = 0, cols = 1;
    qh_skips *s = x->skips;
    qh_status st;

    for (int l = 0; l < n_layers; l++)
        if (qh_model_message_cols(x->model, l) > cols)
            cols = qh_model_message_cols(x->model, l);
    for (int d = QH_FORWARD; d <= QH_BACKWARD; d++)
        if (n_leaving(x, (qh_direction)d) > most)
            most = n_leaving(x, (qh_direction)d);
    QH_TRY(st, QH_NEW_ARRAY(&s->piece, 2 * (most / qh_piece_rows(cols) + 1)));
    QH_TRY(st, QH_NEW_ARRAY(&s->flag, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->send, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->sending, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->skipped, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&s->skipped_there,
                            (x->settings->relax.stale + 1) * 2 * n_layers * n_ranks));
out:
    return st;
}

qh_status qh_exchange_skips_new(qh_exchange *x)
{
    int n_layers = qh_model_n_layers(x->model);
    qh_status st;

    if (!x->settings->relax.skip)
        return QH_OK;
    QH_TRY(st, QH_NEW(&x->skips));
    QH_TRY(st, QH_NEW_ARRAY(&x->skips->last, 2 * n_layers));
    for (int i = 0; i < 2 * n_layers; i++)
        if (qh_exchange_travels(x, &x->settings->codec, 0, i / 2, (qh_direction)(i % 2)))
            QH_TRY(st, new_last(x, i / 2, (qh_direction)(i % 2)));
    QH_TRY(st, new_flags(x));
out:
    return st;
}

void qh_exchange_skips_free(qh_exchange *x)
{
    qh_skips *s = x->skips;

    if (!s)
        return;
    for (int i = 0; s->last && i < 2 * qh_model_n_layers(x->model); i++) {
        qh_mat_free(&s->last[i].rows);
        qh_mem_free(s->last[i].epoch);
    }
    qh_mem_free(s->skipped_there);
    qh_mem_free(s->skipped);
    qh_mem_free(s->sending);
    qh_mem_free(s->send);
    qh_mem_free(s->flag);
    qh_mem_free(s->piece);
    qh_mem_free(s->last);
    qh_mem_free(s);
}
