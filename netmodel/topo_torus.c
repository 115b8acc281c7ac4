/* torus: devices on a grid of one to eight dimensions whose ends are joined; device d has the
 * coordinates of d written with the dimensions as its bases, the first one changing fastest. Each
 * device has two links a dimension, up and down. Routes correct the first dimension first, then the
 * second, and so on (dimension order), each the shorter way round, upwards where both are as
 * long. In a dimension of 2 the two links lead to the same neighbour, and only the upward one is
 * used. */
#include "netmodel/members.h"
#include "netmodel/topo.h"
#include "src/base/mem.h"

enum { MOST_DIMS = 8, MOST_SIZE = 4096 };

typedef struct torus {
    qh_topo base; /* first: a qh_topo is at its head */
    qh_link class;
    int n_dims, size[MOST_DIMS];
} torus;

static void close_topo(qh_topo *t)
{
    qh_mem_free((torus *)t);
}

static qh_status read_dims(const qh_yaml *y, const qh_yaml_node *map, torus *t)
{
    const qh_yaml_node *dims = qh_yaml_get(map, "dims");
    int64_t n = dims && qh_yaml_is_sequence(dims) ? qh_yaml_size(dims) : 0;
    qh_status st = QH_OK;

    if (n < 1 || n > MOST_DIMS)
        return qh_yaml_fail(y, dims ? dims : map,
                            "dims is to be a list of 1 to %d sizes; dims: [4, 4, 4]", MOST_DIMS);
    t->n_dims = (int)n;
    for (int64_t i = 0; i < n; i++) {
        const char *text = NULL;
        int64_t size = 0;

        QH_TRY(st, qh_yaml_text(y, qh_yaml_item(dims, i), "a size of dims", &text));
        QH_TRY(st, qh_yaml_parse_int(y, qh_yaml_item(dims, i), "dims", 1, MOST_SIZE, &size));
        t->size[i] = (int)size;
    }
out:
    return st;
}

static int64_t product(const torus *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->n_dims; i++)
        n = n * t->size[i] < QH_TOPO_MAX_LINKS ? n * t->size[i] : QH_TOPO_MAX_LINKS;
    return n;
}

static int64_t room(const qh_yaml *y, const qh_yaml_node *map)
{
    torus t = {0};

    return read_dims(y, map, &t) == QH_OK ? product(&t) : 0;
}

static qh_status open_topo(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_topo **out)
{
    static const char *const keys[] = {QH_NET_COMMON_KEYS, QH_TOPO_COMMON_KEYS, "dims", "link"};
    torus *t = NULL;
    int64_t n;
    qh_status st;

    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    QH_TRY(st, QH_NEW(&t));
    t->base.ops = &qh_topo_torus;
    QH_TRY(st, read_dims(y, map, t));
    QH_TRY(st, qh_topo_read_class(y, map, "link", &t->class));
    n = product(t);
    QH_TRY(st, qh_topo_check_room(y, map, n_devices, n));
    for (int i = 0; i < t->n_dims; i++)
        t->base.longest += t->size[i] / 2;
    t->base.longest += t->base.longest == 0;
    if (t->base.longest > QH_TOPO_LONGEST) {
        st = qh_yaml_fail(y, map, "routes of %d links; %d is the most", t->base.longest,
                          QH_TOPO_LONGEST);
        goto out;
    }
    for (int64_t d = 0; d < n; d++)
        for (int i = 0; i < t->n_dims; i++)
            for (int down = 0; down < 2; down++)
                QH_TRY(st, qh_topo_add(&t->base, &t->class, "%lld dimension %d %s", (long long)d, i,
                                       down ? "down" : "up"));
    *out = &t->base;
    t = NULL;
out:
    if (t)
        qh_topo_close(&t->base);
    return st;
}

static int32_t route(const qh_topo *topo, int src, int dst, int32_t *out)
{
    const torus *t = (const torus *)topo;
    int32_t count = 0;
    int at = src, stride = 1;

    for (int i = 0; i < t->n_dims; i++) {
        int k = t->size[i], from = src / stride % k, to = dst / stride % k;
        int up = (to - from + k) % k, down = k - up, steps = up <= down ? up : down;

        for (int s = 0; s < steps; s++) {
            int here = at / stride % k, there = up <= down ? (here + 1) % k : (here + k - 1) % k;

            out[count++] = 2 * (at * t->n_dims + i) + (up > down);
            at += (there - here) * stride;
        }
        stride *= k;
    }
    return count;
}

static void show(const qh_topo *topo, FILE *out)
{
    const torus *t = (const torus *)topo;

    fprintf(out, "  torus of ");
    for (int i = 0; i < t->n_dims; i++)
        fprintf(out, "%s%d", i ? " x " : "", t->size[i]);
    fprintf(out, "; routes correct one dimension after the other, each the shorter way, upwards "
                 "where both are as long\n");
    qh_topo_show_class("links", &t->class, out);
}

const qh_topo_ops qh_topo_torus = {
    .name = "torus",
    .help = "a grid of any dimension with its ends joined",
    .open = open_topo,
    .close = close_topo,
    .route = route,
    .room = room,
    .show = show,
};
