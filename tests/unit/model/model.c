#include "src/model/model.h"

#include "tests/support/lockstep.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { NODES = 1301, PAIRS = 2500, FEATURES = 11, HIDDEN = 17, CLASSES = 7 };

static const char *const names[] = {"gcn", "sage", "gin"};

static qh_model_config config_of(const char *name, qh_order order)
{
    return (qh_model_config){.name = name,
                             .n_layers = 4,
                             .n_features = FEATURES,
                             .n_hidden = HIDDEN,
                             .n_classes = CLASSES,
                             .dropout = 0.5,
                             .input_dropout = 0.25,
                             .norm = true,
                             .order = order,
                             .seed = 9};
}

static void train_epoch(lockstep *s, int32_t epoch)
{
    lockstep_forward(s, epoch, true);
    lockstep_loss(s);
    lockstep_backward(s);
    for (int r = 0; r < s->options.n_ranks; r++)
        qh_params_adam(qh_model_params(s->rank[r].model), s->options.kernels, 0.01, 1e-3, false);
}

/* --- wrong settings --- */

START_TEST(wrong_settings_are_refused)
{
    static const struct {
        const char *name, *says;
        int layers;
        double dropout, input_dropout;
        int64_t hidden;
    } row[] = {
        {"gat", "--model gat", 3, 0, 0, 8},          {"", "--model", 3, 0, 0, 8},
        {"gcn", "--layers 0", 0, 0, 0, 8},           {"gcn", "--layers 1001", 1001, 0, 0, 8},
        {"gcn", "--dropout 1:", 3, 1, 0, 8},         {"gcn", "--dropout -0.1", 3, -0.1, 0, 8},
        {"gcn", "--dropout nan", 3, NAN, 0, 8},      {"sage", "0 hidden", 3, 0, 0, 0},
        {"gin", "--input-dropout 1.5", 3, 0, 1.5, 8}};
    static const int64_t ptr[] = {0};
    qh_model_graph g = {.in_ptr = ptr, .out_ptr = ptr};
    qh_model_input in = {0};
    qh_exec x = {.kernels = qh_kernels_find("ref")};

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        qh_model_config c = config_of(row[i].name, QH_AGGREGATE_FIRST);
        qh_model *m = NULL;

        c.n_layers = row[i].layers;
        c.n_hidden = row[i].hidden;
        c.dropout = row[i].dropout;
        c.input_dropout = row[i].input_dropout;
        ck_assert_int_eq(qh_model_new(&c, &g, &in, &x, &m), QH_EUSAGE);
        ck_assert_msg(strstr(qh_error_text(), row[i].says), "%s", qh_error_text());
        ck_assert_ptr_null(m);
    }
    ck_assert(qh_model_known("gin") && !qh_model_known("gat"));
    ck_assert(qh_model_self_loops("gcn") && qh_model_self_loops("sage") &&
              !qh_model_self_loops("gin"));
}
END_TEST

/* A rank may own nothing, or one node without edges. */
START_TEST(empty_and_lonely_ranks_work)
{
    static const int64_t none[] = {0, 0};
    static const int32_t zero[] = {0};
    float value[FEATURES] = {1};

    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < QH_COUNT(names); i++)
            for (int bits = 0; bits < 4; bits++) {
                qh_model_graph g = {n, n, n, zero, none, none, zero, zero, zero, zero};
                qh_model_input in = {.sparse = bits & 1,
                                     .dense = {value, n, FEATURES, FEATURES},
                                     .inner = {n, FEATURES, none, zero, value}};
                qh_model_config c =
                    config_of(names[i], bits & 2 ? QH_TRANSFORM_FIRST : QH_AGGREGATE_FIRST);
                qh_exec x = {.kernels = qh_kernels_find("ref")};
                qh_model *m = NULL;

                ck_assert_int_eq(qh_model_new(&c, &g, &in, &x, &m), QH_OK);
                qh_model_begin(m, 0, true);
                for (int l = 0; l < c.n_layers; l++) {
                    qh_model_prepare(m, l);
                    ck_assert_int_eq(qh_model_forward(m, l, (qh_rows){0, n}), QH_OK);
                }
                for (int l = c.n_layers - 1; l >= 0; l--) {
                    ck_assert_int_eq(qh_model_backward_begin(m, l), QH_OK);
                    if (qh_model_has_gradient(m, l)) {
                        qh_model_backward_spread(m, l, (qh_rows){0, n});
                        ck_assert_int_eq(qh_model_backward_finish(m, l), QH_OK);
                    }
                }
                for (int64_t e = 0; e < qh_model_params(m)->n_values; e++)
                    ck_assert(qh_model_params(m)->grad[e] == 0);
                qh_model_free(m);
                qh_exec_fini(&x);
            }
}
END_TEST

