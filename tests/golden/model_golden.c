/* Models against independent float64 answers: logits, losses, every gradient, Adam steps.
 *
 * Bound, tensor by tensor: max|ours - golden| <= 2e-5 * max|golden|. */
#include "tests/support/lockstep.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static const double BOUND = 2e-5;

enum { MAX_NODES = 32, MAX_EDGES = 256, MAX_FEATURES = 16, MAX_CLASSES = 8 };

static json_t *golden;
static lockstep_data data;
static int32_t src[MAX_EDGES], dst[MAX_EDGES], label[MAX_NODES], train[MAX_NODES];
static uint8_t multi[MAX_NODES * MAX_CLASSES];
static float features[MAX_NODES * MAX_FEATURES];

static int64_t integer(const char *key)
{
    return json_integer_value(json_object_get(golden, key));
}

static int64_t integers(const char *key, int32_t *out)
{
    json_t *list = json_object_get(golden, key), *item;
    size_t i;

    json_array_foreach(list, i, item) out[i] = (int32_t)json_integer_value(item);
    return (int64_t)json_array_size(list);
}

/* Element e of a nested list, row-major. */
static double element(const json_t *list, int64_t e)
{
    const json_t *first = json_array_get(list, 0);
    int64_t cols = json_is_array(first) ? (int64_t)json_array_size(first) : 1;
    const json_t *item = json_array_get(list, (size_t)(e / cols));

    return json_number_value(json_is_array(item) ? json_array_get(item, (size_t)(e % cols)) : item);
}

static void load(void)
{
    int64_t n_features, n_classes;

    golden = json_load_file(test_shared_path("golden/model_golden.json"), 0, NULL);
    ck_assert_ptr_nonnull(golden);
    data = (lockstep_data){.n_nodes = integer("nodes"),
                           .n_edges = integers("src", src),
                           .n_train = integers("train", train),
                           .src = src,
                           .dst = dst,
                           .features = features,
                           .train = train};
    integers("dst", dst);
    integers("labels", label);
    n_features = integer("features");
    n_classes = integer("classes");
    ck_assert_int_le(data.n_nodes, MAX_NODES);
    ck_assert_int_le(n_features, MAX_FEATURES);
    for (int64_t e = 0; e < data.n_nodes * n_features; e++)
        features[e] = (float)element(json_object_get(golden, "X"), e);
    for (int64_t e = 0; e < data.n_nodes * n_classes; e++)
        multi[e] = (uint8_t)element(json_object_get(golden, "multilabels"), e);
}

static void unload(void)
{
    json_decref(golden);
}

static qh_model_config config_of(const char *name, qh_order order)
{
    return (qh_model_config){.name = name,
                             .n_layers = 3,
                             .n_features = integer("features"),
                             .n_hidden = integer("hidden"),
                             .n_classes = integer("classes"),
                             .norm = true,
                             .order = order,
                             .seed = 1};
}

/* --- comparison --- */

static void check_tensor(const char *what, const float *ours, const json_t *list, int64_t n)
{
    double most = 0, worst = 0;

    for (int64_t e = 0; e < n; e++) {
        most = fmax(most, fabs(element(list, e)));
        worst = fmax(worst, fabs((double)ours[e] - element(list, e)));
    }
    ck_assert_msg(worst <= BOUND * most, "%s: off by %.3g of %.3g", what, worst, most);
}

static void check_params(const char *what, const qh_params *p, const float *buffer,
                         const json_t *wanted)
{
    char text[128];

    ck_assert_int_eq((int64_t)json_object_size(wanted), p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const json_t *list = json_object_get(wanted, p->item[i].name);

        ck_assert_msg(list != NULL, "%s is not in the golden file", p->item[i].name);
        snprintf(text, sizeof text, "%s %s", what, p->item[i].name);
        check_tensor(text, buffer + p->item[i].offset, list, p->item[i].rows * p->item[i].cols);
    }
}

static void set_params(lockstep *s, const json_t *params)
{
    for (int r = 0; r < s->options.n_ranks; r++) {
        qh_params *p = qh_model_params(s->rank[r].model);

        for (int64_t i = 0; i < p->n; i++)
            for (int64_t e = 0; e < p->item[i].rows * p->item[i].cols; e++)
                p->value[p->item[i].offset + e] =
                    (float)element(json_object_get(params, p->item[i].name), e);
    }
}

static void check_logits(lockstep *s, const json_t *wanted)
{
    int64_t classes = integer("classes");
    float ours[MAX_NODES * MAX_CLASSES];

    for (int64_t v = 0; v < data.n_nodes; v++)
        for (int64_t c = 0; c < classes; c++)
            ours[v * classes + c] = lockstep_logits(s, (int32_t)v)[c];
    check_tensor("logits", ours, wanted, data.n_nodes * classes);
}

/* --- the cases --- */

