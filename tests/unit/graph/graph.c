#include "src/graph/graph.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/graph/build.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

/* Edges drawn at random; the first `hub` of them go into node 0, so that its row is long. */
typedef struct sample {
    int64_t n_nodes, n_edges, hub;
} sample;

static const sample samples[] = {
    {1, 0, 0},
    {1, 3, 0}, /* self loops only */
    {2, 1, 0},
    {2, 9, 0},
    {3, 4, 0},
    {47, 400, 49}, /* rows about the length where the way of sorting changes */
    {300, 250, 48},
    {300, 900, 47},
    {257, 3000, 1},
    {65537, 70000, 5000},          /* ids of three digits */
    {31, QH_EDGE_CHUNK - 1, 0},    /* dense: mostly duplicates */
    {5003, QH_EDGE_CHUNK, 0},      /* a chunk */
    {5003, QH_EDGE_CHUNK + 1, 17}, /* and one past it */
    {5003, 2 * QH_EDGE_CHUNK + 5, 0},
};

static int32_t *draw(sample s, uint64_t seed)
{
    qh_key key = qh_rand_key(seed, QH_RAND_SAMPLE, 0, 0, 0);
    int32_t *pairs = NULL;

    ck_assert_int_eq(QH_NEW_ARRAY(&pairs, 2 * s.n_edges), QH_OK);
    for (int64_t i = 0; i < 2 * s.n_edges; i++)
        pairs[i] = (int32_t)qh_rand_below(key, (uint64_t)i, (uint64_t)s.n_nodes);
    for (int64_t i = 0; i < s.hub; i++)
        pairs[2 * i + 1] = 0;
    return pairs;
}

static int by_target(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return x[1] != y[1] ? (x[1] > y[1]) - (x[1] < y[1]) : (x[0] > y[0]) - (x[0] < y[0]);
}

/* The definition: sort all pairs, walk over them once. Leaves the kept ones in front. */
static int64_t define(int32_t *pairs, int64_t n, qh_edge_report *r)
{
    int64_t kept = 0;

    *r = (qh_edge_report){0};
    qsort(pairs, (size_t)n, 2 * sizeof *pairs, by_target);
    for (int64_t i = 0; i < n; i++) {
        if (pairs[2 * i] == pairs[2 * i + 1])
            r->self_loops++;
        else if (kept && by_target(pairs + 2 * i, pairs + 2 * (kept - 1)) == 0)
            r->duplicates++;
        else
            memmove(pairs + 2 * kept++, pairs + 2 * i, 2 * sizeof *pairs);
    }
    for (int64_t i = 0; i < kept; i++) {
        int32_t back[2] = {pairs[2 * i + 1], pairs[2 * i]};

        r->one_way += !bsearch(back, pairs, (size_t)kept, 2 * sizeof *pairs, by_target);
    }
    return kept;
}

static void assert_graph_is(const qh_graph *g, const int32_t *pairs, int64_t kept)
{
    int64_t at = 0;

    ck_assert_int_eq(g->n_edges, kept);
    for (int64_t v = 0; v < g->n_nodes; v++) {
        ck_assert_int_eq(g->in_ptr[v], at);
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++, at++)
            ck_assert_msg(pairs[2 * at] == g->in_src[e] && pairs[2 * at + 1] == v,
                          "edge %lld is %d -> %lld, not %d -> %d", (long long)e, g->in_src[e],
                          (long long)v, pairs[2 * at], pairs[2 * at + 1]);
    }
    ck_assert_int_eq(g->in_ptr[g->n_nodes], kept);
    ck_assert_int_eq(qh_graph_check(g, "here"), QH_OK); /* degrees, too */
}

START_TEST(build_is_the_definition)
{
    sample s = samples[_i];
    int32_t *pairs = draw(s, 11), *src = NULL;
    qh_edge_report got, split, want;
    qh_graph *g = NULL, *h = NULL;
    int64_t kept;

    ck_assert_int_eq(qh_graph_new(s.n_nodes, s.n_edges, pairs, pairs + 1, 2, &g, &got), QH_OK);
    ck_assert_int_eq(QH_NEW_ARRAY(&src, 2 * s.n_edges), QH_OK);
    for (int64_t i = 0; i < s.n_edges; i++) {
        src[i] = pairs[2 * i];
        src[s.n_edges + i] = pairs[2 * i + 1];
    }
    ck_assert_int_eq(qh_graph_new(s.n_nodes, s.n_edges, src, src + s.n_edges, 1, &h, &split),
                     QH_OK);
    kept = define(pairs, s.n_edges, &want);
    assert_graph_is(g, pairs, kept);
    assert_graph_is(h, pairs, kept);
    ck_assert_int_eq(got.duplicates, want.duplicates);
    ck_assert_int_eq(got.self_loops, want.self_loops);
    ck_assert_int_eq(got.one_way, want.one_way);
    ck_assert_int_eq(g->symmetric, want.one_way == 0);
    ck_assert_mem_eq(&got, &split, sizeof got);
    ck_assert_uint_eq(qh_graph_hash(g), qh_graph_hash(h));
    qh_graph_free(g);
    qh_graph_free(h);
    qh_mem_free(src);
    qh_mem_free(pairs);
}
END_TEST

