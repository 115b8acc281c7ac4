#include "src/train/local.h"

#include "src/base/mem.h"

#include <string.h>

static qh_split split_of(const qh_dataset *d, int64_t node)
{
    bool labelled = d->multilabel || d->label[node] >= 0;

    return labelled ? (qh_split)d->split[node] : QH_SPLIT_NONE;
}

static qh_status copy_dense(const qh_dataset *d, qh_local *l)
{
    qh_mat *m = &l->input.dense;
    qh_status st = qh_mat_new(l->plan->n_local, d->n_features, m);

    if (st < 0)
        return st;
    for (int64_t r = 0; r < l->plan->n_inner; r++)
        memcpy(qh_mat_row(*m, r), qh_mat_row(d->dense, l->plan->node[r]),
               (size_t)m->cols * sizeof *m->data);
    return QH_OK;
}

static qh_status copy_sparse(const qh_dataset *d, qh_local *l)
{
    qh_csr all = d->sparse_features;
    int64_t n = l->plan->n_inner, n_values = 0, *ptr = NULL;
    int32_t *col = NULL;
    float *val = NULL;
    qh_status st;

    l->input.sparse = true;
    l->input.inner = (qh_csr){.n_rows = n, .n_cols = all.n_cols};
    QH_TRY(st, QH_NEW_ARRAY(&ptr, n + 1));
    l->input.inner.ptr = ptr;
    for (int64_t r = 0; r < n; r++) {
        int64_t node = l->plan->node[r];

        ptr[r + 1] = n_values += all.ptr[node + 1] - all.ptr[node];
    }
    QH_TRY(st, QH_NEW_ARRAY(&col, n_values));
    l->input.inner.col = col;
    QH_TRY(st, QH_NEW_ARRAY(&val, n_values));
    l->input.inner.val = val;
    for (int64_t r = 0; r < n; r++) {
        int64_t from = all.ptr[l->plan->node[r]];

        for (int64_t i = 0; i < ptr[r + 1] - ptr[r]; i++) {
            col[ptr[r] + i] = all.col[from + i];
            val[ptr[r] + i] = all.val ? all.val[from + i] : 1;
        }
    }
out:
    return st;
}

static qh_status copy_labels(const qh_dataset *d, qh_local *l)
{
    int64_t n = l->plan->n_inner, n_classes = d->n_classes;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&l->split, n));
    QH_TRY(st, QH_NEW_ARRAY(&l->train, n));
    if (d->multilabel)
        QH_TRY(st, QH_NEW_ARRAY(&l->target, n * n_classes));
    else
        QH_TRY(st, QH_NEW_ARRAY(&l->label, n));
    for (int64_t r = 0; r < n; r++) {
        int64_t node = l->plan->node[r];

        l->split[r] = (int8_t)split_of(d, node);
        if (l->split[r] == QH_SPLIT_TRAIN)
            l->train[l->n_train++] = (int32_t)r;
        if (d->multilabel)
            memcpy(l->target + r * n_classes, d->multi_label + node * n_classes, (size_t)n_classes);
        else
            l->label[r] = d->label[node];
    }
    for (int64_t node = 0; node < d->graph->n_nodes; node++)
        l->n_of_split[split_of(d, node)]++;
out:
    return st;
}

qh_status qh_local_init(const qh_dataset *d, const qh_layout *layout, int rank, bool self_loops,
                        qh_local *out)
{
    qh_local l = {0};
    qh_status st;

    QH_TRY(st, qh_halo_new(layout, rank, self_loops, &l.plan));
    QH_TRY(st, d->sparse ? copy_sparse(d, &l) : copy_dense(d, &l));
    QH_TRY(st, copy_labels(d, &l));
    *out = l;
    l = (qh_local){0};
out:
    qh_local_fini(&l);
    return st;
}

void qh_local_fini(qh_local *l)
{
    qh_mem_free(l->train);
    qh_mem_free(l->split);
    qh_mem_free(l->target);
    qh_mem_free(l->label);
    qh_mem_free((void *)(uintptr_t)l->input.inner.val);
    qh_mem_free((void *)(uintptr_t)l->input.inner.col);
    qh_mem_free((void *)(uintptr_t)l->input.inner.ptr);
    qh_mat_free(&l->input.dense);
    qh_halo_free(l->plan);
    *l = (qh_local){0};
}
