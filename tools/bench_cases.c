#include "tools/bench_cases.h"

#include "src/base/rng.h"

#include <string.h>

enum { COLS = 256, PACK_ROWS = 100000, GEMM_ROWS = 200000, CHUNK = 1024, SQUARE = 1024 };

void qh_bench_data_free(qh_bench_data *d)
{
    qh_mat_free(&d->in);
    qh_mat_free(&d->weight);
    qh_mat_free(&d->out);
    qh_mem_free((void *)(uintptr_t)d->graph.ptr);
    qh_mem_free((void *)(uintptr_t)d->graph.col);
    qh_mem_free((void *)(uintptr_t)d->graph.val);
    qh_mem_free(d->node);
    qh_mem_free(d->column);
    qh_mem_free(d->mean);
    qh_mem_free(d->rstd);
    qh_mem_free(d->bytes);
    qh_mem_free(d->partial);
    qh_bench_assign_free(d->assign);
    d->assign = NULL;
    d->graph = (qh_csr){0};
    d->node = d->column = NULL;
    d->mean = d->rstd = d->partial = NULL;
    d->bytes = NULL;
}

static int64_t scaled(const qh_bench_data *d, int64_t rows)
{
    return d->quick ? rows / 50 : rows;
}

/* Uniform in [-1, 1); touched, so that no page is fresh. */
static qh_status matrix_new(int64_t rows, int64_t cols, qh_mat *out)
{
    qh_key key = qh_rand_key(1, QH_RAND_INIT, 0, 0, 0);
    qh_status st = qh_mat_new(rows, cols, out);

    if (st < 0)
        return st;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c += 4) {
            qh_rand4 x = qh_rand_block(key, (uint64_t)r, (uint64_t)c);

            for (int i = 0; i < 4 && c + i < cols; i++)
                qh_mat_row(*out, r)[c + i] = (float)x.v[i] * 0x1p-31F - 1;
        }
    return QH_OK;
}

static qh_status rows_new(qh_bench_data *d, int64_t rows, int64_t out_cols)
{
    qh_status st;

    QH_TRY(st, matrix_new(rows, COLS, &d->in));
    QH_TRY(st, matrix_new(rows, out_cols, &d->out));
    QH_TRY(st, QH_NEW_ARRAY(&d->node, rows));
    for (int64_t r = 0; r < rows; r++)
        d->node[r] = (int32_t)r;
out:
    return st;
}

void qh_bench_chunks(qh_bench_data *d, void (*fn)(void *ctx, int64_t item))
{
    qh_team_run(d->team, (d->in.rows + CHUNK - 1) / CHUNK, fn, d);
}

qh_rows qh_bench_chunk(const qh_bench_data *d, int64_t item)
{
    int64_t first = item * CHUNK, end = first + CHUNK;

    return (qh_rows){first, end < d->in.rows ? end : d->in.rows};
}

/* --- aggregation --- */

/* Neighbours anywhere: the worst case, for real graphs have some locality. */
static qh_status graph_new(qh_bench_data *d, int64_t n, int64_t degree, double *work)
{
    qh_key key = qh_rand_key(2, QH_RAND_SYNTH, 0, 0, 0);
    uint64_t gap = (uint64_t)(2 * n / degree - 1), draw = 0;
    int64_t *ptr = NULL, capacity = n * degree + n * degree / 4 + n, nnz = 0;
    int32_t *col = NULL;
    float *val = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&ptr, n + 1));
    d->graph.ptr = ptr;
    QH_TRY(st, QH_NEW_ARRAY(&col, capacity));
    d->graph.col = col;
    QH_TRY(st, QH_NEW_ARRAY(&val, capacity));
    d->graph.val = val;
    for (int64_t r = 0; r < n; r++) {
        int64_t c = (int64_t)qh_rand_below(key, draw++, gap);

        for (; c < n && nnz < capacity; c += 1 + (int64_t)qh_rand_below(key, draw++, gap)) {
            col[nnz] = (int32_t)c;
            val[nnz++] = 1.0F / (float)degree;
        }
        ptr[r + 1] = nnz;
    }
    d->graph.n_rows = d->graph.n_cols = n;
    QH_TRY(st, matrix_new(n, COLS, &d->in));
    QH_TRY(st, matrix_new(n, COLS, &d->out));
    *work = 4.0 * COLS * (double)nnz;
out:
    return st;
}

static qh_status spmm_sparse(qh_bench_data *d, double *work)
{
    return graph_new(d, scaled(d, 169000), 15, work);
}

static qh_status spmm_dense(qh_bench_data *d, double *work)
{
    return graph_new(d, d->quick ? 2000 : 23000, 490, work);
}

static qh_mat columns(qh_mat m, int64_t first, int64_t n)
{
    return (qh_mat){m.data + first, m.rows, m.cols - first < n ? m.cols - first : n, m.ld};
}

static void spmm_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_spmm_cut cut = qh_spmm_cut_of(d->graph, COLS);
    int64_t n = (d->graph.n_rows + cut.rows - 1) / cut.rows;
    int64_t c = item / n * cut.cols, first = item % n * cut.rows, end = first + cut.rows;

    d->kernels->spmm(d->graph, columns(d->in, c, cut.cols), first,
                     end < d->graph.n_rows ? end : d->graph.n_rows, columns(d->out, c, cut.cols),
                     false);
}

