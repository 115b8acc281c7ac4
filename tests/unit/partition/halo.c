#include "src/partition/halo.h"

#include "src/base/mem.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"
#include "tests/unit/partition/graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 256 };

/* As ck_assert, without its write to a pipe at every call: inner loops make millions. */
#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s does not hold", #condition);                                          \
    } while (0)

typedef struct plan_case {
    qh_graph *g;
    bool *edge; /* the matrix */
    int n_ranks;
    int32_t part[MAX_NODES];
    qh_layout *l;
    qh_halo *h[MAX_NODES];
    bool self_loops, at_once; /* at_once: a thread a rank, as the devices do it */
} plan_case;

typedef struct seat {
    plan_case *c;
    int rank;
    qh_status st;
} seat;

static void *make_plan(void *arg)
{
    seat *s = arg;

    s->st = qh_halo_new(s->c->l, s->rank, s->c->self_loops, &s->c->h[s->rank]);
    return NULL;
}

static void make_plans(plan_case *c)
{
    pthread_t thread[MAX_NODES];
    seat seats[MAX_NODES];

    ck_assert_int_eq(qh_layout_new(c->g, c->part, c->n_ranks, &c->l), QH_OK);
    for (int r = 0; r < c->n_ranks; r++) {
        seats[r] = (seat){c, r, QH_EINTERNAL};
        if (c->at_once)
            ck_assert_int_eq(pthread_create(&thread[r], NULL, make_plan, &seats[r]), 0);
        else
            make_plan(&seats[r]);
    }
    for (int r = 0; r < c->n_ranks; r++) {
        if (c->at_once)
            pthread_join(thread[r], NULL);
        ck_assert_int_eq(seats[r].st, QH_OK);
    }
}

static void free_plans(plan_case *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        qh_halo_free(c->h[r]);
        c->h[r] = NULL;
    }
    qh_layout_free(c->l);
    c->l = NULL;
}

/* Every node is owned once, central rows are those without a remote source, and halo rows are the
 * remote sources by owner, then by the owner's row. */
static void check_rows(const plan_case *c, int rank)
{
    const qh_halo *h = c->h[rank];
    int64_t n = c->g->n_nodes, inner = 0, halo = 0;

    for (int64_t u = 0; u < n; u++) {
        bool needed = false;

        for (int64_t v = 0; v < n; v++)
            needed |= c->part[v] == rank && c->part[u] != rank && c->edge[u * n + v];
        inner += c->part[u] == rank;
        halo += needed;
        if (needed) {
            bool found = false;

            for (int64_t i = h->n_inner; i < h->n_local; i++)
                found |= h->node[i] == u;
            HOLDS(found);
        }
    }
    HOLDS(h->n_inner == inner);
    HOLDS(h->n_halo == halo);
    HOLDS(h->n_local == inner + halo);
    for (int64_t i = 0; i < h->n_local; i++) {
        int32_t v = h->node[i];

        HOLDS(h->in_deg[i] == c->g->in_deg[v]);
        HOLDS(h->out_deg[i] == c->g->out_deg[v]);
        if (i < h->n_inner) {
            bool marginal = false;

            for (int64_t u = 0; u < n; u++)
                marginal |= c->edge[u * n + v] && c->part[u] != rank;
            HOLDS(c->part[v] == rank);
            HOLDS(c->l->row[v] == i);
            HOLDS(marginal == (i >= h->n_central));
        } else if (i > h->n_inner) {
            int32_t before = h->node[i - 1];

            HOLDS(c->part[before] < c->part[v] ||
                  (c->part[before] == c->part[v] && c->l->row[before] < c->l->row[v]));
        }
    }
    ck_assert_int_eq(qh_halo_central(h).first, 0);
    ck_assert_int_eq(qh_halo_central(h).end, qh_halo_marginal(h).first);
    ck_assert_int_eq(qh_halo_marginal(h).end, qh_halo_inner(h).end);
    ck_assert_int_eq(qh_halo_remote(h).first, qh_halo_inner(h).end);
    ck_assert_int_eq(qh_halo_remote(h).end, h->n_local);
}

/* The local graph and its transpose hold exactly the edges into inner rows, lists rising. */
static void check_edges(const plan_case *c, int rank)
{
    const qh_halo *h = c->h[rank];
    int64_t n = c->g->n_nodes, want = 0;

    for (int64_t row = 0; row < h->n_inner; row++)
        want += c->g->in_deg[h->node[row]] + c->self_loops;
    HOLDS(h->n_edges == want);
    HOLDS(h->in_ptr[0] == 0);
    HOLDS(h->in_ptr[h->n_inner] == want);
    HOLDS(h->out_ptr[0] == 0);
    HOLDS(h->out_ptr[h->n_local] == want);
    for (int64_t row = 0; row < h->n_inner; row++)
        for (int64_t e = h->in_ptr[row]; e < h->in_ptr[row + 1]; e++) {
            int32_t col = h->in_col[e];

            HOLDS(col >= 0 && col < h->n_local);
            HOLDS(e == h->in_ptr[row] || h->in_col[e - 1] < col);
            HOLDS(c->edge[h->node[col] * n + h->node[row]] || (c->self_loops && col == row));
        }
    for (int64_t col = 0; col < h->n_local; col++)
        for (int64_t e = h->out_ptr[col]; e < h->out_ptr[col + 1]; e++) {
            int32_t row = h->out_col[e];

            HOLDS(row >= 0 && row < h->n_inner);
            HOLDS(e == h->out_ptr[col] || h->out_col[e - 1] < row);
            HOLDS(c->edge[h->node[col] * n + h->node[row]] || (c->self_loops && col == row));
        }
}

