/* The edges of a synthetic graph: weights, draws, and how many of them. */
#include "src/base/mem.h"
#include "src/graph/alias.h"
#include "src/graph/synth.h"

#include <math.h>

enum {
    SAMPLES = 1 << 15, /* draws looked at to foresee how many will repeat */
    TRIES = 8,         /* for a community of another class */
    DRAWS_MAX = 16     /* times the wanted number of edges */
};

typedef struct drawer {
    const qh_recipe *r; /* borrowed */
    const qh_blocks *b; /* borrowed */
    double *weight;     /* owned [n_nodes], by position */
    double *community;  /* owned [n_communities]: sum of weights */
    double *class_sum;  /* owned [n_classes] */
    double all;
    qh_alias *node;     /* owned [n_nodes]: one table a community */
    qh_alias *of_class; /* owned [n_communities]: one table a class */
    qh_alias *any;      /* owned [n_communities]: one table */
    int64_t n_draws;
} drawer;

typedef struct draw {
    int64_t u, v;   /* positions */
    int64_t ku, kv; /* communities */
} draw;

/* --- weights --- */

/* A Pareto variable by square roots alone, whose bits are the same on every machine:
 * x^(-1/2) has density exponent 3, x^(-3/4) has 7/3. hub cuts the tail. */
static double weight_of(const qh_recipe *r, double x)
{
    double w;

    if (r->skew == QH_SKEW_NONE)
        return 1;
    x = 1 - x; /* in (0, 1] */
    w = r->skew == QH_SKEW_MILD ? 1 / sqrt(x) : 1 / sqrt(x * sqrt(x));
    return w < r->hub ? w : r->hub;
}

static void draw_weights(drawer *d)
{
    const qh_blocks *b = d->b;

    for (int64_t k = 0; k < b->n_communities; k++) {
        for (int64_t p = b->start[k]; p < b->start[k + 1]; p++) {
            d->weight[p] = weight_of(d->r, qh_rand_unit(b->key[QH_SYNTH_WEIGHT], (uint64_t)p));
            d->community[k] += d->weight[p];
        }
        d->class_sum[b->class_of[k]] += d->community[k];
        d->all += d->community[k];
    }
}

static qh_status fill_tables(drawer *d)
{
    const qh_blocks *b = d->b;
    int64_t longest = b->n_communities;
    double *scratch = NULL;
    int32_t *stack = NULL;
    qh_status st;

    for (int64_t k = 0; k < b->n_communities; k++)
        if (b->start[k + 1] - b->start[k] > longest)
            longest = b->start[k + 1] - b->start[k];
    QH_TRY(st, QH_NEW_ARRAY(&scratch, longest));
    QH_TRY(st, QH_NEW_ARRAY(&stack, longest));
    for (int64_t k = 0; k < b->n_communities; k++)
        if (b->start[k] < b->start[k + 1])
            qh_alias_fill(d->weight + b->start[k], b->start[k + 1] - b->start[k], scratch, stack,
                          d->node + b->start[k]);
    for (int64_t c = 0; c < b->n_classes; c++)
        if (d->class_sum[c] > 0)
            qh_alias_fill(d->community + b->class_community[c],
                          b->class_community[c + 1] - b->class_community[c], scratch, stack,
                          d->of_class + b->class_community[c]);
    qh_alias_fill(d->community, b->n_communities, scratch, stack, d->any);
out:
    qh_mem_free(stack);
    qh_mem_free(scratch);
    return st;
}

/* --- draws --- */

static int64_t pick_node(const drawer *d, int64_t k, uint32_t bits)
{
    int64_t first = d->b->start[k];

    return first + qh_alias_pick(d->node + first, d->b->start[k + 1] - first, bits);
}

/* A community of another class than c: again and again from all of them; when luck fails, the last
 * one stands. */
static int64_t pick_other_class(const drawer *d, uint64_t number, int32_t c)
{
    int64_t k = 0;

    for (uint64_t t = 1; t <= TRIES; t++) {
        qh_rand4 r = qh_rand_block(d->b->key[QH_SYNTH_EDGE], number, t);

        for (int i = 0; i < 4; i++) {
            k = qh_alias_pick(d->any, d->b->n_communities, r.v[i]);
            if (d->b->class_of[k] != c)
                return k;
        }
    }
    return k;
}

static draw draw_pair(const drawer *d, uint64_t number)
{
    const qh_blocks *b = d->b;
    qh_rand4 r = qh_rand_block(b->key[QH_SYNTH_EDGE], number, 0);
    double x = r.v[2] * 0x1p-32;
    draw p;

    p.ku = qh_alias_pick(d->any, b->n_communities, r.v[0]);
    p.u = pick_node(d, p.ku, r.v[1]);
    if (x < d->r->tight) {
        p.kv = p.ku;
    } else if (x < d->r->homophily) {
        int32_t c = b->class_of[p.ku];
        int64_t first = b->class_community[c], n = b->class_community[c + 1] - first;
        double y = (x - d->r->tight) / (d->r->homophily - d->r->tight);
        uint32_t bits = y < 1 ? (uint32_t)(y * 0x1p32) : UINT32_MAX;

        p.kv = first + qh_alias_pick(d->of_class + first, n, bits);
    } else {
        p.kv = pick_other_class(d, number, b->class_of[p.ku]);
    }
    p.v = pick_node(d, p.kv, r.v[3]);
    return p;
}

