/* Rate schedules: every member to the header's promises, their formulas, and what is refused. */
#include "src/policy/rate.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const qh_rate_run run = {.epochs = 200, .n_layers = 3};

static qh_rate *open_rate(const char *text, const qh_rate_run *r)
{
    qh_rate *rate = NULL;

    ck_assert_msg(qh_rate_open("--rate-schedule", text, r, &rate) == QH_OK, "%s: %s", text,
                  qh_error_text());
    return rate;
}

static char path[] = "/tmp/qhalo-rates-XXXXXX";

static const char *file_of(const char *text)
{
    static char spec[64];
    int fd;

    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    snprintf(spec, sizeof spec, "file:%s", path);
    return spec;
}

/* At least 1, never below the least that buffers are sized by, the same when asked again. */
START_TEST(every_member_keeps_its_promises)
{
    static const char *const texts[] = {"const:1",      "const:2.5",      "linear:128:1:5",
                                        "linear:1:1:5", "linear:7:3:0.1", "exp:128:1",
                                        "exp:3:3",      "step:128:1:20",  "step:9:9:1",
                                        "step:1e9:1:1", "file:",          "const:1,exp:128:2"};
    static const int64_t epochs[] = {1, 2, 7, 200};

    for (size_t i = 0; i < QH_COUNT(texts); i++)
        for (size_t e = 0; e < QH_COUNT(epochs); e++) {
            const qh_rate_run r = {epochs[e], 3};
            const char *text = strcmp(texts[i], "file:") == 0 ? file_of("8 4 2\n3\n") : texts[i];
            qh_rate *rate = open_rate(text, &r);
            double least[3] = {1e300, 1e300, 1e300};

            for (int64_t t = 0; t < r.epochs; t++) {
                double sum = 0;

                for (int l = 0; l < 3; l++) {
                    double now = qh_rate_at(rate, t, l);

                    ck_assert(now >= 1 && isfinite(now) && now == qh_rate_at(rate, t, l));
                    least[l] = fmin(least[l], now);
                    sum += now;
                }
                ck_assert_double_eq_tol(qh_rate_mean(rate, t), sum / 3, 1e-12 * sum);
            }
            for (int l = 0; l < 3; l++)
                ck_assert(qh_rate_least(rate, l) == least[l]);
            qh_rate_close(rate);
        }
    unlink(path);
    for (int i = 0; qh_rate_ops_at(i); i++) {
        const qh_rate_ops *ops = qh_rate_ops_at(i);
        bool listed = false;

        ck_assert(ops->name && ops->help && ops->open && ops->close && ops->at);
        ops->close(NULL);
        for (size_t k = 0; k < QH_COUNT(texts); k++)
            listed = listed || strncmp(texts[k], ops->name, strlen(ops->name)) == 0;
        ck_assert_msg(listed, "schedule %s is in no test", ops->name);
    }
    ck_assert_ptr_null(qh_rate_ops_at(-1));
    qh_rate_close(NULL);
}
END_TEST

static const struct value_row {
    const char *text;
    int64_t epoch;
    double rate;
} values[] = {
    {"const:2.5", 199, 2.5},
    {"linear:128:1:5", 0, 128},
    {"linear:128:1:5", 1, 128 - 5 * 127.0 / 200},
    {"linear:128:1:5", 20, 64.5},
    {"linear:128:1:5", 39, 128 - 5 * 127.0 * 39 / 200},
    {"linear:128:1:5", 40, 1},
    {"linear:128:1:5", 199, 1},
    {"linear:16:4:1", 100, 10},
    {"exp:128:1", 0, 128},
    {"exp:128:1", 199, 1},
    {"exp:16:4", 199, 4},
    {"step:128:1:20", 19, 128},
    {"step:128:1:20", 20, 64},
    {"step:128:1:20", 139, 2},
    {"step:128:1:20", 140, 1},
    {"step:128:3:1", 199, 3},
    {"step:100:1:60", 130, 25},
};

START_TEST(formulas)
{
    qh_rate *rate = open_rate(values[_i].text, &run);

    ck_assert_double_eq_tol(qh_rate_at(rate, values[_i].epoch, 1), values[_i].rate, 1e-12);
    qh_rate_close(rate);
}
END_TEST

START_TEST(exp_falls_by_equal_factors)
{
    qh_rate *rate = open_rate("exp:128:2", &run);

    for (int64_t t = 1; t < 200; t++)
        ck_assert_double_eq_tol(qh_rate_at(rate, t, 0) / qh_rate_at(rate, t - 1, 0),
                                pow(2.0 / 128, 1.0 / 199), 1e-12);
    qh_rate_close(rate);
}
END_TEST

START_TEST(a_schedule_for_each_layer)
{
    qh_rate *rate = open_rate("const:2,step:8:1:1", &run);

    ck_assert(qh_rate_at(rate, 1, 0) == 2 && qh_rate_at(rate, 1, 1) == 4 &&
              qh_rate_at(rate, 1, 2) == 4);
    qh_rate_close(rate);
    rate = open_rate("const:2,const:3,const:4", &run);
    for (int l = 0; l < 3; l++)
        ck_assert(qh_rate_at(rate, 5, l) == l + 2);
    qh_rate_close(rate);
}
END_TEST

