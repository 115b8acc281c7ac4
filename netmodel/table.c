/* table: measured times. A flow of k bytes takes the time of the measured sizes beside k, on the
 * straight line between them, which never falls where the measurements do not. Below the smallest
 * size it takes that one's time; beyond the largest the last line goes on. Nothing is shared. */
#include "netmodel/members.h"
#include "netmodel/solo.h"

__extension__ typedef unsigned __int128 wide;

typedef struct point {
    int64_t bytes;
    qh_time time;
} point;

typedef struct curve {
    point *point; /* owned */
    int64_t n;    /* >= 2 */
} curve;

typedef struct table {
    qh_solo solo; /* first: a qh_netmodel is at its head */
    int32_t devices_per_node;
    bool classes;
    curve intra, inter; /* inter alone without classes */
} table;

static void close_model(qh_netmodel *m)
{
    table *t = (table *)m;

    qh_mem_free(t->inter.point);
    qh_mem_free(t->intra.point);
    qh_solo_fini(&t->solo);
    qh_mem_free(t);
}

/* --- reading --- */

static qh_status read_point(const qh_yaml *y, const qh_yaml_node *map, const curve *c, point *out)
{
    static const char *const keys[] = {"bytes", "time"};
    const point *before = c->n ? &c->point[c->n - 1] : NULL;
    point p = {0};
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_yaml_bytes(y, map, "bytes", true, &p.bytes));
    QH_TRY(st, qh_yaml_duration(y, map, "time", true, &p.time));
    if (before && p.bytes <= before->bytes)
        return qh_yaml_fail(y, map, "%lld bytes after %lld; sizes have to rise", (long long)p.bytes,
                            (long long)before->bytes);
    if (before && p.time < before->time)
        return qh_yaml_fail(y, map, "a larger size takes less time; times may not fall");
    *out = p;
out:
    return st;
}

static qh_status read_points(const qh_yaml *y, const qh_yaml_node *map, const char *key, curve *c)
{
    const qh_yaml_node *list = qh_yaml_get(map, key);
    qh_status st;

    if (!list || !qh_yaml_is_sequence(list) || qh_yaml_size(list) < 2)
        return qh_yaml_fail(y, list ? list : map,
                            "'%s' is to be a list of two points or more; %s: [{bytes: 1KiB, time: "
                            "12us}, {bytes: 1MiB, time: 900us}]",
                            key, key);
    QH_TRY(st, QH_NEW_ARRAY(&c->point, qh_yaml_size(list)));
    for (int64_t i = 0; i < qh_yaml_size(list); i++) {
        QH_TRY(st, read_point(y, qh_yaml_item(list, i), c, &c->point[i]));
        c->n++;
    }
    if (c->point[c->n - 1].time == c->point[c->n - 2].time)
        return qh_yaml_fail(y, qh_yaml_item(list, c->n - 1),
                            "the largest size takes no more time than the one before, so that what "
                            "is larger still would be free; measure a larger one");
out:
    return st;
}

static qh_status read_classes(const qh_yaml *y, const qh_yaml_node *nodes, table *t)
{
    static const char *const keys[] = {"devices_per_node", "intra", "inter"};
    int64_t per_node = 0;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, nodes, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_yaml_int(y, nodes, "devices_per_node", true, 1, INT32_MAX, &per_node));
    QH_TRY(st, read_points(y, nodes, "intra", &t->intra));
    QH_TRY(st, read_points(y, nodes, "inter", &t->inter));
    t->devices_per_node = (int32_t)per_node;
    t->solo.base.devices_per_node = (int32_t)per_node;
    t->classes = true;
out:
    return st;
}

static qh_status open_model(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                            qh_netmodel **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, "points", "nodes"};
    const qh_yaml_node *nodes = qh_yaml_get(map, "nodes");
    table *t = NULL;
    qh_status st;

    (void)n_devices; /* channels differ by class only */
    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    if (nodes && qh_yaml_get(map, "points")) {
        st = qh_yaml_fail(y, nodes, "nodes stands beside points; nodes has its own, keep one");
        goto out;
    }
    QH_TRY(st, nodes ? read_classes(y, nodes, t) : read_points(y, map, "points", &t->inter));
    *out = &t->solo.base;
    t = NULL;
out:
    if (t)
        close_model(&t->solo.base);
    return st;
}

/* --- times --- */

static qh_time time_of(const curve *c, int64_t bytes)
{
    int64_t i = 1;
    const point *a, *b;
    wide rise, more;

    if (bytes <= c->point[0].bytes)
        return c->point[0].time;
    while (i + 1 < c->n && c->point[i].bytes < bytes)
        i++;
    a = &c->point[i - 1];
    b = &c->point[i];
    rise = (wide)(uint64_t)(b->time - a->time) * (wide)(uint64_t)(bytes - a->bytes);
    more =
        (rise + (wide)(uint64_t)(b->bytes - a->bytes) - 1) / (wide)(uint64_t)(b->bytes - a->bytes);
    return more >= (wide)(QH_TIME_NEVER - a->time) ? QH_TIME_NEVER : a->time + (qh_time)more;
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const table *t = (const table *)m;
    bool inside = t->classes && src / t->devices_per_node == dst / t->devices_per_node;

    return time_of(inside ? &t->intra : &t->inter, bytes);
}

static void show_curve(const char *what, const curve *c, FILE *out)
{
    char bytes[QH_UNIT_TEXT_BYTES], time[QH_UNIT_TEXT_BYTES];

    fprintf(out, "  %s:", what);
    for (int64_t i = 0; i < c->n; i++)
        fprintf(out, "%s %s in %s", i ? "," : "", qh_print_bytes((double)c->point[i].bytes, bytes),
                qh_print_seconds(qh_seconds(c->point[i].time), time));
    fprintf(out, "\n");
}

static void show(const qh_netmodel *m, FILE *out)
{
    const table *t = (const table *)m;

    fprintf(out, "  time of a flow = measured, on straight lines between the sizes\n");
    if (t->classes) {
        fprintf(out, "  servers of %d device%s\n", t->devices_per_node,
                t->devices_per_node == 1 ? "" : "s");
        show_curve("inside a server", &t->intra, out);
    }
    show_curve(t->classes ? "between servers" : "every channel", &t->inter, out);
    fprintf(out,
            "  nothing is shared: flows that meet at a port or link do not slow each other, so "
            "posted exchanges and incast come out too fast\n");
}

const qh_netmodel_ops qh_net_table = {
    .name = "table",
    .help = "measured times by size, nothing shared",
    .open = open_model,
    .close = close_model,
    .start = qh_solo_start,
    .next = qh_solo_next,
    .advance = qh_solo_advance,
    .alone = alone,
    .show = show,
    .contention = false,
};
