#include "tests/support/lockstep.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static void must(qh_status st)
{
    ck_assert_msg(st == QH_OK, "%s", qh_error_text());
}

/* --- random data --- */

static void random_edges(lockstep_data *d, int64_t n_pairs, qh_key key)
{
    int32_t *src = NULL, *dst = NULL;

    must(QH_NEW_ARRAY(&src, 2 * n_pairs));
    must(QH_NEW_ARRAY(&dst, 2 * n_pairs));
    for (int64_t e = 0; e < n_pairs; e++) {
        int32_t u = (int32_t)qh_rand_below(key, 2 * (uint64_t)e, (uint64_t)d->n_nodes);
        int32_t v = (int32_t)qh_rand_below(key, 2 * (uint64_t)e + 1, (uint64_t)d->n_nodes);

        src[d->n_edges] = u;
        dst[d->n_edges++] = v;
        if (e % 4) {
            src[d->n_edges] = v;
            dst[d->n_edges++] = u;
        }
    }
    d->src = src;
    d->dst = dst;
}

lockstep_data lockstep_random(int64_t n_nodes, int64_t n_pairs, int64_t n_features,
                              int64_t n_classes, bool multilabel)
{
    qh_key edges = qh_rand_key(11, QH_RAND_SAMPLE, 0, 0, 0);
    qh_key key = qh_rand_key(11, QH_RAND_SAMPLE, 1, 0, 0);
    lockstep_data d = {.n_nodes = n_nodes};
    float *features = NULL;
    int32_t *label = NULL, *train = NULL;
    uint8_t *multi = NULL;
    uint64_t at = 0;

    must(QH_NEW_ARRAY(&features, n_nodes * n_features));
    must(QH_NEW_ARRAY(&label, n_nodes));
    must(QH_NEW_ARRAY(&multi, n_nodes * n_classes));
    must(QH_NEW_ARRAY(&train, n_nodes));
    random_edges(&d, n_pairs, edges);
    for (int64_t i = 0; i < n_nodes * n_features; i++)
        features[i] = qh_rand_below(key, at++, 3) ? (float)qh_rand_normal(key, at++) : 0;
    for (int64_t i = 0; i < n_nodes * n_classes; i++)
        multi[i] = (uint8_t)qh_rand_below(key, at++, 2);
    for (int32_t v = 0; v < n_nodes; v++) {
        label[v] = (int32_t)qh_rand_below(key, at++, (uint64_t)n_classes);
        if (v % 3)
            train[d.n_train++] = v;
    }
    d.features = features;
    d.multi = multi;
    d.train = train;
    if (multilabel)
        qh_mem_free(label);
    else
        d.label = label;
    return d;
}

void lockstep_data_free(lockstep_data *d)
{
    qh_mem_free((void *)d->src);
    qh_mem_free((void *)d->dst);
    qh_mem_free((void *)d->features);
    qh_mem_free((void *)d->label);
    qh_mem_free((void *)d->multi);
    qh_mem_free((void *)d->train);
}

/* --- making the ranks --- */

static void sparse_rows(lockstep_rank *r, const lockstep_data *d, int64_t f)
{
    int64_t nnz = 0;

    must(QH_NEW_ARRAY(&r->x_ptr, r->plan->n_inner + 1));
    must(QH_NEW_ARRAY(&r->x_col, r->plan->n_inner * f));
    must(QH_NEW_ARRAY(&r->x_val, r->plan->n_inner * f));
    for (int64_t i = 0; i < r->plan->n_inner; i++) {
        for (int64_t c = 0; c < f; c++) {
            float x = d->features[r->plan->node[i] * f + c];

            if (x != 0) {
                r->x_col[nnz] = (int32_t)c;
                r->x_val[nnz++] = x;
            }
        }
        r->x_ptr[i + 1] = nnz;
    }
}

static void dense_rows(lockstep_rank *r, const lockstep_data *d, int64_t f)
{
    must(qh_mat_new(r->plan->n_local, f, &r->dense));
    for (int64_t i = 0; i < r->plan->n_inner; i++)
        memcpy(qh_mat_row(r->dense, i), d->features + r->plan->node[i] * f,
               (size_t)f * sizeof(float));
}

