#include "src/base/mem.h"
#include "src/graph/dataset.h"
#include "src/partition/halo.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

enum { N_PARTS = 4 };

/* As ck_assert, without its write to a pipe at every call: inner loops make millions. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s does not hold", #condition);                                          \
    } while (0)

static const char *const folders[] = {"data/cora", "data/facebook", "data/film", "data/squirrel",
                                      "data/twitch_de"};
static const char *const names[] = {"metis", "random", "range", "hash"};

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int64_t count_distinct(uint64_t *keys, int64_t n)
{
    int64_t n_distinct = 0;

    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    for (int64_t i = 0; i < n; i++)
        n_distinct += i == 0 || keys[i] != keys[i - 1];
    return n_distinct;
}

/* Cut and halo by sorting keys, which shares nothing with the code under test. */
static void recount(const qh_graph *g, const int32_t *part, int64_t *cut, int64_t *halo)
{
    uint64_t *pairs = malloc((size_t)g->n_edges * sizeof *pairs);
    uint64_t *copies = malloc((size_t)g->n_edges * sizeof *copies);
    int64_t n = 0;

    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            uint64_t u = (uint64_t)g->in_src[e], low = u < (uint64_t)v ? u : (uint64_t)v;

            if (part[u] == part[v])
                continue;
            pairs[n] = low << 32 | (u + (uint64_t)v - low);
            copies[n++] = (uint64_t)part[v] << 32 | u;
        }
    *cut = count_distinct(pairs, n);
    *halo = count_distinct(copies, n);
    free(copies);
    free(pairs);
}

static void check_plans(const qh_graph *g, const int32_t *part, const qh_partition_figures *f)
{
    qh_layout *l = NULL;
    qh_halo *h[N_PARTS] = {NULL};
    int64_t n_halo = 0, n_marginal = 0, n_edges = 0;

    ck_assert_int_eq(qh_layout_new(g, part, N_PARTS, &l), QH_OK);
    for (int r = 0; r < N_PARTS; r++) {
        ck_assert_int_eq(qh_halo_new(l, r, false, &h[r]), QH_OK);
        n_halo += h[r]->n_halo;
        n_marginal += h[r]->n_inner - h[r]->n_central;
        n_edges += h[r]->n_edges;
    }
    HOLDS(n_halo == f->halo_nodes);
    HOLDS(n_marginal == f->marginal_nodes);
    HOLDS(n_edges == g->n_edges);
    for (int s = 0; s < N_PARTS; s++)
        for (int d = 0; d < N_PARTS; d++) {
            int64_t n = h[s]->send_ptr[d + 1] - h[s]->send_ptr[d];

            HOLDS(n == h[d]->recv_ptr[s + 1] - h[d]->recv_ptr[s]);
            for (int64_t i = 0; i < n; i++)
                HOLDS(h[s]->node[h[s]->send_row[h[s]->send_ptr[d] + i]] ==
                      h[d]->node[h[d]->n_inner + h[d]->recv_ptr[s] + i]);
        }
    for (int r = 0; r < N_PARTS; r++)
        qh_halo_free(h[r]);
    qh_layout_free(l);
}

START_TEST(real_graphs)
{
    qh_dataset *d = NULL;
    int64_t random_cut = 0, metis_cut = 0;
    int32_t *part = NULL;

    ck_assert_msg(qh_dataset_open(test_shared_path(folders[_i]), &d) == QH_OK, "%s",
                  qh_error_text());
    part = malloc((size_t)d->graph->n_nodes * sizeof *part);
    for (size_t m = 0; m < QH_COUNT(names) + 1; m++) {
        const char *name = m < QH_COUNT(names) ? names[m] : "metis"; /* the last one: volume */
        qh_partition_request r = {.n_parts = N_PARTS, .seed = 1, .objective = m == QH_COUNT(names)};
        qh_partition_figures f;
        int64_t cut, halo;

        ck_assert_msg(qh_partition_make(d->graph, name, r, part) == QH_OK, "%s", qh_error_text());
        ck_assert_int_eq(qh_partition_measure(d->graph, part, N_PARTS, d->split, &f), QH_OK);
        recount(d->graph, part, &cut, &halo);
        ck_assert_int_eq(f.edge_cut, cut);
        ck_assert_int_eq(f.halo_nodes, halo);
        ck_assert_int_ge(f.min_train, 0);
        check_plans(d->graph, part, &f);
        if (strcmp(name, "metis") == 0) {
            metis_cut = cut;
            ck_assert_int_le(f.max_inner * N_PARTS * 100, d->graph->n_nodes * 105);
        }
        if (strcmp(name, "random") == 0)
            random_cut = cut;
        if (getenv("QHALO_SHOW"))
            printf("%s %s: cut %lld of %lld, halo %lld, inner %lld..%lld\n", folders[_i], name,
                   (long long)cut, (long long)f.n_pairs, (long long)halo, (long long)f.min_inner,
                   (long long)f.max_inner);
    }
    ck_assert_int_lt(metis_cut, random_cut);
    if (_i == 0) /* cora falls apart well: an eighth of a random cut is easy for METIS */
        ck_assert_int_lt(8 * metis_cut, random_cut);
    free(part);
    qh_dataset_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s;
    TCase *t;

    if (!test_shared())
        return NULL;
    s = suite_create("partition of real graphs");
    t = tcase_create("real");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, real_graphs, 0, QH_COUNT(folders));
    suite_add_tcase(s, t);
    return s;
}
