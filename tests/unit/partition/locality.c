#include "src/partition/locality.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"
#include "tests/unit/partition/graphs.h"

#include <string.h>

enum { MAX_NODES = 256 };

START_TEST(an_order_is_a_permutation_and_repeats)
{
    qh_graph *g = graph_of_case(&graph_cases[_i]);
    int32_t part[MAX_NODES], order[MAX_NODES + 1], again[MAX_NODES];
    bool seen[MAX_NODES] = {false};

    for (int64_t i = 0; i < g->n_nodes; i++)
        part[i] = (int32_t)(i % 3);
    order[g->n_nodes] = -77;
    ck_assert_int_eq(qh_locality_order(g, NULL, NULL, part, order), QH_OK);
    ck_assert_int_eq(qh_locality_order(g, NULL, NULL, part, again), QH_OK);
    ck_assert_mem_eq(order, again, (size_t)g->n_nodes * sizeof *order);
    ck_assert_int_eq(order[g->n_nodes], -77);
    for (int64_t i = 0; i < g->n_nodes; i++) {
        ck_assert(order[i] >= 0 && order[i] < g->n_nodes && !seen[order[i]]);
        seen[order[i]] = true;
    }
    qh_graph_free(g);
}
END_TEST

/* The five planted blocks of the case, dealt round over the ids, come out in runs. */
START_TEST(blocks_lie_together)
{
    qh_graph *g = graph_of_case(&graph_cases[9]);
    int32_t part[MAX_NODES] = {0}, order[MAX_NODES];
    int64_t n_changes = 0;

    ck_assert_str_eq(graph_cases[9].name, "sbm");
    ck_assert_int_eq(qh_locality_order(g, NULL, NULL, part, order), QH_OK);
    for (int64_t i = 1; i < g->n_nodes; i++)
        n_changes += order[i] % 5 != order[i - 1] % 5;
    ck_assert_int_le(n_changes, 20); /* in id order all 150 do; 4 would be perfect */
    qh_graph_free(g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("locality");
    TCase *t = tcase_create("locality");

    tcase_add_loop_test(t, an_order_is_a_permutation_and_repeats, 0, n_graph_cases);
    tcase_add_test(t, blocks_lie_together);
    suite_add_tcase(s, t);
    return s;
}
