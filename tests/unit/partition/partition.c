#include "src/partition/partition.h"

#include "src/base/mem.h"
#include "src/graph/dataset.h"
#include "tests/support/support.h"
#include "tests/unit/partition/graphs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 256 };

static const char *const names[] = {"metis", "random", "range", "hash"};

static int count_of(int i, const qh_graph *g)
{
    return part_counts[i] ? part_counts[i] : (int)g->n_nodes;
}

/* Graph by graph: every partitioner, every number of parts, both objectives. */
START_TEST(parts_are_whole_and_repeat)
{
    const graph_case *c = &graph_cases[_i];
    qh_graph *g = graph_of_case(c);
    int32_t part[MAX_NODES + 1], again[MAX_NODES];

    for (int k = 0; k < n_part_counts; k++)
        for (size_t m = 0; m < 2 * QH_COUNT(names); m++) {
            qh_partition_request r = {.n_parts = count_of(k, g), .seed = 1, .objective = m % 2};
            int64_t size[MAX_NODES] = {0};

            if (r.n_parts > g->n_nodes)
                continue;
            part[g->n_nodes] = -77;
            ck_assert_msg(qh_partition_make(g, names[m / 2], r, part) == QH_OK, "%s, %s, %d: %s",
                          c->name, names[m / 2], r.n_parts, qh_error_text());
            ck_assert_int_eq(part[g->n_nodes], -77);
            ck_assert_int_eq(qh_partition_make(g, names[m / 2], r, again), QH_OK);
            ck_assert_mem_eq(part, again, (size_t)g->n_nodes * sizeof *part);
            for (int64_t i = 0; i < g->n_nodes; i++) {
                ck_assert(part[i] >= 0 && part[i] < r.n_parts);
                size[part[i]]++;
            }
            for (int p = 0; p < r.n_parts; p++) {
                ck_assert_int_gt(size[p], 0);
                if (m / 2 == 1 || m / 2 == 2) /* random and range: apart by one at most */
                    ck_assert_int_le(llabs(size[p] * r.n_parts - g->n_nodes), r.n_parts);
            }
        }
    qh_graph_free(g);
}
END_TEST

/* By the definitions in partition.h, from the matrix. */
static qh_partition_figures recount(const qh_graph *g, const int32_t *part, int n_parts,
                                    const int8_t *split)
{
    bool *edge = edge_matrix(g);
    int64_t n = g->n_nodes;
    qh_partition_figures f = {
        .n_parts = n_parts, .min_inner = n, .min_halo = n, .min_train = split ? n : -1};

    for (int64_t u = 0; u < n; u++)
        for (int64_t v = 0; v < u; v++)
            if (edge[u * n + v] || edge[v * n + u]) {
                f.n_pairs++;
                f.edge_cut += part[u] != part[v];
            }
    for (int64_t u = 0; u < n; u++) {
        bool sent = false, receives = false;

        for (int64_t v = 0; v < n; v++) {
            sent |= edge[u * n + v] && part[u] != part[v];
            receives |= edge[v * n + u] && part[u] != part[v];
        }
        f.boundary_nodes += sent;
        f.marginal_nodes += receives;
    }
    for (int p = 0; p < n_parts; p++) {
        int64_t inner = 0, halo = 0, train = 0;

        for (int64_t u = 0; u < n; u++) {
            bool needed = false;

            for (int64_t v = 0; v < n; v++)
                needed |= edge[u * n + v] && part[v] == p && part[u] != p;
            inner += part[u] == p;
            halo += needed;
            train += split && part[u] == p && split[u] == QH_SPLIT_TRAIN;
        }
        f.halo_nodes += halo;
        f.max_inner = inner > f.max_inner ? inner : f.max_inner;
        f.min_inner = inner < f.min_inner ? inner : f.min_inner;
        f.max_halo = halo > f.max_halo ? halo : f.max_halo;
        f.min_halo = halo < f.min_halo ? halo : f.min_halo;
        f.min_train = split && train < f.min_train ? train : f.min_train;
    }
    free(edge);
    return f;
}