static qh_status read_draws(void *ctx, int64_t first, int64_t n, int32_t *src, int32_t *dst)
{
    const drawer *d = ctx;
    int64_t each = d->r->directed ? 1 : 2; /* chunks begin at even edges */

    for (int64_t i = 0; i < n; i += each) {
        draw p = draw_pair(d, (uint64_t)((first + i) / each));
        int32_t u = d->b->node_of[p.u], v = d->b->node_of[p.v];

        src[i] = u;
        dst[i] = v;
        if (each == 2) {
            src[i + 1] = v;
            dst[i + 1] = u;
        }
    }
    return QH_OK;
}

/* --- how many draws --- */

/* Probability that one draw gives v once u was picked. */
static double chance_of(const drawer *d, int64_t ku, int64_t v, int64_t kv)
{
    int32_t cu = d->b->class_of[ku], cv = d->b->class_of[kv];
    double w = d->weight[v], p = 0;

    if (ku == kv)
        p += d->r->tight * w / d->community[kv];
    if (cu == cv)
        p += (d->r->homophily - d->r->tight) * w / d->class_sum[cv];
    else
        p += (1 - d->r->homophily) * w / (d->all - d->class_sum[cu]);
    return p;
}

/* (1 - exp(-x)) / x in basic arithmetic, so that the number of draws never depends on a libm. */
static double kept_share(double x)
{
    double y;

    if (x < 1e-6)
        return 1 - x / 2;
    if (x > 500)
        return 1 / x;
    y = x / 4096;
    y = 1 - y + y * y / 2;
    for (int i = 0; i < 12; i++) /* to the power of 4096 */
        y *= y;
    return (1 - y) / x;
}

/* Expected number of different edges among m draws: with l = m P(edge) the sum over all possible
 * edges of 1 - exp(-l) is m times the mean over draws of (1 - exp(-l)) / l. */
static double expect_edges(const double *chance, double m)
{
    double sum = 0;

    for (int64_t i = 0; i < SAMPLES; i++)
        sum += chance[i] > 0 ? kept_share(m * chance[i]) : 0;
    return m * sum / SAMPLES;
}

/* The number of draws that leaves wanted different edges, or as many as there can be. */
static qh_status choose_draws(drawer *d, double wanted)
{
    double *chance = NULL, low = 0, high = wanted * DRAWS_MAX;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&chance, SAMPLES));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        /* Numbers from the top, which no edge uses. */
        draw p = draw_pair(d, UINT64_MAX - i);

        if (p.u == p.v)
            continue; /* a self loop is never kept */
        chance[i] = d->weight[p.u] / d->all * chance_of(d, p.ku, p.v, p.kv);
        if (!d->r->directed)
            chance[i] += d->weight[p.v] / d->all * chance_of(d, p.kv, p.u, p.ku);
    }
    for (int i = 0; i < 40; i++) {
        double m = (low + high) / 2;

        if (expect_edges(chance, m) < wanted)
            low = m;
        else
            high = m;
    }
    d->n_draws = (int64_t)high;
out:
    qh_mem_free(chance);
    return st;
}

static void drawer_fini(drawer *d)
{
    qh_mem_free(d->any);
    qh_mem_free(d->of_class);
    qh_mem_free(d->node);
    qh_mem_free(d->class_sum);
    qh_mem_free(d->community);
    qh_mem_free(d->weight);
}

qh_status qh_synth_edges(const qh_recipe *r, const qh_blocks *b, const char *where, qh_graph **out)
{
    drawer d = {.r = r, .b = b};
    qh_edge_source source = {.read = read_draws, .ctx = &d, .symmetric = !r->directed};
    double wanted = r->degree * (double)r->nodes / (r->directed ? 1 : 2);
    qh_status st;

    if (r->degree > (double)(r->nodes - 1) / (r->nodes > 2 ? 2 : 1))
        return qh_fail(QH_EUSAGE,
                       "%s: %lld nodes of mean degree %.4g; at most half of the other nodes, %.4g, "
                       "is right",
                       where, (long long)r->nodes, r->degree, (double)(r->nodes - 1) / 2);
    QH_TRY(st, QH_NEW_ARRAY(&d.weight, r->nodes));
    QH_TRY(st, QH_NEW_ARRAY(&d.community, b->n_communities));
    QH_TRY(st, QH_NEW_ARRAY(&d.class_sum, b->n_classes));
    QH_TRY(st, QH_NEW_ARRAY(&d.node, r->nodes));
    QH_TRY(st, QH_NEW_ARRAY(&d.of_class, b->n_communities));
    QH_TRY(st, QH_NEW_ARRAY(&d.any, b->n_communities));
    draw_weights(&d);
    QH_TRY(st, fill_tables(&d));
    QH_TRY(st, choose_draws(&d, wanted));
    source.n_edges = r->directed ? d.n_draws : 2 * d.n_draws;
    QH_TRY(st, qh_graph_build(r->nodes, &source, out, NULL));
out:
    drawer_fini(&d);
    return st;
}
