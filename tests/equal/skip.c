/* Skipped blocks (SANCUS): nothing skipped is vanilla; which blocks are skipped, and what is used
 * in their place, is as a plain form has it; what is not sent is not charged. */
#include "tests/support/fleet.h"
#include "tests/support/lockstep.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <string.h>

enum { EPOCHS = 12, RANKS = 4, HIDDEN = 12 };

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

    f.settings.model.order = g->order;
    f.settings.eval_every = 5;
    fleet_method(&f.settings, method, "fast");
    return f;
}

static void run(const fleet_spec *f, fleet_result *r)
{
    fleet_run(f, NULL, NULL, r);
    ck_assert_msg(r->status == QH_OK, "%s", r->error);
}

static int64_t count_sends(const fleet_result *r, int epoch)
{
    int64_t n = 0;

    for (int i = 0; i < r->n_ranks; i++)
        for (int64_t k = 0; k < r->records[i].n; k++)
            n += r->records[i].item[k].op == QH_OP_SEND &&
                 (epoch < 0 || r->records[i].item[k].epoch == epoch);
    return n;
}

/* A bound of 0, or an age of 1: the weights of vanilla, and a byte more for each block. */
START_TEST(nothing_skipped_is_vanilla)
{
    qh_dataset *d = tiny_new(graphs[_i % N_GRAPHS].spec);
    fleet_spec f = spec_of(&graphs[_i % N_GRAPHS], d, "vanilla");
    fleet_result vanilla, skip;

    f.settings.model.dropout = 0.5;
    f.settings.model.input_dropout = _i / 2 % 2 * 0.25;
    run(&f, &vanilla);
    f.settings.relax.skip = true;
    f.settings.relax.skip_bound = _i < N_GRAPHS ? 0 : 1e9;
    f.settings.relax.skip_age = _i < N_GRAPHS ? 1000 : 1;
    f.team = 2;
    f.settings.strategy = "overlap";
    run(&f, &skip);
    ck_assert(skip.train.digest == vanilla.train.digest);
    ck_assert_int_eq(count_sends(&skip, -1), count_sends(&vanilla, -1));
    ck_assert_int_eq(fleet_bytes(&skip, -1), fleet_bytes(&vanilla, -1) + count_sends(&vanilla, -1));
    ck_assert_int_eq(fleet_messages(&skip, -1), fleet_messages(&vanilla, -1));
    ck_assert_int_eq(skip.volume.bytes, fleet_bytes(&skip, 0));
    fleet_free(&skip);
    fleet_free(&vanilla);
    tiny_free(d);
}
END_TEST

static const char *const codecs[] = {"fp32", "int:4", "bf16", "mixed"};

static void set_codec(qh_train_settings *s, const char *codec)
{
    qh_relax relax = s->relax;

    if (strcmp(codec, "mixed") == 0)
        fleet_method(s, "random", "fast");
    else
        ck_assert_int_eq(qh_codec_init(codec, QH_PARAMS_BF16, qh_kernels_find("fast"), &s->codec),
                         QH_OK);
    s->relax = relax;
}

/* Weights that stay as they are, and no dropout: what is sent in epoch 0 serves until it is too
 * old, with noise of quantization and all; so epochs of one period have the same loss. */
