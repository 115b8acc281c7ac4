/* Halo rows of layer 0 without a message. The features of every node of the halo are in the data
 * set, or the part, that each rank has open, so the exact rows of evaluation (and of a lossless
 * exchange, which would bring the same ones) are read there. */
#include "src/train/exchange_parts.h"

#include <string.h>

static void copy_rows(void *ctx, qh_rows rows)
{
    qh_exchange *x = ctx;
    qh_mat to = qh_model_message(x->model, 0);

    for (int64_t r = rows.first; r < rows.end; r++)
        x->exec->kernels->copy(
            qh_mat_row(x->features->dense, qh_features_row(x->features, x->plan->node[r])), to.cols,
            qh_mat_row(to, r));
}

static qh_status put_sparse_rows(qh_exchange *x)
{
    qh_csr f = x->features->rows;
    qh_status st = QH_OK;

    qh_model_put_begin(x->model);
    for (int64_t r = x->plan->n_inner; r < x->plan->n_local; r++) {
        int64_t row = qh_features_row(x->features, x->plan->node[r]), first = f.ptr[row];
        int64_t n = f.ptr[row + 1] - first;

        QH_TRY(st,
               qh_model_put_values(x->model, r, n, f.col + first, f.val ? f.val + first : NULL));
    }
out:
    return st;
}

qh_status qh_exchange_read_features(qh_exchange *x)
{
    if (x->plan->n_halo == 0)
        return QH_OK;
    if (x->features->sparse)
        return put_sparse_rows(x);
    qh_exec_rows(x->exec, qh_halo_remote(x->plan), qh_piece_rows(x->features->n_cols), copy_rows,
                 x);
    return QH_OK;
}

void qh_exchange_clear_halo(qh_exchange *x, int layer)
{
    qh_mat m;

    if (layer == 0)
        x->halo0 = QH_HALO_NOTHING;
    if (layer == 0 && x->features->sparse) {
        qh_model_put_begin(x->model);
        return;
    }
    m = qh_model_message(x->model, layer);
    for (int64_t r = x->plan->n_inner; r < x->plan->n_local; r++)
        memset(qh_mat_row(m, r), 0, (size_t)m.cols * sizeof *m.data);
}
