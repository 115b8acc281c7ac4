/* Training on several ranks against an independent float64 implementation: logits, loss, every
 * gradient and three Adam steps, within 2e-5 of the largest value of each array. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <jansson.h>
#include <math.h>

#define BOUND 2e-5

static json_t *golden;

typedef struct golden_case {
    qh_dataset *dataset;
    const json_t *params, *logits, *grads; /* logits and grads may be NULL */
    double loss;
    const json_t *losses, *params_after; /* of Adam steps; may be NULL */
    double lr;
} golden_case;

static json_t *at(const json_t *object, const char *key)
{
    json_t *x = json_object_get(object, key);

    ck_assert_msg(x != NULL, "the golden file has no '%s'", key);
    return x;
}

/* Element i of a list, or of a list of lists in row-major order. */
static double number(const json_t *list, int64_t i)
{
    const json_t *first = json_array_get(list, 0);
    int64_t cols = json_is_array(first) ? (int64_t)json_array_size(first) : 0;

    return cols ? json_number_value(
                      json_array_get(json_array_get(list, (size_t)(i / cols)), (size_t)(i % cols)))
                : json_number_value(json_array_get(list, (size_t)i));
}

static void compare(const char *what, int rank, const float *got, const json_t *want, int64_t n)
{
    double largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(number(want, i)));
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)got[i] - number(want, i)) <= BOUND * fmax(largest, 1e-30),
                      "rank %d, %s, element %lld: %.9g in place of %.9g", rank, what, (long long)i,
                      (double)got[i], number(want, i));
}

static void set_params(qh_params *p, const json_t *values)
{
    ck_assert_int_eq(p->n, (int64_t)json_object_size(values));
    for (int64_t i = 0; i < p->n; i++) {
        const json_t *v = at(values, p->item[i].name);

        for (int64_t k = 0; k < p->item[i].rows * p->item[i].cols; k++)
            p->value[p->item[i].offset + k] = (float)number(v, k);
    }
}

static void compare_params(const qh_params *p, const float *got, const json_t *want, int rank)
{
    for (int64_t i = 0; i < p->n; i++)
        compare(p->item[i].name, rank, got + p->item[i].offset, at(want, p->item[i].name),
                p->item[i].rows * p->item[i].cols);
}

static void compare_logits(qh_trainer *t, const json_t *want, int rank)
{
    const qh_halo *plan = qh_trainer_plan(t);
    qh_mat logits = qh_model_logits(qh_trainer_model(t));

    for (int64_t r = 0; r < plan->n_inner; r++)
        compare("logits", rank, qh_mat_row(logits, r), json_array_get(want, (size_t)plan->node[r]),
                logits.cols);
}

static qh_status body(void *ctx, int rank, qh_trainer *t)
{
    const golden_case *c = ctx;
    qh_params *p = qh_model_params(qh_trainer_model(t));
    double metric[4], loss;
    qh_status st;

    set_params(p, c->params);
    QH_TRY(st, qh_trainer_evaluate(t, metric));
    if (c->logits)
        compare_logits(t, c->logits, rank);
    QH_TRY(st, qh_trainer_gradient(t, 0, &loss));
    ck_assert_double_lt(fabs(loss - c->loss), BOUND * c->loss);
    if (c->grads)
        compare_params(p, p->grad, c->grads, rank);
    for (size_t i = 0; c->losses && i < json_array_size(c->losses); i++) {
        QH_TRY(st, qh_trainer_gradient(t, (int32_t)i, &loss));
        ck_assert_double_lt(fabs(loss - number(c->losses, (int64_t)i)), BOUND * loss);
        qh_trainer_update(t, (int32_t)i);
    }
    if (c->params_after)
        compare_params(p, p->value, c->params_after, rank);
out:
    return st;
}

