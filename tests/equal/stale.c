/* Late halo values (PipeGCN): what is used in epoch t is what was sent in epoch t - K, or the
 * average of it, to the bit as a plain form computes it; and runs with them end well. */
#include "tests/support/fleet.h"
#include "tests/support/lockstep.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include "src/base/mem.h"
#include "src/base/rng.h"

#include <math.h>
#include <string.h>

enum { EPOCHS = 7, NODES = 97, FEATURES = 19, CLASSES = 3, HIDDEN = 12 };

static qh_dataset *as_dataset(const lockstep_data *d)
{
    int8_t split[NODES];

    for (int v = 0; v < NODES; v++)
        split[v] = v % 3 ? QH_SPLIT_TRAIN : QH_SPLIT_TEST; /* as lockstep_random has it */
    return tiny_of(d->n_nodes, d->n_edges, d->src, d->dst, FEATURES, d->features, CLASSES, d->label,
                   NULL, split);
}

static const struct late_row {
    const char *model;
    int n_ranks, stale;
    bool smooth_features, smooth_gradients;
    qh_order order;
} late_rows[] = {
    {"gcn", 3, 0, false, false, QH_AGGREGATE_FIRST},
    {"gcn", 3, 1, false, false, QH_AGGREGATE_FIRST},
    {"sage", 2, 2, false, false, QH_AGGREGATE_FIRST},
    {"gin", 4, 3, false, false, QH_AGGREGATE_FIRST},
    {"gcn", 3, 1, false, false, QH_TRANSFORM_FIRST},
    {"gcn", 3, 1, true, false, QH_AGGREGATE_FIRST},
    {"sage", 3, 1, false, true, QH_AGGREGATE_FIRST},
    {"gcn", 5, 2, true, true, QH_TRANSFORM_FIRST},
    {"gcn", 3, EPOCHS + 1, true, true, QH_AGGREGATE_FIRST},
};

static uint64_t plain_digest(const lockstep_data *d, const qh_model_config *c,
                             const struct late_row *row, const int32_t **part, lockstep **out)
{
    lockstep *s = lockstep_new(c, d,
                               &(lockstep_options){.n_ranks = row->n_ranks,
                                                   .kernels = qh_kernels_find("fast"),
                                                   .stale = row->stale,
                                                   .smooth_features = row->smooth_features,
                                                   .smooth_gradients = row->smooth_gradients,
                                                   .smooth = 0.75F});

    for (int32_t t = 0; t < EPOCHS; t++) {
        lockstep_forward(s, t, true);
        lockstep_loss(s);
        lockstep_backward(s);
        for (int i = 0; i < row->n_ranks; i++)
            qh_params_adam(qh_model_params(s->rank[i].model), s->options.kernels, 0.01, 0, false);
    }
    *part = s->layout->part;
    *out = s;
    return qh_params_digest(qh_model_params(s->rank[0].model));
}

START_TEST(values_are_those_of_k_epochs_ago)
{
    const struct late_row *row = &late_rows[_i];
    lockstep_data data = lockstep_random(NODES, 240, FEATURES, CLASSES, false);
    qh_dataset *d = as_dataset(&data);
    fleet_spec f = {.settings = fleet_settings(d, row->model, 3, HIDDEN, EPOCHS),
                    .dataset = d,
                    .n_ranks = row->n_ranks};
    lockstep *s = NULL;
    fleet_result r;
    uint64_t want;

    f.settings.model.dropout = 0.5;
    f.settings.model.order = row->order;
    f.settings.eval_every = 2; /* exact exchanges between must not matter */
    f.settings.relax = (qh_relax){.stale = row->stale,
                                  .smooth_features = row->smooth_features,
                                  .smooth_gradients = row->smooth_gradients,
                                  .smooth = 0.75};
    want = plain_digest(&data, &f.settings.model, row, &f.part, &s);
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    ck_assert_msg(r.train.digest == want, "stale %d: other weights than the plain form",
                  row->stale);
    fleet_free(&r);
    f.settings.host_times = true; /* input features really travel */
    f.settings.strategy = "overlap";
    f.team = 2;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    ck_assert(r.train.digest == want);
    fleet_free(&r);
    lockstep_free(s);
    tiny_free(d);
    lockstep_data_free(&data);
}
END_TEST

/* Records: every block of epoch t goes when its rows are there, and is waited for in epoch t + K.
 */
