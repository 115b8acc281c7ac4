#include "netmodel/netmodel.h"

#include "netmodel/members.h"
#include "netmodel/preset.h"
#include "netmodel/wrap.h"
#include "src/base/mem.h"
#include "src/base/options.h"

#include <string.h>

enum { MAX_DEVICES = 1 << 16 };

/* One line a member. */
const qh_netmodel_ops *const qh_net_members[] = {&qh_net_alphabeta, &qh_net_fairshare,
                                                 &qh_net_loggp, &qh_net_plugin, &qh_net_table};
const int64_t qh_net_members_count = QH_COUNT(qh_net_members);

/* One line a modifier; the first is laid around the model first. */
const qh_modifier *const qh_net_modifiers[] = {&qh_net_slow, &qh_net_outages, &qh_net_background,
                                               &qh_net_jitter};
const int64_t qh_net_modifiers_count = QH_COUNT(qh_net_modifiers);

static bool is_plugin(const char *name)
{
    return strncmp(name, QH_NET_PLUGIN_PREFIX, strlen(QH_NET_PLUGIN_PREFIX)) == 0;
}

static qh_status find_member(const qh_yaml *y, const qh_yaml_node *map, const qh_netmodel_ops **out)
{
    const char *names[QH_COUNT(qh_net_members)], *name = NULL, *near;
    const qh_yaml_node *node = qh_yaml_get(map, "model");
    qh_status st;

    if (!node && qh_yaml_get(map, "peak"))
        return qh_fail(QH_EUSAGE, "%s: 'peak' is an accelerator's; give the file to --accelerator",
                       qh_yaml_where(y, qh_yaml_get(map, "peak")));
    if (!node)
        return qh_yaml_fail(
            y, map, "'model' is missing; give model: alphabeta or another of qhalo net list");
    QH_TRY(st, qh_yaml_text(y, node, "model", &name));
    if (is_plugin(name)) {
        *out = &qh_net_plugin;
        return QH_OK;
    }
    for (int64_t i = 0; i < qh_net_members_count; i++) {
        names[i] = qh_net_members[i]->name;
        if (strcmp(names[i], name) == 0 && qh_net_members[i] != &qh_net_plugin) {
            *out = qh_net_members[i];
            return QH_OK;
        }
    }
    near = qh_did_you_mean(name, names, qh_net_members_count);
    st = qh_yaml_fail(y, node, "there is no network model '%s'; %s%s%s", name,
                      near ? "did you mean '" : "qhalo net list shows them", near ? near : "",
                      near ? "'?" : "");
out:
    return st;
}

/* How many devices: what was asked for, what the description fixes or has room for, or 2. */
static qh_status count_devices(const qh_yaml *y, const qh_yaml_node *map,
                               const qh_netmodel_ops *ops, int asked, int *out)
{
    int64_t room;
    int64_t fixed = 0;
    qh_status st;

    QH_TRY(st, qh_yaml_int(y, map, "devices", false, 1, MAX_DEVICES, &fixed));
    if (fixed && asked && fixed != asked) {
        st =
            qh_fail(QH_EUSAGE,
                    "%s: the network has %lld devices and %d are asked for; give --devices %lld or "
                    "another --net",
                    qh_yaml_where(y, qh_yaml_get(map, "devices")), (long long)fixed, asked,
                    (long long)fixed);
        goto out;
    }
    room = ops->room ? ops->room(y, map) : 0;
    *out = asked ? asked : fixed ? (int)fixed : room ? (int)room : 2;
out:
    return st;
}

static qh_status open_description(const qh_yaml *y, const char *name, int n_devices,
                                  qh_netmodel **out)
{
    const qh_yaml_node *map = qh_yaml_root(y);
    const qh_netmodel_ops *ops = NULL;
    const char *about = "";
    qh_netmodel *m = NULL;
    qh_status st;

    QH_TRY(st, find_member(y, map, &ops));
    QH_TRY(st, count_devices(y, map, ops, n_devices, &n_devices));
    if (qh_yaml_get(map, "about"))
        QH_TRY(st, qh_yaml_text(y, qh_yaml_get(map, "about"), "about", &about));
    QH_TRY(st, ops->open(y, map, n_devices, &m));
    if (!m->ops) /* a plug-in has a table of its own */
        m->ops = ops;
    m->n_devices = n_devices;
    QH_TRY(st, qh_mem_strdup(name, &m->name));
    QH_TRY(st, qh_mem_strdup(about, &m->about));
    QH_TRY(st, qh_yaml_bool(y, map, "staging", false, &m->staging));
    for (int64_t i = 0; i < qh_net_modifiers_count; i++) {
        const qh_yaml_node *node = qh_yaml_get(map, qh_net_modifiers[i]->key);

        if (node)
            QH_TRY(st, qh_net_modifiers[i]->wrap(y, node, &m));
    }
    *out = m;
    m = NULL;
out:
    qh_netmodel_close(m);
    return st;
}

qh_status qh_netmodel_open_text(const char *name, const char *text, int n_devices,
                                qh_netmodel **out)
{
    qh_yaml *y = NULL;
    qh_status st;

    QH_ASSERT(n_devices >= 0);
    QH_TRY(st, qh_yaml_parse(name, text, (int64_t)strlen(text), QH_EINPUT, &y));
    QH_TRY(st, open_description(y, name, n_devices, out));
out:
    qh_yaml_free(y);
    return st;
}

qh_status qh_netmodel_describe(const char *name_or_file, char **text)
{
    char line[4200];

    if (is_plugin(name_or_file)) { /* a description of one line, with the path in quotes */
        size_t n = (size_t)snprintf(line, sizeof line, "model: '%s'\n", name_or_file);

        if (n >= sizeof line || strchr(name_or_file, '\''))
            return qh_fail(QH_EUSAGE, "network: a plug-in's path has no quotes and no 4096 bytes");
        return qh_mem_strdup(line, text);
    }
    return qh_preset_read("network", qh_net_presets, qh_net_presets_count, name_or_file, text);
}

qh_status qh_netmodel_open(const char *name_or_file, int n_devices, qh_netmodel **out)
{
    char *text = NULL;
    qh_status st;

    QH_TRY(st, qh_netmodel_describe(name_or_file, &text));
    QH_TRY(st, qh_netmodel_open_text(name_or_file, text, n_devices, out));
out:
    qh_mem_free(text);
    return st;
}

void qh_netmodel_close(qh_netmodel *m)
{
    if (!m)
        return;
    qh_mem_free(m->about);
    qh_mem_free(m->name);
    m->ops->close(m);
}

int64_t qh_net_model_count(void)
{
    return qh_net_members_count;
}

const char *qh_net_model_name(int64_t i)
{
    return qh_net_members[i]->name;
}

const char *qh_net_model_help(int64_t i)
{
    return qh_net_members[i]->help;
}

int64_t qh_net_preset_count(void)
{
    return qh_net_presets_count;
}

const char *qh_net_preset_name(int64_t i)
{
    return qh_net_presets[i].name;
}

const char *qh_net_preset_about(int64_t i)
{
    return qh_net_presets[i].about;
}

const char *qh_net_preset_text(int64_t i)
{
    return qh_net_presets[i].text;
}