START_TEST(figures_equal_a_recount)
{
    qh_graph *g = graph_of_case(&graph_cases[_i]);
    int32_t part[MAX_NODES];
    int8_t split[MAX_NODES];

    for (int64_t i = 0; i < g->n_nodes; i++)
        split[i] = (int8_t)(i * 7 % 4);
    for (int k = 0; k < n_part_counts; k++)
        for (size_t m = 0; m < QH_COUNT(names); m++) {
            qh_partition_request r = {.n_parts = count_of(k, g), .seed = 9};
            const int8_t *s = m % 2 ? split : NULL;
            qh_partition_figures got = {0}, want;

            if (r.n_parts > g->n_nodes)
                continue;
            ck_assert_int_eq(qh_partition_make(g, names[m], r, part), QH_OK);
            ck_assert_int_eq(qh_partition_measure(g, part, r.n_parts, s, &got), QH_OK);
            want = recount(g, part, r.n_parts, s);
            ck_assert_int_eq(got.n_parts, want.n_parts);
            ck_assert_int_eq(got.edge_cut, want.edge_cut);
            ck_assert_int_eq(got.n_pairs, want.n_pairs);
            ck_assert_int_eq(got.halo_nodes, want.halo_nodes);
            ck_assert_int_eq(got.boundary_nodes, want.boundary_nodes);
            ck_assert_int_eq(got.marginal_nodes, want.marginal_nodes);
            ck_assert_int_eq(got.max_inner, want.max_inner);
            ck_assert_int_eq(got.min_inner, want.min_inner);
            ck_assert_int_eq(got.max_halo, want.max_halo);
            ck_assert_int_eq(got.min_halo, want.min_halo);
            ck_assert_int_eq(got.min_train, want.min_train);
        }
    qh_graph_free(g);
}
END_TEST

static int64_t cut_of(const qh_graph *g, const char *name, int n_parts, uint64_t seed)
{
    int32_t part[MAX_NODES];
    qh_partition_figures f;
    qh_partition_request r = {.n_parts = n_parts, .seed = seed};

    ck_assert_int_eq(qh_partition_make(g, name, r, part), QH_OK);
    ck_assert_int_eq(qh_partition_measure(g, part, n_parts, NULL, &f), QH_OK);
    return f.edge_cut;
}

/* A path in 5 parts needs 4 cuts; the planted blocks beat a random deal by far. */
START_TEST(metis_cuts_little)
{
    qh_graph *path = graph_of_case(&graph_cases[4]), *sbm = graph_of_case(&graph_cases[9]);

    ck_assert_str_eq(graph_cases[4].name, "path");
    ck_assert_str_eq(graph_cases[9].name, "sbm");
    ck_assert_int_le(cut_of(path, "metis", 5, 1), 6);
    ck_assert_int_lt(2 * cut_of(sbm, "metis", 5, 1), cut_of(sbm, "random", 5, 1));
    qh_graph_free(path);
    qh_graph_free(sbm);
}
END_TEST

START_TEST(the_seed_matters_to_random_alone)
{
    qh_graph *g = graph_of_case(&graph_cases[9]);
    int32_t a[MAX_NODES], b[MAX_NODES];

    for (size_t m = 1; m < QH_COUNT(names); m++) {
        qh_partition_request r = {.n_parts = 3, .seed = 1};

        ck_assert_int_eq(qh_partition_make(g, names[m], r, a), QH_OK);
        r.seed = UINT64_C(1) << 40;
        ck_assert_int_eq(qh_partition_make(g, names[m], r, b), QH_OK);
        ck_assert_int_eq(memcmp(a, b, (size_t)g->n_nodes * sizeof *a) != 0, m == 1);
    }
    qh_graph_free(g);
}
END_TEST

