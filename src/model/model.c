/* The family of models, and making one: shapes and memory of every layer. */
#include "src/base/mem.h"
#include "src/model/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LAYERS = 1000 };

static const qh_model_ops *const family[] = {&qh_model_gcn, &qh_model_sage, &qh_model_gin};

const qh_model_ops *qh_model_find(const char *name)
{
    for (size_t i = 0; i < QH_COUNT(family); i++)
        if (strcmp(family[i]->name, name) == 0)
            return family[i];
    return NULL;
}

bool qh_model_known(const char *name)
{
    return qh_model_find(name) != NULL;
}

bool qh_model_self_loops(const char *name)
{
    const qh_model_ops *ops = qh_model_find(name);

    QH_ASSERT(ops);
    return ops->self_loops;
}

uint32_t qh_model_keep(double dropout)
{
    return (uint32_t)lround(65536 * (1 - dropout));
}

static qh_status check_config(const qh_model_config *c)
{
    if (!qh_model_find(c->name))
        return qh_fail(QH_EUSAGE, "--model %s: there is no such model; gcn, sage or gin", c->name);
    if (c->n_layers < 1 || c->n_layers > MAX_LAYERS)
        return qh_fail(QH_EUSAGE, "--layers %d: out of range; 1 to %d", c->n_layers, MAX_LAYERS);
    if (c->n_features < 1 || c->n_hidden < 1 || c->n_classes < 1)
        return qh_fail(QH_EUSAGE,
                       "model: %lld features, %lld hidden, %lld classes; at least 1 of each",
                       (long long)c->n_features, (long long)c->n_hidden, (long long)c->n_classes);
    if (!(c->dropout >= 0 && c->dropout < 1 && qh_model_keep(c->dropout) > 0))
        return qh_fail(QH_EUSAGE, "--dropout %g: out of range; at least 0, less than 1",
                       c->dropout);
    if (!(c->input_dropout >= 0 && c->input_dropout < 1 && qh_model_keep(c->input_dropout) > 0))
        return qh_fail(QH_EUSAGE, "--input-dropout %g: out of range; at least 0, less than 1",
                       c->input_dropout);
    return QH_OK;
}

/* --- making one --- */

static void free_layer(qh_layer *l)
{
    qh_mem_free(l->kept);
    qh_mem_free(l->rstd);
    qh_mem_free(l->mean);
    qh_mat_free(&l->result);
    qh_mat_free(&l->mid);
    qh_mat_free(&l->aggregate);
    if (l->owns_input)
        qh_mat_free(&l->input);
    if (l->owns_message)
        qh_mat_free(&l->message);
}

/* The largest partial sums of any layer. */
static qh_status reserve_scratch(qh_model *m)
{
    int64_t n_chunks = qh_exec_n_chunks(m->exec, qh_model_inner(m), QH_LAYER_CHUNK);
    qh_status st = QH_OK;

    for (int i = 0; i < m->config.n_layers; i++)
        QH_TRY(st, qh_exec_reserve(m->exec,
                                   qh_layer_scratch(&m->layer[i], m->graph.n_inner, n_chunks)));
out:
    return st;
}

static double alpha(const qh_model *m, int32_t u, int64_t v)
{
    return m->ops->coefficient ? m->ops->coefficient(m->graph.out_deg[u], m->graph.in_deg[v]) : 1;
}

static void fill_coefficients(qh_model *m)
{
    const qh_model_graph *g = &m->graph;

    for (int64_t v = 0; v < g->n_inner; v++) {
        double sum = 0;

        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            double a = alpha(m, g->in_col[e], v);

            sum += a * a;
            if (m->in_val)
                m->in_val[e] = (float)a;
        }
        m->beta[QH_BACKWARD][v] = (float)sum;
    }
    for (int64_t u = 0; u < g->n_local; u++) {
        double sum = 0;

        for (int64_t e = g->out_ptr[u]; e < g->out_ptr[u + 1]; e++) {
            double a = alpha(m, (int32_t)u, g->out_col[e]);

            sum += a * a;
            if (m->out_val)
                m->out_val[e] = (float)a;
        }
        m->beta[QH_FORWARD][u] = (float)sum;
    }
}

