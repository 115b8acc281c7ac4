/* The input rows of layer 0: dense or sparse, inner and halo, and their dropout, which the owner
 * draws before the rows travel, by (seed, epoch, global node, column). Of sparse rows only the
 * stored values are drawn: the others are zero either way. */
#include "src/base/mem.h"
#include "src/model/layer.h"

#include <string.h>

/* No layer has this number, so that the input's mask has a stream of its own. */
enum { INPUT_LAYER = 65535 };

static qh_key dropout_key(const qh_model *m)
{
    return qh_rand_key(m->config.seed, QH_RAND_DROPOUT, (uint32_t)m->epoch, INPUT_LAYER, 0);
}

static qh_status init_sparse(qh_model *m)
{
    qh_input *in = &m->input;
    int64_t n_inner = m->graph.n_inner, nnz = in->raw.ptr[n_inner];
    qh_status st = QH_OK;

    if (m->graph.n_local == n_inner && in->keep == 65536)
        return QH_OK; /* the rows serve as they are */
    QH_TRY(st, QH_NEW_ARRAY(&in->ptr, m->graph.n_local + 1));
    QH_TRY(st, QH_NEW_ARRAY(&in->col, nnz));
    QH_TRY(st, QH_NEW_ARRAY(&in->val, nnz));
    in->capacity = in->used = nnz;
    in->n_closed = n_inner;
    memcpy(in->ptr, in->raw.ptr, (size_t)(n_inner + 1) * sizeof *in->ptr);
    memcpy(in->col, in->raw.col, (size_t)nnz * sizeof *in->col);
    for (int64_t e = 0; e < nnz; e++)
        in->val[e] = in->raw.val ? in->raw.val[e] : 1;
out:
    return st;
}

/* Layer 0 works on these dense rows. */
static void use_rows(qh_model *m, qh_mat rows)
{
    qh_layer *l = &m->layer[0];

    l->input = qh_mat_sub(rows, qh_model_inner(m));
    if (l->form == QH_FORM_AGGREGATE)
        l->message = rows;
}

qh_status qh_input_init(qh_model *m, const qh_model_input *given)
{
    qh_input *in = &m->input;
    int64_t rows = m->layer[0].form == QH_FORM_AGGREGATE ? m->graph.n_local : m->graph.n_inner;

    in->sparse = given->sparse;
    in->keep = qh_model_keep(m->config.input_dropout);
    in->raw = given->inner;
    in->dense = given->dense;
    if (in->sparse)
        return init_sparse(m);
    use_rows(m, in->dense);
    return in->keep < 65536 ? qh_mat_new(rows, m->config.n_features, &in->dropped) : QH_OK;
}

void qh_input_fini(qh_model *m)
{
    qh_mat_free(&m->input.dropped);
    qh_mem_free(m->input.val);
    qh_mem_free(m->input.col);
    qh_mem_free(m->input.ptr);
}

static void drop_dense(void *ctx, qh_rows rows)
{
    qh_model *m = ctx;

    m->exec->kernels->dropout(m->input.dense, m->input.keep, dropout_key(m), m->graph.node,
                              rows.first, rows.end, m->input.dropped);
}

static void drop_sparse(void *ctx, qh_rows rows)
{
    qh_model *m = ctx;
    qh_input *in = &m->input;
    qh_key key = dropout_key(m);
    float scale = 65536.0F / (float)in->keep;

    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t e = in->ptr[r]; e < in->ptr[r + 1]; e++) {
            float x = in->raw.val ? in->raw.val[e] : 1;
            bool kept = !m->training ||
                        qh_rand16(key, (uint64_t)m->graph.node[r], (uint64_t)in->col[e]) < in->keep;

            in->val[e] = kept ? x * (m->training ? scale : 1) : 0;
        }
}

void qh_input_prepare(qh_model *m)
{
    qh_input *in = &m->input;
    qh_rows inner = qh_model_inner(m);
    bool drops = m->training && in->keep < 65536;

    if (!in->sparse)
        use_rows(m, drops ? in->dropped : in->dense);
    if (in->sparse && in->keep < 65536) /* evaluation puts the values back */
        qh_exec_rows(m->exec, inner, QH_LAYER_CHUNK, drop_sparse, m);
    else if (drops)
        qh_exec_rows(m->exec, inner, QH_LAYER_CHUNK, drop_dense, m);
    if (drops) {
        int64_t n =
            in->sparse ? in->raw.ptr[m->graph.n_inner] : m->graph.n_inner * m->config.n_features;

        qh_exec_record(m->exec, QH_OP_ELEMENTWISE, 0, QH_FORWARD, n, 8 * n);
    }
}

/* --- sparse rows --- */

