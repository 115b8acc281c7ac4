#include "src/partition/halo.h"

#include "src/base/mem.h"

/* A set of places (where a node stands in layout->node: by rank, then by row) that numbers its
 * members in rising order. That order is the order of the halo rows, so the set is sort and map in
 * one, at 3/16 of a byte a node of the whole graph, for as long as the plan is being made. */
typedef struct place_set {
    uint64_t *bits;  /* owned, [n_words] */
    int32_t *before; /* owned, [n_words + 1]: members in the words before this one */
    int64_t n_words;
} place_set;

static qh_status set_init(place_set *s, int64_t n_places)
{
    qh_status st;

    s->n_words = (n_places + 63) / 64;
    QH_TRY(st, QH_NEW_ARRAY(&s->bits, s->n_words));
    QH_TRY(st, QH_NEW_ARRAY(&s->before, s->n_words + 1));
out:
    return st;
}

static void set_fini(place_set *s)
{
    qh_mem_free(s->before);
    qh_mem_free(s->bits);
}

static void set_add(place_set *s, int64_t place)
{
    s->bits[place >> 6] |= UINT64_C(1) << (place & 63);
}

static void set_count(place_set *s)
{
    for (int64_t w = 0; w < s->n_words; w++)
        s->before[w + 1] = s->before[w] + __builtin_popcountll(s->bits[w]);
}

/* Members below place. */
static int64_t set_rank(const place_set *s, int64_t place)
{
    uint64_t below = (UINT64_C(1) << (place & 63)) - 1;

    return s->before[place >> 6] + __builtin_popcountll(s->bits[place >> 6] & below);
}

static int64_t place_of(const qh_layout *l, int32_t node)
{
    return l->first[l->part[node]] + l->row[node];
}

static void collect_halo(const qh_layout *l, int rank, place_set *s)
{
    const qh_graph *g = l->graph;

    for (int64_t i = l->first[rank]; i < l->first[rank + 1]; i++)
        for (int64_t e = g->in_ptr[l->node[i]]; e < g->in_ptr[l->node[i] + 1]; e++)
            if (l->part[g->in_src[e]] != rank)
                set_add(s, place_of(l, g->in_src[e]));
    set_count(s);
}

static qh_status list_nodes(const qh_layout *l, const place_set *s, qh_halo *h)
{
    int64_t inner = l->first[h->rank], row;
    qh_status st;

    h->n_central = l->n_central[h->rank];
    h->n_inner = l->first[h->rank + 1] - inner;
    h->n_halo = s->before[s->n_words];
    h->n_local = h->n_inner + h->n_halo;
    QH_TRY(st, QH_NEW_ARRAY(&h->node, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_deg, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_deg, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->recv_ptr, h->n_ranks + 1));
    for (row = 0; row < h->n_inner; row++)
        h->node[row] = l->node[inner + row];
    for (int64_t w = 0; w < s->n_words; w++)
        for (uint64_t bits = s->bits[w]; bits; bits &= bits - 1)
            h->node[row++] = l->node[64 * w + __builtin_ctzll(bits)];
    for (row = 0; row < h->n_local; row++) {
        h->in_deg[row] = l->graph->in_deg[h->node[row]];
        h->out_deg[row] = l->graph->out_deg[h->node[row]];
        if (row >= h->n_inner)
            h->recv_ptr[l->part[h->node[row]] + 1]++;
    }
    for (int p = 0; p < h->n_ranks; p++)
        h->recv_ptr[p + 1] += h->recv_ptr[p];
out:
    return st;
}

static int32_t local_row(const qh_layout *l, const place_set *s, const qh_halo *h, int32_t node)
{
    if (l->part[node] == h->rank)
        return l->row[node];
    return (int32_t)(h->n_inner + set_rank(s, place_of(l, node)));
}

static void prefix_sum(int64_t *ptr, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ptr[i + 1] += ptr[i];
}

/* Undoes what filling a CSR does to its offsets: each was moved to the next one's place. */
static void shift_back(int64_t *ptr, int64_t n)
{
    for (int64_t i = n; i > 0; i--)
        ptr[i] = ptr[i - 1];
    ptr[0] = 0;
}

/* Both CSRs with rising columns and no sort: edges in the order of inner rows go into the
 * transposed graph, whose lists then rise; transposing that gives rising in-lists. */
