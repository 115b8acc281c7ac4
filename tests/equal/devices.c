/* One device or many, the same training: fp32 loss curves agree, orders of work and thread counts
 * give the same bits, back ends agree within rounding. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <math.h>

enum { EPOCHS = 20 };

static const struct graph_row {
    const char *name;
    tiny_spec spec;
} graphs[] = {
    {"dense", {.nodes = 211, .degree = 7, .features = 19, .classes = 4, .seed = 1}},
    {"sparse",
     {.nodes = 199, .degree = 6, .features = 67, .classes = 5, .sparse = true, .seed = 2}},
    {"directed",
     {.nodes = 157, .degree = 9, .features = 8, .classes = 3, .directed = true, .seed = 3}},
    {"multilabel",
     {.nodes = 181, .degree = 5, .features = 23, .classes = 6, .multilabel = true, .seed = 4}},
    {"directed, sparse, multilabel",
     {.nodes = 131,
      .degree = 8,
      .features = 40,
      .classes = 3,
      .sparse = true,
      .multilabel = true,
      .directed = true,
      .seed = 5}},
};
static const char *const models[] = {"gcn", "sage", "gin"};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs, N_MODELS = 3 };

/* With dropout of both kinds: masks are functions of node and column. */
static qh_train_settings settings_of(const qh_dataset *d, const char *model)
{
    qh_train_settings s = fleet_settings(d, model, 3, 24, EPOCHS);

    s.model.dropout = 0.5;
    s.model.input_dropout = 0.25;
    return s;
}

static void agree(const fleet_result *a, const fleet_result *b, double relative, const char *what)
{
    ck_assert_msg(a->status == QH_OK, "%s: %s", what, a->error);
    ck_assert_msg(b->status == QH_OK, "%s: %s", what, b->error);
    for (int t = 0; t < EPOCHS; t++)
        ck_assert_msg(fabs(a->loss[t] - b->loss[t]) <= relative * fabs(a->loss[t]),
                      "%s, epoch %d: loss %.9g and %.9g", what, t, a->loss[t], b->loss[t]);
    ck_assert_msg(a->loss[EPOCHS - 1] < a->loss[0], "%s: nothing was learnt", what);
}

static void same_bits(const fleet_result *a, const fleet_result *b, const char *what)
{
    agree(a, b, 0, what);
    ck_assert_msg(a->train.digest == b->train.digest, "%s: digests differ", what);
}

START_TEST(loss_curves_do_not_depend_on_the_number_of_devices)
{
    static const int n_ranks[] = {2, 3, 8};
    static const char *const partitioners[] = {"metis", "random", "range"};
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);
    fleet_spec f = {.settings = settings_of(d, models[_i / N_GRAPHS]),
                    .dataset = d,
                    .partitioner = "range",
                    .n_ranks = 1};
    fleet_result one, many;

    fleet_run(&f, NULL, NULL, &one);
    for (int i = 0; i < 3; i++) {
        f.n_ranks = n_ranks[i];
        f.partitioner = partitioners[i];
        fleet_run(&f, NULL, NULL, &many);
        agree(&one, &many, 1e-4, graphs[_i % N_GRAPHS].name);
        for (int t = 0; t < EPOCHS; t++)
            for (int s = 1; s < 4; s++) /* a node near the border may fall to the other side */
                ck_assert_double_lt(fabs(one.metric[t][s] - many.metric[t][s]), 0.05);
        fleet_free(&many);
    }
    fleet_free(&one);
    tiny_free(d);
}
END_TEST

START_TEST(overlap_and_threads_change_no_bit)
{
    static const char *const methods[] = {"vanilla", "int4", "random"};
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);

    for (int i = 0; i < 3; i++) {
        fleet_spec f = {.settings = settings_of(d, models[_i / N_GRAPHS]),
                        .dataset = d,
                        .partitioner = "random",
                        .n_ranks = 3};
        fleet_result sync, overlap, team;

        fleet_method(&f.settings, methods[i], "fast");
        fleet_run(&f, NULL, NULL, &sync);
        f.settings.strategy = "overlap";
        fleet_run(&f, NULL, NULL, &overlap);
        same_bits(&sync, &overlap, methods[i]);
        f.team = 2;
        fleet_run(&f, NULL, NULL, &team);
        same_bits(&sync, &team, methods[i]);
        fleet_free(&sync);
        fleet_free(&overlap);
        fleet_free(&team);
    }
    tiny_free(d);
}
END_TEST