/* --- same bits --- */

static uint64_t digest_after_two_epochs(const char *name, qh_order order, const lockstep_data *d,
                                        const lockstep_options *o, bool evaluate, bool separate)
{
    qh_model_config c = config_of(name, order);
    lockstep *s = lockstep_new(&c, d, o);
    uint64_t digest;

    s->rank[0].exec.separate = separate;
    for (int t = 0; t < 2; t++) {
        train_epoch(s, t);
        if (evaluate)
            lockstep_forward(s, t, false);
    }
    digest = qh_params_digest(qh_model_params(s->rank[0].model));
    lockstep_free(s);
    return digest;
}

/* _i: backend. Teams, central rows first, steps one by one, evaluation between epochs: all leave
 * the same weights, bit for bit. */
START_TEST(how_it_is_worked_leaves_no_trace)
{
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);
    qh_team *team[3] = {NULL};

    ck_assert_int_eq(qh_team_new(2, NULL, &team[1]), QH_OK);
    ck_assert_int_eq(qh_team_new(3, NULL, &team[2]), QH_OK);
    for (int bits = 0; bits < 12; bits++) {
        const char *name = names[bits % 3];
        qh_order order = bits / 3 % 2 ? QH_TRANSFORM_FIRST : QH_AGGREGATE_FIRST;
        lockstep_options o = {
            .n_ranks = 1, .sparse = bits / 6, .split = 177, .kernels = qh_kernels_list(_i)};
        uint64_t digest = digest_after_two_epochs(name, order, &d, &o, false, false);

        o.overlap = true;
        ck_assert_uint_eq(digest, digest_after_two_epochs(name, order, &d, &o, false, false));
        o.team = team[1];
        ck_assert_uint_eq(digest, digest_after_two_epochs(name, order, &d, &o, true, false));
        o.team = team[2];
        ck_assert_uint_eq(digest, digest_after_two_epochs(name, order, &d, &o, false, true));
    }
    qh_team_free(team[1]);
    qh_team_free(team[2]);
    lockstep_data_free(&d);
}
END_TEST

/* Dropout, input dropout and all: ranks change nothing but the order of sums. */
START_TEST(ranks_train_as_one)
{
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);

    for (int bits = 0; bits < 12; bits++) {
        qh_model_config c =
            config_of(names[bits % 3], bits / 3 % 2 ? QH_TRANSFORM_FIRST : QH_AGGREGATE_FIRST);
        lockstep_options o = {.n_ranks = 1, .sparse = bits / 6, .kernels = qh_kernels_find("ref")};
        lockstep *one = lockstep_new(&c, &d, &o), *four;

        o.n_ranks = 4;
        o.overlap = true;
        four = lockstep_new(&c, &d, &o);
        for (int t = 0; t < 3; t++) {
            double loss, wanted;

            lockstep_forward(one, t, true);
            lockstep_forward(four, t, true);
            wanted = lockstep_loss(one);
            loss = lockstep_loss(four);
            ck_assert_msg(fabs(loss - wanted) <= 2e-5 * wanted, "%s %d: loss %.9g, one rank %.9g",
                          c.name, bits, loss, wanted);
            lockstep_backward(one);
            lockstep_backward(four);
            qh_params_adam(qh_model_params(one->rank[0].model), o.kernels, 1e-3, 0, false);
            for (int r = 0; r < 4; r++)
                qh_params_adam(qh_model_params(four->rank[r].model), o.kernels, 1e-3, 0, false);
        }
        lockstep_free(one);
        lockstep_free(four);
    }
    lockstep_data_free(&d);
}
END_TEST

/* --- dropout --- */

enum { MASK = NODES * HIDDEN };

/* kept[i] of what layer `layer` gets in epoch t, with weights 0 and biases 1: no ReLU interferes.
 */
static void masks(lockstep *s, int32_t t, int layer, bool *kept)
{
    qh_params *p = qh_model_params(s->rank[0].model);
    qh_mat h;

    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = 0; e < p->item[i].rows * p->item[i].cols; e++)
            p->value[p->item[i].offset + e] = p->item[i].name[0] == 'b' ? 1 : 0;
    lockstep_forward(s, t, true);
    h = qh_model_message(s->rank[0].model, layer);
    for (int64_t r = 0; r < NODES; r++)
        for (int64_t c = 0; c < HIDDEN; c++) {
            float x = qh_mat_row(h, r)[c];

            ck_assert(x == 0 || x == 2); /* 1 / (1 - 0.5) */
            kept[r * HIDDEN + c] = x != 0;
        }
}

