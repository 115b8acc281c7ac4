/* Sampled plans against the full ones: nothing but halo rows is lost, both ends agree, and what is
 * kept makes up for what is not. */
#include "src/partition/sample.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"
#include "tests/unit/partition/graphs.h"

#include <math.h>

enum { MAX_RANKS = 7, N_EPOCHS = 4, SEED = 5 };

typedef struct sampled {
    qh_graph *g;
    qh_layout *layout;
    int n_ranks;
    qh_halo *full[MAX_RANKS];
    float *in_val[MAX_RANKS], *out_val[MAX_RANKS];
    qh_sample *s[MAX_RANKS];
} sampled;

/* A coefficient of an edge, from the numbers of its ends. */
static float alpha(int32_t u, int32_t v)
{
    return (float)(1 + (7 * u + 3 * v) % 11) / 11.0F;
}

static void make(sampled *c, const graph_case *g, int n_ranks, double p, bool values)
{
    int32_t *part = NULL;

    *c = (sampled){.g = graph_of_case(g), .n_ranks = n_ranks};
    ck_assert_int_eq(QH_NEW_ARRAY(&part, c->g->n_nodes), QH_OK);
    for (int64_t v = 0; v < c->g->n_nodes; v++)
        part[v] = (int32_t)(v * 2654435761 % 65521 % n_ranks);
    ck_assert_int_eq(qh_layout_new(c->g, part, n_ranks, &c->layout), QH_OK);
    for (int r = 0; r < n_ranks; r++) {
        qh_halo *h = NULL;

        ck_assert_int_eq(qh_halo_new(c->layout, r, true, &h), QH_OK);
        c->full[r] = h;
        ck_assert_int_eq(QH_NEW_ARRAY(&c->in_val[r], h->n_edges), QH_OK);
        ck_assert_int_eq(QH_NEW_ARRAY(&c->out_val[r], h->n_edges), QH_OK);
        for (int64_t v = 0; v < h->n_inner; v++)
            for (int64_t e = h->in_ptr[v]; e < h->in_ptr[v + 1]; e++)
                c->in_val[r][e] = values ? alpha(h->node[h->in_col[e]], h->node[v]) : 1;
        for (int64_t u = 0; u < h->n_local; u++)
            for (int64_t e = h->out_ptr[u]; e < h->out_ptr[u + 1]; e++)
                c->out_val[r][e] = values ? alpha(h->node[u], h->node[h->out_col[e]]) : 1;
        ck_assert_int_eq(qh_sample_new(h, values ? c->in_val[r] : NULL,
                                       values ? c->out_val[r] : NULL, p, SEED, &c->s[r]),
                         QH_OK);
    }
    qh_mem_free(part);
}

static void dispose(sampled *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        qh_sample_free(c->s[r]);
        qh_mem_free(c->out_val[r]);
        qh_mem_free(c->in_val[r]);
        qh_halo_free(c->full[r]);
    }
    qh_layout_free(c->layout);
    qh_graph_free(c->g);
}

/* Row r of the draw lists what the full row lists, in its order, but for lost halo rows, halo
 * columns over p. */
static void check_row(const sampled *c, int rank, int32_t epoch, double p, int64_t row)
{
    const qh_halo *f = c->full[rank], *h = qh_sample_plan(c->s[rank]);
    const float *val = qh_sample_in_values(c->s[rank]);
    int64_t at = h->in_ptr[row];

    for (int64_t e = f->in_ptr[row]; e < f->in_ptr[row + 1]; e++) {
        int32_t node = f->node[f->in_col[e]];
        bool halo = f->in_col[e] >= f->n_inner;

        if (halo && !qh_sample_keeps(SEED, epoch, node, rank, c->n_ranks, p))
            continue;
        ck_assert(at < h->in_ptr[row + 1]);
        ck_assert_int_eq(h->node[h->in_col[at]], node);
        ck_assert((h->in_col[at] >= h->n_inner) == halo);
        ck_assert(val[at] == (halo ? (float)(c->in_val[rank][e] / p) : c->in_val[rank][e]));
        at++;
    }
    ck_assert_int_eq(at, h->in_ptr[row + 1]);
}

/* The transposed lists hold the same edges with the same values. */
static void check_transposed(const sampled *c, int rank)
{
    const qh_halo *h = qh_sample_plan(c->s[rank]);
    const float *in = qh_sample_in_values(c->s[rank]), *out = qh_sample_out_values(c->s[rank]);
    double sum_in = 0, sum_out = 0;

    ck_assert_int_eq(h->out_ptr[h->n_local], h->n_edges);
    ck_assert_int_eq(h->in_ptr[h->n_inner], h->n_edges);
    for (int64_t v = 0; v < h->n_inner; v++)
        for (int64_t e = h->in_ptr[v]; e < h->in_ptr[v + 1]; e++)
            sum_in += (double)in[e] * (1 + h->in_col[e]) * (3 + v % 13);
    for (int64_t u = 0; u < h->n_local; u++)
        for (int64_t e = h->out_ptr[u]; e < h->out_ptr[u + 1]; e++)
            sum_out += (double)out[e] * (1 + u) * (3 + h->out_col[e] % 13);
    ck_assert_double_le(fabs(sum_in - sum_out), 1e-9 * fabs(sum_in));
}

