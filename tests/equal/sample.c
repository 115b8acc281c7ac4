/* Boundary sampling in training: nothing lost is vanilla, all lost is nocomm, to the bit; what is
 * sent, and what is computed, is recounted from the graph and the draws. */
#include "src/partition/sample.h"
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 8, RANKS = 4, HIDDEN = 12 };

static const struct graph_row {
    const char *model;
    tiny_spec spec;
    qh_order order;
} graphs[] = {
    {"gcn", {.nodes = 131, .degree = 7, .features = 19, .classes = 4, .seed = 1}, 0},
    {"sage",
     {.nodes = 99, .degree = 6, .features = 67, .classes = 5, .sparse = true, .seed = 2},
     0},
    {"gin",
     {.nodes = 97, .degree = 9, .features = 8, .classes = 3, .directed = true, .seed = 3},
     QH_AGGREGATE_FIRST},
    {"gcn",
     {.nodes = 101, .degree = 5, .features = 23, .classes = 6, .multilabel = true, .seed = 4},
     QH_TRANSFORM_FIRST},
};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs };

static fleet_spec spec_of(const struct graph_row *g, const qh_dataset *d, const char *method)
{
    fleet_spec f = {.settings = fleet_settings(d, g->model, 3, HIDDEN, EPOCHS),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = RANKS};

    f.settings.model.dropout = 0.5;
    f.settings.model.order = g->order;
    f.settings.eval_every = 3;
    fleet_method(&f.settings, method, "fast");
    return f;
}

static void run(const fleet_spec *f, fleet_result *r)
{
    fleet_run(f, NULL, NULL, r);
    ck_assert_msg(r->status == QH_OK, "%s", r->error);
}

static void same(const fleet_spec *a, const fleet_spec *b, bool bytes)
{
    fleet_result x, y;

    run(a, &x);
    run(b, &y);
    ck_assert(x.train.digest == y.train.digest);
    ck_assert(memcmp(x.loss, y.loss, sizeof x.loss) == 0);
    ck_assert(memcmp(x.metric[2], y.metric[2], sizeof x.metric[2]) == 0);
    if (bytes)
        ck_assert_int_eq(fleet_bytes(&x, -1), fleet_bytes(&y, -1));
    fleet_free(&x);
    fleet_free(&y);
}

START_TEST(nothing_lost_is_vanilla)
{
    qh_dataset *d = tiny_new(graphs[_i].spec);
    fleet_spec vanilla = spec_of(&graphs[_i], d, "vanilla"), bns = spec_of(&graphs[_i], d, "bns:1");

    same(&vanilla, &bns, true);
    bns.settings.strategy = "overlap";
    bns.settings.host_times = true;
    bns.team = 2;
    same(&vanilla, &bns, true);
    tiny_free(d);
}
END_TEST

START_TEST(all_lost_is_nocomm)
{
    qh_dataset *d = tiny_new(graphs[_i].spec);
    fleet_spec nocomm = spec_of(&graphs[_i], d, "nocomm");
    fleet_spec bns = spec_of(&graphs[_i], d, "bns:1e-9");

    same(&nocomm, &bns, true);
    tiny_free(d);
}
END_TEST

/* The weights do not depend on threads, overlap, evaluation, or how features are moved. */
START_TEST(a_sample_is_a_function_of_the_seed)
{
    qh_dataset *d = tiny_new(graphs[_i].spec);
    fleet_spec a = spec_of(&graphs[_i], d, "bns:0.4"), b = a;
    fleet_result r, other;

    b.team = 2;
    b.settings.strategy = "overlap";
    b.settings.eval_every = 0;
    b.settings.host_times = true;
    fleet_run(&a, NULL, NULL, &r);
    fleet_run(&b, NULL, NULL, &other);
    ck_assert_msg(r.status == QH_OK && other.status == QH_OK, "%s%s", r.error, other.error);
    ck_assert(r.train.digest == other.train.digest);
    fleet_free(&other);
    a.settings.seed = 2; /* but not that of the model */
    fleet_run(&a, NULL, NULL, &other);
    ck_assert(r.train.digest != other.train.digest);
    fleet_free(&other);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* Messages to q in an epoch: nodes elsewhere with an edge into q, that the draw keeps. */
static int64_t count_messages(const qh_graph *g, const int32_t *part, int32_t epoch, double p)
{
    int64_t n = 0;

    for (int q = 0; q < RANKS; q++)
        for (int32_t u = 0; u < g->n_nodes; u++) {
            bool wanted = false;

            for (int64_t v = 0; v < g->n_nodes && part[u] != q; v++)
                for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1] && part[v] == q; e++)
                    wanted = wanted || g->in_src[e] == u;
            n += wanted && qh_sample_keeps(1, epoch, u, q, RANKS, p);
        }
    return n;
}