static double share_alike(const bool *a, const bool *b)
{
    int64_t n = 0;

    for (int64_t i = 0; i < MASK; i++)
        n += a[i] == b[i];
    return (double)n / MASK;
}

/* Half is kept, and masks of two layers, epochs or seeds have nothing to do with each other; five
 * standard deviations of a fair coin. */
START_TEST(masks_are_drawn_apart)
{
    static bool all[MASK], mask[4][MASK];
    double bound = 5 * 0.5 / sqrt(MASK);
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_find("ref")};
    qh_model_config c = config_of("gcn", QH_AGGREGATE_FIRST);
    lockstep *s;

    c.n_layers = 3; /* two hidden results, neither matrix used again in the pass */
    c.norm = false;
    memset(all, 1, sizeof all);
    s = lockstep_new(&c, &d, &o);
    masks(s, 0, 1, mask[0]);
    masks(s, 0, 2, mask[1]);
    masks(s, 1, 1, mask[2]);
    lockstep_free(s);
    c.seed++;
    s = lockstep_new(&c, &d, &o);
    masks(s, 0, 1, mask[3]);
    lockstep_free(s);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(share_alike(mask[i], all), 0.5, bound);
        for (int j = 0; j < i; j++)
            ck_assert_double_eq_tol(share_alike(mask[i], mask[j]), 0.5, bound);
    }
    lockstep_data_free(&d);
}
END_TEST

/* A quarter of the input is dropped in training, other elements in another epoch; nothing in
 * evaluation. _i: sparse. */
START_TEST(input_is_dropped_in_training_only)
{
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);
    lockstep_options o = {.n_ranks = 1, .sparse = _i, .kernels = qh_kernels_find("ref")};
    qh_model_config c = config_of("gcn", QH_AGGREGATE_FIRST);
    lockstep *s = lockstep_new(&c, &d, &o);
    int64_t n = 0, dropped[2] = {0}, both = 0;

    for (int64_t r = 0; r < NODES; r++) {
        const float *raw = d.features + s->rank[0].plan->node[r] * FEATURES;
        float row[3][FEATURES];

        for (int pass = 0; pass < 3 && r % 3 == 0; pass++) { /* two epochs, and evaluation */
            qh_model_begin(s->rank[0].model, pass, pass < 2);
            qh_model_prepare(s->rank[0].model, 0);
            if (_i)
                qh_model_get_row(s->rank[0].model, r, row[pass]);
            else
                memcpy(row[pass], qh_mat_row(qh_model_message(s->rank[0].model, 0), r),
                       sizeof row[pass]);
        }
        for (int k = 0; k < FEATURES && r % 3 == 0; k++) {
            ck_assert(row[2][k] == raw[k]);
            n += raw[k] != 0;
            for (int t = 0; t < 2; t++) {
                ck_assert(row[t][k] == 0 || row[t][k] == raw[k] * (65536.0F / 49152));
                dropped[t] += raw[k] != 0 && row[t][k] == 0;
            }
            both += raw[k] != 0 && row[0][k] == 0 && row[1][k] == 0;
        }
    }
    for (int t = 0; t < 2; t++)
        ck_assert_double_eq_tol((double)dropped[t] / (double)n, 0.25,
                                5 * sqrt(0.25 * 0.75 / (double)n));
    ck_assert_double_eq_tol((double)both / (double)n, 1.0 / 16, 5 * sqrt(15.0 / 256 / (double)n));
    lockstep_free(s);
    lockstep_data_free(&d);
}
END_TEST

/* --- AdaQP's weights, orders, records --- */

START_TEST(beta_is_the_sum_of_squared_coefficients)
{
    /* 0 -> 1 -> 2, 0 -> 2, 2 -> 0: degrees out 2 1 1, in 1 1 2. */
    static const int32_t src[] = {0, 1, 0, 2}, dst[] = {1, 2, 2, 0};
    static const int32_t label[] = {0, 1, 0}, train[] = {0};
    static const float features[3 * FEATURES] = {0};
    static const double out[3] = {3, 2, 2}, in[3] = {2, 2, 3};
    static const int edge[3][3] = {{1, 1, 1}, {0, 1, 1}, {1, 0, 1}}; /* with self loops */
    lockstep_data d = {.n_nodes = 3,
                       .n_edges = 4,
                       .src = src,
                       .dst = dst,
                       .features = features,
                       .label = label,
                       .n_train = 1,
                       .train = train};
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_find("ref")};

    for (int i = 0; i < 3; i++) {
        qh_model_config c = config_of(names[i], QH_AGGREGATE_FIRST);
        lockstep *s = lockstep_new(&c, &d, &o);

        for (int row = 0; row < 3; row++) {
            int u = s->rank[0].plan->node[row];
            double forward = 0, backward = 0;

            for (int v = 0; v < 3; v++) {
                double ahead = i == 0 ? 1 / (out[u] * in[v]) : i == 1 ? 1 / (in[v] * in[v]) : 1;
                double behind = i == 0 ? 1 / (out[v] * in[u]) : i == 1 ? 1 / (in[u] * in[u]) : 1;

                forward += edge[u][v] && (i < 2 || u != v) ? ahead : 0;
                backward += edge[v][u] && (i < 2 || u != v) ? behind : 0;
            }
            ck_assert_double_eq_tol((double)qh_model_beta(s->rank[0].model, QH_FORWARD)[row],
                                    forward, 1e-6);
            ck_assert_double_eq_tol((double)qh_model_beta(s->rank[0].model, QH_BACKWARD)[row],
                                    backward, 1e-6);
        }
        lockstep_free(s);
    }
}
END_TEST