static void labels(lockstep_rank *r, const lockstep_data *d, int64_t classes)
{
    const qh_halo *p = r->plan;

    must(QH_NEW_ARRAY(&r->label, p->n_inner));
    must(QH_NEW_ARRAY(&r->multi, p->n_inner * classes));
    must(QH_NEW_ARRAY(&r->train, p->n_inner));
    for (int64_t i = 0; i < p->n_inner; i++) {
        if (d->label)
            r->label[i] = d->label[p->node[i]];
        else
            memcpy(r->multi + i * classes, d->multi + p->node[i] * classes, (size_t)classes);
        for (int64_t t = 0; t < d->n_train; t++)
            if (d->train[t] == p->node[i])
                r->train[r->n_train++] = (int32_t)i;
    }
}

qh_model_graph lockstep_graph(const lockstep *s, int rank)
{
    const qh_halo *p = s->rank[rank].plan;
    bool split = s->options.split > 0 && s->options.n_ranks == 1;

    return (qh_model_graph){.n_central = split ? s->options.split : p->n_central,
                            .n_inner = p->n_inner,
                            .n_local = p->n_local,
                            .node = p->node,
                            .in_ptr = p->in_ptr,
                            .out_ptr = p->out_ptr,
                            .in_col = p->in_col,
                            .out_col = p->out_col,
                            .in_deg = p->in_deg,
                            .out_deg = p->out_deg};
}

qh_model_input lockstep_input(const lockstep *s, int rank)
{
    const lockstep_rank *r = &s->rank[rank];

    return (qh_model_input){
        .sparse = s->options.sparse,
        .dense = r->dense,
        .inner = {r->plan->n_inner, r->n_features, r->x_ptr, r->x_col, r->x_val}};
}

static void rank_init(lockstep *s, const qh_model_config *c, int rank)
{
    lockstep_rank *r = &s->rank[rank];
    qh_model_input in;
    qh_model_graph g;

    must(qh_halo_new(s->layout, rank, qh_model_self_loops(c->name), &r->plan));
    r->n_features = c->n_features;
    if (s->options.sparse)
        sparse_rows(r, &s->data, c->n_features);
    else
        dense_rows(r, &s->data, c->n_features);
    labels(r, &s->data, c->n_classes);
    r->exec = (qh_exec){.kernels = s->options.kernels,
                        .team = s->options.team,
                        .sink = s->options.sink,
                        .rank = rank};
    g = lockstep_graph(s, rank);
    in = lockstep_input(s, rank);
    must(qh_model_new(c, &g, &in, &r->exec, &r->model));
}

lockstep *lockstep_new(const qh_model_config *c, const lockstep_data *d, const lockstep_options *o)
{
    lockstep *s = NULL;
    int32_t *part = NULL;
    qh_edge_report report;

    ck_assert_int_le(o->n_ranks, LOCKSTEP_MAX_RANKS);
    must(QH_NEW(&s));
    s->data = *d;
    s->options = *o;
    must(QH_NEW_ARRAY(&part, d->n_nodes));
    for (int64_t v = 0; v < d->n_nodes; v++) /* the first nodes in turn, so that no rank is empty */
        part[v] = v < o->n_ranks ? (int32_t)v : (int32_t)(v * 2654435761 % 65521 % o->n_ranks);
    must(qh_graph_new(d->n_nodes, d->n_edges, d->src, d->dst, 1, &s->graph, &report));
    must(qh_layout_new(s->graph, part, o->n_ranks, &s->layout));
    for (int rank = 0; rank < o->n_ranks; rank++)
        rank_init(s, c, rank);
    qh_mem_free(part);
    return s;
}

void lockstep_free(lockstep *s)
{
    for (int i = 0; i < s->options.n_ranks; i++) {
        lockstep_rank *r = &s->rank[i];

        for (int k = 0; k < 2 * LOCKSTEP_MAX_LAYERS; k++) {
            qh_mem_free(r->late[k / 2][k % 2].past);
            qh_mem_free(r->late[k / 2][k % 2].average);
            qh_mem_free(r->late[k / 2][k % 2].last);
        }
        qh_model_free(r->model);
        qh_exec_fini(&r->exec);
        qh_mat_free(&r->dense);
        qh_mem_free(r->x_ptr);
        qh_mem_free(r->x_col);
        qh_mem_free(r->x_val);
        qh_mem_free(r->label);
        qh_mem_free(r->multi);
        qh_mem_free(r->train);
        qh_halo_free(r->plan);
    }
    qh_layout_free(s->layout);
    qh_graph_free(s->graph);
    qh_mem_free(s);
}