START_TEST(waits_are_for_k_epochs_ago)
{
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 61, .degree = 5, .features = 9, .classes = 3, .sparse = _i % 2 == 1, .seed = 11});
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 12, EPOCHS),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = 3};
    int stale = _i / 2;
    fleet_result r, vanilla;

    fleet_run(&f, NULL, NULL, &vanilla);
    f.settings.relax.stale = stale;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    ck_assert_int_eq(fleet_bytes(&r, -1), fleet_bytes(&vanilla, -1));
    for (int i = 0; i < 3; i++) {
        int epoch = 0, n_waits[EPOCHS] = {0};

        for (int64_t k = 0; k < r.records[i].n; k++) {
            const qh_record *x = &r.records[i].item[k];

            ck_assert_int_eq(x->epoch, x->op == QH_OP_WAIT ? epoch - stale : epoch);
            if (x->op == QH_OP_WAIT)
                n_waits[x->epoch]++;
            epoch += x->op == QH_OP_EPOCH_END;
        }
        for (int t = 0; t < EPOCHS; t++) /* three layers forward, two back */
            ck_assert_int_eq(n_waits[t], t < EPOCHS - stale ? 5 : 0);
    }
    fleet_free(&r);
    fleet_free(&vanilla);
    tiny_free(d);
}
END_TEST

static const char *const combined[] = {"fp32", "int:4", "bf16", "mixed"};

/* Late messages with each codec, cached features, input dropout: as often evaluated as not, on one
 * thread or two, the same bits, and no memory after the first epoch. */
START_TEST(late_messages_go_with_codecs)
{
    const char *codec = combined[_i % 4];
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 211, .degree = 6, .features = 40, .classes = 3, .sparse = _i >= 4, .seed = 5});

    for (int cache = 0; cache < 2; cache++) {
        fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 24, 20),
                        .dataset = d,
                        .partitioner = "random",
                        .n_ranks = 3};
        qh_train_settings *s = &f.settings;
        fleet_result a, b;

        if (strcmp(codec, "mixed") == 0)
            fleet_method(s, "random", "fast");
        else
            ck_assert_int_eq(
                qh_codec_init(codec, QH_PARAMS_BF16, qh_kernels_find("fast"), &s->codec), QH_OK);
        s->relax = (qh_relax){
            .stale = 2, .smooth_features = cache == 0, .smooth_gradients = true, .smooth = 0.5};
        s->model.dropout = 0.5;
        s->model.input_dropout = cache ? 0 : 0.25;
        s->cache_features = cache == 1;
        f.no_records = true;
        fleet_run(&f, NULL, NULL, &a);
        ck_assert_msg(a.status == QH_OK, "%s", a.error);
        ck_assert_msg(a.train.allocations_after_first_epoch == 0, "%lld allocations",
                      (long long)a.train.allocations_after_first_epoch);
        ck_assert_msg(a.loss[19] < a.loss[0], "%s: nothing was learnt", codec);
        s->eval_every = 0;
        f.team = 2;
        s->strategy = "overlap";
        fleet_run(&f, NULL, NULL, &b);
        ck_assert(a.train.digest == b.train.digest);
        fleet_free(&a);
        fleet_free(&b);
    }
    tiny_free(d);
}
END_TEST

/* One device, no edges, a node a device: late messages that are none. */
START_TEST(corners)
{
    static const struct {
        int64_t degree;
        int n_ranks;
    } rows[] = {{5, 1}, {0, 3}, {0, 61}, {5, 61}};
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 61, .degree = rows[_i].degree, .features = 9, .classes = 3, .seed = 11});
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 12, 6),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = rows[_i].n_ranks};
    fleet_result r, vanilla;

    fleet_run(&f, NULL, NULL, &vanilla);
    fleet_method(&f.settings, "pipegcn-gf", "fast");
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    ck_assert_int_eq(fleet_bytes(&r, -1), fleet_bytes(&vanilla, -1));
    if (rows[_i].n_ranks == 1)
        ck_assert(r.train.digest == vanilla.train.digest);
    fleet_free(&r);
    fleet_free(&vanilla);
    tiny_free(d);
}
END_TEST

/* Blocks are still under way when a run stops early, or fails. */
START_TEST(runs_that_end_early)
{
    qh_dataset *d =
        tiny_new((tiny_spec){.nodes = 61, .degree = 5, .features = 9, .classes = 3, .seed = 11});
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 12, 50),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = 4};
    fleet_result r;

    fleet_method(&f.settings, "pipegcn", "fast");
    f.settings.relax.stale = 3;
    f.settings.lr = 0;
    f.settings.early_stop = 7;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    ck_assert_int_lt(r.train.epochs, 15);
    fleet_free(&r);

    f.settings.early_stop = 0;
    f.settings.lr = 1e38;
    f.settings.model.norm = false;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_int_eq(r.status, QH_EINTERNAL);
    ck_assert_msg(strncmp(r.error, "epoch ", 6) == 0, "%s", r.error);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("stale");
    TCase *t = tcase_create("stale");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, values_are_those_of_k_epochs_ago, 0, (int)QH_COUNT(late_rows));
    tcase_add_loop_test(t, waits_are_for_k_epochs_ago, 0, 8);
    tcase_add_loop_test(t, late_messages_go_with_codecs, 0, 8);
    tcase_add_loop_test(t, corners, 0, 4);
    tcase_add_test(t, runs_that_end_early);
    suite_add_tcase(s, t);
    return s;
}
