#include "src/model/exec.h"

#include "src/base/mem.h"

enum {
    GEMM_CHUNK = 4096,       /* rows */
    TN_CHUNK = 4096,         /* rows at least, of a partial product */
    TN_MAX_CHUNKS = 32,      /* partial products */
    TN_MAX_FLOATS = 1 << 22, /* of scratch for them */
    TN_BLOCK = 512,          /* columns of a in one call */
    SUM_CHUNK = 1024,        /* rows of a column sum or dot product */
    ADD_CHUNK = 16384,       /* floats when partial products are added */
    TN_TILE = 32             /* columns of a sparse transposed product */
};

void qh_exec_fini(qh_exec *x)
{
    qh_mem_free(x->partial);
    x->partial = NULL;
    x->partial_capacity = 0;
}

qh_status qh_exec_reserve(qh_exec *x, int64_t n_floats)
{
    float *bigger = NULL;
    qh_status st;

    if (n_floats <= x->partial_capacity)
        return QH_OK;
    st = QH_NEW_ARRAY(&bigger, n_floats);
    if (st < 0)
        return st;
    qh_mem_free(x->partial);
    x->partial = bigger;
    x->partial_capacity = n_floats;
    return QH_OK;
}

void qh_exec_record(qh_exec *x, qh_op op, int layer, qh_direction dir, int64_t flops, int64_t bytes)
{
    qh_record r = {.op = (uint8_t)op,
                   .direction = (uint8_t)dir,
                   .layer = (uint16_t)layer,
                   .epoch = x->epoch,
                   .peer = -1,
                   .flops = flops,
                   .bytes = bytes};

    if (x->sink && (flops || bytes))
        x->sink->emit(x->sink, x->rank, &r);
}

/* --- chunks --- */

/* Chunks of [a, b) on a grid that begins at origin. */
static int64_t count_chunks(int64_t a, int64_t b, int64_t origin, int64_t chunk)
{
    return a < b ? (b - 1 - origin) / chunk - (a - origin) / chunk + 1 : 0;
}

static qh_rows chunk_of(int64_t a, int64_t b, int64_t origin, int64_t chunk, int64_t i)
{
    int64_t first = origin + ((a - origin) / chunk + i) * chunk;
    int64_t end = first + chunk;

    return (qh_rows){first > a ? first : a, end < b ? end : b};
}

static int64_t clamp(int64_t cut, qh_rows rows)
{
    return cut < rows.first ? rows.first : cut > rows.end ? rows.end : cut;
}

int64_t qh_exec_n_chunks(const qh_exec *x, qh_rows rows, int64_t chunk)
{
    int64_t middle = clamp(x->cut, rows);

    return count_chunks(rows.first, middle, 0, chunk) +
           count_chunks(middle, rows.end, x->cut, chunk);
}

qh_rows qh_exec_chunk(const qh_exec *x, qh_rows rows, int64_t chunk, int64_t i)
{
    int64_t middle = clamp(x->cut, rows), below = count_chunks(rows.first, middle, 0, chunk);

    return i < below ? chunk_of(rows.first, middle, 0, chunk, i)
                     : chunk_of(middle, rows.end, x->cut, chunk, i - below);
}

struct rows_job {
    const qh_exec *x;
    qh_rows rows;
    int64_t chunk;
    void (*fn)(void *ctx, qh_rows rows);
    void *ctx;
};

static void run_rows(void *ctx, int64_t item)
{
    struct rows_job *j = ctx;

    j->fn(j->ctx, qh_exec_chunk(j->x, j->rows, j->chunk, item));
}

void qh_exec_rows(qh_exec *x, qh_rows rows, int64_t chunk, void (*fn)(void *ctx, qh_rows rows),
                  void *ctx)
{
    struct rows_job j = {x, rows, chunk, fn, ctx};

    qh_team_run(x->team, qh_exec_n_chunks(x, rows, chunk), run_rows, &j);
}

