/* Routes of every topology: as long as they should be, over links that are there, each once. */
#include "netmodel/topo.h"

#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define LINK  "{latency: 1us, bandwidth: 1GB/s}"
#define TORUS "topology: torus\ndims: [4, 3, 2]\nlink: " LINK "\n"
#define TREE  "topology: fat-tree\narity: 3\nlevels: 3\ndevice: " LINK "\nswitch: " LINK "\n"
#define FLY                                                                                        \
    "topology: dragonfly\ndevices_per_router: 2\nrouters_per_group: 4\n"                           \
    "global_links_per_router: 2\ndevice: " LINK "\nlocal: " LINK "\nglobal: " LINK "\n"
#define LEVELS "topology: two-level\ndevices_per_node: 3\ndevice: " LINK "\nnic: " LINK "\n"

static int star(int src, int dst)
{
    return src == dst ? 0 : 2;
}

static int two_level(int src, int dst)
{
    return src / 3 == dst / 3 ? 2 : 4;
}

static int around(int a, int b, int n)
{
    int up = ((b - a) % n + n) % n;

    return up < n - up ? up : n - up;
}

static int ring9(int src, int dst)
{
    return around(src, dst, 9);
}

static int torus(int src, int dst)
{
    return around(src % 4, dst % 4, 4) + around(src / 4 % 3, dst / 4 % 3, 3) +
           around(src / 12, dst / 12, 2);
}

static int tree(int src, int dst)
{
    return src / 3 == dst / 3 ? 2 : src / 9 == dst / 9 ? 4 : 6;
}

/* At most: local links are left out where the router is the right one. */
static int fly(int src, int dst)
{
    return src / 2 == dst / 2 ? 2 : src / 8 == dst / 8 ? 3 : 5;
}

static const struct {
    const char *text;
    int n_devices, n_links;
    int (*length)(int src, int dst);
    bool exact;
} row[] = {
    {"topology: star\nlink: " LINK "\n", 7, 14, star, true},
    {"topology: star\nlink: " LINK "\n", 1, 2, star, true},
    {LEVELS, 8, 16 + 6, two_level, true},
    {LEVELS, 3, 6 + 2, two_level, true},
    {"topology: ring\nlink: " LINK "\n", 9, 18, ring9, true},
    {TORUS, 24, 24 * 6, torus, true},
    {TORUS, 13, 24 * 6, torus, true},
    {TREE, 27, 2 * 27 * 3, tree, true},
    {TREE, 5, 2 * 27 * 3, tree, true},
    {FLY, 72, 2 * 72 + 36 * 4 + 36 * 2, fly, false},
};

static qh_topo *open_row(const char *text, int n_devices, int64_t *room)
{
    qh_yaml *y = NULL;
    qh_topo *t = NULL;

    ck_assert_int_eq(qh_yaml_parse("row", text, (int64_t)strlen(text), QH_EINPUT, &y), QH_OK);
    ck_assert_msg(qh_topo_open(y, qh_yaml_root(y), n_devices, &t) == QH_OK, "%s", qh_error_text());
    if (room)
        *room = qh_topo_room(y, qh_yaml_root(y));
    qh_yaml_free(y);
    return t;
}

START_TEST(routes_are_as_long_as_they_should_be)
{
    qh_topo *t = open_row(row[_i].text, row[_i].n_devices, NULL);
    int32_t *route = malloc(sizeof *route * (size_t)t->longest);

    ck_assert_int_eq(t->n_links, row[_i].n_links);
    for (int src = 0; src < t->n_devices; src++)
        for (int dst = 0; dst < t->n_devices; dst++) {
            int32_t n;

            if (src == dst)
                continue;
            n = t->ops->route(t, src, dst, route);
            if (n < 1 || n > t->longest || n > row[_i].length(src, dst) ||
                (row[_i].exact && n != row[_i].length(src, dst)))
                ck_abort_msg("%d to %d: %d links", src, dst, n);
            for (int32_t i = 0; i < n; i++) {
                if (route[i] < 0 || route[i] >= t->n_links)
                    ck_abort_msg("%d to %d: link %d", src, dst, route[i]);
                for (int32_t k = 0; k < i; k++)
                    if (route[k] == route[i])
                        ck_abort_msg("%d to %d: link %d twice", src, dst, route[i]);
            }
        }
    free(route);
    qh_topo_close(t);
}
END_TEST

/* With all devices in place, the flows of a round i -> i + r meet nowhere in a fat-tree (Zahavi).
 */
START_TEST(rounds_do_not_meet_in_a_fat_tree)
{
    int64_t room = 0;
    qh_topo *t = open_row(TREE, 27, &room);
    int32_t route[6];

    ck_assert_int_eq(room, 27);
    for (int r = 1; r < 27; r++) {
        int used[2 * 27 * 3] = {0};

        for (int src = 0; src < 27; src++) {
            int32_t n = t->ops->route(t, src, (src + r) % 27, route);

            for (int32_t i = 0; i < n; i++)
                if (used[route[i]]++)
                    ck_abort_msg("round %d: link '%s' twice", r, t->link[route[i]].name);
        }
    }
    qh_topo_close(t);
}
END_TEST