void qh_model_use_graph(qh_model *m, const qh_model_graph *g, const float *in_val,
                        const float *out_val)
{
    QH_ASSERT(g->n_inner == m->graph.n_inner && g->n_local <= m->most_local);
    m->graph = *g;
    m->in = (qh_csr){g->n_inner, g->n_local, g->in_ptr, g->in_col, in_val};
    m->out = (qh_csr){g->n_local, g->n_inner, g->out_ptr, g->out_col, out_val};
}

const float *qh_model_coefficients(const qh_model *m, qh_direction dir)
{
    return dir == QH_FORWARD ? m->in_val : m->out_val;
}

/* "W#a" of layer 12 is W12a. */
static void set_name(qh_param *p, const char *pattern, int layer)
{
    const char *mark = strchr(pattern, '#');

    snprintf(p->name, sizeof p->name, "%.*s%d%s", (int)(mark - pattern), pattern, layer, mark + 1);
    p->layer = layer;
}

static qh_status new_params(const qh_model_ops *ops, const qh_model_config *c,
                            const qh_layer *layer, qh_params **out)
{
    qh_param *list = NULL;
    int64_t n = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&list, (int64_t)c->n_layers * QH_MAX_LAYER_PARAMS));
    for (int i = 0; i < c->n_layers; i++) {
        const qh_layer *l = &layer[i];
        int64_t first = n;

        ops->parameters(l, list + n);
        n += ops->n_params;
        if (l->norm) {
            list[n++] = (qh_param){"ln_gain#", 0, 1, l->n_out, i, QH_INIT_ONE};
            list[n++] = (qh_param){"ln_bias#", 0, 1, l->n_out, i, QH_INIT_ZERO};
        }
        for (int64_t j = first; j < n; j++) {
            char pattern[sizeof list->name];

            memcpy(pattern, list[j].name, sizeof pattern);
            set_name(&list[j], pattern, i);
        }
    }
    QH_TRY(st, qh_params_new(list, n, out));
out:
    qh_mem_free(list);
    return st;
}

qh_status qh_model_new(const qh_model_config *c, const qh_model_graph *g, const qh_model_input *in,
                       qh_exec *exec, qh_model **out)
{
    qh_status st;
    qh_model *m = NULL;

    QH_TRY(st, check_config(c));
    QH_TRY(st, QH_NEW(&m));
    m->ops = qh_model_find(c->name);
    m->config = *c;
    m->config.name = m->ops->name;
    m->graph = *g;
    m->exec = exec;
    m->input.sparse = in->sparse;
    exec->cut = g->n_central;
    QH_TRY(st, QH_NEW_ARRAY(&m->layer, c->n_layers));
    for (int i = 0; i < c->n_layers; i++)
        m->layer[i] = qh_layer_plan(m->ops, c, in->sparse, i);
    QH_TRY(st, new_params(m->ops, c, m->layer, &m->params));
    QH_TRY(st, qh_model_take_memory(m, g->in_ptr[g->n_inner]));
    QH_TRY(st, qh_input_init(m, in));
    QH_TRY(st, reserve_scratch(m));
    fill_coefficients(m);
    m->most_local = g->n_local;
    qh_model_use_graph(m, g, m->in_val, m->out_val);
    qh_params_init(m->params, c->seed);
    qh_model_begin(m, 0, false);
    *out = m;
    m = NULL;
out:
    qh_model_free(m);
    return st;
}

void qh_model_free(qh_model *m)
{
    if (!m)
        return;
    qh_input_fini(m);
    qh_mem_free(m->beta[1]);
    qh_mem_free(m->beta[0]);
    qh_mem_free(m->out_val);
    qh_mem_free(m->in_val);
    qh_mat_free(&m->scratch);
    qh_mat_free(&m->logits_gradient);
    for (int i = m->layer ? m->config.n_layers - 1 : -1; i >= 0; i--)
        free_layer(&m->layer[i]);
    qh_params_free(m->params);
    qh_mem_free(m->layer);
    qh_mem_free(m);
}

int qh_model_n_layers(const qh_model *m)
{
    return m->config.n_layers;
}

qh_params *qh_model_params(qh_model *m)
{
    return m->params;
}

const qh_model_config *qh_model_settings(const qh_model *m)
{
    return &m->config;
}

const float *qh_model_beta(qh_model *m, qh_direction dir)
{
    return m->beta[dir];
}