START_TEST(symmetrise_adds_the_reverses)
{
    sample s = samples[_i];
    int32_t *pairs = draw(s, 12), *both = NULL;
    qh_graph *g = NULL, *sym = NULL, *again = NULL, *want = NULL;

    ck_assert_int_eq(QH_NEW_ARRAY(&both, 4 * s.n_edges), QH_OK);
    for (int64_t i = 0; i < s.n_edges; i++) {
        both[4 * i] = both[4 * i + 3] = pairs[2 * i];
        both[4 * i + 1] = both[4 * i + 2] = pairs[2 * i + 1];
    }
    ck_assert_int_eq(qh_graph_new(s.n_nodes, s.n_edges, pairs, pairs + 1, 2, &g, NULL), QH_OK);
    ck_assert_int_eq(qh_graph_new(s.n_nodes, 2 * s.n_edges, both, both + 1, 2, &want, NULL), QH_OK);
    ck_assert_int_eq(qh_graph_symmetrise(g, &sym), QH_OK);
    ck_assert_int_eq(qh_graph_symmetrise(sym, &again), QH_OK);
    ck_assert_int_eq(want->symmetric, true);
    ck_assert_int_eq(qh_graph_check(sym, "here"), QH_OK);
    ck_assert_int_eq(qh_graph_check(again, "here"), QH_OK);
    ck_assert_uint_eq(qh_graph_hash(sym), qh_graph_hash(want));
    ck_assert_uint_eq(qh_graph_hash(again), qh_graph_hash(want));
    qh_graph_free(g);
    qh_graph_free(sym);
    qh_graph_free(again);
    qh_graph_free(want);
    qh_mem_free(both);
    qh_mem_free(pairs);
}
END_TEST

START_TEST(hash_sees_every_edge)
{
    int32_t ring[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 0};
    qh_graph *g = NULL;
    uint64_t first;

    ck_assert_int_eq(qh_graph_new(5, 5, ring, ring + 1, 2, &g, NULL), QH_OK);
    first = qh_graph_hash(g);
    qh_graph_free(g);
    ck_assert_int_eq(qh_graph_new(6, 5, ring, ring + 1, 2, &g, NULL), QH_OK);
    ck_assert_uint_ne(qh_graph_hash(g), first); /* an isolated node more */
    qh_graph_free(g);
    for (int i = 0; i < 5; i++) {
        int32_t other[10];

        memcpy(other, ring, sizeof ring);
        other[2 * i] = (ring[2 * i] + 3) % 5;
        ck_assert_int_eq(qh_graph_new(5, 5, other, other + 1, 2, &g, NULL), QH_OK);
        ck_assert_uint_ne(qh_graph_hash(g), first);
        qh_graph_free(g);
    }
}
END_TEST

/* Each row breaks one promise of the arrays. */
START_TEST(check_finds_what_is_broken)
{
    int32_t path[] = {0, 1, 1, 0, 1, 2, 2, 1};
    qh_graph *g = NULL;

    ck_assert_int_eq(qh_graph_new(3, 4, path, path + 1, 2, &g, NULL), QH_OK);
    ck_assert_int_eq(qh_graph_check(g, "here"), QH_OK);
    switch (_i) {
    case 0:
        g->in_src[1] = 3; /* out of range */
        break;
    case 1:
        g->in_src[1] = -1;
        break;
    case 2:
        g->in_src[1] = 1; /* itself */
        break;
    case 3:
        g->in_src[1] = 2; /* not rising */
        break;
    case 4:
        g->in_ptr[1] = 4; /* falling */
        break;
    case 5:
        g->in_ptr[0] = 1;
        break;
    case 6:
        g->in_ptr[3] = 5; /* past the array */
        break;
    case 7:
        g->out_deg[0] = 2;
        break;
    default:
        g->in_deg[0] = 2;
        break;
    }
    ck_assert_int_eq(qh_graph_check(g, "here"), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "here: "));
    qh_graph_free(g);
}
END_TEST

/* Result, per-node arrays and a row of scratch, but no second copy of the edges. */
START_TEST(building_holds_one_copy_of_the_edges)
{
    sample s = {3000, 2000000, 0};
    int32_t *pairs = draw(s, 13);
    int64_t before = qh_mem_bytes(), peak;
    qh_graph *g = NULL;

    ck_assert_int_eq(qh_graph_new(s.n_nodes, s.n_edges, pairs, pairs + 1, 2, &g, NULL), QH_OK);
    peak = qh_mem_peak_bytes() - before;
    ck_assert_int_le(peak, 4 * s.n_edges + 64 * s.n_nodes + 16 * QH_EDGE_CHUNK);
    qh_graph_free(g);
    ck_assert_int_eq(qh_mem_bytes(), before);
    qh_mem_free(pairs);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("graph");
    TCase *t = tcase_create("graph");

    tcase_add_loop_test(t, build_is_the_definition, 0, (int)QH_COUNT(samples));
    tcase_add_loop_test(t, symmetrise_adds_the_reverses, 0, (int)QH_COUNT(samples));
    tcase_add_test(t, hash_sees_every_edge);
    tcase_add_loop_test(t, check_finds_what_is_broken, 0, 9);
    tcase_add_test(t, building_holds_one_copy_of_the_edges);
    suite_add_tcase(s, t);
    return s;
}