/* What travels: rows of the input width, or of the output width. auto sends less, counting the way
 * back, which the first layer has only when it transforms first. */
START_TEST(auto_sends_less)
{
    static const struct {
        int64_t features, hidden, classes, cols[3];
    } row[] = {{20, 33, 7, {20, 33, 7}},
               {60, 33, 40, {60, 33, 33}},
               {67, 33, 33, {33, 33, 33}},
               {66, 33, 32, {66, 33, 32}}};

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        lockstep_data d = lockstep_random(10, 20, row[i].features, row[i].classes, false);
        lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_find("ref")};
        qh_model_config c = config_of("gcn", QH_ORDER_AUTO);
        lockstep *s;

        c.n_layers = 3;
        c.n_features = row[i].features;
        c.n_hidden = row[i].hidden;
        c.n_classes = row[i].classes;
        s = lockstep_new(&c, &d, &o);
        for (int l = 0; l < 3; l++)
            ck_assert_int_eq(qh_model_message_cols(s->rank[0].model, l), row[i].cols[l]);
        ck_assert_int_eq(qh_model_has_gradient(s->rank[0].model, 0),
                         row[i].cols[0] < row[i].features);
        lockstep_free(s);
        lockstep_data_free(&d);
    }
}
END_TEST

typedef struct tally {
    qh_sink sink;
    int64_t flops[QH_OP_COUNT], n;
} tally;

static void add_up(qh_sink *sink, int rank, const qh_record *r)
{
    tally *t = (tally *)sink;

    ck_assert_int_eq(rank, 0);
    ck_assert(r->flops >= 0 && r->bytes > 0 && r->epoch == 1);
    t->flops[r->op] += r->flops;
    t->n++;
}

/* GCN by hand, aggregate-first: aggregations of F, H, H columns forward and H, H back; products
 * forward, for the weights and (but for layer 0) for the aggregate. */
START_TEST(records_add_up)
{
    tally t = {.sink = {.emit = add_up}};
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_find("ref"), .sink = &t.sink};
    qh_model_config c = config_of("gcn", QH_AGGREGATE_FIRST);
    lockstep *s;
    int64_t nnz, n = NODES, f = FEATURES, h = HIDDEN, k = CLASSES, seen;

    c.n_layers = 3;
    s = lockstep_new(&c, &d, &o);
    nnz = s->rank[0].plan->n_edges;
    train_epoch(s, 1);
    ck_assert_int_eq(t.flops[QH_OP_SPMM], 2 * nnz * (f + h + h + h + h));
    ck_assert_int_eq(t.flops[QH_OP_GEMM], 2 * n * (2 * f * h + 3 * h * h + 3 * h * k));
    ck_assert_int_gt(t.flops[QH_OP_ELEMENTWISE], 0);
    seen = t.n;
    s->rank[0].exec.sink = NULL;
    lockstep_forward(s, 1, false);
    ck_assert_int_eq(t.n, seen);
    lockstep_free(s);
    lockstep_data_free(&d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("model");
    int n_backends = 0;

    while (qh_kernels_list(n_backends))
        n_backends++;
    tcase_set_timeout(t, 60);
    tcase_add_test(t, wrong_settings_are_refused);
    tcase_add_test(t, empty_and_lonely_ranks_work);
    tcase_add_loop_test(t, how_it_is_worked_leaves_no_trace, 0, n_backends);
    tcase_add_test(t, ranks_train_as_one);
    tcase_add_test(t, masks_are_drawn_apart);
    tcase_add_loop_test(t, input_is_dropped_in_training_only, 0, 2);
    tcase_add_test(t, beta_is_the_sum_of_squared_coefficients);
    tcase_add_test(t, auto_sends_less);
    tcase_add_test(t, records_add_up);
    suite_add_tcase(s, t);
    return s;
}
