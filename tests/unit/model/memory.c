/* What a model allocates, and when. */
#include "src/model/model.h"

#include "src/base/mem.h"
#include "tests/support/lockstep.h"
#include "tests/support/support.h"

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

START_TEST(nothing_is_allocated_after_the_first_epoch)
{
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);

    for (int bits = 0; bits < 12; bits++) {
        qh_model_config c =
            config_of(names[bits % 3], bits / 3 % 2 ? QH_TRANSFORM_FIRST : QH_AGGREGATE_FIRST);
        lockstep_options o = {.n_ranks = 3, .sparse = bits / 6, .kernels = qh_kernels_find("ref")};
        lockstep *s = lockstep_new(&c, &d, &o);
        int64_t bytes, bytes_later;

        train_epoch(s, 0);
        lockstep_forward(s, 0, false);
        bytes = qh_mem_bytes(); /* not the count: the harness has buffers that come and go */
        for (int t = 1; t < 5; t++)
            train_epoch(s, t);
        bytes_later = qh_mem_bytes();
        ck_assert_int_eq(bytes, bytes_later);
        lockstep_free(s);
    }
    lockstep_data_free(&d);
}
END_TEST

/* Checks one rank of s; what an estimate cannot know, copies of sparse rows, is added here. */
static void check_estimate(lockstep *s, const qh_model_config *c, int rank)
{
    qh_model_graph g = lockstep_graph(s, rank);
    qh_model_input in = lockstep_input(s, rank);
    qh_exec x = {.kernels = s->options.kernels};
    qh_model *m = NULL;
    int64_t before = qh_mem_bytes(), took, wanted;
    int64_t loops = qh_model_self_loops(c->name) ? g.n_inner : 0;

    ck_assert_int_eq(qh_model_new(c, &g, &in, &x, &m), QH_OK);
    took = qh_mem_bytes() - before;
    wanted = qh_model_estimate_bytes(c, g.n_inner, g.n_local - g.n_inner,
                                     g.in_ptr[g.n_inner] - loops, in.sparse);
    if (in.sparse && g.n_local > g.n_inner)
        wanted += 8 * (g.n_local + 1) + 8 * in.inner.ptr[g.n_inner];
    /* The rest are tables of a few lines a layer. */
    ck_assert_msg(wanted <= took && took <= wanted + 8192, "%s order %d: took %lld, estimate %lld",
                  c->name, (int)c->order, (long long)took, (long long)wanted);
    qh_model_free(m);
    qh_exec_fini(&x);
}

START_TEST(estimate_is_what_new_takes)
{
    lockstep_data d = lockstep_random(NODES, PAIRS, FEATURES, CLASSES, false);

    for (int bits = 0; bits < 48; bits++) {
        qh_model_config c = config_of(names[bits % 3], (qh_order)(bits / 3 % 2));
        lockstep_options o = {
            .n_ranks = 1 + bits / 24, .sparse = bits / 6 % 2, .kernels = qh_kernels_find("ref")};
        lockstep *s;

        c.norm = bits / 12 % 2;
        c.input_dropout = o.sparse ? 0 : 0.5;
        s = lockstep_new(&c, &d, &o);
        check_estimate(s, &c, 0);
        lockstep_free(s);
    }
    lockstep_data_free(&d);
}
END_TEST

/* The n-th allocation fails, for every n: an error, and nothing is left behind. */
START_TEST(memory_can_run_out)
{
    static const int64_t ptr[] = {0, 1};
    static const int32_t zero[] = {0};
    float value[FEATURES] = {1};
    qh_model_graph g = {1, 1, 1, zero, ptr, ptr, zero, zero, zero, zero};
    int64_t held = qh_mem_bytes();

    for (int bits = 0; bits < 12; bits++) {
        qh_model_input in = {.sparse = bits / 6,
                             .dense = {value, 1, FEATURES, FEATURES},
                             .inner = {1, FEATURES, ptr, zero, value}};
        qh_model_config c = config_of(names[bits % 3], (qh_order)(bits / 3 % 2));
        qh_status st = QH_ERESOURCE;
        int n;

        for (n = 1; st != QH_OK; n++) {
            qh_exec x = {.kernels = qh_kernels_find("ref")};
            qh_model *m = NULL;

            qh_mem_fail_at(n);
            st = qh_model_new(&c, &g, &in, &x, &m);
            qh_mem_fail_at(0);
            ck_assert(st == QH_OK || st == QH_ERESOURCE);
            qh_model_free(m);
            qh_exec_fini(&x);
            ck_assert_int_eq(qh_mem_bytes(), held);
        }
        ck_assert_int_gt(n, 20);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("model memory");
    TCase *t = tcase_create("model memory");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, nothing_is_allocated_after_the_first_epoch);
    tcase_add_test(t, estimate_is_what_new_takes);
    tcase_add_test(t, memory_can_run_out);
    suite_add_tcase(s, t);
    return s;
}