START_TEST(files)
{
    qh_rate *rate = open_rate(file_of("# rates\n128\t64 32\r\n\n16 # all\n  2 3 1.5\n# end"), &run);

    ck_assert(qh_rate_at(rate, 0, 0) == 128 && qh_rate_at(rate, 0, 1) == 64 &&
              qh_rate_at(rate, 0, 2) == 32);
    ck_assert(qh_rate_at(rate, 1, 0) == 16 && qh_rate_at(rate, 1, 2) == 16);
    for (int64_t t = 2; t < 200; t += 197)
        ck_assert(qh_rate_at(rate, t, 0) == 2 && qh_rate_at(rate, t, 2) == 1.5);
    qh_rate_close(rate);
    unlink(path);
}
END_TEST

static const struct bad_row {
    const char *text, *says;
} bad[] = {
    {"", "there is no schedule ''"},
    {"lineal:2:1:1", "did you mean linear?"},
    {"cosine:2", "it has to be const, linear, exp, step or file"},
    {"const", "'const:' is not const:R"},
    {"const:", "'const:' is not const:R"},
    {"const:0.5", "a rate of 0.5; 1 (all columns)"},
    {"const:0", "a rate of 0"},
    {"const:2:3", "is not const:R"},
    {"const:x", "'x' is not a number"},
    {"const:1e10", "a rate of 1e+10"},
    {"linear:1:128", "'linear:1:128' is not linear:HIGH:LOW:SLOPE"},
    {"linear:1:128:5", "HIGH is 1 and LOW is 128"},
    {"linear:128:1:0", "0 in '128:1:0'"},
    {"linear:128:0.5:5", "a rate of 0.5"},
    {"linear:128:1:5:", "is not linear:HIGH:LOW:SLOPE"},
    {"linear:128::5", "is not linear:HIGH:LOW:SLOPE"},
    {"exp:128", "is not exp:HIGH:LOW"},
    {"exp:1:2", "HIGH is 1 and LOW is 2"},
    {"step:8:1", "is not step:HIGH:LOW:EVERY"},
    {"step:8:1:2.5", "EVERY is 2.5"},
    {"step:8:1:0", "0 in '8:1:0'"},
    {"const:1,const:2,const:3,const:4", "4 schedules for 3 layers"},
    {"const:1,", "there is no schedule ''"},
    {"const:1,file:x", "file:PATH stands alone"},
    {"file:", "file lacks its path"},
};

START_TEST(bad_texts)
{
    qh_rate *rate = NULL;

    ck_assert_int_eq(qh_rate_open("--rate-schedule", bad[_i].text, &run, &rate), QH_EUSAGE);
    ck_assert_ptr_null(rate);
    ck_assert_msg(strncmp(qh_error_text(), "--rate-schedule: ", 17) == 0 &&
                      strstr(qh_error_text(), bad[_i].says),
                  "%s: %s", bad[_i].text, qh_error_text());
}
END_TEST

static const struct bad_row bad_files[] = {
    {"", ": no rate in it"},
    {"# nothing\n\n", ": no rate in it"},
    {"2\nx\n", ":2: 'x' is not a rate"},
    {"2\n\n0.5\n", ":3: '0.5' is not a rate"},
    {"2 nan 3\n", ":1: 'nan' is not a rate"},
    {"4 2\n", ":1: 2 rates for 3 layers"},
    {"1\n4 2 1 1\n", ":2: 4 rates for 3 layers"},
    {"-1", ":1: '-1' is not a rate"},
};

START_TEST(bad_lines_are_named)
{
    qh_rate *rate = NULL;
    const char *spec = file_of(bad_files[_i].text);

    ck_assert_int_eq(qh_rate_open("--rate-schedule", spec, &run, &rate), QH_EINPUT);
    ck_assert_ptr_null(rate);
    ck_assert_msg(strncmp(qh_error_text(), path, strlen(path)) == 0 &&
                      strstr(qh_error_text(), bad_files[_i].says),
                  "%s", qh_error_text());
    unlink(path);
    ck_assert_int_eq(qh_rate_open("--rate-schedule", spec, &run, &rate), QH_EINPUT);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("rates");
    TCase *t = tcase_create("rates");

    tcase_add_test(t, every_member_keeps_its_promises);
    tcase_add_loop_test(t, formulas, 0, (int)QH_COUNT(values));
    tcase_add_test(t, exp_falls_by_equal_factors);
    tcase_add_test(t, a_schedule_for_each_layer);
    tcase_add_test(t, files);
    tcase_add_loop_test(t, bad_texts, 0, (int)QH_COUNT(bad));
    tcase_add_loop_test(t, bad_lines_are_named, 0, (int)QH_COUNT(bad_files));
    suite_add_tcase(s, t);
    return s;
}