/* What src sends to dst is what dst expects, node by node. */
static void check_channel(const plan_case *c, int src, int dst)
{
    const qh_halo *s = c->h[src], *d = c->h[dst];
    int64_t n = s->send_ptr[dst + 1] - s->send_ptr[dst];

    HOLDS(n == d->recv_ptr[src + 1] - d->recv_ptr[src]);
    for (int64_t i = 0; i < n; i++) {
        int32_t row = s->send_row[s->send_ptr[dst] + i];

        HOLDS(row >= 0 && row < s->n_inner);
        HOLDS(i == 0 || s->send_row[s->send_ptr[dst] + i - 1] < row);
        HOLDS(s->node[row] == d->node[d->n_inner + d->recv_ptr[src] + i]);
    }
}

static void check_plans(const plan_case *c)
{
    int64_t n_inner = 0;

    for (int r = 0; r < c->n_ranks; r++) {
        check_rows(c, r);
        check_edges(c, r);
        for (int p = 0; p < c->n_ranks; p++)
            check_channel(c, r, p);
        HOLDS(c->h[r]->recv_ptr[0] == 0);
        HOLDS(c->h[r]->send_ptr[0] == 0);
        HOLDS(c->h[r]->recv_ptr[c->n_ranks] == c->h[r]->n_halo);
        HOLDS(c->h[r]->recv_ptr[r] == c->h[r]->recv_ptr[r + 1]);
        n_inner += c->h[r]->n_inner;
    }
    HOLDS(n_inner == c->g->n_nodes);
}

static const char *const names[] = {"metis", "random", "range", "hash"};

START_TEST(plans_hold_the_graph)
{
    plan_case c = {.g = graph_of_case(&graph_cases[_i])};

    c.edge = edge_matrix(c.g);
    for (int k = 0; k < n_part_counts; k++)
        for (size_t m = 0; m < 2 * QH_COUNT(names); m++) {
            c.n_ranks = part_counts[k] ? part_counts[k] : (int)c.g->n_nodes;
            c.self_loops = m % 2;
            c.at_once = m < 2 && c.n_ranks <= 12;
            if (c.n_ranks > c.g->n_nodes || (c.n_ranks > 12 && m > 1))
                continue; /* a node a rank: all partitioners do the same */
            ck_assert_int_eq(qh_partition_make(c.g, names[m / 2],
                                               (qh_partition_request){.n_parts = c.n_ranks},
                                               c.part),
                             QH_OK);
            make_plans(&c);
            check_plans(&c);
            free_plans(&c);
        }
    free(c.edge);
    qh_graph_free(c.g);
}
END_TEST

/* More ranks than the partitioners allow parts: some own nothing. */
START_TEST(a_rank_may_own_nothing)
{
    plan_case c = {.g = graph_of_case(&graph_cases[_i]), .n_ranks = 4};

    c.edge = edge_matrix(c.g);
    for (int64_t i = 0; i < c.g->n_nodes; i++)
        c.part[i] = i % 3 ? 1 : 3;
    make_plans(&c);
    check_plans(&c);
    ck_assert_int_eq(c.h[0]->n_local, 0);
    free_plans(&c);
    free(c.edge);
    qh_graph_free(c.g);
}
END_TEST

START_TEST(lack_of_memory_is_reported)
{
    plan_case c = {.g = graph_of_case(&graph_cases[7]), .n_ranks = 3};
    int64_t before = qh_mem_bytes();
    qh_status st = QH_ERESOURCE;
    int n = 0;

    for (int64_t i = 0; i < c.g->n_nodes; i++)
        c.part[i] = (int32_t)(i % 3);
    while (st == QH_ERESOURCE) {
        qh_mem_fail_at(++n);
        st = qh_layout_new(c.g, c.part, 3, &c.l);
        if (st == QH_OK)
            st = qh_halo_new(c.l, 1, true, &c.h[0]);
        qh_mem_fail_at(0);
        if (st == QH_OK)
            qh_halo_free(c.h[0]);
        qh_layout_free(c.l);
        c.l = NULL;
        ck_assert_int_eq(qh_mem_bytes(), before);
    }
    ck_assert_int_eq(st, QH_OK);
    ck_assert_int_gt(n, 20);
    qh_graph_free(c.g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("halo");
    TCase *t = tcase_create("halo");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, plans_hold_the_graph, 0, n_graph_cases);
    tcase_add_loop_test(t, a_rank_may_own_nothing, 0, n_graph_cases);
    tcase_add_test(t, lack_of_memory_is_reported);
    suite_add_tcase(s, t);
    return s;
}