struct steps_job {
    const qh_exec *x;
    qh_rows rows;
    int64_t chunk;
    const qh_step *step;
    int n_steps;
    void *ctx;
};

static void run_steps(void *ctx, int64_t item)
{
    struct steps_job *j = ctx;
    qh_rows rows = qh_exec_chunk(j->x, j->rows, j->chunk, item);

    for (int s = 0; s < j->n_steps; s++)
        j->step[s].run(j->ctx, rows);
}

void qh_exec_steps(qh_exec *x, int layer, qh_direction dir, qh_rows rows, int64_t chunk,
                   const qh_step *step, int n_steps, void *ctx)
{
    int64_t n_chunks = qh_exec_n_chunks(x, rows, chunk);
    int each = x->separate ? 1 : n_steps;

    for (int s = 0; s < n_steps; s += each) {
        struct steps_job j = {x, rows, chunk, step + s, each, ctx};

        qh_team_run(x->team, n_chunks, run_steps, &j);
        for (int i = s; i < s + each; i++)
            qh_exec_record(x, step[i].op, layer, dir, step[i].flops, step[i].bytes);
    }
}

/* --- partial sums --- */

float *qh_exec_partial(const qh_exec *x, int64_t row, int64_t chunk, int64_t n)
{
    int64_t below = (x->cut + chunk - 1) / chunk; /* chunks in front of the cut */
    int64_t i = row < x->cut ? row / chunk : below + (row - x->cut) / chunk;

    QH_ASSERT((i + 1) * n <= x->partial_capacity);
    return x->partial + i * n;
}

void qh_exec_add_partials(const qh_exec *x, int64_t n_chunks, int64_t stride, int64_t offset,
                          int64_t n, float *out)
{
    for (int64_t c = 0; c < n_chunks; c++)
        for (int64_t j = 0; j < n; j++)
            out[j] += x->partial[c * stride + offset + j];
}

/* --- products over rows --- */

struct product {
    const qh_exec *x;
    qh_csr csr;
    qh_mat a, b, out;
    const float *bias;
    qh_rows rows;
    bool accumulate;
    qh_spmm_cut cut;
    int64_t n_chunks, n_blocks;
};

/* Item: a view of some columns and a chunk of rows; all rows of one view before the next view. */
static void spmm_item(void *ctx, int64_t item)
{
    struct product *p = ctx;
    int64_t first = item / p->n_chunks * p->cut.cols, left = p->a.cols - first;
    qh_rows r = qh_exec_chunk(p->x, p->rows, p->cut.rows, item % p->n_chunks);
    qh_mat in = p->a, out = p->out;

    in.data += first;
    out.data += first;
    in.cols = out.cols = left < p->cut.cols ? left : p->cut.cols;
    p->x->kernels->spmm(p->csr, in, r.first, r.end, out, p->accumulate);
}

void qh_exec_spmm(qh_exec *x, int layer, qh_direction dir, qh_csr a, qh_mat in, qh_rows rows,
                  qh_mat out, bool accumulate)
{
    struct product p = {
        .x = x, .csr = a, .a = in, .out = out, .rows = rows, .accumulate = accumulate};
    int64_t nnz, n = rows.end - rows.first, f = in.cols;

    if (n <= 0)
        return;
    nnz = a.ptr[rows.end] - a.ptr[rows.first];
    p.cut = qh_spmm_cut_of(a, f);
    p.n_chunks = qh_exec_n_chunks(x, rows, p.cut.rows);
    p.n_blocks = (f + p.cut.cols - 1) / p.cut.cols;
    qh_team_run(x->team, p.n_chunks * p.n_blocks, spmm_item, &p);
    qh_exec_record(x, QH_OP_SPMM, layer, dir, 2 * nnz * f,
                   nnz * (4 + (a.val ? 4 : 0) + 4 * f) + (accumulate ? 8 : 4) * n * f);
}

static void gemm_nn_chunk(void *ctx, qh_rows r)
{
    struct product *p = ctx;

    p->x->kernels->gemm_nn(p->a, p->b, p->bias, r.first, r.end, p->out, p->accumulate);
}

