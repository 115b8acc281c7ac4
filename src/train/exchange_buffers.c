/* What an exchange allocates: all of it before the first epoch. */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

int64_t qh_channel_most_bytes(const qh_channel *c)
{
    const qh_bits_config *bits = &c->x->settings->bits;
    qh_block most = c->block;

    if (c->block.n_rows == 0 || c->codec->ops->silent)
        return 0;
    most.n_kept = qh_channel_most_kept(c);
    if (qh_codec_takes_widths(c->codec)) /* a file may name any width */
        return most.n_rows * qh_row_bytes(most.n_kept,
                                          bits->argument ? 32 : bits->width[bits->n_widths - 1],
                                          c->codec->params);
    return c->codec->ops->bytes(c->codec, &most);
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Places for the items of a wave: one for a thread alone; four a thread, so that uneven pieces even
 * out. A place has a piece for whole rows, one for what comes of them where errors are fed back,
 * and one for the columns kept where a mask covers a codec. */
static qh_status new_scratch(qh_exchange *x)
{
    int team = qh_team_size(x->exec->team);
    int64_t widest = x->features->n_cols;

    for (int l = 0; l < qh_model_n_layers(x->model); l++)
        widest = max_of(widest, qh_model_message_cols(x->model, l));
    x->n_pieces = team == 1 ? 1 : 4 * team;
    x->piece_size = max_of(QH_PIECE_FLOATS, widest);
    x->n_roles = 1 + x->settings->error_feedback + x->settings->codec.ops->takes_ratio;
    return QH_NEW_ARRAY(&x->scratch, x->n_pieces * x->n_roles * x->piece_size);
}

void qh_exchange_use_plan(qh_exchange *x, const qh_halo *plan)
{
    x->plan = plan;
    x->halo0 = QH_HALO_NOTHING;
    for (int64_t i = 0; i < plan->send_ptr[plan->n_ranks]; i++) {
        x->boundary_node[i] = plan->node[plan->send_row[i]];
        x->boundary_degree[i] = plan->in_deg[plan->send_row[i]];
    }
}

static qh_status list_boundary(qh_exchange *x)
{
    int64_t n = x->plan->send_ptr[x->plan->n_ranks];
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&x->boundary_node, n));
    QH_TRY(st, QH_NEW_ARRAY(&x->boundary_degree, n));
    qh_exchange_use_plan(x, x->plan);
out:
    return st;
}

/* A record counts the messages of a block in 32 bits. */
static qh_status check_sizes(const qh_halo *plan)
{
    for (int p = 0; p < plan->n_ranks; p++)
        if (plan->send_ptr[p + 1] - plan->send_ptr[p] > INT32_MAX)
            return qh_fail(QH_EUSAGE,
                           "--devices: %lld messages from device %d to device %d do not fit one "
                           "block; more devices make smaller blocks",
                           (long long)(plan->send_ptr[p + 1] - plan->send_ptr[p]), plan->rank, p);
    return QH_OK;
}

qh_status qh_exchange_new(const qh_train_settings *s, const qh_features *f, const qh_halo *plan,
                          qh_transport *t, qh_model *m, qh_exec *exec, qh_exchange **out)
{
    const qh_codec_ops *codec = s->codec.ops;
    qh_exchange *x = NULL;
    qh_status st;

    QH_TRY(st, check_sizes(plan));
    QH_TRY(st, QH_NEW(&x));
    *x = (qh_exchange){
        .settings = s, .features = f, .plan = plan, .transport = t, .model = m, .exec = exec};
    QH_TRY(st, qh_codec_init("fp32", QH_PARAMS_FP32, exec->kernels, &x->exact));
    x->raw_features = !qh_model_has_gradient(m, 0);
    x->same_features = x->raw_features && codec->lossless && s->model.input_dropout == 0;
    x->known_features = x->same_features && !s->host_times && !s->all_moves;
    QH_TRY(st, list_boundary(x));
    QH_TRY(st, qh_exchange_rates_new(x));
    QH_TRY(st, qh_exchange_residual_new(x));
    QH_TRY(st, qh_exchange_slots_new(x));
    QH_TRY(st, qh_exchange_smooth_new(x));
    QH_TRY(st, qh_exchange_kept_new(x));
    QH_TRY(st, new_scratch(x));
    QH_TRY(st, qh_exchange_skips_new(x));
    QH_TRY(st, qh_exchange_widths_new(x));
    QH_TRY(st, qh_exchange_assign_new(x));
    *out = x;
    x = NULL;
out:
    qh_exchange_free(x);
    return st;
}

void qh_exchange_free(qh_exchange *x)
{
    if (!x)
        return;
    qh_exchange_assign_free(x);
    qh_exchange_widths_free(x);
    qh_mem_free(x->scratch);
    qh_exchange_skips_free(x);
    qh_exchange_kept_free(x);
    qh_exchange_smooth_free(x);
    qh_exchange_slots_free(x);
    qh_exchange_residual_free(x);
    qh_exchange_rates_free(x);
    qh_mem_free(x->boundary_degree);
    qh_mem_free(x->boundary_node);
    qh_mem_free(x);
}