static const struct {
    const char *name;
    int n_parts;
    const char *text;
} wrong[] = {
    {"mets", 2, "partitioner 'mets': unknown; known are metis, random, range, hash, file:PATH"},
    {"", 2, "partitioner '': unknown; known are metis, random, range, hash, file:PATH"},
    {"meti", 2, "unknown"},
    {"metis:3", 2, "partitioner 'metis:3': takes no argument; metis"},
    {"file", 2, "partitioner 'file': lacks its argument; file:PATH"},
    {"file:", 2, "partitioner 'file:': lacks its argument; file:PATH"},
    {"metis", 0, "0 parts for 17 nodes; every part needs a node, so 1 to 17"},
    {"range", -1, "-1 parts for 17 nodes"},
    {"metis", 18, "18 parts for 17 nodes"},
    {"random", INT_MAX, "parts for 17 nodes"},
};

START_TEST(wrong_requests_are_refused)
{
    qh_graph *g = graph_of_case(&graph_cases[2]);
    int32_t part[MAX_NODES] = {0};
    qh_partition_request r = {.n_parts = wrong[_i].n_parts};

    ck_assert_int_eq(qh_partition_make(g, wrong[_i].name, r, part), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), wrong[_i].text), "%s", qh_error_text());
    ck_assert_ptr_null(strchr(qh_error_text(), '\n'));
    qh_graph_free(g);
}
END_TEST

/* A graph that says it has more edges than a 32-bit METIS can count; nothing is read of it. */
START_TEST(metis_refuses_what_its_indices_cannot_count)
{
    qh_graph *g = graph_of_case(&graph_cases[9]);
    int32_t part[MAX_NODES];
    int64_t n_edges = g->n_edges;

    g->n_edges = INT64_C(1) << 62;
    ck_assert_int_eq(qh_partition_make(g, "metis", (qh_partition_request){.n_parts = 2}, part),
                     QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "-bit indices"));
    g->n_edges = n_edges;
    qh_graph_free(g);
}
END_TEST

START_TEST(the_maker_of_a_file_is_named)
{
    char text[100];
    qh_partition_request r = {.n_parts = 2, .seed = 5, .objective = QH_OBJECTIVE_VOL};

    ck_assert_int_eq(qh_partition_made_by("metis", r, text, sizeof text), QH_OK);
    ck_assert_msg(strncmp(text, "metis 5.", 8) == 0 && strstr(text, "objective=vol seed=5"), "%s",
                  text);
    ck_assert_int_eq(qh_partition_made_by("file:x", r, text, sizeof text), QH_OK);
    ck_assert_str_eq(text, "file:x seed=5");
    ck_assert_int_eq(qh_partition_made_by("x", r, text, sizeof text), QH_EUSAGE);
}
END_TEST

/* Every allocation fails once; the status says so and nothing stays allocated. */
START_TEST(lack_of_memory_is_reported)
{
    qh_graph *g = graph_of_case(&graph_cases[7]); /* not symmetric: metis makes a copy */
    int32_t part[MAX_NODES];
    int64_t before = qh_mem_bytes();

    for (size_t m = 0; m < QH_COUNT(names) + 1; m++) {
        qh_status st = QH_ERESOURCE;
        int n = 0;

        while (st == QH_ERESOURCE) {
            qh_partition_figures f;

            qh_mem_fail_at(++n);
            st = m < QH_COUNT(names)
                     ? qh_partition_make(g, names[m], (qh_partition_request){.n_parts = 3}, part)
                     : qh_partition_measure(g, part, 3, NULL, &f);
            qh_mem_fail_at(0);
            ck_assert_int_eq(qh_mem_bytes(), before);
        }
        ck_assert_int_eq(st, QH_OK);
        ck_assert_int_gt(n, 1);
    }
    qh_graph_free(g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("partition");
    TCase *t = tcase_create("partition");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, parts_are_whole_and_repeat, 0, n_graph_cases);
    tcase_add_loop_test(t, figures_equal_a_recount, 0, n_graph_cases);
    tcase_add_test(t, metis_cuts_little);
    tcase_add_test(t, the_seed_matters_to_random_alone);
    tcase_add_loop_test(t, wrong_requests_are_refused, 0, QH_COUNT(wrong));
    tcase_add_test(t, metis_refuses_what_its_indices_cannot_count);
    tcase_add_test(t, the_maker_of_a_file_is_named);
    tcase_add_test(t, lack_of_memory_is_reported);
    suite_add_tcase(s, t);
    return s;
}
