/* The presets: all open, say what they are, cite, and are printable. */
#include "netmodel/netmodel.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

START_TEST(every_preset_opens_and_shows)
{
    for (int64_t i = 0; i < qh_net_preset_count(); i++) {
        const char *name = qh_net_preset_name(i);
        qh_netmodel *m = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        ck_assert_msg(qh_netmodel_open(name, 0, &m) == QH_OK, "%s: %s", name, qh_error_text());
        ck_assert_str_eq(m->name, name);
        ck_assert_str_eq(m->about, qh_net_preset_about(i));
        ck_assert_ptr_nonnull(strstr(qh_net_preset_text(i), "\n# latency:"));
        qh_netmodel_show(m, out);
        fclose(out);
        ck_assert_ptr_nonnull(strstr(text, name));
        ck_assert_ptr_nonnull(strstr(text, "bandwidth from (row) to (column)"));
        ck_assert_ptr_null(strstr(text, "nan"));
        ck_assert_ptr_null(strstr(text, "inf"));
        free(text);
        qh_netmodel_close(m);
    }
}
END_TEST

START_TEST(presets_mean_what_their_names_say)
{
    static const struct {
        const char *name;
        int src, dst, n_devices;
        double bytes_per_s;
    } row[] = {
        {"switch-1g", 0, 1, 2, 125e6},     {"switch-10g", 0, 1, 2, 1.25e9},
        {"switch-25g", 0, 1, 2, 3.125e9},  {"switch-100g", 0, 1, 2, 12.5e9},
        {"switch-400g", 0, 1, 2, 50e9},    {"adaqp-2x1", 0, 1, 2, 12.5e9},
        {"v100x4-gloo", 0, 3, 4, 1.5e9},   {"adaqp-2x2", 1, 2, 4, 6.25e9},
        {"adaqp-2x4", 3, 4, 8, 3.125e9},   {"adaqp-2x4", 0, 3, 8, 10e9},
        {"pcie-box", 0, 1, 2, 31.5e9},     {"nvlink-box", 0, 1, 2, 450e9},
        {"wan", 0, 1, 2, 12.5e6},          {"fat-tree-64", 0, 63, 64, 25e9},
        {"dragonfly-72", 0, 71, 72, 25e9},
    };

    for (size_t i = 0; i < QH_COUNT(row); i++) {
        qh_netmodel *m = NULL;
        double theta, gamma;

        ck_assert_int_eq(qh_netmodel_open(row[i].name, 0, &m), QH_OK);
        ck_assert_int_eq(m->n_devices, row[i].n_devices);
        ck_assert_int_eq(m->staging, (strstr(row[i].name, "adaqp") || strstr(row[i].name, "gloo")));
        qh_netmodel_fit(m, row[i].src, row[i].dst, &theta, &gamma);
        ck_assert_double_eq_tol(theta * row[i].bytes_per_s, 1, 1e-3);
        ck_assert_double_ge(gamma, 1e-6);
        qh_netmodel_close(m);
    }
}
END_TEST

START_TEST(the_presets_that_design_names)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(qh_net_preset_count(), 14);
    for (int64_t i = 1; i < qh_net_preset_count(); i++)
        ck_assert_int_lt(strcmp(qh_net_preset_name(i - 1), qh_net_preset_name(i)), 0);
    ck_assert_int_eq(qh_netmodel_open("adaqp-2x2", 8, &m), QH_EUSAGE);
    ck_assert_msg(strstr(qh_error_text(), "adaqp-2x2:") != NULL, "%s", qh_error_text());
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("netmodel presets");
    TCase *t = tcase_create("presets");

    tcase_add_test(t, every_preset_opens_and_shows);
    tcase_add_test(t, presets_mean_what_their_names_say);
    tcase_add_test(t, the_presets_that_design_names);
    suite_add_tcase(s, t);
    return s;
}
