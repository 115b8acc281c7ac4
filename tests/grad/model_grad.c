/* Gradients against finite differences, with dropout on (the mask is a function of the epoch, so
 * the loss is one function of the parameters).
 *
 * For each parameter tensor and a unit direction d (along the gradient, and two at random), the
 * central difference (L(w + h d) - L(w - h d)) / 2h is compared with <gradient, d>. The bound is
 * computed: the spread of the slopes over the four intervals of length h around w, which sees
 * curvature and the kinks of ReLU, and the rounding of the loss over h, ROUNDING * L * 2^-24 / h.
 * Where that is more than 5 % of the gradient's norm the comparison would say little; at least 9 of
 * 10 must say more. */
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/lockstep.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { NODES = 23, EDGES = 90, FEATURES = 9, HIDDEN = 17, CLASSES = 5, EPOCH = 3 };

static const double STEP = 0.001, ROUNDING = 8;

/* Sets parameters [offset, offset + n) of every rank to w + h d. */
static void move(lockstep *s, int64_t offset, int64_t n, const float *w, const double *d, double h)
{
    for (int r = 0; r < s->options.n_ranks; r++)
        for (int64_t e = 0; e < n; e++)
            qh_model_params(s->rank[r].model)->value[offset + e] = (float)((double)w[e] + h * d[e]);
}

static double loss_at(lockstep *s, int64_t offset, int64_t n, const float *w, const double *d,
                      double h)
{
    double loss;

    move(s, offset, n, w, d, h);
    lockstep_forward(s, EPOCH, true);
    loss = lockstep_loss(s);
    move(s, offset, n, w, d, 0);
    return loss;
}

/* Direction 0 follows the gradient. Unit length; false where the gradient is zero. */
static bool choose(int which, const float *grad, int64_t n, double *d)
{
    qh_key key = qh_rand_key(12, QH_RAND_SAMPLE, (uint32_t)which, 0, 0);
    double norm = 0;

    for (int64_t e = 0; e < n; e++) {
        d[e] = which == 0 ? (double)grad[e] : qh_rand_normal(key, (uint64_t)e);
        norm += d[e] * d[e];
    }
    for (int64_t e = 0; e < n; e++)
        d[e] /= sqrt(norm);
    return norm > 0;
}

struct tally {
    int said, useless;
};

static void check_tensor(lockstep *s, const char *what, const qh_param *item, const float *grad,
                         double loss, struct tally *t)
{
    int64_t n = item->rows * item->cols;
    double d[512], norm = 0;
    float w[512];

    ck_assert_int_le(n, 512);
    memcpy(w, qh_model_params(s->rank[0].model)->value + item->offset, (size_t)n * sizeof *w);
    for (int64_t e = 0; e < n; e++)
        norm += (double)grad[e] * (double)grad[e];
    norm = sqrt(norm);
    for (int which = 0; which < 3; which++) {
        double wanted = 0, at[5], least = INFINITY, most = -INFINITY, central, bound;

        if (!choose(which, grad, n, d))
            continue;
        for (int64_t e = 0; e < n; e++)
            wanted += (double)grad[e] * d[e];
        for (int i = 0; i < 5; i++)
            at[i] = i == 2 ? loss : loss_at(s, item->offset, n, w, d, (i - 2) * STEP);
        for (int i = 0; i < 4; i++) {
            least = fmin(least, (at[i + 1] - at[i]) / STEP);
            most = fmax(most, (at[i + 1] - at[i]) / STEP);
        }
        central = (at[3] - at[1]) / (2 * STEP);
        bound = most - least + ROUNDING * loss * 0x1p-24 / STEP;
        ck_assert_msg(fabs(central - wanted) <= bound,
                      "%s, %s, direction %d: difference %.8g, gradient %.8g, bound %.2g", what,
                      item->name, which, central, wanted, bound);
        t->said++;
        t->useless += bound > 0.05 * norm;
    }
}

static void check_model(const qh_model_config *c, const lockstep_data *d, const lockstep_options *o,
                        struct tally *t)
{
    char what[128];
    lockstep *s = lockstep_new(c, d, o);
    qh_params *p = qh_model_params(s->rank[0].model);
    float *grad = NULL;
    double loss;

    snprintf(what, sizeof what, "%s order %d%s%s, %d ranks", c->name, (int)c->order,
             c->norm ? ", norm" : "", o->sparse ? ", sparse" : "", o->n_ranks);
    ck_assert_int_eq(QH_NEW_ARRAY(&grad, p->n_values), QH_OK);
    lockstep_forward(s, EPOCH, true);
    loss = lockstep_loss(s);
    lockstep_backward(s);
    memcpy(grad, p->grad, (size_t)p->n_values * sizeof *grad);
    for (int64_t i = 0; i < p->n; i++)
        check_tensor(s, what, &p->item[i], grad + p->item[i].offset, loss, t);
    qh_mem_free(grad);
    lockstep_free(s);
}

static const char *const names[] = {"gcn", "sage", "gin"};

/* _i: the model. */
START_TEST(every_tensor)
{
    struct tally t = {0};

    for (int bits = 0; bits < 16; bits++) {
        bool multilabel = bits & 8;
        lockstep_data d = lockstep_random(NODES, EDGES, FEATURES, CLASSES, multilabel);
        qh_model_config c = {.name = names[_i],
                             .n_layers = 3,
                             .n_features = FEATURES,
                             .n_hidden = HIDDEN,
                             .n_classes = CLASSES,
                             .dropout = 0.3,
                             .input_dropout = 0.2,
                             .norm = bits & 1,
                             .order = bits & 2 ? QH_TRANSFORM_FIRST : QH_AGGREGATE_FIRST,
                             .seed = 5};
        lockstep_options o = {
            .n_ranks = bits & 8 ? 3 : 1, .sparse = bits & 4, .kernels = qh_kernels_find("ref")};

        check_model(&c, &d, &o, &t);
        lockstep_data_free(&d);
    }

    ck_assert_msg(10 * t.useless <= t.said, "%d of %d bounds are too wide", t.useless, t.said);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("model gradients");
    TCase *t = tcase_create("model gradients");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, every_tensor, 0, (int)QH_COUNT(names));
    suite_add_tcase(s, t);
    return s;
}
