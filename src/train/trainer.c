#include "src/train/trainer.h"

#include "src/base/mem.h"
#include "src/train/boundary.h"
#include "src/train/local.h"
#include "src/train/metric.h"
#include "src/train/strategy.h"
#include "src/transport/collective.h"

#include <math.h>
#include <string.h>

enum { CHUNK_ROWS = 2048 }; /* of loss and metrics; sums go in chunk order */

struct qh_trainer {
    qh_rank_context context;
    qh_exec exec;
    qh_local local;
    qh_model *model;       /* owned */
    qh_exchange *exchange; /* owned */
    qh_boundary boundary;
    qh_collective *collective; /* owned */
    const qh_strategy_ops *strategy;
    qh_pass pass;
    double *chunk_loss;      /* owned, one a chunk of training rows */
    qh_counts *chunk_counts; /* owned, one a chunk of inner rows */
};

static int64_t n_chunks(int64_t n_rows)
{
    return (n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
}

static qh_rows chunk_rows(int64_t chunk, int64_t n_rows)
{
    int64_t end = (chunk + 1) * CHUNK_ROWS;

    return (qh_rows){chunk * CHUNK_ROWS, end < n_rows ? end : n_rows};
}

/* --- building --- */

static qh_status build_local(qh_trainer *t)
{
    const qh_rank_context *c = &t->context;
    bool self_loops = qh_model_self_loops(c->settings->model.name);

    if (c->part)
        return qh_local_of_part(c->part, self_loops, &t->local);
    return qh_local_init(c->dataset, c->layout, c->rank, self_loops, &t->local);
}

static qh_status build_model(qh_trainer *t)
{
    qh_model_graph g = qh_plan_graph(t->local.plan);

    return qh_model_new(&t->context.settings->model, &g, &t->local.input, &t->exec, &t->model);
}

qh_status qh_trainer_new(const qh_rank_context *c, qh_trainer **out)
{
    const qh_train_settings *s = c->settings;
    qh_trainer *t = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&t));
    t->context = *c;
    t->exec = (qh_exec){.kernels = s->codec.kernels,
                        .team = c->team,
                        .sink = c->sink,
                        .rank = c->rank,
                        .separate = s->host_times};
    t->strategy = qh_strategy_find(s->strategy);
    QH_ASSERT(t->strategy && "settings name a known strategy");
    QH_TRY(st, build_local(t));
    QH_TRY(st, build_model(t));
    QH_TRY(st, qh_exchange_new(s, &t->local.features, t->local.plan, c->transport, t->model,
                               &t->exec, &t->exchange));
    QH_TRY(st, qh_boundary_init(s, t->local.plan, t->model, t->exchange, &t->exec, &t->boundary));
    QH_TRY(st, qh_collective_new(c->transport, c->rank, &t->collective));
    QH_TRY(st, QH_NEW_ARRAY(&t->chunk_loss, n_chunks(t->local.n_train)));
    QH_TRY(st, QH_NEW_ARRAY(&t->chunk_counts, n_chunks(t->local.plan->n_inner)));
    t->pass = (qh_pass){.model = t->model, .exchange = t->exchange};
    *out = t;
    t = NULL;
out:
    if (st < 0)
        c->transport->ops->abort(c->transport, c->rank);
    qh_trainer_free(t);
    return st;
}

void qh_trainer_free(qh_trainer *t)
{
    if (!t)
        return;
    qh_mem_free(t->chunk_counts);
    qh_mem_free(t->chunk_loss);
    qh_collective_free(t->collective);
    qh_boundary_fini(&t->boundary);
    qh_exchange_free(t->exchange);
    qh_model_free(t->model);
    qh_local_fini(&t->local);
    qh_exec_fini(&t->exec);
    qh_mem_free(t);
}

qh_model *qh_trainer_model(qh_trainer *t)
{
    return t->model;
}

const qh_halo *qh_trainer_plan(const qh_trainer *t)
{
    return t->local.plan;
}

qh_status qh_trainer_volume(qh_trainer *t, int32_t epoch, qh_volume *out)
{
    qh_sink *sink = t->exec.sink;

    t->exec.sink = NULL; /* it is a look ahead */
    qh_boundary_draw(&t->boundary, epoch);
    t->exec.sink = sink;
    return qh_exchange_volume(t->exchange, epoch, out);
}

/* --- loss --- */

static void chunk_of_loss(void *ctx, int64_t chunk)
{
    qh_trainer *t = ctx;
    const qh_local *l = &t->local;
    const qh_kernels *k = t->exec.kernels;
    qh_rows rows = chunk_rows(chunk, l->n_train);
    float scale = (float)(1.0 / (double)l->n_of_split[QH_SPLIT_TRAIN]);
    qh_mat logits = qh_model_logits(t->model), grad = qh_model_logits_gradient(t->model);

    t->chunk_loss[chunk] =
        l->target ? k->sigmoid_bce(logits, l->target, l->train, rows.first, rows.end, scale, grad)
                  : k->softmax_ce(logits, l->label, l->train, rows.first, rows.end, scale, grad);
}