static void run_spmm(qh_bench_data *d)
{
    qh_spmm_cut cut = qh_spmm_cut_of(d->graph, COLS);
    int64_t n = (d->graph.n_rows + cut.rows - 1) / cut.rows;

    qh_team_run(d->team, n * ((COLS + cut.cols - 1) / cut.cols), spmm_item, d);
}

/* --- dense products --- */

static qh_status gemm_new(qh_bench_data *d, int64_t cols, double *work)
{
    qh_status st;

    QH_TRY(st, rows_new(d, scaled(d, GEMM_ROWS), cols));
    QH_TRY(st, matrix_new(COLS, cols, &d->weight));
    *work = 2.0 * COLS * (double)d->in.rows * (double)cols;
out:
    return st;
}

static qh_status gemm_wide(qh_bench_data *d, double *work)
{
    return gemm_new(d, COLS, work);
}

static qh_status gemm_narrow(qh_bench_data *d, double *work)
{
    return gemm_new(d, 40, work);
}

static void gemm_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);

    d->kernels->gemm_nn(d->in, d->weight, NULL, rows.first, rows.end, d->out, false);
}

static void run_gemm(qh_bench_data *d)
{
    qh_bench_chunks(d, gemm_item);
}

/* One product a thread; the rows of in and out are shared out as in the other cases. */
static qh_status square_new(qh_bench_data *d, double *work)
{
    int64_t n = qh_team_size(d->team);
    qh_status st;

    QH_TRY(st, matrix_new(n * CHUNK, SQUARE, &d->in));
    QH_TRY(st, matrix_new(n * CHUNK, SQUARE, &d->out));
    QH_TRY(st, matrix_new(SQUARE, SQUARE, &d->weight));
    *work = 2.0 * SQUARE * SQUARE * CHUNK * (double)n;
out:
    return st;
}

/* --- hidden layers --- */

static qh_hidden hidden_of(const qh_bench_data *d)
{
    return (qh_hidden){.norm = true,
                       .gain = qh_mat_row(d->weight, 0),
                       .bias = qh_mat_row(d->weight, 1),
                       .keep = 32768,
                       .key = {1, 2},
                       .node = d->node};
}

static qh_status hidden_new(qh_bench_data *d, double *work)
{
    int64_t rows = scaled(d, PACK_ROWS);
    qh_status st;

    QH_TRY(st, rows_new(d, rows, COLS));
    QH_TRY(st, matrix_new(2, COLS, &d->weight));
    QH_TRY(st, QH_NEW_ARRAY(&d->mean, rows));
    QH_TRY(st, QH_NEW_ARRAY(&d->rstd, rows));
    QH_TRY(st, QH_NEW_ARRAY(&d->bytes, rows * COLS / 8));
    QH_TRY(st, QH_NEW_ARRAY(&d->partial, (rows / CHUNK + 1) * 2 * COLS));
    memset(d->bytes, 0xff, (size_t)(rows * COLS / 8));
    *work = 4.0 * COLS * (double)rows;
out:
    return st;
}

static void forward_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);
    qh_hidden h = hidden_of(d);

    d->kernels->hidden_forward(&h, d->in, rows.first, rows.end, d->out, d->mean, d->rstd, d->bytes,
                               COLS / 8);
}

static void backward_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);
    float *partial = d->partial + item * 2 * COLS;
    qh_hidden h = hidden_of(d);

    d->kernels->hidden_backward(&h, d->in, d->mean, d->rstd, d->bytes, COLS / 8, rows.first,
                                rows.end, d->out, partial, partial + COLS);
}

/* Dropout is in place: over the runs zeros spread and what is left grows, which costs the same. */
static void run_forward(qh_bench_data *d)
{
    qh_bench_chunks(d, forward_item);
}

static void run_backward(qh_bench_data *d)
{
    qh_bench_chunks(d, backward_item);
}

/* --- packing --- */

qh_status qh_bench_pack_new(qh_bench_data *d, double *work)
{
    int64_t rows = scaled(d, PACK_ROWS);
    qh_status st;

    QH_TRY(st, rows_new(d, rows, COLS));
    QH_TRY(st, QH_NEW_ARRAY(&d->bytes, rows * COLS));
    for (int64_t i = 0; i < rows * COLS; i++)
        d->bytes[i] = (uint8_t)i;
    *work = 4.0 * COLS * (double)rows;
out:
    return st;
}

static void quantize_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);
    float inverse = (float)((1 << d->width) - 1) / 2;

    for (int64_t r = rows.first; r < rows.end; r++)
        d->kernels->quantize(qh_mat_row(d->in, r), COLS, d->width, -1, inverse, (qh_key){1, 2},
                             (uint64_t)r, d->bytes + r * COLS * d->width / 8);
}

static void dequantize_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);

    for (int64_t r = rows.first; r < rows.end; r++)
        d->kernels->dequantize(d->bytes + r * COLS * d->width / 8, COLS, d->width, -1, 0.01F,
                               qh_mat_row(d->out, r));
}