static void gemm_nt_chunk(void *ctx, qh_rows r)
{
    struct product *p = ctx;

    p->x->kernels->gemm_nt(p->a, p->b, r.first, r.end, p->out, p->accumulate);
}

static void record_gemm(qh_exec *x, int layer, qh_direction dir, int64_t m, int64_t n, int64_t k,
                        bool accumulate)
{
    qh_exec_record(x, QH_OP_GEMM, layer, dir, 2 * m * n * k,
                   4 * (m * k + k * n + (accumulate ? 2 : 1) * m * n));
}

void qh_exec_gemm_nn(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, const float *bias,
                     qh_rows rows, qh_mat out, bool accumulate)
{
    struct product p = {.x = x, .a = a, .b = b, .out = out, .bias = bias, .accumulate = accumulate};

    if (rows.first < rows.end) {
        qh_exec_rows(x, rows, GEMM_CHUNK, gemm_nn_chunk, &p);
        record_gemm(x, layer, dir, rows.end - rows.first, b.cols, b.rows, accumulate);
    }
}

void qh_exec_gemm_nt(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, qh_rows rows,
                     qh_mat out, bool accumulate)
{
    struct product p = {.x = x, .a = a, .b = b, .out = out, .accumulate = accumulate};

    if (rows.first < rows.end) {
        qh_exec_rows(x, rows, GEMM_CHUNK, gemm_nt_chunk, &p);
        record_gemm(x, layer, dir, rows.end - rows.first, b.rows, b.cols, accumulate);
    }
}

/* --- sums over rows --- */

/* How many partial products: a function of the shape alone. */
static int64_t tn_chunks(int64_t rows, int64_t k, int64_t f)
{
    int64_t n = (rows + TN_CHUNK - 1) / TN_CHUNK, room = TN_MAX_FLOATS / (k * f > 0 ? k * f : 1);

    n = n < TN_MAX_CHUNKS ? n : TN_MAX_CHUNKS;
    n = n < room ? n : room;
    return n < 1 ? 1 : n;
}

int64_t qh_exec_gemm_tn_scratch(int64_t rows, int64_t k, int64_t f)
{
    return tn_chunks(rows, k, f) * k * f;
}

/* Item: a chunk of rows and a block of a's columns. */
static void gemm_tn_item(void *ctx, int64_t item)
{
    struct product *p = ctx;
    int64_t c = item / p->n_blocks, first = item % p->n_blocks * TN_BLOCK;
    int64_t cols = p->a.cols - first < TN_BLOCK ? p->a.cols - first : TN_BLOCK;
    int64_t n = p->rows.end - p->rows.first, f = p->b.cols;
    qh_mat a = {p->a.data + first, p->a.rows, cols, p->a.ld};
    qh_mat out = {p->x->partial + (c * p->a.cols + first) * f, cols, f, f};

    p->x->kernels->gemm_tn(a, p->b, p->rows.first + c * n / p->n_chunks,
                           p->rows.first + (c + 1) * n / p->n_chunks, out);
}

static void add_partials(void *ctx, int64_t item)
{
    struct product *p = ctx;
    int64_t f = p->out.cols, per_item = ADD_CHUNK / f + 1, first = item * per_item;
    int64_t end = first + per_item < p->out.rows ? first + per_item : p->out.rows;

    for (int64_t r = first; r < end; r++)
        for (int64_t c = 0; c < p->n_chunks; c++) {
            const float *from = p->x->partial + (c * p->out.rows + r) * f;
            float *to = qh_mat_row(p->out, r);

            for (int64_t j = 0; j < f; j++)
                to[j] += from[j];
        }
}

