/* The graph with every edge also reversed, and the check of a graph that was not built here. */
#include "src/base/mem.h"
#include "src/graph/build.h"

#include <string.h>

/* Targets by source (ptr [n_nodes + 1], row [n_edges]); rising in a row, because targets are
 * visited rising. */
static void transpose(const qh_graph *g, int64_t *ptr, int32_t *row)
{
    for (int64_t u = 0; u < g->n_nodes; u++)
        ptr[u + 1] = ptr[u] + g->out_deg[u];
    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            row[ptr[g->in_src[e]]++] = (int32_t)v;
    memmove(ptr + 1, ptr, (size_t)g->n_nodes * sizeof *ptr);
    ptr[0] = 0;
}

/* Union of two rising rows into out (NULL: only counts). */
static int64_t merge(const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b, int32_t *out)
{
    int64_t i = 0, j = 0, n = 0;

    while (i < n_a || j < n_b) {
        bool take_a = j == n_b || (i < n_a && a[i] <= b[j]);
        int32_t x = take_a ? a[i] : b[j];

        i += i < n_a && a[i] == x;
        j += j < n_b && b[j] == x;
        if (out)
            out[n] = x;
        n++;
    }
    return n;
}

qh_status qh_graph_symmetrise(const qh_graph *g, qh_graph **out)
{
    int64_t n = g->n_nodes, *ptr = NULL;
    int32_t *row = NULL;
    qh_graph *s = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&s));
    s->n_nodes = n;
    s->symmetric = true;
    QH_TRY(st, QH_NEW_ARRAY(&s->in_ptr, n + 1));
    QH_TRY(st, QH_NEW_ARRAY(&s->in_deg, n));
    QH_TRY(st, QH_NEW_ARRAY(&s->out_deg, n));
    QH_TRY(st, QH_NEW_ARRAY(&ptr, n + 1));
    QH_TRY(st, QH_NEW_ARRAY(&row, g->n_edges));
    transpose(g, ptr, row);
    for (int64_t v = 0; v < n; v++) {
        int64_t d =
            merge(g->in_src + g->in_ptr[v], g->in_deg[v], row + ptr[v], g->out_deg[v], NULL);

        s->in_deg[v] = s->out_deg[v] = (int32_t)d;
        s->in_ptr[v + 1] = s->in_ptr[v] + d;
    }
    s->n_edges = s->in_ptr[n];
    QH_TRY(st, QH_NEW_ARRAY(&s->in_src, s->n_edges));
    for (int64_t v = 0; v < n; v++)
        merge(g->in_src + g->in_ptr[v], g->in_deg[v], row + ptr[v], g->out_deg[v],
              s->in_src + s->in_ptr[v]);
    *out = s;
    s = NULL;
out:
    qh_mem_free(row);
    qh_mem_free(ptr);
    qh_graph_free(s);
    return st;
}

static qh_status check_row(const qh_graph *g, int64_t v, const char *where)
{
    int64_t last = -1;

    for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
        int64_t u = g->in_src[e];

        if (u < 0 || u >= g->n_nodes)
            return qh_fail(QH_EINPUT,
                           "%s: an edge into node %lld comes from node %lld; nodes are 0 .. %lld",
                           where, (long long)v, (long long)u, (long long)g->n_nodes - 1);
        if (u <= last || u == v)
            return qh_fail(QH_EINPUT,
                           "%s: an edge into node %lld comes from %lld after %lld; rising sources, "
                           "none of them the node, are right",
                           where, (long long)v, (long long)u, (long long)last);
        last = u;
    }
    return QH_OK;
}

qh_status qh_graph_check(const qh_graph *g, const char *where)
{
    int32_t *out_deg = NULL;
    qh_status st = QH_OK;

    if (g->in_ptr[0] != 0 || g->in_ptr[g->n_nodes] != g->n_edges)
        return qh_fail(QH_EINPUT, "%s: the rows of the graph hold %lld edges; %lld were announced",
                       where, (long long)g->in_ptr[g->n_nodes], (long long)g->n_edges);
    /* All pointers before any row is read: only then is each row inside the array. */
    for (int64_t v = 0; v < g->n_nodes; v++)
        if (g->in_ptr[v] > g->in_ptr[v + 1] || g->in_ptr[v + 1] - g->in_ptr[v] != g->in_deg[v])
            return qh_fail(
                QH_EINPUT, "%s: node %lld has a row from %lld to %lld; its in-degree is %d", where,
                (long long)v, (long long)g->in_ptr[v], (long long)g->in_ptr[v + 1], g->in_deg[v]);
    QH_TRY(st, QH_NEW_ARRAY(&out_deg, g->n_nodes));
    for (int64_t v = 0; v < g->n_nodes; v++) {
        QH_TRY(st, check_row(g, v, where));
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            out_deg[g->in_src[e]]++;
    }
    for (int64_t v = 0; v < g->n_nodes; v++)
        if (out_deg[v] != g->out_deg[v] || (g->symmetric && out_deg[v] != g->in_deg[v])) {
            st = qh_fail(QH_EINPUT, "%s: node %lld has %d edges out; %d were announced", where,
                         (long long)v, out_deg[v], g->out_deg[v]);
            goto out;
        }
out:
    qh_mem_free(out_deg);
    return st;
}