static void min_max_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);

    for (int64_t r = rows.first; r < rows.end; r++) {
        float *o = qh_mat_row(d->out, r);

        d->kernels->min_max(qh_mat_row(d->in, r), COLS, &o[0], &o[1]);
    }
}

static void copy_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);

    for (int64_t r = rows.first; r < rows.end; r++)
        d->kernels->copy(qh_mat_row(d->in, r), COLS, qh_mat_row(d->out, r));
}

static void memcpy_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_rows rows = qh_bench_chunk(d, item);

    memcpy(qh_mat_row(d->out, rows.first), qh_mat_row(d->in, rows.first),
           (size_t)((rows.end - rows.first) * d->in.ld) * sizeof(float));
}

/* Counts what it moves: the padding of rows too. */
static qh_status memcpy_new(qh_bench_data *d, double *work)
{
    qh_status st = rows_new(d, scaled(d, PACK_ROWS), COLS);

    if (st == QH_OK)
        *work = 4.0 * (double)(d->in.rows * d->in.ld);
    return st;
}

static void run_quantize(qh_bench_data *d)
{
    qh_bench_chunks(d, quantize_item);
}

static void run_dequantize(qh_bench_data *d)
{
    qh_bench_chunks(d, dequantize_item);
}

static void run_min_max(qh_bench_data *d)
{
    qh_bench_chunks(d, min_max_item);
}

static void run_copy(qh_bench_data *d)
{
    qh_bench_chunks(d, copy_item);
}

static void run_memcpy(qh_bench_data *d)
{
    qh_bench_chunks(d, memcpy_item);
}

const qh_bench_case qh_bench_cases[] = {
    {"spmm-sparse", "169k nodes of degree 15", QH_BENCH_MEMCPY, 0, spmm_sparse, run_spmm},
    {"spmm-dense", "23k nodes of degree 490", QH_BENCH_MEMCPY, 0, spmm_dense, run_spmm},
    {"gemm", "[200k x 256] [256 x 256]", QH_BENCH_SGEMM, 0, gemm_wide, run_gemm},
    {"gemm-narrow", "[200k x 256] [256 x 40]", QH_BENCH_SGEMM, 0, gemm_narrow, run_gemm},
    {"hidden-forward", "dropout, norm, ReLU", QH_BENCH_MEMCPY, 0, hidden_new, run_forward},
    {"hidden-backward", "and back", QH_BENCH_MEMCPY, 0, hidden_new, run_backward},
    {"min-max", "range of each row", QH_BENCH_MEMCPY, 0, qh_bench_pack_new, run_min_max},
    {"quantize-8", "stochastic, packed", QH_BENCH_MEMCPY, 8, qh_bench_pack_new, run_quantize},
    {"quantize-4", "", QH_BENCH_MEMCPY, 4, qh_bench_pack_new, run_quantize},
    {"quantize-2", "", QH_BENCH_MEMCPY, 2, qh_bench_pack_new, run_quantize},
    {"dequantize-8", "", QH_BENCH_MEMCPY, 8, qh_bench_pack_new, run_dequantize},
    {"dequantize-4", "", QH_BENCH_MEMCPY, 4, qh_bench_pack_new, run_dequantize},
    {"dequantize-2", "", QH_BENCH_MEMCPY, 2, qh_bench_pack_new, run_dequantize},
    {"mask-2", "half of the columns", QH_BENCH_MEMCPY, 2, qh_bench_ratio_new, qh_bench_mask},
    {"mask-16", "", QH_BENCH_MEMCPY, 16, qh_bench_ratio_new, qh_bench_mask},
    {"unmask-2", "and back", QH_BENCH_MEMCPY, 2, qh_bench_ratio_new, qh_bench_unmask},
    {"unmask-16", "", QH_BENCH_MEMCPY, 16, qh_bench_ratio_new, qh_bench_unmask},
    {"topk-2", "the largest half", QH_BENCH_MEMCPY, 2, qh_bench_ratio_new, qh_bench_topk},
    {"topk-16", "", QH_BENCH_MEMCPY, 16, qh_bench_ratio_new, qh_bench_topk},
    {"copy", "row by row", QH_BENCH_MEMCPY, 0, qh_bench_pack_new, run_copy},
    {"assign-groups", "8 devices, 11k groups of 100", QH_BENCH_SORT, 0, qh_bench_groups_new,
     qh_bench_assign_run},
    {"assign-messages", "8 devices, 1M messages", QH_BENCH_SORT, 0, qh_bench_messages_new,
     qh_bench_assign_run},
    {0},
};

const qh_bench_case qh_bench_limits[QH_BENCH_LIMITS] = {
    {"memcpy", "[100k x 256]", QH_BENCH_MEMCPY, 0, memcpy_new, run_memcpy},
    {"sgemm", "[1024 x 1024] [1024 x 1024] a thread", QH_BENCH_SGEMM, 0, square_new, run_gemm},
    {"sort", "1M keys in 56 lists, one thread", QH_BENCH_SORT, 0, qh_bench_messages_new,
     qh_bench_sort_run},
};