/* Between two groups of a dragonfly there is one link each way. */
START_TEST(one_global_link_between_groups)
{
    int64_t room = 0;
    qh_topo *t = open_row(FLY, 72, &room);
    int32_t route[5];

    ck_assert_int_eq(room, 72);
    for (int src = 0; src < 72; src++)
        for (int dst = 0; dst < 72; dst++) {
            char name[QH_NET_LINK_NAME_BYTES];
            int n_global = 0;
            int32_t n;

            if (src == dst)
                continue;
            n = t->ops->route(t, src, dst, route);
            snprintf(name, sizeof name, "group %d to group %d", src / 8, dst / 8);
            for (int32_t i = 0; i < n; i++)
                n_global += strcmp(t->link[route[i]].name, name) == 0;
            if (n_global != (src / 8 != dst / 8))
                ck_abort_msg("%d to %d: %d times %s", src, dst, n_global, name);
        }
    qh_topo_close(t);
}
END_TEST

static const struct {
    const char *text;
    int n_devices;
    qh_status status;
    const char *error;
} bad[] = {
    {"topology: stars\nlink: " LINK "\n", 2, QH_EINPUT, "row:1: there is no topology 'stars'; did"},
    {"topology: mesh\n", 2, QH_EINPUT, "there are star, two-level"},
    {"about: nothing\n", 2, QH_EINPUT, "'topology' is missing"},
    {"topology: star\n", 2, QH_EINPUT, "row:1: 'link' is missing"},
    {"topology: star\nlink: 5\n", 2, QH_EINPUT, "row:2"},
    {"topology: star\nlink: {latency: 1us}\n", 2, QH_EINPUT, "row:2: the key 'bandwidth'"},
    {"topology: star\nlink: {latency: 1us, bandwidth: 0GB/s}\n", 2, QH_EINPUT, "row:2: bandwidth"},
    {"topology: star\nlink: {latency: 1, bandwidth: 1GB/s}\n", 2, QH_EINPUT, "row:2: latency"},
    {"topology: star\nlink: {latency: -1us, bandwidth: 1GB/s}\n", 2, QH_EINPUT, "row:2: latency"},
    {"topology: star\nlinks: " LINK "\n", 2, QH_EINPUT, "did you mean 'link'"},
    {"topology: two-level\ndevices_per_node: 0\ndevice: " LINK "\nnic: " LINK "\n", 2, QH_EINPUT,
     "row:2: devices_per_node"},
    {"topology: torus\ndims: 4\nlink: " LINK "\n", 2, QH_EINPUT, "row:2: dims"},
    {"topology: torus\ndims: [0]\nlink: " LINK "\n", 2, QH_EINPUT, "row:2: dims"},
    {"topology: torus\nlink: " LINK "\n", 2, QH_EINPUT, "row:1: dims"},
    {TORUS, 25, QH_EUSAGE, "room for 24 devices and 25"},
    {TREE, 28, QH_EUSAGE, "room for 27 devices and 28"},
    {FLY, 73, QH_EUSAGE, "room for 72 devices and 73"},
    {"topology: fat-tree\narity: 256\nlevels: 8\ndevice: " LINK "\nswitch: " LINK "\n", 2,
     QH_EINPUT, "too large"},
    {"topology: fat-tree\narity: 4\nlevels: 2\ndevice: " LINK "\n", 2, QH_EINPUT,
     "'switch' is missing"},
    {"topology: dragonfly\ndevices_per_router: 2\nrouters_per_group: 4\n"
     "global_links_per_router: 2\ngroups: 10\n",
     2, QH_EINPUT, "row:5: groups"},
    {"topology: ring\nlink: " LINK "\n", 4096, QH_EINPUT, "the most"},
};

START_TEST(bad_topologies)
{
    qh_yaml *y = NULL;
    qh_topo *t = NULL;

    ck_assert_int_eq(
        qh_yaml_parse("row", bad[_i].text, (int64_t)strlen(bad[_i].text), QH_EINPUT, &y), QH_OK);
    ck_assert_int_eq(qh_topo_open(y, qh_yaml_root(y), bad[_i].n_devices, &t), bad[_i].status);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(qh_error_text(), bad[_i].error) != NULL, "'%s' lacks '%s'",
                  qh_error_text(), bad[_i].error);
    qh_yaml_free(y);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("topologies");
    TCase *t = tcase_create("topo");

    tcase_add_loop_test(t, routes_are_as_long_as_they_should_be, 0, (int)QH_COUNT(row));
    tcase_add_test(t, rounds_do_not_meet_in_a_fat_tree);
    tcase_add_test(t, one_global_link_between_groups);
    tcase_add_loop_test(t, bad_topologies, 0, (int)QH_COUNT(bad));
    suite_add_tcase(s, t);
    return s;
}
