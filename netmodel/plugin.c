/* plugin:FILE.so: a model from a shared object, with its answers looked at: a plug-in that goes
 * back in time or stands still would hang the engine. */
#include "netmodel/plugin.h"

#include "netmodel/members.h"
#include "netmodel/solo.h"
#include "src/base/mem.h"

#include <dlfcn.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

typedef struct loaded {
    qh_netmodel base; /* first: a qh_netmodel is at its head */
    qh_netmodel_ops ops;
    void *handle;
    const qhalo_net_plugin *table; /* inside handle */
    void *model;                   /* the plug-in's */
    char *path;                    /* owned */
    qh_time now;
    int64_t n_flying;
} loaded;

static void close_model(qh_netmodel *m)
{
    loaded *l = (loaded *)m;

    if (l->model)
        l->table->destroy(l->model);
    if (l->handle)
        dlclose(l->handle);
    qh_mem_free(l->path);
    qh_mem_free(l);
}

static qh_status start(qh_netmodel *m, qh_time now, const qh_flow *f)
{
    loaded *l = (loaded *)m;
    qhalo_net_flow flow = {.id = f->id, .src = f->src, .dst = f->dst, .bytes = f->bytes};
    qh_time end = 0;
    qh_status st;

    QH_TRY(st, qh_flow_instant(now, m->ops->alone(m, f->src, f->dst, f->bytes), f, &end));
    if (l->table->start(l->model, now, &flow) != 0) {
        st = qh_fail(QH_EINPUT,
                     "%s: plug-in '%s' cannot start a flow of %lld bytes from device %d "
                     "to device %d",
                     l->path, l->table->name, (long long)f->bytes, f->src, f->dst);
        goto out;
    }
    l->now = now;
    l->n_flying++;
out:
    return st;
}

static qh_time next(qh_netmodel *m)
{
    loaded *l = (loaded *)m;
    qh_time t = l->n_flying ? l->table->next(l->model) : QH_TIME_NEVER;

    return t < l->now ? l->now : t;
}

static int64_t advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity)
{
    loaded *l = (loaded *)m;
    int64_t n = l->table->advance(l->model, now, done, capacity);

    l->now = now;
    if (n < 0 || n > capacity || n > l->n_flying)
        return qh_fail(QH_EINPUT, "%s: plug-in '%s' finishes %lld flows of %lld under way", l->path,
                       l->table->name, (long long)n, (long long)l->n_flying);
    l->n_flying -= n;
    if (n == 0 && l->n_flying > 0 && l->table->next(l->model) <= now)
        return qh_fail(
            QH_EINPUT, "%s: plug-in '%s' does not get on: at %lld ps its next instant is %lld ps",
            l->path, l->table->name, (long long)now, (long long)l->table->next(l->model));
    return n;
}

static qh_time alone(const qh_netmodel *m, int src, int dst, int64_t bytes)
{
    const loaded *l = (const loaded *)m;
    int64_t t = l->table->alone(l->model, src, dst, bytes);

    return t < 0 ? 0 : t;
}

static void show(const qh_netmodel *m, FILE *out)
{
    const loaded *l = (const loaded *)m;
    char text[TEXT_BYTES] = "";

    fprintf(out, "  plug-in '%s' of %s: %s\n", l->table->name, l->path, l->table->help);
    if (l->table->describe)
        l->table->describe(l->model, text, sizeof text);
    text[sizeof text - 1] = '\0';
    if (text[0])
        fprintf(out, "  %s\n", text);
}

/* --- loading --- */

static qh_status load(const qh_yaml *y, const qh_yaml_node *node, loaded *l)
{
    const qhalo_net_plugin *t;
    char path[4096];

    /* A name alone would be looked for where the system keeps its libraries. */
    snprintf(path, sizeof path, "%s%s", strchr(l->path, '/') ? "" : "./", l->path);
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle)
        return qh_yaml_fail(y, node, "plug-in cannot be loaded: %s", dlerror());
    t = dlsym(l->handle, "qhalo_net_plugin_table");
    if (!t)
        return qh_yaml_fail(y, node, "%s is no network plug-in: it has no qhalo_net_plugin_table",
                            l->path);
    if (t->abi != QHALO_NET_PLUGIN_ABI)
        return qh_yaml_fail(y, node,
                            "plug-in %s is made for version %u of the plug-in interface, and this "
                            "is version %u; build it with the netmodel/plugin.h of this qhalo",
                            l->path, t->abi, QHALO_NET_PLUGIN_ABI);
    if (t->size != sizeof *t || !t->name || !t->help || !t->create || !t->destroy || !t->start ||
        !t->next || !t->advance || !t->alone)
        return qh_yaml_fail(y, node, "plug-in %s leaves out what it has to have", l->path);
    l->table = t;
    return QH_OK;
}

static qh_status create(const qh_yaml *y, const qh_yaml_node *node, int n_devices, loaded *l)
{
    char error[TEXT_BYTES / 2] = "";

    l->model = l->table->create(qh_yaml_source(y), n_devices, error, sizeof error);
    error[sizeof error - 1] = '\0';
    if (!l->model)
        return qh_yaml_fail(y, node, "plug-in '%s': %s", l->table->name,
                            error[0] ? error : "it does not take this description");
    return QH_OK;
}

static qh_status open_model(const qh_yaml *y, const qh_yaml_node *map, int n_devices,
                            qh_netmodel **out)
{
    const qh_yaml_node *node = qh_yaml_get(map, "model");
    const char *text = NULL;
    loaded *l = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_text(y, node, "model", &text));
    QH_TRY(st, QH_NEW(&l));
    QH_TRY(st, qh_mem_strdup(text + strlen(QH_NET_PLUGIN_PREFIX), &l->path));
    QH_TRY(st, load(y, node, l));
    QH_TRY(st, create(y, node, n_devices, l));
    l->ops = qh_net_plugin;
    l->ops.contention = l->table->contention != 0;
    l->base.ops = &l->ops;
    *out = &l->base;
    l = NULL;
out:
    if (l)
        close_model(&l->base);
    return st;
}

const qh_netmodel_ops qh_net_plugin = {
    .name = "plugin",
    .help = "plugin:FILE.so: a model from a shared object (netmodel/plugin.h)",
    .open = open_model,
    .close = close_model,
    .start = start,
    .next = next,
    .advance = advance,
    .alone = alone,
    .show = show,
    .contention = true,
};
