/* How many columns of a message are kept, and which, for codecs that take a ratio: the schedule's
 * rate R(t) of the layer, forward and backward alike (Cervino et al., VARCO, 2024, arXiv
 * 2406.17611, algorithm 1), and columns drawn from a stream of (seed, epoch, layer, direction) that
 * both ends have. Exact blocks of evaluation keep all. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

/* What was drawn last for the epochs under way: one for each of stale + 1, by layer and direction.
 */
struct qh_mask {
    int32_t epoch;
    int64_t n_kept;  /* 0: nothing was drawn yet */
    int32_t *column; /* owned, [kept at most] */
};

static int64_t n_pairs(const qh_exchange *x)
{
    return 2 * qh_model_n_layers(x->model);
}

static int64_t n_masks(const qh_exchange *x)
{
    return (x->settings->relax.stale + 1) * n_pairs(x);
}

static double rate_at(const qh_exchange *x, int32_t epoch, int layer)
{
    const qh_train_settings *s = x->settings;

    if (!s->codec.ops->takes_ratio)
        return 1;
    return s->rate ? qh_rate_at(s->rate, epoch, layer) : s->codec.ratio;
}

double qh_exchange_rate(const qh_exchange *x, int32_t epoch)
{
    int n_layers = qh_model_n_layers(x->model);
    double sum = 0;

    for (int l = 0; l < n_layers; l++)
        sum += rate_at(x, epoch, l);
    return sum / n_layers;
}

int64_t qh_channel_most_kept(const qh_channel *c)
{
    const qh_train_settings *s = c->x->settings;

    if (c->codec == &c->x->exact || !s->codec.ops->takes_ratio)
        return c->block.n_cols;
    return qh_kept_columns(c->block.n_cols,
                           s->rate ? qh_rate_least(s->rate, c->layer) : s->codec.ratio);
}

qh_status qh_exchange_rates_new(qh_exchange *x)
{
    qh_status st = QH_OK;

    if (!x->settings->codec.ops->takes_ratio)
        return QH_OK;
    QH_TRY(st, QH_NEW_ARRAY(&x->mask, n_masks(x)));
    for (int64_t i = 0; i < n_masks(x); i++) {
        int layer = (int)(i % n_pairs(x) / 2);
        qh_channel c = {.x = x,
                        .codec = &x->settings->codec,
                        .block.n_cols = qh_model_message_cols(x->model, layer),
                        .layer = layer};

        QH_TRY(st, QH_NEW_ARRAY(&x->mask[i].column, qh_channel_most_kept(&c)));
    }
out:
    return st;
}

void qh_exchange_rates_free(qh_exchange *x)
{
    for (int64_t i = 0; x->mask && i < n_masks(x); i++)
        qh_mem_free(x->mask[i].column);
    qh_mem_free(x->mask);
}

void qh_channel_thin(qh_channel *c)
{
    qh_exchange *x = c->x;
    int64_t kept = c->block.n_cols;
    qh_mask *m;

    c->block.n_kept = kept;
    if (c->codec == &x->exact || !c->codec->ops->takes_ratio)
        return;
    m = &x->mask[c->epoch % (x->settings->relax.stale + 1) * n_pairs(x) + 2 * c->layer +
                 (int)c->dir];
    kept = qh_kept_columns(c->block.n_cols, rate_at(x, c->epoch, c->layer));
    if (m->n_kept != kept || m->epoch != c->epoch) {
        qh_mask_draw(qh_rand_key(x->settings->seed, QH_RAND_MASK, (uint32_t)c->epoch,
                                 (uint32_t)c->layer, (uint32_t)c->dir),
                     c->block.n_cols, kept, m->column);
        m->n_kept = kept;
        m->epoch = c->epoch;
    }
    c->block.n_kept = kept;
    c->block.column = m->column;
}