static qh_status link_rows(const qh_layout *l, const place_set *s, bool self_loops, qh_halo *h)
{
    const qh_graph *g = l->graph;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&h->in_ptr, h->n_inner + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_ptr, h->n_local + 1));
    for (int64_t row = 0; row < h->n_inner; row++) {
        int32_t v = h->node[row];

        h->in_ptr[row + 1] = g->in_ptr[v + 1] - g->in_ptr[v] + self_loops;
        h->out_ptr[row + 1] += self_loops;
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            h->out_ptr[local_row(l, s, h, g->in_src[e]) + 1]++;
    }
    prefix_sum(h->in_ptr, h->n_inner);
    prefix_sum(h->out_ptr, h->n_local);
    h->n_edges = h->in_ptr[h->n_inner];
    QH_TRY(st, QH_NEW_ARRAY(&h->in_col, h->n_edges));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_col, h->n_edges));
    for (int64_t row = 0; row < h->n_inner; row++) {
        int32_t v = h->node[row];

        if (self_loops)
            h->out_col[h->out_ptr[row]++] = (int32_t)row;
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            h->out_col[h->out_ptr[local_row(l, s, h, g->in_src[e])]++] = (int32_t)row;
    }
    shift_back(h->out_ptr, h->n_local);
    for (int64_t col = 0; col < h->n_local; col++)
        for (int64_t e = h->out_ptr[col]; e < h->out_ptr[col + 1]; e++)
            h->in_col[h->in_ptr[h->out_col[e]]++] = (int32_t)col;
    shift_back(h->in_ptr, h->n_inner);
out:
    return st;
}

/* Calls of this walk the pairs (inner row, rank that has it in its halo), rows rising, which is
 * the order in which that rank keeps its halo rows. With fill they are written, else counted. */
static void walk_boundary(const qh_layout *l, qh_halo *h, int32_t *last_row, bool fill)
{
    const qh_graph *g = l->graph;
    const int64_t *ptr = l->out_ptr ? l->out_ptr : g->in_ptr;
    const int32_t *dst = l->out_dst ? l->out_dst : g->in_src;

    for (int p = 0; p < h->n_ranks; p++)
        last_row[p] = -1;
    for (int64_t row = 0; row < h->n_inner; row++)
        for (int64_t e = ptr[h->node[row]]; e < ptr[h->node[row] + 1]; e++) {
            int p = l->part[dst[e]];

            if (p == h->rank || last_row[p] == row)
                continue;
            last_row[p] = (int32_t)row;
            if (fill)
                h->send_row[h->send_ptr[p]++] = (int32_t)row;
            else
                h->send_ptr[p + 1]++;
        }
}

static qh_status list_boundary(const qh_layout *l, qh_halo *h)
{
    int32_t *last_row = NULL; /* [n_ranks]: the last row found to go to a rank */
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&last_row, h->n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&h->send_ptr, h->n_ranks + 1));
    walk_boundary(l, h, last_row, false);
    prefix_sum(h->send_ptr, h->n_ranks);
    QH_TRY(st, QH_NEW_ARRAY(&h->send_row, h->send_ptr[h->n_ranks]));
    walk_boundary(l, h, last_row, true);
    shift_back(h->send_ptr, h->n_ranks);
out:
    qh_mem_free(last_row);
    return st;
}

qh_status qh_halo_new(const qh_layout *l, int rank, bool self_loops, qh_halo **out)
{
    qh_status st;
    qh_halo *h = NULL;
    place_set s = {0};

    QH_ASSERT(rank >= 0 && rank < l->n_ranks);
    QH_TRY(st, QH_NEW(&h));
    h->rank = rank;
    h->n_ranks = l->n_ranks;
    QH_TRY(st, set_init(&s, l->graph->n_nodes));
    collect_halo(l, rank, &s);
    QH_TRY(st, list_nodes(l, &s, h));
    QH_TRY(st, link_rows(l, &s, self_loops, h));
    QH_TRY(st, list_boundary(l, h));
    *out = h;
    h = NULL; /* handed over */
out:
    set_fini(&s);
    qh_halo_free(h);
    return st;
}

void qh_halo_free(qh_halo *h)
{
    if (!h)
        return;
    qh_mem_free(h->send_row);
    qh_mem_free(h->send_ptr);
    qh_mem_free(h->out_col);
    qh_mem_free(h->in_col);
    qh_mem_free(h->out_ptr);
    qh_mem_free(h->in_ptr);
    qh_mem_free(h->recv_ptr);
    qh_mem_free(h->out_deg);
    qh_mem_free(h->in_deg);
    qh_mem_free(h->node);
    qh_mem_free(h);
}

qh_rows qh_halo_central(const qh_halo *h)
{
    return (qh_rows){0, h->n_central};
}

qh_rows qh_halo_marginal(const qh_halo *h)
{
    return (qh_rows){h->n_central, h->n_inner};
}

qh_rows qh_halo_inner(const qh_halo *h)
{
    return (qh_rows){0, h->n_inner};
}

qh_rows qh_halo_remote(const qh_halo *h)
{
    return (qh_rows){h->n_inner, h->n_local};
}
