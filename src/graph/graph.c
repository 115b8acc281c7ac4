/* The build scatters each source into the row of its target (one counting pass, one filling pass),
 * then sorts row by row. Against the textbook's second scatter (radix by target, then by source)
 * this needs no second copy of the edges, and a row fits the cache while it is sorted. A row is
 * sorted by radix as well, so the whole stays linear. */
#include "src/graph/graph.h"

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/graph/build.h"

#include <string.h>

enum { INSERTION_MAX = 48, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* --- rows in rising order --- */

static void sort_by_insertion(int32_t *row, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int32_t x = row[i];
        int64_t j = i;

        for (; j > 0 && row[j - 1] > x; j--)
            row[j] = row[j - 1];
        row[j] = x;
    }
}

/* Least significant digit first; scratch holds n items. n_bits covers the largest id. */
static void sort_by_radix(int32_t *row, int64_t n, int n_bits, int32_t *scratch)
{
    int32_t *from = row, *to = scratch;

    for (int shift = 0; shift < n_bits; shift += DIGIT_BITS) {
        int64_t begin[DIGITS] = {0}, sum = 0;
        int32_t *t;

        for (int64_t i = 0; i < n; i++)
            begin[from[i] >> shift & (DIGITS - 1)]++;
        for (int d = 0; d < DIGITS; d++) {
            int64_t count = begin[d];

            begin[d] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[begin[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        t = from;
        from = to;
        to = t;
    }
    if (from != row)
        memcpy(row, from, (size_t)n * sizeof *row);
}

static int bits_of(int64_t largest)
{
    int n = 0;

    while (largest >> n)
        n++;
    return n;
}

/* --- building --- */

/* Counts the edges into each node, at ptr[v + 1]. */
static qh_status count_targets(const qh_edge_source *source, int64_t n_nodes, int32_t *chunk,
                               int64_t *ptr)
{
    for (int64_t e = 0; e < source->n_edges; e += QH_EDGE_CHUNK) {
        int64_t left = source->n_edges - e, n = left < QH_EDGE_CHUNK ? left : QH_EDGE_CHUNK;
        int32_t *src = chunk, *dst = chunk + QH_EDGE_CHUNK;
        qh_status st = source->read(source->ctx, e, n, src, dst);

        if (st < 0)
            return st;
        for (int64_t i = 0; i < n; i++) {
            QH_ASSERT((uint32_t)src[i] < (uint64_t)n_nodes && (uint32_t)dst[i] < (uint64_t)n_nodes);
            ptr[dst[i] + 1]++;
        }
    }
    return QH_OK;
}

/* Puts each source into the row of its target. ptr comes as the beginnings and leaves as the ends,
 * so the rows still begin at ptr[v - 1]. */
static qh_status fill_rows(const qh_edge_source *source, int32_t *chunk, int64_t *ptr, int32_t *row)
{
    for (int64_t e = 0; e < source->n_edges; e += QH_EDGE_CHUNK) {
        int64_t left = source->n_edges - e, n = left < QH_EDGE_CHUNK ? left : QH_EDGE_CHUNK;
        int32_t *src = chunk, *dst = chunk + QH_EDGE_CHUNK;
        qh_status st = source->read(source->ctx, e, n, src, dst);

        if (st < 0)
            return st;
        for (int64_t i = 0; i < n; i++)
            row[ptr[dst[i]]++] = src[i];
    }
    return QH_OK;
}

/* Sorts row v, drops what is double or a self loop, and moves the rest down to *end. */
static void close_row(qh_graph *g, int64_t v, int64_t begin, int64_t n, int n_bits,
                      int32_t *scratch, int64_t *end, qh_edge_report *report)
{
    int32_t *row = g->in_src + begin;
    int64_t first = *end, at = first;

    if (n <= INSERTION_MAX)
        sort_by_insertion(row, n);
    else
        sort_by_radix(row, n, n_bits, scratch);
    for (int64_t i = 0; i < n; i++) {
        int32_t u = row[i];

        if (u == v) {
            report->self_loops++;
        } else if (at > first && g->in_src[at - 1] == u) {
            report->duplicates++;
        } else {
            g->in_src[at++] = u;
            g->out_deg[u]++;
        }
    }
    g->in_deg[v] = (int32_t)(at - first);
    *end = at;
}

static qh_status close_rows(qh_graph *g, qh_edge_report *report)
{
    int64_t longest = 0, end = 0, begin = 0;
    int32_t *scratch = NULL;
    qh_status st;

    for (int64_t v = 0, last = 0; v < g->n_nodes; v++) {
        int64_t n = g->in_ptr[v] - last;

        last = g->in_ptr[v];
        longest = n > longest ? n : longest;
    }
    QH_TRY(st, QH_NEW_ARRAY(&scratch, longest));
    for (int64_t v = 0; v < g->n_nodes; v++) {
        int64_t stop = g->in_ptr[v];

        g->in_ptr[v] = end;
        close_row(g, v, begin, stop - begin, bits_of(g->n_nodes - 1), scratch, &end, report);
        begin = stop;
    }
    g->in_ptr[g->n_nodes] = end;
    g->n_edges = end;
    if (begin - end > begin / 8) /* much was double: do not carry the empty tail about */
        QH_TRY(st, QH_RESIZE(&g->in_src, end, end));
out:
    qh_mem_free(scratch);
    return st;
}

/* Edges whose reverse is missing. Targets are visited rising, so the place in row u where the
 * reverse of u -> v would stand only moves forward: linear in all. */
static qh_status count_one_way(const qh_graph *g, int64_t *out)
{
    int64_t *at = NULL, n = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&at, g->n_nodes));
    memcpy(at, g->in_ptr, (size_t)g->n_nodes * sizeof *at);
    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            int32_t u = g->in_src[e];
            int64_t i = at[u], stop = g->in_ptr[u + 1];

            while (i < stop && g->in_src[i] < v)
                i++;
            at[u] = i;
            n += i == stop || g->in_src[i] != v;
        }
    *out = n;
out:
    qh_mem_free(at);
    return st;
}