START_TEST(nothing_changes_so_nothing_is_sent)
{
    enum { AGE = 5 };
    qh_dataset *d = tiny_new(graphs[_i / 4].spec);
    fleet_spec f = spec_of(&graphs[_i / 4], d, "sancus");
    bool lossless = _i % 4 == 0;
    fleet_result r;

    set_codec(&f.settings, codecs[_i % 4]);
    f.settings.relax.skip_bound = 1e-6;
    f.settings.relax.skip_age = AGE;
    f.settings.bits.assign_every = AGE; /* with new widths everything is sent */
    f.settings.lr = 0;
    run(&f, &r);
    for (int t = 0; t < EPOCHS; t++) {
        ck_assert(r.loss[t] == r.loss[t / AGE * AGE]);
        ck_assert_int_eq(count_sends(&r, t), count_sends(&r, 0));
        if (t % AGE == 0)
            ck_assert_int_eq(fleet_messages(&r, t), fleet_messages(&r, 0));
        else
            ck_assert_int_eq(fleet_messages(&r, t), 0);
        if (t % AGE > 0)
            ck_assert_int_eq(fleet_bytes(&r, t), count_sends(&r, t)); /* the flags */
    }
    if (!lossless && _i % 4 != 2)
        ck_assert(r.loss[AGE] != r.loss[0]);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* --- against the plain form --- */

enum { NODES = 97, FEATURES = 19, CLASSES = 3 };

static const struct plain_row {
    const char *model;
    int n_ranks, stale, age;
    double bound;
    bool smooth;
    qh_order order;
} plain_rows[] = {
    {"gcn", 3, 0, 4, 0.05, false, QH_AGGREGATE_FIRST},
    {"gcn", 3, 0, 100, 0.2, false, QH_TRANSFORM_FIRST},
    {"sage", 2, 0, 3, 0.1, false, QH_AGGREGATE_FIRST},
    {"gin", 4, 0, 7, 0.3, false, QH_AGGREGATE_FIRST},
    {"gcn", 3, 1, 4, 0.1, false, QH_AGGREGATE_FIRST},
    {"gcn", 3, 2, 4, 0.2, true, QH_TRANSFORM_FIRST},
};

static lockstep *train_plainly(const struct plain_row *row, const qh_model_config *c,
                               const lockstep_data *data)
{
    lockstep *s = lockstep_new(c, data,
                               &(lockstep_options){.n_ranks = row->n_ranks,
                                                   .kernels = qh_kernels_find("fast"),
                                                   .stale = row->stale,
                                                   .smooth_features = row->smooth,
                                                   .smooth_gradients = row->smooth,
                                                   .smooth = 0.75F,
                                                   .skip_bound = row->bound,
                                                   .skip_age = row->age});

    for (int32_t t = 0; t < EPOCHS; t++) {
        lockstep_forward(s, t, true);
        lockstep_loss(s);
        lockstep_backward(s);
        for (int i = 0; i < row->n_ranks; i++)
            qh_params_adam(qh_model_params(s->rank[i].model), s->options.kernels, 0.01, 0, false);
    }
    return s;
}

/* Blocks of hidden layers that were skipped: some, and not all. */
static void some_are_skipped(const fleet_result *r)
{
    int64_t n_skipped = 0, n_sends = count_sends(r, -1);

    for (int i = 0; i < r->n_ranks; i++)
        for (int64_t k = 0; k < r->records[i].n; k++) {
            const qh_record *x = &r->records[i].item[k];

            n_skipped += x->op == QH_OP_SEND && x->layer > 0 && x->bytes == 1;
        }
    ck_assert_msg(n_skipped > 0 && n_skipped < n_sends, "%lld of %lld blocks", (long long)n_skipped,
                  (long long)n_sends);
}

START_TEST(skipped_as_in_the_plain_form)
{
    const struct plain_row *row = &plain_rows[_i];
    lockstep_data data = lockstep_random(NODES, 240, FEATURES, CLASSES, false);
    int8_t split[NODES];
    qh_dataset *d;
    fleet_spec f;
    lockstep *s;

    for (int v = 0; v < NODES; v++)
        split[v] = v % 3 ? QH_SPLIT_TRAIN : QH_SPLIT_TEST;
    d = tiny_of(data.n_nodes, data.n_edges, data.src, data.dst, FEATURES, data.features, CLASSES,
                data.label, NULL, split);
    f = (fleet_spec){.settings = fleet_settings(d, row->model, 3, HIDDEN, EPOCHS),
                     .dataset = d,
                     .n_ranks = row->n_ranks};
    f.settings.model.order = row->order;
    f.settings.relax = (qh_relax){.stale = row->stale,
                                  .smooth_features = row->smooth,
                                  .smooth_gradients = row->smooth,
                                  .smooth = 0.75,
                                  .skip = true,
                                  .skip_bound = row->bound,
                                  .skip_age = row->age};
    s = train_plainly(row, &f.settings.model, &data);
    f.part = s->layout->part;
    for (int i = 0; i < 2; i++) {
        fleet_result r;

        f.settings.host_times = i == 1;
        f.team = 1 + i;
        run(&f, &r);
        ck_assert(r.train.digest == qh_params_digest(qh_model_params(s->rank[0].model)));
        some_are_skipped(&r);
        fleet_free(&r);
    }
    lockstep_free(s);
    tiny_free(d);
    lockstep_data_free(&data);
}
END_TEST

/* With every codec, on one thread or two, evaluated or not: the same bits; and no memory after the
 * first epoch. */
START_TEST(skipping_goes_with_codecs)
{
    qh_dataset *d = tiny_new(graphs[_i / 4].spec);
    fleet_spec f = spec_of(&graphs[_i / 4], d, "sancus");
    fleet_result a, b;

    set_codec(&f.settings, codecs[_i % 4]);
    f.settings.relax.skip_bound = 0.3;
    f.settings.relax.stale = _i % 2;
    f.settings.model.input_dropout = _i / 4 == 1 ? 0.25 : 0;
    f.settings.eval_every = 1;
    f.settings.epochs = 20;
    f.no_records = true;
    run(&f, &a);
    ck_assert_int_eq(a.train.allocations_after_first_epoch, 0);
    f.settings.eval_every = 0;
    f.settings.strategy = "overlap";
    f.team = 2;
    run(&f, &b);
    ck_assert(a.train.digest == b.train.digest);
    fleet_free(&a);
    fleet_free(&b);
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
    fleet_spec f = spec_of(&graphs[0], d, "sancus");
    fleet_result r;

    f.n_ranks = rows[_i].n_ranks;
    run(&f, &r);
    if (_i < 3)
        ck_assert_int_eq(fleet_bytes(&r, -1), 0);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("skip");
    TCase *t = tcase_create("skip");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, nothing_skipped_is_vanilla, 0, 2 * N_GRAPHS);
    tcase_add_loop_test(t, nothing_changes_so_nothing_is_sent, 0, 4 * N_GRAPHS);
    tcase_add_loop_test(t, skipped_as_in_the_plain_form, 0, (int)QH_COUNT(plain_rows));
    tcase_add_loop_test(t, skipping_goes_with_codecs, 0, 4 * N_GRAPHS);
    tcase_add_loop_test(t, corners, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