START_TEST(kernels_agree)
{
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);
    fleet_spec f = {.settings = settings_of(d, models[_i / N_GRAPHS]),
                    .dataset = d,
                    .partitioner = "metis",
                    .n_ranks = 2};
    fleet_result fast, ref;

    fleet_run(&f, NULL, NULL, &fast);
    fleet_method(&f.settings, "vanilla", "ref");
    fleet_run(&f, NULL, NULL, &ref);
    agree(&fast, &ref, 1e-3, graphs[_i % N_GRAPHS].name);
    fleet_free(&fast);
    fleet_free(&ref);
    tiny_free(d);
}
END_TEST

/* Rows that are only charged, or sent once, bring the same values as those that travel. */
START_TEST(ways_of_moving_features_change_no_bit)
{
    static const char *const methods[] = {"vanilla", "int8"};
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);

    for (int i = 0; i < 2; i++) {
        fleet_spec f = {.settings = settings_of(d, models[_i / N_GRAPHS]),
                        .dataset = d,
                        .partitioner = "random",
                        .n_ranks = 4};
        fleet_result charged, moved, cached;

        f.settings.model.input_dropout = 0;
        fleet_method(&f.settings, methods[i], "fast");
        fleet_run(&f, NULL, NULL, &charged);
        f.settings.host_times = true;
        fleet_run(&f, NULL, NULL, &moved);
        same_bits(&charged, &moved, methods[i]);
        ck_assert_int_eq(fleet_bytes(&charged, -1), fleet_bytes(&moved, -1));
        f.settings.host_times = false;
        f.settings.cache_features = true;
        fleet_run(&f, NULL, NULL, &cached);
        if (i == 0) /* without loss, nothing new ever came */
            same_bits(&charged, &cached, "cached features");
        else
            agree(&charged, &cached, 0.05, "cached features");
        ck_assert_int_eq(fleet_bytes(&cached, 0), fleet_bytes(&charged, 0));
        ck_assert_int_lt(fleet_bytes(&cached, 1), fleet_bytes(&charged, 1));
        fleet_free(&charged);
        fleet_free(&moved);
        fleet_free(&cached);
    }
    tiny_free(d);
}
END_TEST

/* When the features travel once, what the halo rows hold must not depend on whether an evaluation,
 * which wants the exact ones, came between. */
START_TEST(evaluation_does_not_touch_training)
{
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);

    for (int i = 0; i < 2; i++) {
        fleet_spec f = {.settings = settings_of(d, models[_i / N_GRAPHS]),
                        .dataset = d,
                        .partitioner = "random",
                        .n_ranks = 3};
        fleet_result often, once;

        f.settings.model.input_dropout = i == 0 ? 0 : 0.25;
        f.settings.cache_features = i == 0;
        fleet_method(&f.settings, "int2", "fast");
        fleet_run(&f, NULL, NULL, &often);
        f.settings.eval_every = 0;
        fleet_run(&f, NULL, NULL, &once);
        same_bits(&often, &once, "evaluation");
        fleet_free(&often);
        fleet_free(&once);
    }
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("devices");
    TCase *t = tcase_create("devices");
    int n = N_GRAPHS * N_MODELS;

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, loss_curves_do_not_depend_on_the_number_of_devices, 0, n);
    tcase_add_loop_test(t, overlap_and_threads_change_no_bit, 0, n);
    tcase_add_loop_test(t, kernels_agree, 0, n);
    tcase_add_loop_test(t, ways_of_moving_features_change_no_bit, 0, n);
    tcase_add_loop_test(t, evaluation_does_not_touch_training, 0, n);
    suite_add_tcase(s, t);
    return s;
}
