/* The real thing, once in a while (`meson test --benchmark`): full-precision loss curves on the
 * facebook graph agree to 1e-4 relative over 20 epochs, for 1 to 16 devices and three
 * partitioners. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>

enum { EPOCHS = 20 };

static const char *const partitioners[] = {"metis", "random", "range"};
static const int n_ranks[] = {2, 3, 8, 16};

static fleet_spec spec_of(const qh_dataset *d, const char *partitioner, int n)
{
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, 256, EPOCHS),
                    .dataset = d,
                    .partitioner = partitioner,
                    .n_ranks = n,
                    .no_records = true};

    f.settings.model.dropout = 0.5;
    f.settings.eval_every = 0;
    return f;
}

START_TEST(loss_curves_agree)
{
    qh_dataset *d = NULL;
    fleet_result one, many;
    fleet_spec f;
    double worst = 0;

    ck_assert_msg(qh_dataset_open(test_shared_path("data/facebook"), &d) == QH_OK, "%s",
                  qh_error_text());
    f = spec_of(d, "range", 1);
    fleet_run(&f, NULL, NULL, &one);
    ck_assert_msg(one.status == QH_OK, "%s", one.error);
    for (size_t i = 0; i < QH_COUNT(n_ranks); i++) {
        f = spec_of(d, partitioners[_i], n_ranks[i]);
        fleet_run(&f, NULL, NULL, &many);
        ck_assert_msg(many.status == QH_OK, "%s", many.error);
        for (int t = 0; t < EPOCHS; t++) {
            double relative = fabs(one.loss[t] - many.loss[t]) / one.loss[t];

            worst = fmax(worst, relative);
            ck_assert_msg(relative <= 1e-4, "%s, %d devices, epoch %d: loss %.9g and %.9g",
                          partitioners[_i], n_ranks[i], t, one.loss[t], many.loss[t]);
        }
        fleet_free(&many);
    }
    printf("%s: relative difference at most %.2g\n", partitioners[_i], worst);
    fleet_free(&one);
    qh_dataset_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s;
    TCase *t;

    if (!test_shared())
        return NULL;
    s = suite_create("facebook_curves");
    t = tcase_create("facebook_curves");
    tcase_set_timeout(t, 1800);
    tcase_add_loop_test(t, loss_curves_agree, 0, (int)QH_COUNT(partitioners));
    suite_add_tcase(s, t);
    return s;
}
