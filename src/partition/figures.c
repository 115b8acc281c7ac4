#include "src/partition/partition.h"

#include "src/base/mem.h"
#include "src/graph/dataset.h"

#include <stdbool.h>

/* Pairs {u, v} and those whose ends lie apart. An edge u -> v with u < v stands for its pair; one
 * with u > v does where its reverse is missing. Targets are visited rising, so the sources asked
 * for in a row rise too: one cursor a row makes all look-ups linear. */
static qh_status count_pairs(const qh_graph *g, const int32_t *part, qh_partition_figures *f)
{
    int64_t *cursor = NULL;
    qh_status st = QH_OK;

    if (!g->symmetric)
        QH_TRY(st, QH_NEW_ARRAY(&cursor, g->n_nodes));
    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            int64_t u = g->in_src[e];

            if (u > v && g->symmetric)
                break; /* sources rise: the other ends count these pairs */
            if (u > v) {
                int64_t n = g->in_ptr[u + 1] - g->in_ptr[u];
                const int32_t *row = g->in_src + g->in_ptr[u];

                while (cursor[u] < n && row[cursor[u]] < v)
                    cursor[u]++;
                if (cursor[u] < n && row[cursor[u]] == v)
                    continue;
            }
            f->n_pairs++;
            f->edge_cut += part[u] != part[v];
        }
out:
    qh_mem_free(cursor);
    return st;
}

typedef struct scratch {
    int64_t *first;     /* owned, [n_parts + 1]: offsets into node */
    int32_t *node;      /* owned, [n_nodes]: nodes by part */
    int32_t *last_part; /* owned, [n_nodes]: 1 + the last part that had the node in its halo */
    int64_t *train;     /* owned, [n_parts] */
    int64_t *fill;      /* owned, [n_parts] */
} scratch;

static qh_status scratch_init(const qh_graph *g, const int32_t *part, int n_parts, scratch *s)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&s->first, n_parts + 1));
    QH_TRY(st, QH_NEW_ARRAY(&s->node, g->n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&s->last_part, g->n_nodes));
    QH_TRY(st, QH_NEW_ARRAY(&s->train, n_parts));
    QH_TRY(st, QH_NEW_ARRAY(&s->fill, n_parts));
    for (int64_t i = 0; i < g->n_nodes; i++) {
        QH_ASSERT(part[i] >= 0 && part[i] < n_parts);
        s->first[part[i] + 1]++;
    }
    for (int p = 0; p < n_parts; p++) {
        s->first[p + 1] += s->first[p];
        s->fill[p] = s->first[p];
    }
    for (int64_t i = 0; i < g->n_nodes; i++)
        s->node[s->fill[part[i]]++] = (int32_t)i;
out:
    return st;
}

static void scratch_fini(scratch *s)
{
    qh_mem_free(s->fill);
    qh_mem_free(s->train);
    qh_mem_free(s->last_part);
    qh_mem_free(s->node);
    qh_mem_free(s->first);
}

static void count_halo(const qh_graph *g, const int32_t *part, int p, scratch *s,
                       qh_partition_figures *f)
{
    int64_t n_inner = s->first[p + 1] - s->first[p], n_halo = 0;

    for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
        bool marginal = false;
        int64_t v = s->node[i];

        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            int32_t u = g->in_src[e];

            if (part[u] == p)
                continue;
            marginal = true;
            if (s->last_part[u] == p + 1)
                continue;
            f->boundary_nodes += s->last_part[u] == 0;
            s->last_part[u] = p + 1;
            n_halo++;
        }
        f->marginal_nodes += marginal;
    }
    f->halo_nodes += n_halo;
    if (p == 0 || n_inner > f->max_inner)
        f->max_inner = n_inner;
    if (p == 0 || n_inner < f->min_inner)
        f->min_inner = n_inner;
    if (p == 0 || n_halo > f->max_halo)
        f->max_halo = n_halo;
    if (p == 0 || n_halo < f->min_halo)
        f->min_halo = n_halo;
}

qh_status qh_partition_measure(const qh_graph *g, const int32_t *part, int n_parts,
                               const int8_t *split, qh_partition_figures *out)
{
    qh_partition_figures f = {.n_parts = n_parts, .min_train = -1};
    scratch s = {0};
    qh_status st;

    QH_ASSERT(n_parts >= 1);
    QH_TRY(st, scratch_init(g, part, n_parts, &s));
    QH_TRY(st, count_pairs(g, part, &f));
    for (int p = 0; p < n_parts; p++)
        count_halo(g, part, p, &s, &f);
    if (split) {
        for (int64_t i = 0; i < g->n_nodes; i++)
            s.train[part[i]] += split[i] == QH_SPLIT_TRAIN;
        f.min_train = s.train[0];
        for (int p = 1; p < n_parts; p++)
            if (s.train[p] < f.min_train)
                f.min_train = s.train[p];
    }
    *out = f;
out:
    scratch_fini(&s);
    return st;
}