/* The rank's part of the sum. Exponential and logarithm count as eight operations each. */
static double local_loss(qh_trainer *t)
{
    int64_t n = n_chunks(t->local.n_train);
    int64_t values = t->local.n_train * qh_model_logits(t->model).cols;
    double sum = 0;

    qh_team_run(t->exec.team, n, chunk_of_loss, t);
    qh_exec_record(&t->exec, QH_OP_LOSS, qh_model_n_layers(t->model) - 1, QH_FORWARD, 12 * values,
                   12 * values);
    for (int64_t i = 0; i < n; i++)
        sum += t->chunk_loss[i];
    return sum;
}

/* --- an epoch --- */

static void emit(qh_trainer *t, const qh_record *r)
{
    if (t->exec.sink)
        t->exec.sink->emit(t->exec.sink, t->exec.rank, r);
}

static qh_status sum_gradients(qh_trainer *t, int32_t epoch)
{
    qh_params *p = qh_model_params(t->model);
    qh_status st;

    if (t->context.transport->n_ranks == 1)
        return QH_OK;
    QH_TRY(st, qh_allreduce_float(t->collective, p->grad, p->n_values));
    emit(t, &(qh_record){.op = QH_OP_ALLREDUCE,
                         .epoch = epoch,
                         .peer = -1,
                         .bytes = p->n_values * (int64_t)sizeof *p->grad});
out:
    return st;
}

qh_status qh_trainer_gradient(qh_trainer *t, int32_t epoch, double *loss)
{
    int n_layers = qh_model_n_layers(t->model);
    double sum;
    qh_status st;

    t->pass.epoch = t->exec.epoch = epoch;
    t->pass.plan = qh_boundary_draw(&t->boundary, epoch);
    QH_TRY(st, qh_exchange_assign(t->exchange, epoch));
    qh_model_begin(t->model, epoch, true);
    for (int l = 0; l < n_layers; l++)
        QH_TRY(st, t->strategy->forward(&t->pass, l));
    sum = local_loss(t);
    for (int l = n_layers - 1; l >= 0; l--)
        QH_TRY(st, t->strategy->backward(&t->pass, l));
    QH_TRY(st, sum_gradients(t, epoch));
    QH_TRY(st, qh_allreduce_double(t->collective, &sum, 1));
    if (!isfinite(sum)) {
        st = qh_fail(QH_EINTERNAL,
                     "epoch %d: the loss is not finite; a smaller --lr, --norm layer or "
                     "--feature-norm keeps training from diverging",
                     epoch);
        goto out;
    }
    *loss = sum / (double)t->local.n_of_split[QH_SPLIT_TRAIN];
out:
    return st;
}

void qh_trainer_update(qh_trainer *t, int32_t epoch)
{
    const qh_train_settings *s = t->context.settings;
    qh_params *p = qh_model_params(t->model);

    qh_params_adam(p, t->exec.kernels, s->lr, s->weight_decay, s->decay_first);
    t->exec.epoch = epoch;
    /* Reads weight, gradient and both moments, writes all but the gradient. */
    qh_exec_record(&t->exec, QH_OP_OPTIMIZER, 0, QH_FORWARD, 12 * p->n_values, 28 * p->n_values);
}

/* --- evaluation --- */

static void chunk_of_counts(void *ctx, int64_t chunk)
{
    qh_trainer *t = ctx;

    t->chunk_counts[chunk] = (qh_counts){0};
    qh_counts_add(&t->local, qh_model_logits(t->model), chunk_rows(chunk, t->local.plan->n_inner),
                  &t->chunk_counts[chunk]);
}

/* Counts stay below 2^53, so their sum in double is exact. */
static qh_status reduce_counts(qh_trainer *t, qh_counts *c)
{
    enum { N = sizeof *c / sizeof(int64_t) };
    int64_t *count = (int64_t *)c; /* members alike, one after the other */
    double sum[N];
    qh_status st;

    for (int i = 0; i < N; i++)
        sum[i] = (double)count[i];
    QH_TRY(st, qh_allreduce_double(t->collective, sum, N));
    for (int i = 0; i < N; i++)
        count[i] = (int64_t)sum[i];
out:
    return st;
}

static qh_status forward_exact(qh_trainer *t)
{
    qh_status st = QH_OK;

    qh_boundary_all(&t->boundary);
    qh_model_begin(t->model, t->exec.epoch, false);
    for (int l = 0; l < qh_model_n_layers(t->model); l++) {
        qh_model_prepare(t->model, l);
        QH_TRY(st, qh_exchange_exact(t->exchange, l));
        QH_TRY(st, qh_model_forward(t->model, l, qh_halo_inner(t->local.plan)));
    }
out:
    return st;
}