qh_status qh_exec_gemm_tn_add(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat g,
                              qh_rows rows, qh_mat out)
{
    struct product p = {.x = x, .a = a, .b = g, .out = out, .rows = rows};
    int64_t n = rows.end - rows.first, k = a.cols, f = g.cols;
    qh_status st;

    QH_ASSERT(out.rows == k && out.cols == f);
    if (n <= 0 || k * f == 0)
        return QH_OK;
    p.n_chunks = tn_chunks(n, k, f);
    p.n_blocks = (k + TN_BLOCK - 1) / TN_BLOCK;
    QH_TRY(st, qh_exec_reserve(x, p.n_chunks * k * f));
    qh_team_run(x->team, p.n_chunks * p.n_blocks, gemm_tn_item, &p);
    qh_team_run(x->team, (k + ADD_CHUNK / f) / (ADD_CHUNK / f + 1), add_partials, &p);
    record_gemm(x, layer, dir, k, f, n, true);
out:
    return st;
}

static void colsum_item(void *ctx, int64_t item)
{
    struct product *p = ctx;
    qh_rows r = qh_exec_chunk(p->x, p->rows, SUM_CHUNK, item);

    p->x->kernels->colsum(p->a, r.first, r.end, p->x->partial + item * p->a.cols);
}

qh_status qh_exec_colsum_add(qh_exec *x, int layer, qh_direction dir, qh_mat g, qh_rows rows,
                             float *out)
{
    struct product p = {.x = x, .a = g, .rows = rows};
    int64_t n_chunks = qh_exec_n_chunks(x, rows, SUM_CHUNK), n = rows.end - rows.first;
    qh_status st;

    QH_TRY(st, qh_exec_reserve(x, n_chunks * g.cols));
    qh_team_run(x->team, n_chunks, colsum_item, &p);
    qh_exec_add_partials(x, n_chunks, g.cols, 0, g.cols, out);
    qh_exec_record(x, QH_OP_ELEMENTWISE, layer, dir, n * g.cols, 4 * n * g.cols);
out:
    return st;
}

static void dot_item(void *ctx, int64_t item)
{
    struct product *p = ctx;
    qh_rows r = qh_exec_chunk(p->x, p->rows, SUM_CHUNK, item);

    ((double *)(void *)p->x->partial)[item] = p->x->kernels->dot(p->a, p->b, r.first, r.end);
}

qh_status qh_exec_dot(qh_exec *x, int layer, qh_direction dir, qh_mat a, qh_mat b, qh_rows rows,
                      double *out)
{
    struct product p = {.x = x, .a = a, .b = b, .rows = rows};
    int64_t n_chunks = qh_exec_n_chunks(x, rows, SUM_CHUNK), n = rows.end - rows.first;
    double sum = 0;
    qh_status st;

    QH_TRY(st, qh_exec_reserve(x, 2 * n_chunks));
    qh_team_run(x->team, n_chunks, dot_item, &p);
    for (int64_t c = 0; c < n_chunks; c++)
        sum += ((double *)(void *)x->partial)[c];
    qh_exec_record(x, QH_OP_ELEMENTWISE, layer, dir, 2 * n * a.cols, 8 * n * a.cols);
    *out = sum;
out:
    return st;
}

static void spmm_tn_item(void *ctx, int64_t item)
{
    struct product *p = ctx;
    int64_t first = item * TN_TILE, end = first + TN_TILE;

    p->x->kernels->spmm_tn(p->csr, p->a, first, end < p->a.cols ? end : p->a.cols, p->out);
}

void qh_exec_spmm_tn(qh_exec *x, int layer, qh_direction dir, qh_csr a, qh_mat g, qh_mat out)
{
    struct product p = {.x = x, .csr = a, .a = g, .out = out};
    int64_t nnz = a.ptr[a.n_rows], f = g.cols;

    qh_team_run(x->team, (f + TN_TILE - 1) / TN_TILE, spmm_tn_item, &p);
    qh_exec_record(x, QH_OP_SPMM, layer, dir, 2 * nnz * f,
                   nnz * (4 + (a.val ? 4 : 0) + 8 * f) + 4 * (a.n_rows + a.n_cols) * f);
}