/* --- passes --- */

/* The fresh messages of a halo from one owner, or to it, become those that were last sent, while
 * they are near enough. */
static void skip_block(const lockstep_options *o, lockstep_late *l, int owner, int epoch, int64_t n,
                       float *message, float *last)
{
    double gap = 0, size = 0;
    bool skip;

    for (int64_t i = 0; i < n; i++) {
        gap += ((double)message[i] - last[i]) * ((double)message[i] - last[i]);
        size += (double)last[i] * last[i];
    }
    skip = l->sent[owner] > 0 && epoch + 1 - l->sent[owner] < o->skip_age &&
           (gap == 0 ? o->skip_bound > 0 : sqrt(gap) < o->skip_bound * sqrt(size));
    memcpy(skip ? message : last, skip ? last : message, (size_t)n * sizeof(float));
    if (!skip)
        l->sent[owner] = epoch + 1;
}

/* A message takes its place among the last, and becomes what arrives in its place. */
static void make_late(const lockstep_options *o, lockstep_late *l, int epoch, bool smooth,
                      int64_t size, int64_t i, float *message)
{
    int places = o->stale + 1;

    l->past[epoch % places * size + i] = *message;
    *message = epoch < o->stale ? 0 : l->past[(epoch + 1) % places * size + i];
    if (smooth && epoch >= o->stale)
        *message = l->average[i] = o->smooth * l->average[i] + (1 - o->smooth) * *message;
}

/* The fresh messages of all rows of a halo [n_halo x cols] become what arrives. */
static void deliver(const lockstep *s, lockstep_rank *halo, int layer, qh_direction dir,
                    float *message)
{
    const lockstep_options *o = &s->options;
    const int64_t *ptr = halo->plan->recv_ptr;
    int64_t cols = qh_model_message_cols(halo->model, layer), size = halo->plan->n_halo * cols;
    bool features = layer == 0 && !qh_model_has_gradient(halo->model, 0);
    bool smooth = dir == QH_FORWARD ? o->smooth_features && !features : o->smooth_gradients;
    lockstep_late *l = &halo->late[layer][dir];

    if (!l->past) {
        must(QH_NEW_ARRAY(&l->past, (o->stale + 1) * size));
        must(QH_NEW_ARRAY(&l->average, size));
        must(QH_NEW_ARRAY(&l->last, size));
    }
    for (int p = 0; p < s->options.n_ranks && o->skip_age > 0; p++)
        skip_block(o, l, p, halo->exec.epoch, (ptr[p + 1] - ptr[p]) * cols, message + ptr[p] * cols,
                   l->last + ptr[p] * cols);
    for (int64_t i = 0; i < size; i++)
        make_late(o, l, halo->exec.epoch, smooth, size, i, message + i);
}

/* Halo rows of `to` from their owners. */
static void fetch(lockstep *s, lockstep_rank *to, int layer)
{
    int64_t cols = qh_model_message_cols(to->model, layer), n_inner = to->plan->n_inner;
    float *message = NULL;

    must(QH_NEW_ARRAY(&message, to->plan->n_halo * cols));
    for (int64_t h = 0; h < to->plan->n_halo; h++) {
        int32_t node = to->plan->node[n_inner + h];
        lockstep_rank *owner = &s->rank[s->layout->part[node]];
        int64_t r = s->layout->row[node];

        if (qh_model_message(to->model, layer).data)
            memcpy(message + h * cols, qh_mat_row(qh_model_message(owner->model, layer), r),
                   (size_t)cols * sizeof(float));
        else
            qh_model_get_row(owner->model, r, message + h * cols);
    }
    deliver(s, to, layer, QH_FORWARD, message);
    if (!qh_model_message(to->model, layer).data)
        qh_model_put_begin(to->model);
    for (int64_t h = 0; h < to->plan->n_halo; h++) {
        qh_mat mine = qh_model_message(to->model, layer);

        if (mine.data)
            memcpy(qh_mat_row(mine, n_inner + h), message + h * cols, (size_t)cols * sizeof(float));
        else
            must(qh_model_put_row(to->model, n_inner + h, message + h * cols));
    }
    qh_mem_free(message);
}

