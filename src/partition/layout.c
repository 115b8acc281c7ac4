#include "src/base/mem.h"
#include "src/partition/halo.h"
#include "src/partition/locality.h"

#include <string.h>

/* The edges by source, targets rising: a counting sort of the edges by target. */
static qh_status transpose(const qh_graph *g, qh_layout *l)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&l->out_ptr, g->n_nodes + 1));
    QH_TRY(st, QH_NEW_ARRAY(&l->out_dst, g->n_edges));
    for (int64_t e = 0; e < g->n_edges; e++)
        l->out_ptr[g->in_src[e] + 1]++;
    for (int64_t i = 0; i < g->n_nodes; i++)
        l->out_ptr[i + 1] += l->out_ptr[i];
    for (int64_t v = 0; v < g->n_nodes; v++) /* moves every offset to the end of its row, */
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            l->out_dst[l->out_ptr[g->in_src[e]]++] = (int32_t)v;
    for (int64_t i = g->n_nodes; i > 0; i--) /* which is where the next one begins */
        l->out_ptr[i] = l->out_ptr[i - 1];
    l->out_ptr[0] = 0;
out:
    return st;
}

static bool is_marginal(const qh_layout *l, int64_t v)
{
    const qh_graph *g = l->graph;

    for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
        if (l->part[g->in_src[e]] != l->part[v])
            return true;
    return false;
}

/* Fills first, node, row and n_central from part and the order of nodes. While counting, row keeps
 * whether a node is marginal. */
static qh_status number_rows(qh_layout *l, const int32_t *order)
{
    int64_t n_nodes = l->graph->n_nodes;
    int64_t *next = NULL; /* [2 * n_ranks]: the next central and marginal place of a rank */
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&next, 2 * (int64_t)l->n_ranks));
    for (int64_t i = 0; i < n_nodes; i++) {
        QH_ASSERT(l->part[i] >= 0 && l->part[i] < l->n_ranks);
        l->row[i] = is_marginal(l, i);
        l->first[l->part[i] + 1]++;
        l->n_central[l->part[i]] += !l->row[i];
    }
    for (int p = 0; p < l->n_ranks; p++) {
        next[2 * p] = l->first[p];
        next[2 * p + 1] = l->first[p] + l->n_central[p];
        l->first[p + 1] += l->first[p];
    }
    for (int64_t i = 0; i < n_nodes; i++) {
        int32_t v = order[i], p = l->part[v];
        int64_t place = next[2 * p + l->row[v]]++;

        l->node[place] = v;
        l->row[v] = (int32_t)(place - l->first[p]);
    }
out:
    qh_mem_free(next);
    return st;
}

qh_status qh_layout_new(const qh_graph *g, const int32_t *part, int n_ranks, qh_layout **out)
{
    qh_status st;
    qh_layout *l = NULL;
    int32_t *order = NULL;

    QH_ASSERT(n_ranks >= 1 && g->n_nodes >= 1);
    QH_TRY(st, QH_NEW(&l));
    l->graph = g;
    l->n_ranks = n_ranks;
    QH_TRY(st, QH_NEW_ARRAY(&l->part, g->n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&l->row, g->n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&l->first, n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&l->node, g->n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&l->n_central, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&order, g->n_nodes));
    memcpy(l->part, part, (size_t)g->n_nodes * sizeof *part);
    if (!g->symmetric)
        QH_TRY(st, transpose(g, l));
    QH_TRY(st, qh_locality_order(g, l->out_ptr, l->out_dst, l->part, order));
    QH_TRY(st, number_rows(l, order));
    *out = l;
    l = NULL; /* handed over */
out:
    qh_mem_free(order);
    qh_layout_free(l);
    return st;
}

void qh_layout_free(qh_layout *l)
{
    if (!l)
        return;
    qh_mem_free(l->out_dst);
    qh_mem_free(l->out_ptr);
    qh_mem_free(l->n_central);
    qh_mem_free(l->node);
    qh_mem_free(l->first);
    qh_mem_free(l->row);
    qh_mem_free(l->part);
    qh_mem_free(l);
}
