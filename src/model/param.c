#include "src/model/param.h"

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <math.h>
#include <string.h>

qh_status qh_params_new(const qh_param *list, int64_t n, qh_params **out)
{
    qh_status st;
    qh_params *p = NULL;

    QH_TRY(st, QH_NEW(&p));
    QH_TRY(st, QH_NEW_ARRAY(&p->item, n));
    p->n = n;
    for (int64_t i = 0; i < n; i++) {
        p->item[i] = list[i];
        p->item[i].offset = p->n_values;
        p->n_values += list[i].rows * list[i].cols;
    }
    QH_TRY(st, QH_NEW_ARRAY(&p->value, p->n_values));
    QH_TRY(st, QH_NEW_ARRAY(&p->grad, p->n_values));
    QH_TRY(st, QH_NEW_ARRAY(&p->m, p->n_values));
    QH_TRY(st, QH_NEW_ARRAY(&p->v, p->n_values));
    *out = p;
    p = NULL;
out:
    qh_params_free(p);
    return st;
}

void qh_params_free(qh_params *p)
{
    if (!p)
        return;
    qh_mem_free(p->v);
    qh_mem_free(p->m);
    qh_mem_free(p->grad);
    qh_mem_free(p->value);
    qh_mem_free(p->item);
    qh_mem_free(p);
}

/* Glorot and Bengio, AISTATS 2010, eq. 16. The stream of parameter i is "epoch" i. */
static void init_glorot(const qh_param *item, uint64_t seed, uint32_t i, float *value)
{
    qh_key key = qh_rand_key(seed, QH_RAND_INIT, i, (uint32_t)item->layer, 0);
    double bound = sqrt(6.0 / (double)(item->rows + item->cols));

    for (int64_t e = 0; e < item->rows * item->cols; e++)
        value[e] = (float)(bound * (2 * qh_rand_unit(key, (uint64_t)e) - 1));
}

void qh_params_init(qh_params *p, uint64_t seed)
{
    for (int64_t i = 0; i < p->n; i++) {
        const qh_param *item = &p->item[i];
        float *value = p->value + item->offset;

        if (item->init == QH_INIT_GLOROT)
            init_glorot(item, seed, (uint32_t)i, value);
        else
            for (int64_t e = 0; e < item->rows * item->cols; e++)
                value[e] = item->init == QH_INIT_ONE ? 1 : 0;
    }
    memset(p->m, 0, (size_t)p->n_values * sizeof *p->m);
    memset(p->v, 0, (size_t)p->n_values * sizeof *p->v);
    p->step = 0;
}

int64_t qh_params_find(const qh_params *p, const char *name)
{
    for (int64_t i = 0; i < p->n; i++)
        if (strcmp(p->item[i].name, name) == 0)
            return i;
    return -1;
}

static qh_mat view(const qh_params *p, float *buffer, int64_t i)
{
    const qh_param *item;

    QH_ASSERT(i >= 0 && i < p->n);
    item = &p->item[i];
    return (qh_mat){buffer + item->offset, item->rows, item->cols, item->cols};
}

qh_mat qh_params_value(const qh_params *p, int64_t i)
{
    return view(p, p->value, i);
}

qh_mat qh_params_grad(const qh_params *p, int64_t i)
{
    return view(p, p->grad, i);
}

void qh_params_adam(qh_params *p, const qh_kernels *k, double lr, double weight_decay,
                    bool decay_first)
{
    qh_adam adam = {(float)lr, 0.9F, 0.999F, 1e-8F, (float)weight_decay, ++p->step};
    int64_t n_decayed = p->n_values;

    /* The parameters of layer 0 stand first, so the decayed ones are one range. */
    for (int64_t i = p->n - 1; decay_first && i >= 0 && p->item[i].layer > 0; i--)
        n_decayed = p->item[i].offset;
    k->adam(&adam, n_decayed, p->value, p->grad, p->m, p->v);
    adam.weight_decay = 0;
    if (n_decayed < p->n_values)
        k->adam(&adam, p->n_values - n_decayed, p->value + n_decayed, p->grad + n_decayed,
                p->m + n_decayed, p->v + n_decayed);
}

uint64_t qh_params_digest(const qh_params *p)
{
    uint64_t digest = 0;

    for (int64_t i = 0; i < p->n; i++) {
        const qh_param *item = &p->item[i];

        digest = qh_hash(item->name, (int64_t)strlen(item->name), digest);
        digest = qh_hash(&item->rows, sizeof item->rows, digest);
        digest = qh_hash(&item->cols, sizeof item->cols, digest);
    }
    return qh_hash(p->value, p->n_values * (int64_t)sizeof *p->value, digest);
}
