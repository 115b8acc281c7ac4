/* fat-tree: the k-ary n-tree (Petrini and Vanneschi, k-ary n-trees, IPPS 1997): k^n devices, n
 * levels of k^(n-1) switches with k links down and, below the top, k links up, so that as much
 * leads up from a switch as down. Switches between the leaves and the top may have other links
 * than devices do.
 *
 * Routes go up to the lowest level at which the two devices have a switch in common, and down. On
 * the way up a route picks its link by the digits of the destination (D-mod-k; Zahavi, Fat-tree
 * routing and node ordering providing contention free traffic for MPI global collectives, JPDC
 * 72(11), 2012): all that goes to one device comes down the same way, and the rounds of an
 * exchange, i to i + r, meet nowhere.
 *
 * A switch of level l is named by its n - 1 digits w. It hangs above the devices that agree with w
 * in the digits l .. n-2 shifted by one (d / k^(l+1) is the same), and its digits 0 .. l-1 tell the
 * k^l switches apart that do. Going from level l to l + 1 replaces digit l. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

enum { MOST_ARITY = 256, MOST_LEVELS = 8 };

typedef struct fat_tree {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link device, between;
    int64_t arity, levels;
    int64_t power[MOST_LEVELS + 1]; /* of arity */
} fat_tree;

static void close_topo(qh_topo *t)
{
    qh_mem_free((fat_tree *)t);
}

static qh_status read_shape(const qh_yaml *y, const qh_yaml_node *map, fat_tree *t)
{
    qh_status st;

    QH_TRY(st, qh_yaml_int(y, map, "arity", true, 2, MOST_ARITY, &t->arity));
    QH_TRY(st, qh_yaml_int(y, map, "levels", true, 1, MOST_LEVELS, &t->levels));
    t->power[0] = 1;
    for (int64_t i = 0; i < t->levels; i++) {
        t->power[i + 1] = t->power[i] * t->arity;
        if (t->power[i + 1] * t->levels * 2 > QH_TOPO_MAX_LINKS)
            return qh_yaml_fail(y, map,
                                "a fat-tree of %lld^%lld devices is too large; the most is "
                                "%d links",
                                (long long)t->arity, (long long)t->levels, QH_TOPO_MAX_LINKS);
    }
out:
    return st;
}

static int64_t room(const qh_yaml *y, const qh_yaml_node *map)
{
    fat_tree t = {0};

    return read_shape(y, map, &t) == QH_OK ? t.power[t.levels] : 0;
}

/* Device links first (2 d and 2 d + 1), then the links between levels l and l + 1: for each lower
 * switch w and each digit j of the upper one, up and down. */
static int32_t between_link(const fat_tree *t, int64_t l, int64_t w, int64_t j)
{
    int64_t n = t->power[t->levels];

    return (int32_t)(2 * (n + l * n + w * t->arity + j));
}

static qh_status add_links(fat_tree *t)
{
    int64_t n = t->power[t->levels];
    qh_status st = QH_OK;

    for (int64_t d = 0; d < n; d++) {
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %lld out", (long long)d));
        QH_TRY(st, qh_topo_add(&t->base, &t->device, "device %lld in", (long long)d));
    }
    for (int64_t l = 0; l + 1 < t->levels; l++)
        for (int64_t i = 0; i < n; i++)
            for (int down = 0; down < 2; down++)
                QH_TRY(st, qh_topo_add(&t->base, &t->between, "level %lld switch %lld %s %lld",
                                       (long long)l, (long long)(i / t->arity),
                                       down ? "from above" : "up", (long long)(i % t->arity)));
out:
    return st;
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {
        QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "arity", "levels", "device", "switch"};
    fat_tree *t = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_fat_tree;
    QH_TRY(st, read_shape(y, map, t));
    t->base.longest = (int32_t)(2 * t->levels);
    QH_TRY(st, qh_topo_check_room(y, map, n_devices, t->power[t->levels]));
    QH_TRY(st, qh_topo_read_class(y, map, "device", &t->device));
    t->between = t->device;
    if (t->levels > 1)
        QH_TRY(st, qh_topo_read_class(y, map, "switch", &t->between));
    QH_TRY(st, add_links(t));
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

/* w with its digit l replaced. */
static int64_t with_digit(const fat_tree *t, int64_t w, int64_t l, int64_t digit)
{
    return w + (digit - w / t->power[l] % t->arity) * t->power[l];
}

static int32_t route(const qh_topo *topo, int src, int dst, int32_t *out)
{
    const fat_tree *t = (const fat_tree *)topo;
    int64_t above = 1, w = src / t->arity, v = dst / t->arity;
    int32_t n = 0;

    while (src / t->power[above] != dst / t->power[above])
        above++;
    out[n++] = 2 * src;
    for (int64_t l = 0; l + 1 < above; l++) {
        int64_t digit = dst / t->power[l] % t->arity;

        out[n++] = between_link(t, l, w, digit);
        w = with_digit(t, w, l, digit);
    }
    for (int64_t l = above - 2; l >= 0; l--) {
        /* The lower switch above dst that is reached from w: dst's digits from l on, w's below. */
        int64_t lower = v - v % t->power[l] + w % t->power[l];

        out[n++] = between_link(t, l, lower, w / t->power[l] % t->arity) + 1;
        w = lower;
    }
    out[n++] = 2 * dst + 1;
    return n;
}

static void show(const qh_topo *topo, FILE *out)
{
    const fat_tree *t = (const fat_tree *)topo;

    fprintf(out,
            "  fat-tree: %lld-ary %lld-tree for up to %lld devices; routes go up by the digits of "
            "the destination (D-mod-k) to the first common switch, and down\n",
            (long long)t->arity, (long long)t->levels, (long long)t->power[t->levels]);
    qh_topo_show_class("device links", &t->device, out);
    if (t->levels > 1)
        qh_topo_show_class("switch links", &t->between, out);
}

const qh_topo_ops qh_topo_fat_tree = {
    .name = "fat-tree",
    .help = "levels of switches with as much up as down",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .room = room,
    .show = show,
};