qh_csr qh_input_inner(const qh_model *m)
{
    const qh_input *in = &m->input;

    if (!in->ptr)
        return in->raw;
    return (qh_csr){m->graph.n_inner, m->config.n_features, in->ptr, in->col, in->val};
}

static qh_status make_room(qh_input *in, int64_t n)
{
    qh_status st = QH_OK;
    int64_t capacity = in->capacity + in->capacity / 2;

    if (n <= in->capacity)
        return QH_OK;
    capacity = capacity < n ? n : capacity;
    QH_TRY(st, QH_RESIZE(&in->col, in->used, capacity));
    QH_TRY(st, QH_RESIZE(&in->val, in->used, capacity));
    in->capacity = capacity;
out:
    return st;
}

static void close_rows(qh_input *in, int64_t end)
{
    while (in->n_closed < end)
        in->ptr[++in->n_closed] = in->used;
}

void qh_model_put_begin(qh_model *m)
{
    qh_input *in = &m->input;

    QH_ASSERT(in->sparse);
    if (in->ptr) {
        in->n_closed = m->graph.n_inner;
        in->used = in->ptr[in->n_closed];
    }
    m->halo_product_done = false;
}

/* Whether any of the n values is not 0: a loop without branches, for rows that are mostly 0. */
static bool has_values(const float *x, int64_t n)
{
    int any = 0;

    for (int64_t i = 0; i < n; i++)
        any |= x[i] != 0;
    return any;
}

qh_status qh_model_put_row(qh_model *m, int64_t row, const float *from)
{
    enum { SPAN = 64 }; /* columns looked at in one go */
    qh_input *in = &m->input;
    int64_t n = m->config.n_features;
    qh_status st = QH_OK;

    QH_ASSERT(in->sparse && in->ptr && row >= in->n_closed && row < m->graph.n_local);
    close_rows(in, row);
    for (int64_t c = 0; c < n; c += SPAN) {
        int64_t end = c + SPAN < n ? c + SPAN : n;

        if (!has_values(from + c, end - c))
            continue;
        QH_TRY(st, make_room(in, in->used + end - c));
        for (int64_t i = c; i < end; i++)
            if (from[i] != 0) {
                in->col[in->used] = (int32_t)i;
                in->val[in->used++] = from[i];
            }
    }
    close_rows(in, row + 1);
out:
    return st;
}

qh_status qh_model_put_values(qh_model *m, int64_t row, int64_t n, const int32_t *col,
                              const float *val)
{
    qh_input *in = &m->input;
    qh_status st;

    QH_ASSERT(in->sparse && in->ptr && row >= in->n_closed && row < m->graph.n_local);
    QH_TRY(st, make_room(in, in->used + n));
    close_rows(in, row);
    memcpy(in->col + in->used, col, (size_t)n * sizeof *col);
    for (int64_t i = 0; i < n; i++)
        in->val[in->used + i] = val ? val[i] : 1;
    in->used += n;
    close_rows(in, row + 1);
out:
    return st;
}

/* With dropout, with codecs that round zeros up and down, and where the graph in use has but a part
 * of the halo, later sets have other numbers of values than the first: room for them is made at
 * once, so that memory then stays as it is. */
static qh_status settle(qh_model *m)
{
    qh_input *in = &m->input;
    int64_t halo = in->used - in->ptr[m->graph.n_inner], n_inner = m->graph.n_inner;
    double more = 1.25 * 65536 / in->keep;
    qh_status st;

    if (m->graph.n_local > n_inner)
        more *= (double)(m->most_local - n_inner) / (double)(m->graph.n_local - n_inner);
    QH_TRY(st, make_room(in, in->ptr[m->graph.n_inner] + (int64_t)((double)halo * more) + 64));
    in->settled = true;
out:
    return st;
}

qh_status qh_input_rows(qh_model *m, qh_csr *out)
{
    qh_input *in = &m->input;
    qh_status st = QH_OK;

    if (!in->ptr) {
        *out = in->raw;
        return QH_OK;
    }
    if (!in->settled)
        QH_TRY(st, settle(m));
    close_rows(in, m->graph.n_local);
    *out = (qh_csr){m->graph.n_local, m->config.n_features, in->ptr, in->col, in->val};
out:
    return st;
}

void qh_model_get_row(const qh_model *m, int64_t row, float *out)
{
    qh_csr x = qh_input_inner(m);

    QH_ASSERT(m->input.sparse && row >= 0 && row < m->graph.n_inner);
    memset(out, 0, (size_t)m->config.n_features * sizeof *out);
    for (int64_t e = x.ptr[row]; e < x.ptr[row + 1]; e++)
        out[x.col[e]] = x.val ? x.val[e] : 1;
}
