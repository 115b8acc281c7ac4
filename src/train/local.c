#include "src/train/local.h"

#include "src/base/mem.h"

#include <string.h>

/* What a rank copies its rows from: the whole data set, or its part. */
typedef struct source {
    qh_mat dense;
    qh_csr rows;
    const int32_t *label;
    const uint8_t *target;
    const int8_t *split;
    int64_t n_classes;
    const int32_t *row_of; /* [n_inner]: the row here of an inner row; NULL: the same */
} source;

static int64_t row_in(const source *s, int64_t r)
{
    return s->row_of ? s->row_of[r] : r;
}

static qh_split split_of(const source *s, int64_t row)
{
    return s->target || s->label[row] >= 0 ? (qh_split)s->split[row] : QH_SPLIT_NONE;
}

static qh_status copy_dense(const source *s, qh_local *l)
{
    qh_mat *m = &l->input.dense;
    qh_status st = qh_mat_new(l->plan->n_local, s->dense.cols, m);

    if (st < 0)
        return st;
    if (l->features.part) {
        qh_part_copy_features(l->features.part, qh_halo_inner(l->plan), *m);
        return QH_OK;
    }
    for (int64_t r = 0; r < l->plan->n_inner; r++)
        memcpy(qh_mat_row(*m, r), qh_mat_row(s->dense, row_in(s, r)),
               (size_t)m->cols * sizeof *m->data);
    return QH_OK;
}

static qh_status copy_sparse(const source *s, qh_local *l)
{
    qh_csr all = s->rows;
    int64_t n = l->plan->n_inner, n_values = 0, *ptr = NULL;
    int32_t *col = NULL;
    float *val = NULL;
    qh_status st;

    l->input.sparse = true;
    l->input.inner = (qh_csr){.n_rows = n, .n_cols = all.n_cols};
    QH_TRY(st, QH_NEW_ARRAY(&ptr, n + 1));
    l->input.inner.ptr = ptr;
    for (int64_t r = 0; r < n; r++) {
        int64_t row = row_in(s, r);

        ptr[r + 1] = n_values += all.ptr[row + 1] - all.ptr[row];
    }
    QH_TRY(st, QH_NEW_ARRAY(&col, n_values));
    l->input.inner.col = col;
    QH_TRY(st, QH_NEW_ARRAY(&val, n_values));
    l->input.inner.val = val;
    for (int64_t r = 0; r < n; r++) {
        int64_t from = all.ptr[row_in(s, r)];

        for (int64_t i = 0; i < ptr[r + 1] - ptr[r]; i++) {
            col[ptr[r] + i] = all.col[from + i];
            val[ptr[r] + i] = all.val ? all.val[from + i] : 1;
        }
    }
out:
    return st;
}

static qh_status copy_labels(const source *s, qh_local *l)
{
    int64_t n = l->plan->n_inner;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&l->split, n));
    QH_TRY(st, QH_NEW_ARRAY(&l->train, n));
    if (s->target)
        QH_TRY(st, QH_NEW_ARRAY(&l->target, n * s->n_classes));
    else
        QH_TRY(st, QH_NEW_ARRAY(&l->label, n));
    for (int64_t r = 0; r < n; r++) {
        int64_t row = row_in(s, r);

        l->split[r] = (int8_t)split_of(s, row);
        if (l->split[r] == QH_SPLIT_TRAIN)
            l->train[l->n_train++] = (int32_t)r;
        if (s->target)
            memcpy(l->target + r * s->n_classes, s->target + row * s->n_classes,
                   (size_t)s->n_classes);
        else
            l->label[r] = s->label[row];
    }
out:
    return st;
}

static qh_status copy_rows(const source *s, qh_local *l)
{
    qh_status st;

    l->multilabel = s->target != NULL;
    QH_TRY(st, l->features.sparse ? copy_sparse(s, l) : copy_dense(s, l));
    QH_TRY(st, copy_labels(s, l));
out:
    return st;
}

qh_status qh_local_init(const qh_dataset *d, const qh_layout *layout, int rank, bool self_loops,
                        qh_local *out)
{
    qh_local l = {.features = {.sparse = d->sparse,
                               .n_cols = d->n_features,
                               .dense = d->dense,
                               .rows = d->sparse_features}};
    source s = {.dense = d->dense,
                .rows = d->sparse_features,
                .label = d->label,
                .target = d->multilabel ? d->multi_label : NULL,
                .split = d->split,
                .n_classes = d->n_classes};
    qh_status st;

    QH_TRY(st, qh_halo_new(layout, rank, self_loops, &l.plan));
    s.row_of = l.plan->node;
    QH_TRY(st, copy_rows(&s, &l));
    for (int64_t node = 0; node < d->graph->n_nodes; node++)
        l.n_of_split[split_of(&s, node)]++;
    *out = l;
    l = (qh_local){0};
out:
    qh_local_fini(&l);
    return st;
}

qh_status qh_local_of_part(const qh_part *p, bool self_loops, qh_local *out)
{
    qh_local l = {.features = {.sparse = p->sparse,
                               .n_cols = p->facts.n_features,
                               .dense = p->dense,
                               .rows = p->sparse_features,
                               .part = p}};
    source s = {.dense = p->dense,
                .rows = p->sparse_features,
                .label = p->label,
                .target = p->target,
                .split = p->split,
                .n_classes = p->facts.n_classes};
    qh_status st;

    QH_TRY(st, qh_part_plan(p, self_loops, &l.plan));
    QH_TRY(st, copy_rows(&s, &l));
    memcpy(l.n_of_split, p->n_of_split, sizeof l.n_of_split);
    *out = l;
    l = (qh_local){0};
out:
    qh_local_fini(&l);
    return st;
}

int64_t qh_features_row(const qh_features *f, int32_t node)
{
    return f->part ? qh_part_halo_row(f->part, node) : node;
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
