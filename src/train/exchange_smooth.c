/* Smoothing of what comes from other devices (PipeGCN, Wan et al., ICLR 2022, arXiv 2203.10428,
 * section 3.4): in place of the stale values h a moving average of them is used,
 *
 *     avg(t) = gamma avg(t - 1) + (1 - gamma) h(t - K),   avg = 0 before anything has come,
 *
 * for features (pipegcn-f), for feature gradients (pipegcn-g) or for both (pipegcn-gf). An average
 * belongs to a message: a row that goes to two devices has one at each, and gradients of one row
 * that come from two devices are averaged apart, then added.
 *
 * Input features are not smoothed: they do not change from epoch to epoch, so that an average could
 * only be late, and what input dropout and codecs change of them is meant to be new. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

static qh_mat average_of(const qh_channel *c)
{
    return c->x->average[2 * c->layer + (int)c->dir];
}

static bool wanted(const qh_exchange *x, int layer, qh_direction dir)
{
    const qh_train_settings *s = x->settings;
    bool features = layer == 0 && dir == QH_FORWARD && x->raw_features;

    return s->relax.stale > 0 &&
           (dir == QH_FORWARD ? s->relax.smooth_features : s->relax.smooth_gradients) &&
           !features && qh_exchange_travels(x, &s->codec, 0, layer, dir);
}

qh_status qh_exchange_smooth_new(qh_exchange *x)
{
    int n_layers = qh_model_n_layers(x->model);
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&x->average, 2 * n_layers));
    for (int i = 0; i < 2 * n_layers; i++) {
        qh_direction dir = (qh_direction)(i % 2);
        int64_t rows = dir == QH_FORWARD ? x->plan->n_halo : x->plan->send_ptr[x->plan->n_ranks];

        if (rows > 0 && wanted(x, i / 2, dir))
            QH_TRY(st, qh_mat_new(rows, qh_model_message_cols(x->model, i / 2), &x->average[i]));
    }
out:
    return st;
}

void qh_exchange_smooth_free(qh_exchange *x)
{
    for (int i = 0; x->average && i < 2 * qh_model_n_layers(x->model); i++)
        qh_mat_free(&x->average[i]);
    qh_mem_free(x->average);
}

bool qh_channel_is_smooth(const qh_channel *c)
{
    return c->codec != &c->x->exact && average_of(c).data != NULL;
}

void qh_channel_smooth(const qh_channel *c, qh_rows piece, qh_mat rows)
{
    float gamma = (float)c->x->settings->relax.smooth, rest = 1 - gamma;
    qh_mat average = average_of(c);

    for (int64_t i = piece.first; i < piece.end; i++) {
        float *restrict avg = qh_mat_row(average, c->first + i);
        float *restrict x = qh_mat_row(rows, i - piece.first);

        for (int64_t j = 0; j < rows.cols; j++)
            x[j] = avg[j] = gamma * avg[j] + rest * x[j];
    }
}