static qh_status new_arrays(int64_t n_nodes, int64_t n_edges, qh_graph **out)
{
    qh_graph *g = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&g));
    g->n_nodes = n_nodes;
    g->n_edges = n_edges;
    QH_TRY(st, QH_NEW_ARRAY(&g->in_ptr, n_nodes + 1));
    QH_TRY(st, QH_NEW_ARRAY(&g->in_deg, n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&g->out_deg, n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&g->in_src, n_edges));
    *out = g;
    g = NULL;
out:
    qh_graph_free(g);
    return st;
}

qh_status qh_graph_build(int64_t n_nodes, const qh_edge_source *source, qh_graph **out,
                         qh_edge_report *report)
{
    qh_edge_report r = {0};
    int32_t *chunk = NULL;
    qh_graph *g = NULL;
    qh_status st;

    QH_ASSERT(n_nodes >= 1 && n_nodes <= INT32_MAX && source->n_edges >= 0);
    QH_TRY(st, new_arrays(n_nodes, source->n_edges, &g));
    QH_TRY(st, QH_NEW_ARRAY(&chunk, 2 * QH_EDGE_CHUNK));
    QH_TRY(st, count_targets(source, n_nodes, chunk, g->in_ptr));
    for (int64_t v = 0; v < n_nodes; v++)
        g->in_ptr[v + 1] += g->in_ptr[v];
    QH_TRY(st, fill_rows(source, chunk, g->in_ptr, g->in_src));
    QH_TRY(st, close_rows(g, &r));
    if (!source->symmetric)
        QH_TRY(st, count_one_way(g, &r.one_way));
    g->symmetric = r.one_way == 0;
    if (report)
        *report = r;
    *out = g;
    g = NULL;
out:
    qh_mem_free(chunk);
    qh_graph_free(g);
    return st;
}

typedef struct arrays {
    const int32_t *src, *dst; /* borrowed */
    int64_t stride;
} arrays;

static qh_status read_arrays(void *ctx, int64_t first, int64_t n, int32_t *src, int32_t *dst)
{
    const arrays *a = ctx;

    for (int64_t i = 0; i < n; i++) {
        src[i] = a->src[(first + i) * a->stride];
        dst[i] = a->dst[(first + i) * a->stride];
    }
    return QH_OK;
}

qh_status qh_graph_new(int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
                       int64_t stride, qh_graph **out, qh_edge_report *report)
{
    arrays a = {.src = src, .dst = dst, .stride = stride};
    qh_edge_source source = {.n_edges = n_edges, .read = read_arrays, .ctx = &a};

    return qh_graph_build(n_nodes, &source, out, report);
}

void qh_graph_free(qh_graph *g)
{
    if (!g)
        return;
    if (!g->owner) {
        qh_mem_free(g->in_src);
        qh_mem_free(g->out_deg);
        qh_mem_free(g->in_deg);
        qh_mem_free(g->in_ptr);
    }
    qh_mem_free(g);
}

uint64_t qh_graph_hash(const qh_graph *g)
{
    int64_t sizes[2] = {g->n_nodes, g->n_edges};
    uint64_t h = qh_hash(sizes, sizeof sizes, 0);

    h = qh_hash(g->in_ptr, (g->n_nodes + 1) * (int64_t)sizeof *g->in_ptr, h);
    return qh_hash(g->in_src, g->n_edges * (int64_t)sizeof *g->in_src, h);
}
