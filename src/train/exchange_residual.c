/* Error feedback: what a codec lost of a message is added to the next one of the same row, channel,
 * layer and direction (Seide et al., 1-bit stochastic gradient descent, Interspeech 2014;
 * Karimireddy et al., Error feedback fixes SignSGD, ICML 2019, arXiv 1901.09847):
 *
 *     p(t) = h(t) + e(t),   sent: C(p(t)),   e(t + 1) = p(t) - decoded C(p(t)),   e(0) = 0.
 *
 * The sender keeps e, which is in full precision, and knows what the receiver decodes. A codec
 * without loss leaves none. Input features are left out: they are the same in every epoch, so that
 * there is nothing to catch up with, and what is lost of them would fill the zeros of sparse ones.
 */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

static bool wanted(const qh_exchange *x, int layer, qh_direction dir)
{
    const qh_train_settings *s = x->settings;
    bool features = layer == 0 && dir == QH_FORWARD && x->raw_features;

    return s->error_feedback && !s->codec.ops->lossless && !features &&
           qh_exchange_travels(x, &s->codec, 0, layer, dir);
}

qh_status qh_exchange_residual_new(qh_exchange *x)
{
    int n_layers = qh_model_n_layers(x->model);
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&x->residual, 2 * n_layers));
    for (int i = 0; i < 2 * n_layers; i++) {
        qh_direction dir = (qh_direction)(i % 2);
        int64_t rows = dir == QH_FORWARD ? x->plan->send_ptr[x->plan->n_ranks] : x->plan->n_halo;

        if (rows > 0 && wanted(x, i / 2, dir))
            QH_TRY(st, qh_mat_new(rows, qh_model_message_cols(x->model, i / 2), &x->residual[i]));
    }
out:
    return st;
}

void qh_exchange_residual_free(qh_exchange *x)
{
    for (int i = 0; x->residual && i < 2 * qh_model_n_layers(x->model); i++)
        qh_mat_free(&x->residual[i]);
    qh_mem_free(x->residual);
}

static qh_mat residual_of(const qh_channel *c, qh_rows piece)
{
    qh_mat e = c->x->residual[2 * c->layer + (int)c->dir];

    return qh_mat_sub(e, (qh_rows){c->first + piece.first, c->first + piece.end});
}

bool qh_channel_feeds_back(const qh_channel *c)
{
    return c->sending && c->codec != &c->x->exact &&
           c->x->residual[2 * c->layer + (int)c->dir].data != NULL;
}

void qh_channel_add_residual(const qh_channel *c, qh_rows piece, qh_mat rows,
                             const int32_t *row_index, qh_mat sum)
{
    qh_mat e = residual_of(c, piece);

    for (int64_t i = 0; i < sum.rows; i++) {
        const float *x = qh_mat_row(rows, row_index ? row_index[piece.first + i] : i);
        const float *lost = qh_mat_row(e, i);
        float *to = qh_mat_row(sum, i);

        for (int64_t j = 0; j < sum.cols; j++)
            to[j] = x[j] + lost[j];
    }
}

void qh_channel_keep_residual(const qh_channel *c, qh_rows piece, qh_mat sum, qh_mat decoded)
{
    qh_mat e = residual_of(c, piece);

    for (int64_t i = 0; i < sum.rows; i++) {
        const float *meant = qh_mat_row(sum, i), *came = qh_mat_row(decoded, i);
        float *lost = qh_mat_row(e, i);

        for (int64_t j = 0; j < sum.cols; j++)
            lost[j] = meant[j] - came[j];
    }
}