static void run_all(golden_case *c, const char *model)
{
    static const char *const partitioners[] = {"metis", "random", "range", "hash"};
    static const int n_ranks[] = {1, 2, 3, 5};
    static const char *const strategies[] = {"sync", "overlap"};

    for (int i = 0; i < 4 * 4 * 2 * 3; i++) {
        fleet_spec f = {.settings = fleet_settings(c->dataset, model, 3, 8, 1),
                        .dataset = c->dataset,
                        .partitioner = partitioners[i % 4],
                        .n_ranks = n_ranks[i / 4 % 4],
                        .team = 1 + i % 2};
        fleet_result r;

        f.settings.strategy = strategies[i / 16 % 2];
        f.settings.model.order = (qh_order)(i / 32);
        f.settings.lr = c->lr > 0 ? c->lr : 0.01;
        fleet_run(&f, body, c, &r);
        ck_assert_msg(r.status == QH_OK, "%s, %s, %d ranks: %s", model, f.partitioner, f.n_ranks,
                      r.error);
        fleet_free(&r);
    }
}

static qh_dataset *graph_of_golden(bool multilabel)
{
    enum { NODES = 24, FEATURES = 7, CLASSES = 3, EDGES = 96 };
    int32_t src[EDGES], dst[EDGES], label[NODES];
    float x[NODES * FEATURES];
    uint8_t target[NODES * CLASSES];
    int8_t split[NODES] = {0};
    const json_t *train = at(golden, "train");

    ck_assert_int_eq(json_integer_value(at(golden, "nodes")), NODES);
    ck_assert_int_eq((int)json_array_size(at(golden, "src")), EDGES);
    for (int i = 0; i < EDGES; i++) {
        src[i] = (int32_t)number(at(golden, "src"), i);
        dst[i] = (int32_t)number(at(golden, "dst"), i);
    }
    for (int i = 0; i < NODES * FEATURES; i++)
        x[i] = (float)number(at(golden, "X"), i);
    for (int i = 0; i < NODES; i++)
        label[i] = (int32_t)number(at(golden, "labels"), i);
    for (int i = 0; i < NODES * CLASSES; i++)
        target[i] = (uint8_t)number(at(golden, "multilabels"), i);
    for (size_t i = 0; i < json_array_size(train); i++)
        split[(int)number(train, (int64_t)i)] = QH_SPLIT_TRAIN;
    return tiny_of(NODES, EDGES, src, dst, FEATURES, x, CLASSES, multilabel ? NULL : label, target,
                   split);
}

static const struct row {
    const char *model;
    bool multilabel;
} rows[] = {{"gcn", false}, {"gcn", true},  {"sage", false},
            {"sage", true}, {"gin", false}, {"gin", true}};

START_TEST(logits_loss_and_gradients)
{
    const json_t *m = at(at(golden, "models"), rows[_i].model);
    const json_t *part = at(m, rows[_i].multilabel ? "multi" : "single");
    golden_case c = {.dataset = graph_of_golden(rows[_i].multilabel),
                     .params = at(m, "params"),
                     .logits = at(m, "logits"),
                     .grads = at(part, "grads"),
                     .loss = json_number_value(at(part, "loss"))};

    run_all(&c, rows[_i].model);
    tiny_free(c.dataset);
}
END_TEST

START_TEST(three_adam_steps)
{
    const json_t *adam = at(golden, "gcn_adam");
    golden_case c = {.dataset = graph_of_golden(false),
                     .params = at(at(at(golden, "models"), "gcn"), "params"),
                     .losses = at(adam, "losses_before_each_step"),
                     .params_after = at(adam, "params_after_3_steps"),
                     .lr = json_number_value(at(adam, "lr"))};

    c.loss = number(c.losses, 0);
    run_all(&c, "gcn");
    tiny_free(c.dataset);
}
END_TEST

Suite *suite(void)
{
    Suite *s;
    TCase *t;

    if (!test_shared())
        return NULL;
    s = suite_create("train_golden");
    t = tcase_create("train_golden");
    golden = json_load_file(test_shared_path("golden/model_golden.json"), 0, NULL);
    if (!golden)
        return NULL;
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, logits_loss_and_gradients, 0, (int)QH_COUNT(rows));
    tcase_add_test(t, three_adam_steps);
    suite_add_tcase(s, t);
    return s;
}
