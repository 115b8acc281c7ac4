/* Sparse times dense, in tiles of columns that stay in registers over a row.
 *
 * Two ways through the entries, the same sums in the same order:
 * - a graph of low degree is bound by where the rows of x lie: narrow tiles, so that the tile of
 * all rows fits the shared cache, and prefetch of the rows of coming entries;
 * - a graph of high degree meets each row of x many times: the rows of x are cut into blocks whose
 *   tile fits the second-level cache, and a strip of rows of out goes through block after block. A
 *   row's entries of one block are consecutive because columns rise. */
#include "src/base/status.h"
#include "src/kernel/fast/cut.h"
#include "src/kernel/fast/fast.h"

enum {
    LINE = 64,
    SPARSE_VECS = CUT_TILE_BYTES / (QH_LANES * 4),
    DENSE_VECS = QH_LANES == 16 ? 4 : 8, /* what registers hold */
    AHEAD = 12,                          /* entries */
    NEXT = 2                             /* rows */
};
static const int64_t STREAM_FROM = 64 << 20; /* bytes of out that no cache keeps anyway */

/* Where a tile lies: x and out at its first column. */
typedef struct tile {
    const float *x;
    float *out;
    int64_t x_ld, out_ld;
    vec_mask last; /* of the last vector */
} tile;

/* o (+)= sum of entries e0..e1. Entries up to e_ahead belong to rows that come next. */
INLINE void run(const qh_csr *a, const tile *t, int64_t e0, int64_t e1, int64_t e_ahead, float *o,
                int w, bool part, bool load, bool ahead, bool stream)
{
    vec acc[8];

    for (int v = 0; v < w; v++)
        acc[v] = !load                ? vec_set(0)
                 : part && v == w - 1 ? vec_load_part(o + v * QH_LANES, t->last)
                                      : vec_load(o + v * QH_LANES);
    for (int64_t e = e0; e < e1; e++) {
        const float *in = t->x + a->col[e] * t->x_ld;
        vec value = vec_set(a->val ? a->val[e] : 1);

        if (ahead && e + AHEAD < e_ahead) {
            const char *far = (const char *)(t->x + a->col[e + AHEAD] * t->x_ld);

            for (int b = 0; b < w * QH_LANES * 4; b += LINE)
                vec_prefetch(far + b);
        }
        for (int v = 0; v < w; v++)
            acc[v] = vec_fma(value,
                             part && v == w - 1 ? vec_load_part(in + v * QH_LANES, t->last)
                                                : vec_load(in + v * QH_LANES),
                             acc[v]);
    }
    for (int v = 0; v < w; v++)
        if (part && v == w - 1)
            vec_store_part(o + v * QH_LANES, acc[v], t->last);
        else if (stream)
            vec_stream(o + v * QH_LANES, acc[v]);
        else
            vec_store(o + v * QH_LANES, acc[v]);
}

INLINE void sparse_rows(const qh_csr *a, const tile *t, qh_rows rows, bool accumulate, bool stream,
                        int w, bool part)
{
    for (int64_t r = rows.first; r < rows.end; r++)
        run(a, t, a->ptr[r], a->ptr[r + 1], a->ptr[rows.end], t->out + r * t->out_ld, w, part,
            accumulate, true, stream);
}

/* Entries from[i]..end[i] of row rows.first + i. */
INLINE void dense_rows(const qh_csr *a, const tile *t, qh_rows rows, const int64_t *from,
                       const int64_t *end, bool load, int w, bool part)
{
    int64_t n = rows.end - rows.first;

    for (int64_t i = 0; i < n; i++) {
        float *o = t->out + (rows.first + i) * t->out_ld;

        if (i + NEXT < n) {
            /* Runs are too short for the hardware to see a stream in them. */
            for (int64_t e = from[i + NEXT]; e < end[i + NEXT]; e += LINE / 4) {
                vec_prefetch(a->col + e);
                if (a->val)
                    vec_prefetch(a->val + e);
            }
            for (int b = 0; b < w * QH_LANES * 4; b += LINE)
                vec_prefetch((const char *)(o + NEXT * t->out_ld) + b);
        }
        run(a, t, from[i], end[i], 0, o, w, part, load, false, false);
    }
}

/* One body for each number of vectors, whole or with a last one in part. */
#define FOR_WIDTH(w, part, call)                                                                   \
    switch ((w)*2 + (part)) {                                                                      \
    case 2:                                                                                        \
        call(1, false);                                                                            \
        break;                                                                                     \
    case 3:                                                                                        \
        call(1, true);                                                                             \
        break;                                                                                     \
    case 4:                                                                                        \
        call(2, false);                                                                            \
        break;                                                                                     \
    case 5:                                                                                        \
        call(2, true);                                                                             \
        break;                                                                                     \
    case 6:                                                                                        \
        call(3, false);                                                                            \
        break;                                                                                     \
    case 7:                                                                                        \
        call(3, true);                                                                             \
        break;                                                                                     \
    case 8:                                                                                        \
        call(4, false);                                                                            \
        break;                                                                                     \
    case 9:                                                                                        \
        call(4, true);                                                                             \
        break;                                                                                     \
    case 16:                                                                                       \
        call(8, false);                                                                            \
        break;                                                                                     \
    case 17:                                                                                       \
        call(8, true);                                                                             \
        break;                                                                                     \
    }

/* Vectors of the next tile when `left` columns remain and `most` are wanted. */
static int tile_vecs(int64_t left, int most)
{
    int64_t vecs = (left + QH_LANES - 1) / QH_LANES;

    if (vecs == 3 || (most <= 4 && vecs <= most))
        return (int)vecs; /* three at once rather than two and one */
    if (vecs >= most)
        return most;
    return vecs < 4 ? (int)vecs : 4;
}