/* Edges, self loops included, that aggregation uses. */
static int64_t count_edges(const qh_graph *g, const int32_t *part, int32_t epoch, double p)
{
    int64_t n = g->n_nodes;

    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++) {
            int32_t u = g->in_src[e];

            n += part[u] == part[v] || qh_sample_keeps(1, epoch, u, part[v], RANKS, p);
        }
    return n;
}

static int64_t spmm_flops(const fleet_result *r, int epoch, int layer, qh_direction dir)
{
    int64_t sum = 0;

    for (int i = 0; i < RANKS; i++)
        for (int64_t k = 0; k < r->records[i].n; k++) {
            const qh_record *x = &r->records[i].item[k];

            if (x->op == QH_OP_SPMM && x->epoch == epoch && x->layer == layer &&
                x->direction == dir)
                sum += x->flops;
        }
    return sum;
}

static const struct count_row {
    const char *codec;
    double p;
    int64_t bytes_in, bytes_hidden; /* of a message */
} count_rows[] = {
    {"fp32", 0.25, 4 * 19, 4 * HIDDEN},
    {"int:4", 0.5, 10 + 4, 6 + 4},
    {"fp32", 0.9, 4 * 19, 4 * HIDDEN},
};

/* A 3-layer GCN sends each kept message three times forward and twice back. */
START_TEST(what_is_lost_costs_nothing)
{
    const struct count_row *row = &count_rows[_i];
    qh_dataset *d = tiny_new(graphs[0].spec);
    fleet_spec f = spec_of(&graphs[0], d, "bns:1");
    int32_t part[256];
    fleet_result r;

    for (int v = 0; v < d->graph->n_nodes; v++)
        part[v] = v * 7 % 29 % RANKS;
    f.partitioner = NULL;
    f.part = part;
    f.settings.relax.sample = row->p;
    ck_assert_int_eq(
        qh_codec_init(row->codec, QH_PARAMS_BF16, qh_kernels_find("fast"), &f.settings.codec),
        QH_OK);
    run(&f, &r);
    for (int32_t t = 0; t < EPOCHS; t++) {
        int64_t n = count_messages(d->graph, part, t, row->p);
        int64_t nnz = count_edges(d->graph, part, t, row->p);

        ck_assert_int_eq(fleet_messages(&r, t), 5 * n);
        ck_assert_int_eq(fleet_bytes(&r, t), n * (row->bytes_in + 4 * row->bytes_hidden));
        ck_assert_int_eq(spmm_flops(&r, t, 0, QH_FORWARD), 2 * nnz * 19);
        ck_assert_int_eq(spmm_flops(&r, t, 1, QH_FORWARD), 2 * nnz * HIDDEN);
        ck_assert_int_eq(spmm_flops(&r, t, 2, QH_BACKWARD), 2 * nnz * HIDDEN);
    }
    ck_assert_int_eq(r.volume.messages, fleet_messages(&r, 0));
    ck_assert_int_eq(r.volume.bytes, fleet_bytes(&r, 0));
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

START_TEST(no_memory_after_the_first_epoch)
{
    static const char *const codecs[] = {"fp32", "int:4"};
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 301, .degree = 6, .features = 40, .classes = 3, .sparse = _i % 2, .seed = 5});
    fleet_spec f = spec_of(&graphs[0], d, "bns:0.3");
    fleet_result r;

    ck_assert_int_eq(
        qh_codec_init(codecs[_i / 2], QH_PARAMS_BF16, qh_kernels_find("fast"), &f.settings.codec),
        QH_OK);
    f.no_records = true;
    f.settings.epochs = 20;
    f.settings.eval_every = 1;
    run(&f, &r);
    ck_assert_int_eq(r.train.allocations_after_first_epoch, 0);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

START_TEST(corners)
{
    static const struct {
        int64_t degree;
        int n_ranks;
    } rows[] = {{5, 1}, {0, 3}, {0, 61}, {5, 61}};
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 61, .degree = rows[_i].degree, .features = 9, .classes = 3, .seed = 11});
    fleet_spec f = spec_of(&graphs[0], d, "bns:0.5");
    fleet_result r;

    f.n_ranks = rows[_i].n_ranks;
    run(&f, &r);
    if (_i < 3) {
        fleet_spec vanilla = spec_of(&graphs[0], d, "vanilla");

        vanilla.n_ranks = f.n_ranks;
        same(&vanilla, &f, true);
    }
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("sample");
    TCase *t = tcase_create("sample");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, nothing_lost_is_vanilla, 0, N_GRAPHS);
    tcase_add_loop_test(t, all_lost_is_nocomm, 0, N_GRAPHS);
    tcase_add_loop_test(t, a_sample_is_a_function_of_the_seed, 0, N_GRAPHS);
    tcase_add_loop_test(t, what_is_lost_costs_nothing, 0, (int)QH_COUNT(count_rows));
    tcase_add_loop_test(t, no_memory_after_the_first_epoch, 0, 4);
    tcase_add_loop_test(t, corners, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
