#include "tests/unit/partition/graphs.h"

#include "src/base/rng.h"

#include <check.h>
#include <stdlib.h>

enum { ROOM = 10000 };

static int64_t both(int64_t m, int64_t u, int64_t v, int32_t *src, int32_t *dst)
{
    src[m] = dst[m + 1] = (int32_t)u;
    dst[m] = src[m + 1] = (int32_t)v;
    return m + 2;
}

static int64_t none(int64_t n, int32_t *src, int32_t *dst)
{
    (void)n, (void)src, (void)dst;
    return 0;
}

static int64_t star(int64_t n, int32_t *src, int32_t *dst)
{
    int64_t m = 0;

    for (int64_t i = 1; i < n; i++)
        m = both(m, 0, i, src, dst);
    return m;
}

static int64_t path(int64_t n, int32_t *src, int32_t *dst)
{
    int64_t m = 0;

    for (int64_t i = 1; i < n; i++)
        m = both(m, i - 1, i, src, dst);
    return m;
}

static int64_t clique(int64_t n, int32_t *src, int32_t *dst)
{
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            m = both(m, i, j, src, dst);
    return m;
}

/* One way only: every node to the next one and to its double. */
static int64_t directed(int64_t n, int32_t *src, int32_t *dst)
{
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++) {
        src[m] = src[m + 1] = (int32_t)i;
        dst[m++] = (int32_t)((i + 1) % n);
        dst[m++] = (int32_t)(2 * i % n);
    }
    return m;
}

/* Some edges one way, some both; many components and isolated nodes. */
static int64_t mixed(int64_t n, int32_t *src, int32_t *dst)
{
    qh_key key = qh_rand_key(3, QH_RAND_SAMPLE, 0, 0, 0);
    int64_t m = 0;

    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        int64_t u = (int64_t)qh_rand_below(key, 3 * i, (uint64_t)n);
        int64_t v = (int64_t)qh_rand_below(key, 3 * i + 1, (uint64_t)n);

        m = both(m, u, v, src, dst) - (int64_t)qh_rand_below(key, 3 * i + 2, 2);
    }
    return m;
}

/* Five blocks, ids dealt round, dense inside and thin between. */
static int64_t sbm(int64_t n, int32_t *src, int32_t *dst)
{
    qh_key key = qh_rand_key(4, QH_RAND_SAMPLE, 0, 0, 0);
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (qh_rand_unit(key, (uint64_t)(i * n + j)) < (i % 5 == j % 5 ? 0.3 : 0.01))
                m = both(m, i, j, src, dst);
    return m;
}

/* Two cliques without an edge between them, and isolated nodes at the end. */
static int64_t two_cliques(int64_t n, int32_t *src, int32_t *dst)
{
    int64_t m = 0;

    for (int64_t i = 0; i < n - 5; i++)
        for (int64_t j = i % 2; j < i; j += 2)
            m = both(m, i, j, src, dst);
    return m;
}

const graph_case graph_cases[] = {
    {"one node", 1, none},
    {"two nodes", 2, path},
    {"no edges", 17, none},
    {"star", 33, star},
    {"path", 65, path},
    {"clique", 13, clique},
    {"directed ring", 31, directed},
    {"mixed", 97, mixed},
    {"mixed 211", 211, mixed},
    {"sbm", 151, sbm},
    {"two cliques", 47, two_cliques},
    {"path 64", 64, path},
};
const int n_graph_cases = sizeof graph_cases / sizeof *graph_cases;

const int part_counts[] = {1, 2, 3, 5, 7, 12, 0};
const int n_part_counts = sizeof part_counts / sizeof *part_counts;

qh_graph *graph_of_case(const graph_case *c)
{
    static int32_t src[ROOM], dst[ROOM];
    qh_edge_report report;
    qh_graph *g = NULL;
    int64_t m = c->edges(c->n_nodes, src, dst);

    ck_assert_int_le(m, ROOM);
    ck_assert_int_eq(qh_graph_new(c->n_nodes, m, src, dst, 1, &g, &report), QH_OK);
    return g;
}

bool *edge_matrix(const qh_graph *g)
{
    bool *matrix = calloc((size_t)(g->n_nodes * g->n_nodes), sizeof *matrix);

    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            matrix[g->in_src[e] * g->n_nodes + v] = true;
    return matrix;
}
