/* Training ends well, and the same twice, in the corners: no cut, no edges, devices without
 * training nodes, as many devices as nodes; and it stops where it has to. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include "src/base/mem.h"

#include <math.h>
#include <string.h>

enum { EPOCHS = 6 };

static const tiny_spec common = {.nodes = 61, .degree = 5, .features = 9, .classes = 3, .seed = 11};

static fleet_spec spec_of(const qh_dataset *d, const char *method, int n_ranks)
{
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 12, EPOCHS),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = n_ranks};

    f.settings.model.dropout = 0.5;
    fleet_method(&f.settings, method, "fast");
    return f;
}

static void run(const fleet_spec *f, fleet_result *r)
{
    fleet_run(f, NULL, NULL, r);
    ck_assert_msg(r->status == QH_OK, "%s", r->error);
    ck_assert_int_eq(r->train.epochs, f->settings.epochs);
    for (int t = 0; t < r->train.epochs; t++)
        ck_assert(isfinite(r->loss[t]));
}

/* Twice the same: every record but host times, every loss, the digest. */
START_TEST(same_seed_same_everything)
{
    static const char *const methods[] = {"vanilla",    "int8",   "int2",   "random",  "adaqp-p",
                                          "int4",       "nocomm", "varco",  "fixed:3", "ef-int2",
                                          "pipegcn-gf", "sancus", "bns:0.5"};
    qh_dataset *d = tiny_new(common);
    fleet_spec f = spec_of(d, methods[_i], 4);
    fleet_result a, b, other;

    run(&f, &a);
    run(&f, &b);
    ck_assert(a.train.digest == b.train.digest);
    ck_assert(memcmp(a.loss, b.loss, sizeof a.loss) == 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(a.records[i].n, b.records[i].n);
        ck_assert(memcmp(a.records[i].item, b.records[i].item,
                         (size_t)a.records[i].n * sizeof *a.records[i].item) == 0);
    }
    f.settings.seed = f.settings.model.seed = 2;
    run(&f, &other);
    ck_assert(a.train.digest != other.train.digest);
    fleet_free(&a);
    fleet_free(&b);
    fleet_free(&other);
    tiny_free(d);
}
END_TEST

START_TEST(no_device_allocates_after_the_first_epoch)
{
    static const char *const methods[] = {"vanilla", "int4", "random"};
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 301, .degree = 6, .features = 40, .classes = 3, .sparse = _i >= 3, .seed = 5});
    fleet_spec f = spec_of(d, methods[_i % 3], 4);
    fleet_result r;

    f.no_records = true;
    run(&f, &r);
    ck_assert_int_eq(r.train.allocations_after_first_epoch, 0);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

static int32_t *parts(int64_t n, int32_t (*part_of)(int64_t v))
{
    int32_t *p;

    ck_assert_int_eq(QH_NEW_ARRAY(&p, n), QH_OK);
    for (int64_t v = 0; v < n; v++)
        p[v] = part_of(v);
    return p;
}

static int32_t by_split(int64_t v)
{
    return v % 3 < 2 ? 0 : 1 + v % 2; /* all training nodes of a tiny set are those */
}

static int32_t each_alone(int64_t v)
{
    return (int32_t)v;
}

static const struct corner {
    const char *name;
    int n_ranks;
    int64_t degree;
    int32_t (*part_of)(int64_t v);
} corners[] = {
    {"devices without training nodes", 3, 5, by_split},
    {"a node a device", 61, 5, each_alone},
    {"no edges, three devices", 3, 0, by_split},
    {"no edges, a node a device", 61, 0, each_alone},
};