qh_status qh_trainer_evaluate(qh_trainer *t, double metric[4])
{
    int64_t n = n_chunks(t->local.plan->n_inner);
    qh_sink *sink = t->exec.sink;
    qh_counts sum = {0};
    qh_status st;

    t->exec.sink = NULL;
    QH_TRY(st, forward_exact(t));
    qh_team_run(t->exec.team, n, chunk_of_counts, t);
    for (int64_t i = 0; i < n; i++)
        qh_counts_merge(&t->chunk_counts[i], &sum);
    QH_TRY(st, reduce_counts(t, &sum));
    qh_counts_metric(&sum, t->local.n_of_split, t->local.multilabel, metric);
out:
    t->exec.sink = sink;
    return st;
}

/* --- the loop --- */

static bool must_evaluate(const qh_train_settings *s, int64_t epoch)
{
    return epoch + 1 == s->epochs || (s->eval_every > 0 && (epoch + 1) % s->eval_every == 0);
}

/* Keeps the best epoch; whether to go on. */
static bool judge(const qh_train_settings *s, const qh_epoch_metrics *m, bool first,
                  qh_train_result *r)
{
    double now = m->metric[QH_SPLIT_VALIDATION];

    if (first || isnan(now) || now > r->metric[QH_SPLIT_VALIDATION]) {
        r->best_epoch = m->epoch;
        memcpy(r->metric, m->metric, sizeof r->metric);
    }
    return s->early_stop == 0 || m->epoch - r->best_epoch < s->early_stop;
}

static qh_status one_epoch(qh_trainer *t, int32_t epoch, qh_epoch_metrics *m)
{
    const qh_train_settings *s = t->context.settings;
    qh_status st;

    *m = (qh_epoch_metrics){.epoch = epoch,
                            .metric = {NAN, NAN, NAN, NAN},
                            .rate = qh_exchange_rate(t->exchange, epoch)};
    QH_TRY(st, qh_trainer_gradient(t, epoch, &m->loss));
    qh_trainer_update(t, epoch);
    emit(t, &(qh_record){.op = QH_OP_EPOCH_END, .epoch = epoch, .peer = -1});
    m->evaluated = must_evaluate(s, epoch);
    if (m->evaluated)
        QH_TRY(st, qh_trainer_evaluate(t, m->metric));
out:
    return st;
}

/* Weights are the same on all ranks, or something is badly wrong. If every rank finds that the sum
 * of all digests is n times its own, all are equal. */
static qh_status check_digest(qh_trainer *t, uint64_t digest)
{
    double n = t->context.transport->n_ranks, half[2] = {(uint32_t)digest, (double)(digest >> 32)};
    double sum[2] = {half[0], half[1]};
    qh_status st;

    QH_TRY(st, qh_allreduce_double(t->collective, sum, 2));
    if (sum[0] != n * half[0] || sum[1] != n * half[1])
        st = qh_fail(QH_EINTERNAL, "device %d: its weights differ from those of the others",
                     t->context.rank);
out:
    return st;
}

static qh_status loop(qh_trainer *t, qh_train_result *r)
{
    const qh_rank_context *c = &t->context;
    int64_t allocations = 0;
    bool evaluated = false, go_on = true;
    qh_status st = QH_OK;

    for (int32_t epoch = 0; epoch < c->settings->epochs && go_on; epoch++) {
        qh_epoch_metrics m;
        int stop = 0;

        QH_TRY(st, one_epoch(t, epoch, &m));
        if (m.evaluated)
            go_on = judge(c->settings, &m, !evaluated, r);
        evaluated = evaluated || m.evaluated;
        QH_TRY(st, c->sink->end_epoch(c->sink, c->rank, &m, &stop));
        go_on = go_on && !stop;
        r->epochs = epoch + 1;
        r->final_loss = m.loss;
        if (epoch == 0)
            allocations = qh_mem_count();
    }
    r->allocations_after_first_epoch = qh_mem_count() - allocations;
out:
    return st;
}

qh_status qh_train(qh_trainer *t, qh_train_result *out)
{
    qh_transport *transport = t->context.transport;
    qh_train_result r = {.metric = {NAN, NAN, NAN, NAN},
                         .halo_nodes = t->local.plan->n_halo,
                         .n_inner = t->local.plan->n_inner};
    qh_status st;

    QH_TRY(st, loop(t, &r));
    r.digest = qh_params_digest(qh_model_params(t->model));
    QH_TRY(st, check_digest(t, r.digest));
    QH_TRY(st, qh_exchange_drain(t->exchange));
    r.assign = qh_exchange_assign_result(t->exchange);
    *out = r;
out:
    if (st < 0)
        transport->ops->abort(transport, t->context.rank);
    return st;
}
