/* Plug-ins: the example, and what is refused. */
#include "netmodel/plugin.h"

#include "netmodel/netmodel.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(the_example_is_a_bus)
{
    qh_netmodel *m = NULL;
    qh_flow f = {.id = 7, .src = 0, .dst = 1, .bytes = 1000};
    int64_t done[2];
    char *text = NULL;
    size_t size = 0;
    FILE *out;

    ck_assert_msg(qh_netmodel_open_text("net", "model: plugin:" BUS_PLUGIN "\nbus_MBps: 100\n", 3,
                                        &m) == QH_OK,
                  "%s", qh_error_text());
    ck_assert(m->ops->contention);
    ck_assert_int_eq(m->ops->alone(m, 0, 1, 1000), 10000001);
    ck_assert_int_eq(m->ops->start(m, 5, &f), QH_OK);
    f.id = 8;
    f.src = 2;
    ck_assert_int_eq(m->ops->start(m, 6, &f), QH_OK);
    ck_assert_int_eq(m->ops->next(m), 10000006);
    ck_assert_int_eq(m->ops->advance(m, 10000006, done, 2), 1);
    ck_assert_int_eq(done[0], 7);
    ck_assert_int_eq(m->ops->advance(m, 10000006, done, 2), 0);
    ck_assert_int_eq(m->ops->advance(m, 20000007, done, 2), 1);
    ck_assert_int_eq(m->ops->next(m), QH_TIME_NEVER);
    out = open_memstream(&text, &size);
    qh_netmodel_show(m, out);
    fclose(out);
    ck_assert_msg(strstr(text, "plug-in 'bus'") != NULL, "%s", text);
    free(text);
    qh_netmodel_close(m);
}
END_TEST

/* Modifiers go around a plug-in as around any model. */
START_TEST(modified)
{
    qh_netmodel *m = NULL;
    qh_flow f = {.id = 7, .src = 0, .dst = 1, .bytes = 1000};

    ck_assert_int_eq(qh_netmodel_open_text("net",
                                           "model: plugin:" BUS_PLUGIN "\nbus_MBps: 100\n"
                                           "slow: [{device: 1, factor: 3}]\n",
                                           3, &m),
                     QH_OK);
    ck_assert_int_eq(m->ops->start(m, 0, &f), QH_OK);
    ck_assert_int_eq(m->ops->next(m), 30000001);
    qh_netmodel_close(m);
}
END_TEST

static const struct {
    const char *text, *error;
} bad[] = {
    {"model: plugin:" OLD_PLUGIN "\n",
     "is made for version 7 of the plug-in interface, and this is "
     "version 1"},
    {"model: plugin:" BUS_PLUGIN "\nbus_MBps: x\n", "net:1: plug-in 'bus': bus_MBps is not above"},
    {"model: plugin:" BUS_PLUGIN "\nbus_MBps: -3\n", "not above 0"},
    {"model: plugin:/nonexistent.so\n", "net:1: plug-in cannot be loaded"},
    {"model: plugin:\n", "net:1"},
    {"model: plugin\n", "there is no network model 'plugin'"},
    {"model: plugin:libm.so.6\n", "cannot be loaded"}, /* not from where the system has them */
};

START_TEST(bad_plugins)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(qh_netmodel_open_text("net", bad[_i].text, 3, &m), QH_EINPUT);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(qh_error_text(), bad[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), bad[_i].error);
}
END_TEST

START_TEST(by_name)
{
    qh_netmodel *m = NULL;

    ck_assert_int_eq(qh_netmodel_open("plugin:" OLD_PLUGIN, 3, &m), QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), "version 7") != NULL, "%s", qh_error_text());
    ck_assert_int_eq(qh_netmodel_open("plugin:it's.so", 3, &m), QH_EUSAGE);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("network plug-ins");
    TCase *t = tcase_create("plugin");

    tcase_add_test(t, the_example_is_a_bus);
    tcase_add_test(t, modified);
    tcase_add_loop_test(t, bad_plugins, 0, (int)QH_COUNT(bad));
    tcase_add_test(t, by_name);
    suite_add_tcase(s, t);
    return s;
}