/* What a sends to b is what b has from a, node by node. */
static void check_channels(const sampled *c)
{
    for (int a = 0; a < c->n_ranks; a++)
        for (int b = 0; b < c->n_ranks; b++) {
            const qh_halo *from = qh_sample_plan(c->s[a]), *to = qh_sample_plan(c->s[b]);
            int64_t n = from->send_ptr[b + 1] - from->send_ptr[b];

            ck_assert_int_eq(n, to->recv_ptr[a + 1] - to->recv_ptr[a]);
            for (int64_t i = 0; i < n; i++) {
                int32_t row = from->send_row[from->send_ptr[b] + i];
                int64_t halo = to->n_inner + to->recv_ptr[a] + i;

                ck_assert_int_eq(from->node[row], to->node[halo]);
                ck_assert_int_eq(from->in_deg[row], to->in_deg[halo]);
                ck_assert_int_eq(from->out_deg[row], to->out_deg[halo]);
            }
        }
}

static const double shares[] = {1e-9, 0.1, 0.5, 1};

START_TEST(a_draw_loses_halo_rows_and_nothing_else)
{
    const graph_case *g = &graph_cases[_i / 4];
    double p = shares[_i % 4];

    for (int n_ranks = 1; n_ranks <= MAX_RANKS; n_ranks += 2) {
        sampled c;

        if (n_ranks > g->n_nodes)
            continue;
        make(&c, g, n_ranks, p, true);
        for (int32_t t = 0; t < N_EPOCHS; t++) {
            for (int r = 0; r < n_ranks; r++)
                qh_sample_draw(c.s[r], t);
            for (int r = 0; r < n_ranks; r++) {
                for (int64_t row = 0; row < c.full[r]->n_inner; row++)
                    check_row(&c, r, t, p, row);
                check_transposed(&c, r);
                if (p == 1)
                    ck_assert_int_eq(qh_sample_plan(c.s[r])->n_halo, c.full[r]->n_halo);
            }
            check_channels(&c);
        }
        dispose(&c);
    }
}
END_TEST

/* Means over many epochs: kept messages are p of all, and what a row sums up is as if all were
 * there, within five standard deviations; with and without coefficients. */
START_TEST(draws_are_unbiased)
{
    enum { EPOCHS = 4000, RANKS = 3 };
    const graph_case *g = &graph_cases[n_graph_cases - 1];
    double p = 0.3, kept = 0, all = 0;
    bool values = _i == 1;
    sampled c;
    const qh_halo *f;
    double *sum = NULL;

    make(&c, g, RANKS, p, values);
    f = c.full[1];
    ck_assert_int_gt(f->n_halo, 0);
    ck_assert_int_eq(QH_NEW_ARRAY(&sum, f->n_inner), QH_OK);
    for (int32_t t = 0; t < EPOCHS; t++) {
        const qh_halo *h = qh_sample_plan(c.s[1]);

        qh_sample_draw(c.s[1], t);
        kept += (double)h->n_halo;
        all += (double)f->n_halo;
        for (int64_t v = 0; v < h->n_inner; v++)
            for (int64_t e = h->in_ptr[v]; e < h->in_ptr[v + 1]; e++)
                sum[v] += (double)qh_sample_in_values(c.s[1])[e] * (1 + h->node[h->in_col[e]] % 5);
    }
    ck_assert_double_le(fabs(kept / all - p), 5 * sqrt(p * (1 - p) / all));
    for (int64_t v = 0; v < f->n_inner; v++) {
        double want = 0, variance = 0;

        for (int64_t e = f->in_ptr[v]; e < f->in_ptr[v + 1]; e++) {
            double x = (double)c.in_val[1][e] * (1 + f->node[f->in_col[e]] % 5);

            want += x;
            variance += f->in_col[e] >= f->n_inner ? x * x * (1 - p) / p : 0;
        }
        ck_assert_msg(fabs(sum[v] / EPOCHS - want) <= 5 * sqrt(variance / EPOCHS) + 1e-5 * want,
                      "row %lld: %g, not %g", (long long)v, sum[v] / EPOCHS, want);
    }
    qh_mem_free(sum);
    dispose(&c);
}
END_TEST

/* A node that goes to two devices is drawn for each; epochs and seeds draw anew. */
START_TEST(draws_are_independent)
{
    enum { N = 20000 };
    int both = 0, next = 0, other = 0;

    for (int32_t u = 0; u < N; u++) {
        bool here = qh_sample_keeps(1, 0, u, 0, 4, 0.5);

        both += here && qh_sample_keeps(1, 0, u, 1, 4, 0.5);
        next += here && qh_sample_keeps(1, 1, u, 0, 4, 0.5);
        other += here && qh_sample_keeps(2, 0, u, 0, 4, 0.5);
    }
    for (int i = 0; i < 3; i++) {
        double share = (double)(i == 0 ? both : i == 1 ? next : other) / N;

        ck_assert_double_le(fabs(share - 0.25), 5 * sqrt(0.25 * 0.75 / N));
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("sample");
    TCase *t = tcase_create("sample");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_draw_loses_halo_rows_and_nothing_else, 0, 4 * n_graph_cases);
    tcase_add_loop_test(t, draws_are_unbiased, 0, 2);
    tcase_add_test(t, draws_are_independent);
    suite_add_tcase(s, t);
    return s;
}
