#include "src/model/param.h"

#include "src/base/mem.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static const qh_param shapes[] = {
    {"W0", 0, 61, 47, 0, QH_INIT_GLOROT}, {"b0", 0, 1, 47, 0, QH_INIT_ZERO},
    {"gain0", 0, 1, 47, 0, QH_INIT_ONE},  {"W1", 0, 47, 61, 1, QH_INIT_GLOROT},
    {"b1", 0, 1, 61, 1, QH_INIT_ZERO},
};

static qh_params *new_params(uint64_t seed)
{
    qh_params *p = NULL;

    ck_assert_int_eq(qh_params_new(shapes, QH_COUNT(shapes), &p), QH_OK);
    qh_params_init(p, seed);
    return p;
}

START_TEST(views_lie_one_after_the_other)
{
    qh_params *p = new_params(1);
    int64_t at = 0;

    for (int64_t i = 0; i < p->n; i++) {
        qh_mat w = qh_params_value(p, i), g = qh_params_grad(p, i);

        ck_assert_int_eq(qh_params_find(p, shapes[i].name), i);
        ck_assert(w.data == p->value + at && g.data == p->grad + at);
        ck_assert(w.rows == shapes[i].rows && w.cols == shapes[i].cols && w.ld == w.cols);
        at += w.rows * w.cols;
    }
    ck_assert_int_eq(at, p->n_values);
    ck_assert_int_eq(qh_params_find(p, "W"), -1);
    ck_assert_int_eq(qh_params_find(p, "W00"), -1);
    qh_params_free(p);
}
END_TEST

/* Glorot: uniform in +-sqrt(6 / (rows + cols)): nothing outside, all of it used, mean 0 and
 * variance bound^2 / 3 within five standard deviations. */
START_TEST(init_fills_the_bounds)
{
    qh_params *p = new_params(7);
    double bound = sqrt(6.0 / (61 + 47));

    for (int64_t i = 0; i < p->n; i++) {
        qh_mat w = qh_params_value(p, i);
        double n = (double)(w.rows * w.cols), sum = 0, square = 0, least = 1, most = -1;

        for (int64_t e = 0; e < w.rows * w.cols; e++) {
            double x = (double)w.data[e];

            sum += x;
            square += x * x;
            least = fmin(least, x);
            most = fmax(most, x);
        }
        if (shapes[i].init == QH_INIT_GLOROT) {
            ck_assert(-bound <= least && least < -0.99 * bound);
            ck_assert(most <= bound && most > 0.99 * bound);
            ck_assert_double_le(fabs(sum / n), 5 * bound / sqrt(3 * n));
            /* Var(x^2) = bound^4 * 4/45. */
            ck_assert_double_le(fabs(square / n - bound * bound / 3),
                                5 * bound * bound * sqrt(4.0 / 45 / n));
        } else {
            ck_assert(least == most && (most == 0 || most == 1));
            ck_assert_int_eq(most == 1, shapes[i].init == QH_INIT_ONE);
        }
    }
    qh_params_free(p);
}
END_TEST

START_TEST(digest_sees_every_value_and_the_seed)
{
    qh_params *p = new_params(7), *same = new_params(7), *other = new_params(8);
    uint64_t digest = qh_params_digest(p);

    ck_assert_uint_eq(digest, qh_params_digest(same));
    ck_assert_uint_ne(digest, qh_params_digest(other));
    for (int64_t e = 0; e < p->n_values; e += 97) {
        float w = p->value[e];

        p->value[e] = nextafterf(w, 2);
        ck_assert_uint_ne(digest, qh_params_digest(p));
        p->value[e] = w;
    }
    p->grad[0] = 1; /* not a weight */
    ck_assert_uint_eq(digest, qh_params_digest(p));
    p->item[1].name[0] = 'c';
    ck_assert_uint_ne(digest, qh_params_digest(p));
    qh_params_free(p);
    qh_params_free(same);
    qh_params_free(other);
}
END_TEST

/* Two tensors of one shape are drawn apart. */
START_TEST(no_two_tensors_share_numbers)
{
    qh_param list[] = {{"W0", 0, 5, 5, 0, QH_INIT_GLOROT},
                       {"W1", 0, 5, 5, 1, QH_INIT_GLOROT},
                       {"V1", 0, 5, 5, 1, QH_INIT_GLOROT}};
    qh_params *p = NULL;

    ck_assert_int_eq(qh_params_new(list, 3, &p), QH_OK);
    qh_params_init(p, 1);
    for (int64_t e = 0; e < 25; e++)
        ck_assert(p->value[e] != p->value[25 + e] && p->value[25 + e] != p->value[50 + e]);
    qh_params_free(p);
}
END_TEST

/* Steps of Adam in double beside ours. _i: 0 no decay, 1 all decayed, 2 layer 0 only. */
START_TEST(adam_steps)
{
    qh_params *p = new_params(3);
    double lr = 0.02, decay = _i ? 0.1 : 0;
    double w[6000], m[6000] = {0}, v[6000] = {0};

    ck_assert_int_le(p->n_values, 6000);
    for (int64_t e = 0; e < p->n_values; e++)
        w[e] = (double)p->value[e];
    for (int step = 1; step <= 4; step++) {
        for (int64_t e = 0; e < p->n_values; e++)
            p->grad[e] = (float)sin((double)(e * step));
        qh_params_adam(p, qh_kernels_find("ref"), lr, decay, _i == 2);
        ck_assert_int_eq(p->step, step);
        for (int64_t e = 0; e < p->n_values; e++) {
            bool decayed = _i == 1 || (_i == 2 && e < p->item[3].offset);
            double g = sin((double)(e * step)) + (decayed ? decay * w[e] : 0);

            m[e] = 0.9 * m[e] + 0.1 * g;
            v[e] = 0.999 * v[e] + 0.001 * g * g;
            w[e] -=
                lr * (m[e] / (1 - pow(0.9, step))) / (sqrt(v[e] / (1 - pow(0.999, step))) + 1e-8);
            /* A step is lr at most; single precision is good to some 1e-5 of it, 4 times. */
            if (fabs(g) > 1e-3)
                ck_assert_double_eq_tol((double)p->value[e], w[e], 1e-4 * lr + 1e-6);
            w[e] = (double)p->value[e];
        }
    }
    qh_params_free(p);
}
END_TEST

START_TEST(memory_can_run_out)
{
    for (int n = 1; n <= 6; n++) {
        int64_t held = qh_mem_bytes();
        qh_params *p = NULL;

        qh_mem_fail_at(n);
        ck_assert_int_eq(qh_params_new(shapes, QH_COUNT(shapes), &p), QH_ERESOURCE);
        ck_assert_ptr_null(p);
        ck_assert_int_eq(qh_mem_bytes(), held);
    }
    qh_mem_fail_at(0);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("param");
    TCase *t = tcase_create("param");

    tcase_add_test(t, views_lie_one_after_the_other);
    tcase_add_test(t, init_fills_the_bounds);
    tcase_add_test(t, digest_sees_every_value_and_the_seed);
    tcase_add_test(t, no_two_tensors_share_numbers);
    tcase_add_loop_test(t, adam_steps, 0, 3);
    tcase_add_test(t, memory_can_run_out);
    suite_add_tcase(s, t);
    return s;
}