static const char *const names[] = {"gcn", "sage", "gin"};
static const qh_order orders[] = {QH_AGGREGATE_FIRST, QH_TRANSFORM_FIRST, QH_ORDER_AUTO};

static void check_case(const char *name, qh_order order, bool multilabel, lockstep_options o)
{
    json_t *m = json_object_get(json_object_get(golden, "models"), name);
    json_t *answer = json_object_get(m, multilabel ? "multi" : "single");
    qh_model_config c = config_of(name, order);
    lockstep *s;
    double loss, wanted = json_number_value(json_object_get(answer, "loss"));

    data.label = multilabel ? NULL : label;
    data.multi = multi;
    s = lockstep_new(&c, &data, &o);
    set_params(s, json_object_get(m, "params"));
    lockstep_forward(s, 0, false);
    check_logits(s, json_object_get(m, "logits"));
    lockstep_forward(s, 1, true);
    check_logits(s, json_object_get(m, "logits"));
    loss = lockstep_loss(s);
    ck_assert_msg(fabs(loss - wanted) <= BOUND * wanted, "loss %.9g, golden %.9g", loss, wanted);
    lockstep_backward(s);
    check_params("gradient of", qh_model_params(s->rank[0].model),
                 qh_model_params(s->rank[0].model)->grad, json_object_get(answer, "grads"));
    lockstep_free(s);
}

/* _i: backend. Every model, order, input and loss, rows at once and in two parts. */
START_TEST(one_rank)
{
    static const int64_t splits[] = {0, 1, 11, 24};
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_list(_i)};

    for (size_t m = 0; m < QH_COUNT(names); m++)
        for (size_t order = 0; order < QH_COUNT(orders); order++)
            for (int bits = 0; bits < 4; bits++)
                for (size_t split = 0; split < QH_COUNT(splits); split++) {
                    o.sparse = bits & 1;
                    o.split = splits[split];
                    o.overlap = o.split > 0;
                    check_case(names[m], orders[order], bits & 2, o);
                }
}
END_TEST

START_TEST(several_ranks)
{
    static const int ranks[] = {2, 3, 5};
    lockstep_options o = {.kernels = qh_kernels_list(_i)};

    for (size_t m = 0; m < QH_COUNT(names); m++)
        for (size_t order = 0; order < QH_COUNT(orders); order++)
            for (int bits = 0; bits < 4; bits++)
                for (size_t n = 0; n < QH_COUNT(ranks); n++) {
                    o.sparse = bits & 1;
                    o.overlap = bits & 2;
                    o.n_ranks = ranks[n];
                    check_case(names[m], orders[order], bits & 2, o);
                }
}
END_TEST

START_TEST(two_threads)
{
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_list(_i)};

    ck_assert_int_eq(qh_team_new(2, NULL, &o.team), QH_OK);
    for (size_t m = 0; m < QH_COUNT(names); m++)
        for (int sparse = 0; sparse < 2; sparse++) {
            o.sparse = sparse;
            check_case(names[m], QH_AGGREGATE_FIRST, false, o);
        }
    qh_team_free(o.team);
}
END_TEST

START_TEST(adam_steps)
{
    json_t *adam = json_object_get(golden, "gcn_adam");
    json_t *params =
        json_object_get(json_object_get(json_object_get(golden, "models"), "gcn"), "params");
    json_t *losses = json_object_get(adam, "losses_before_each_step");
    qh_model_config c = config_of("gcn", QH_AGGREGATE_FIRST);
    lockstep_options o = {.n_ranks = 1, .kernels = qh_kernels_list(_i)};
    lockstep *s;
    qh_params *p;

    data.label = label;
    s = lockstep_new(&c, &data, &o);
    p = qh_model_params(s->rank[0].model);
    set_params(s, params);
    for (int step = 0; step < 3; step++) {
        double wanted = element(losses, step), loss;

        lockstep_forward(s, step, true);
        loss = lockstep_loss(s);
        ck_assert_msg(fabs(loss - wanted) <= BOUND * wanted, "loss %.9g, golden %.9g", loss,
                      wanted);
        lockstep_backward(s);
        qh_params_adam(p, o.kernels, json_number_value(json_object_get(adam, "lr")), 0, false);
    }
    check_params("after Adam:", p, p->value, json_object_get(adam, "params_after_3_steps"));
    lockstep_free(s);
}
END_TEST

Suite *suite(void)
{
    Suite *s;
    TCase *t;
    int n_backends = 0;

    if (!test_shared())
        return NULL;
    s = suite_create("model golden");
    t = tcase_create("model golden");
    while (qh_kernels_list(n_backends))
        n_backends++;
    tcase_add_checked_fixture(t, load, unload);
    tcase_add_loop_test(t, one_rank, 0, n_backends);
    tcase_add_loop_test(t, several_ranks, 0, n_backends);
    tcase_add_loop_test(t, two_threads, 0, n_backends);
    tcase_add_loop_test(t, adam_steps, 0, n_backends);
    suite_add_tcase(s, t);
    return s;
}