static tile tile_at(qh_mat x, qh_mat out, int64_t c, int w)
{
    return (tile){.x = x.data + c,
                  .out = out.data + c,
                  .x_ld = x.ld,
                  .out_ld = out.ld,
                  .last = vec_first(x.cols - c - (w - 1) * QH_LANES)};
}

static void spmm_sparse(qh_csr a, qh_mat x, qh_rows rows, qh_mat out, bool accumulate)
{
    bool aligned = (uintptr_t)out.data % LINE == 0 && out.ld % (LINE / 4) == 0;
    bool stream = aligned && !accumulate && out.rows * out.ld * 4 >= STREAM_FROM;

    for (int64_t c = 0, w; c < x.cols; c += w * QH_LANES) {
        w = tile_vecs(x.cols - c, SPARSE_VECS);
        tile t = tile_at(x, out, c, (int)w);
        bool part = c + w * QH_LANES > x.cols;

#define CALL(W, PART)                                                                              \
    if (stream)                                                                                    \
        sparse_rows(&a, &t, rows, false, true, W, PART);                                           \
    else if (accumulate)                                                                           \
        sparse_rows(&a, &t, rows, true, false, W, PART);                                           \
    else                                                                                           \
        sparse_rows(&a, &t, rows, false, false, W, PART)
        FOR_WIDTH(w, part, CALL)
#undef CALL
    }
    if (stream)
        vec_fence();
}

/* First entry of lo..hi whose column is at least `col`. */
static int64_t first_from(const int32_t *cols, int64_t lo, int64_t hi, int64_t col)
{
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;

        if (cols[mid] < col)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* rows: at most CUT_STRIP_ROWS. */
static void spmm_dense(qh_csr a, qh_mat x, qh_rows rows, qh_mat out, bool accumulate)
{
    int64_t n = rows.end - rows.first, from[CUT_STRIP_ROWS], end[CUT_STRIP_ROWS];

    for (int64_t i = 0; i < n; i++)
        from[i] = a.ptr[rows.first + i];
    for (int64_t b = 0; b < a.n_cols; b += CUT_BLOCK_ROWS) {
        bool load = accumulate || b > 0;

        for (int64_t i = 0; i < n; i++)
            end[i] = first_from(a.col, from[i], a.ptr[rows.first + i + 1], b + CUT_BLOCK_ROWS);
        for (int64_t c = 0, w; c < x.cols; c += w * QH_LANES) {
            w = tile_vecs(x.cols - c, DENSE_VECS);
            tile t = tile_at(x, out, c, (int)w);
            bool part = c + w * QH_LANES > x.cols;

#define CALL(W, PART) dense_rows(&a, &t, rows, from, end, load, W, PART)
            FOR_WIDTH(w, part, CALL)
#undef CALL
        }
        memcpy(from, end, (size_t)n * sizeof *from);
    }
}

void FAST(spmm)(qh_csr a, qh_mat x, int64_t r0, int64_t r1, qh_mat out, bool accumulate)
{
    QH_ASSERT(0 <= r0 && r0 <= r1 && r1 <= a.n_rows && r1 <= out.rows);
    QH_ASSERT(a.n_cols <= x.rows && x.cols == out.cols);
    if (r0 == r1)
        return;
    if (!cut_is_dense(a, r0, r1)) {
        spmm_sparse(a, x, (qh_rows){r0, r1}, out, accumulate);
        return;
    }
    for (int64_t r = r0; r < r1; r += CUT_STRIP_ROWS)
        spmm_dense(a, x, (qh_rows){r, r + CUT_STRIP_ROWS < r1 ? r + CUT_STRIP_ROWS : r1}, out,
                   accumulate);
}

INLINE void scatter_rows(const qh_csr *a, const tile *t, int w, bool part)
{
    for (int64_t r = 0; r < a->n_rows; r++) {
        vec in[8];

        for (int v = 0; v < w; v++)
            in[v] = part && v == w - 1 ? vec_load_part(t->x + r * t->x_ld + v * QH_LANES, t->last)
                                       : vec_load(t->x + r * t->x_ld + v * QH_LANES);
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; e++) {
            float *o = t->out + a->col[e] * t->out_ld;
            vec value = vec_set(a->val ? a->val[e] : 1);

            for (int v = 0; v < w; v++)
                if (part && v == w - 1)
                    vec_store_part(o + v * QH_LANES,
                                   vec_fma(value, in[v], vec_load_part(o + v * QH_LANES, t->last)),
                                   t->last);
                else
                    vec_store(o + v * QH_LANES, vec_fma(value, in[v], vec_load(o + v * QH_LANES)));
        }
    }
}

void FAST(spmm_tn)(qh_csr a, qh_mat g, int64_t c0, int64_t c1, qh_mat out)
{
    QH_ASSERT(0 <= c0 && c0 <= c1 && c1 <= out.cols && g.cols == out.cols);
    QH_ASSERT(a.n_rows <= g.rows && a.n_cols <= out.rows);
    g.cols = out.cols = c1;
    for (int64_t c = c0, w; c < c1; c += w * QH_LANES) {
        w = tile_vecs(c1 - c, DENSE_VECS);
        tile t = tile_at(g, out, c, (int)w);
        bool part = c + w * QH_LANES > c1;
        int64_t bytes = 4 * (part ? c1 - c : w * QH_LANES);

        for (int64_t r = 0; r < a.n_cols; r++)
            memset(t.out + r * t.out_ld, 0, (size_t)bytes);
#define CALL(W, PART) scatter_rows(&a, &t, W, PART)
        FOR_WIDTH(w, part, CALL)
#undef CALL
    }
}
