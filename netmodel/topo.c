#include "netmodel/topo.h"

#include "src/base/mem.h"
#include "src/base/options.h"

#include <stdarg.h>
#include <string.h>

/* One line a member. */
const qh_topo_ops *const qh_topo_members[] = {
    &qh_topo_star,  &qh_topo_two_level, &qh_topo_ring,  &qh_topo_fat_tree,
    &qh_topo_torus, &qh_topo_dragonfly, &qh_topo_links,
};
const int64_t qh_topo_members_count = QH_COUNT(qh_topo_members);

/* NULL: none of that name. */
static const qh_topo_ops *find(const char *name)
{
    for (int64_t i = 0; i < qh_topo_members_count; i++)
        if (strcmp(qh_topo_members[i]->name, name) == 0)
            return qh_topo_members[i];
    return NULL;
}

static qh_status unknown(const qh_yaml *y, const qh_yaml_node *node, const char *name)
{
    const char *names[QH_COUNT(qh_topo_members)], *near;
    char list[256] = "";

    for (int64_t i = 0; i < qh_topo_members_count; i++) {
        size_t used = strlen(list);

        names[i] = qh_topo_members[i]->name;
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    near = qh_did_you_mean(name, names, qh_topo_members_count);
    if (near)
        return qh_yaml_fail(y, node, "there is no topology '%s'; did you mean '%s'?", name, near);
    return qh_yaml_fail(y, node, "there is no topology '%s'; there are %s", name, list);
}

static qh_status choose(const qh_yaml *y, const qh_yaml_node *map, const qh_topo_ops **out)
{
    const qh_yaml_node *node = qh_yaml_get(map, "topology");
    const char *name = "links";
    qh_status st = QH_OK;

    if (!node && !qh_yaml_get(map, "links"))
        return qh_yaml_fail(y, map,
                            "'topology' is missing; give topology: star or another, or links: "
                            "and routes:");
    if (node)
        QH_TRY(st, qh_yaml_text(y, node, "topology", &name));
    *out = find(name);
    if (!*out)
        st = unknown(y, node, name);
out:
    return st;
}

qh_status qh_topo_open(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    const qh_topo_ops *ops = NULL;
    qh_status st;

    QH_TRY(st, choose(y, map, &ops));
    QH_TRY(st, ops->open(y, map, n_devices, out));
    (*out)->ops = ops;
    (*out)->n_devices = n_devices;
out:
    return st;
}

void qh_topo_close(qh_topo *t)
{
    qh_topo_link *link;

    if (!t)
        return;
    link = t->link;
    t->ops->close(t);
    qh_mem_free(link);
}

int64_t qh_topo_room(const qh_yaml *y, const qh_yaml_node *map)
{
    const qh_topo_ops *ops = NULL;

    return choose(y, map, &ops) == QH_OK && ops->room ? ops->room(y, map) : 0;
}

qh_link qh_topo_path(const qh_topo *t, int src, int dst, int32_t *route)
{
    int32_t n = t->ops->route(t, src, dst, route);
    qh_link path = {0};

    for (int32_t i = 0; i < n; i++) {
        const qh_topo_link *l = &t->link[route[i]];

        path.latency =
            path.latency > QH_TIME_NEVER - l->latency ? QH_TIME_NEVER : path.latency + l->latency;
        if (i == 0 || l->bytes_per_s < path.bytes_per_s)
            path.bytes_per_s = l->bytes_per_s;
    }
    return path;
}

qh_status qh_topo_add(qh_topo *t, const qh_link *like, const char *name, ...)
{
    qh_topo_link *l;
    va_list args;
    qh_status st = QH_OK;

    if (t->n_links == QH_TOPO_MAX_LINKS)
        return qh_fail(QH_EUSAGE, "network: more than %d links; give fewer devices",
                       QH_TOPO_MAX_LINKS);
    if (t->n_links == t->capacity) {
        int32_t more = t->capacity ? 2 * t->capacity : 64;

        QH_TRY(st, QH_RESIZE(&t->link, t->capacity, more));
        t->capacity = more;
    }
    l = &t->link[t->n_links++];
    l->bytes_per_s = like->bytes_per_s;
    l->latency = like->latency;
    va_start(args, name);
    vsnprintf(l->name, sizeof l->name, name, args);
    va_end(args);
out:
    return st;
}

qh_status qh_topo_read_class(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                             qh_link *out)
{
    static const char *const keys[] = {"latency", "bandwidth"};
    const qh_yaml_node *class = qh_yaml_get(map, key);
    qh_link l = {0};
    qh_status st;

    if (!class)
        return qh_yaml_fail(y, map, "'%s' is missing; give %s: {latency: 5us, bandwidth: 10GB/s}",
                            key, key);
    QH_TRY(st, qh_yaml_check_keys(y, class, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, qh_yaml_duration(y, class, "latency", true, &l.latency));
    QH_TRY(st, qh_yaml_rate(y, class, "bandwidth", true, &l.bytes_per_s));
    *out = l;
out:
    return st;
}

void qh_topo_show_class(const char *what, const qh_link *l, FILE *out)
{
    char latency[QH_UNIT_TEXT_BYTES], rate[QH_UNIT_TEXT_BYTES];

    fprintf(out, "  %-16s latency %s, bandwidth %s (%.4g Gbit/s), each direction\n", what,
            qh_print_seconds(qh_seconds(l->latency), latency), qh_print_rate(l->bytes_per_s, rate),
            8e-9 * l->bytes_per_s);
}

qh_status qh_topo_check_room(const qh_yaml *y, const qh_yaml_node *map, int n_devices, int64_t room)
{
    if (n_devices <= room)
        return QH_OK;
    return qh_fail(QH_EUSAGE,
                   "%s: the topology has room for %lld devices and %d are asked for; give "
                   "--devices %lld or a larger topology",
                   qh_yaml_where(y, map), (long long)room, n_devices, (long long)room);
}