START_TEST(corners_give_the_curve_of_one_device)
{
    const struct corner *c = &corners[_i];
    static const char *const methods[] = {"vanilla", "adaqp-p", "int8"};
    tiny_spec spec = common;
    qh_dataset *d;
    int32_t *part = parts(common.nodes, c->part_of);

    spec.degree = c->degree;
    d = tiny_new(spec);
    for (int i = 0; i < 3; i++) {
        fleet_spec f = spec_of(d, methods[i], 1);
        fleet_result one, many;

        run(&f, &one);
        f.partitioner = NULL;
        f.part = part;
        f.n_ranks = c->n_ranks;
        run(&f, &many);
        for (int t = 0; t < EPOCHS; t++)
            ck_assert_msg(fabs(one.loss[t] - many.loss[t]) <= (i < 2 ? 1e-4 : 0.1) * one.loss[t],
                          "%s, %s, epoch %d: %.9g and %.9g", c->name, methods[i], t, one.loss[t],
                          many.loss[t]);
        if (c->degree == 0)
            ck_assert_int_eq(fleet_messages(&many, -1), 0);
        fleet_free(&one);
        fleet_free(&many);
    }
    qh_mem_free(part);
    tiny_free(d);
}
END_TEST

/* One value of one node: found by the first codec that has to send it, and named. */
START_TEST(nan_in_a_message_is_located)
{
    static const char *const methods[] = {"int4", "pipegcn-gf", "sancus", "bns:1"};
    tiny_spec spec = common;
    qh_dataset *d;
    fleet_result r;
    fleet_spec f;
    int32_t node = 0;
    char want[64];

    spec.sparse = _i % 2 == 1;
    d = tiny_new(spec);
    while (d->graph->out_deg[node] == 0)
        node++;
    if (spec.sparse) {
        while (d->sparse_features.ptr[node] == d->sparse_features.ptr[node + 1])
            node++;
        ((float *)(uintptr_t)d->sparse_features.val)[d->sparse_features.ptr[node]] = NAN;
    } else {
        qh_mat_row(d->dense, node)[d->n_features - 1] = INFINITY;
    }
    /* A node a device: whatever has a neighbour travels. */
    f = spec_of(d, methods[_i / 2], (int)common.nodes);
    f.settings.host_times = true; /* also what the receiver could look up */
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_int_eq(r.status, QH_EINTERNAL);
    snprintf(want, sizeof want, "epoch 0, layer 0, forward: the message of node %d: ", node);
    ck_assert_msg(strncmp(r.error, want, strlen(want)) == 0, "'%s' in place of '%s...'", r.error,
                  want);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

START_TEST(a_loss_that_explodes_is_named)
{
    qh_dataset *d = tiny_new(common);
    fleet_spec f = spec_of(d, "vanilla", 1);
    fleet_result r;

    f.settings.lr = 1e38;
    f.settings.model.norm = false;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_int_eq(r.status, QH_EINTERNAL);
    ck_assert_msg(strstr(r.error, "the loss is not finite") != NULL, "%s", r.error);
    ck_assert_msg(strncmp(r.error, "epoch ", 6) == 0, "%s", r.error);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

START_TEST(early_stop_and_evaluation_epochs)
{
    qh_dataset *d = tiny_new(common);
    fleet_spec f = spec_of(d, "vanilla", 2);
    fleet_result r;

    f.settings.epochs = 50;
    f.settings.lr = 0; /* nothing ever gets better */
    f.settings.early_stop = 7;
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_int_eq(r.status, QH_OK);
    ck_assert_int_eq(r.train.epochs, 8);
    ck_assert_int_eq(r.train.best_epoch, 0);
    fleet_free(&r);

    f.settings.early_stop = 0;
    f.settings.epochs = 10;
    f.settings.eval_every = 4;
    fleet_run(&f, NULL, NULL, &r);
    for (int t = 0; t < 10; t++)
        ck_assert_msg(isnan(r.metric[t][1]) != (t == 3 || t == 7 || t == 9), "epoch %d", t);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("train");
    TCase *t = tcase_create("train");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, same_seed_same_everything, 0, 13);
    tcase_add_loop_test(t, no_device_allocates_after_the_first_epoch, 0, 6);
    tcase_add_loop_test(t, corners_give_the_curve_of_one_device, 0, (int)QH_COUNT(corners));
    tcase_add_loop_test(t, nan_in_a_message_is_located, 0, 8);
    tcase_add_test(t, a_loss_that_explodes_is_named);
    tcase_add_test(t, early_stop_and_evaluation_epochs);
    suite_add_tcase(s, t);
    return s;
}