static void forward_layer(lockstep *s, int layer)
{
    int n = s->options.n_ranks;

    for (int i = 0; i < n; i++)
        qh_model_prepare(s->rank[i].model, layer);
    for (int i = 0; i < n; i++) {
        lockstep_rank *r = &s->rank[i];
        int64_t first = s->options.overlap ? lockstep_graph(s, i).n_central : 0;

        must(qh_model_forward(r->model, layer, (qh_rows){0, first}));
        fetch(s, r, layer);
        must(qh_model_forward(r->model, layer, (qh_rows){first, r->plan->n_inner}));
    }
}

void lockstep_forward(lockstep *s, int32_t epoch, bool training)
{
    for (int i = 0; i < s->options.n_ranks; i++) {
        s->rank[i].exec.epoch = epoch;
        qh_model_begin(s->rank[i].model, epoch, training);
    }
    for (int l = 0; l < qh_model_n_layers(s->rank[0].model); l++)
        forward_layer(s, l);
}

double lockstep_loss(lockstep *s)
{
    const qh_kernels *k = s->options.kernels;
    float scale = 1 / (float)s->data.n_train;
    double sum = 0;

    for (int i = 0; i < s->options.n_ranks; i++) {
        lockstep_rank *r = &s->rank[i];
        qh_mat logits = qh_model_logits(r->model), grad = qh_model_logits_gradient(r->model);

        if (s->data.label)
            sum += k->softmax_ce(logits, r->label, r->train, 0, r->n_train, scale, grad);
        else
            sum += k->sigmoid_bce(logits, r->multi, r->train, 0, r->n_train, scale, grad);
    }
    return sum / (double)s->data.n_train;
}

static void send_gradients_home(lockstep *s, int layer)
{
    for (int i = 0; i < s->options.n_ranks; i++) {
        lockstep_rank *from = &s->rank[i];
        qh_mat g = qh_model_gradient(from->model, layer);
        float *message = NULL;

        must(QH_NEW_ARRAY(&message, from->plan->n_halo * g.cols));
        for (int64_t h = 0; h < from->plan->n_halo; h++)
            memcpy(message + h * g.cols, qh_mat_row(g, from->plan->n_inner + h),
                   (size_t)g.cols * sizeof(float));
        deliver(s, from, layer, QH_BACKWARD, message);
        for (int64_t h = 0; h < from->plan->n_halo; h++) {
            int32_t node = from->plan->node[from->plan->n_inner + h];
            qh_mat to = qh_model_gradient(s->rank[s->layout->part[node]].model, layer);
            float *sum = qh_mat_row(to, s->layout->row[node]);

            for (int64_t c = 0; c < g.cols; c++)
                sum[c] += message[h * g.cols + c];
        }
        qh_mem_free(message);
    }
}

static void backward_layer(lockstep *s, int layer)
{
    int n = s->options.n_ranks;

    for (int i = 0; i < n; i++)
        must(qh_model_backward_begin(s->rank[i].model, layer));
    if (!qh_model_has_gradient(s->rank[0].model, layer))
        return;
    for (int i = 0; i < n; i++) {
        const qh_halo *p = s->rank[i].plan;

        qh_model_backward_spread(s->rank[i].model, layer, qh_halo_remote(p));
        qh_model_backward_spread(s->rank[i].model, layer, qh_halo_inner(p));
    }
    send_gradients_home(s, layer);
    for (int i = 0; i < n; i++)
        must(qh_model_backward_finish(s->rank[i].model, layer));
}

void lockstep_backward(lockstep *s)
{
    qh_params *sum = qh_model_params(s->rank[0].model);

    for (int l = qh_model_n_layers(s->rank[0].model) - 1; l >= 0; l--)
        backward_layer(s, l);
    for (int i = 1; i < s->options.n_ranks; i++)
        for (int64_t e = 0; e < sum->n_values; e++)
            sum->grad[e] += qh_model_params(s->rank[i].model)->grad[e];
    for (int i = 1; i < s->options.n_ranks; i++)
        memcpy(qh_model_params(s->rank[i].model)->grad, sum->grad,
               (size_t)sum->n_values * sizeof(float));
}

const float *lockstep_logits(lockstep *s, int32_t node)
{
    return qh_mat_row(qh_model_logits(s->rank[s->layout->part[node]].model), s->layout->row[node]);
}
