#include "tools/recording.h"

#include "netmodel/stretch.h"
#include "sim/slow_devices.h"
#include "src/base/log.h"
#include "src/base/mem.h"
#include "tools/exporting.h"

#include <string.h>

static const char *text_at(const json_t *o, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text ? text : otherwise;
}

static qh_recorded_part part_at(const json_t *head, const char *key)
{
    const json_t *o = json_object_get(head, key);

    return (qh_recorded_part){text_at(o, "name", NULL), text_at(o, "text", NULL)};
}

static qh_reduce_kind reduce_of(const char *name)
{
    return strcmp(name, "tree") == 0           ? QH_REDUCE_TREE
           : strcmp(name, "hierarchical") == 0 ? QH_REDUCE_HIERARCHICAL
                                               : QH_REDUCE_RING;
}

static qh_status parse_head(qh_recording *r)
{
    json_error_t error;
    const json_t *configuration;

    r->head = json_loads(r->info->json, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(r->head))
        return qh_fail(QH_EINPUT, "%s: its head is no JSON object: %s", r->path, error.text);
    configuration = json_object_get(r->head, "configuration");
    r->method = text_at(r->head, "method", "");
    r->graph = text_at(r->head, "graph", "");
    r->net = part_at(r->head, "network");
    r->accelerator = part_at(r->head, "accelerator");
    r->order = strcmp(text_at(configuration, "exchange", ""), "rounds") == 0 ? QH_EXCHANGE_ROUNDS
                                                                             : QH_EXCHANGE_POSTED;
    r->compute = strcmp(text_at(configuration, "compute", ""), "measured") == 0
                     ? QH_COMPUTE_MEASURED
                     : QH_COMPUTE_MODELED;
    r->reduce = reduce_of(text_at(configuration, "allreduce", "ring"));
    r->time_scale = json_number_value(json_object_get(configuration, "time-scale"));
    if (!(r->time_scale > 0)) /* of an older version, or of another program */
        r->time_scale = 1;
    r->slow = text_at(configuration, "devices-slow", NULL);
    r->imported = json_is_object(json_object_get(r->head, "imported"));
    r->follows_network = json_is_true(json_object_get(r->head, "widths_follow_network"));
    r->epochs = json_integer_value(json_object_get(configuration, "epochs"));
    return QH_OK;
}

qh_status qh_recording_open(const char *path, bool partial, qh_recording *out)
{
    qh_recording r = {.path = path};
    qh_status st;

    QH_TRY(st, qh_trace_open(path, partial, &r.trace));
    r.info = qh_trace_look(r.trace);
    QH_TRY(st, parse_head(&r));
    if (!r.info->closed)
        qh_log(QH_LOG_WARNING, "%s: was not closed: %s; it has %lld whole epochs", path,
               qh_trace_end(r.trace), (long long)r.info->n_epochs);
    *out = r;
    r = (qh_recording){0};
out:
    qh_recording_close(&r);
    return st;
}

void qh_recording_close(qh_recording *r)
{
    json_decref(r->head);
    qh_trace_close(r->trace);
    *r = (qh_recording){0};
}

qh_status qh_recording_net(const qh_recording *r, qh_netmodel **net)
{
    qh_netmodel *m = NULL;
    qh_status st;

    *net = NULL;
    if (r->info->n_devices == 1)
        return QH_OK;
    if (!r->net.text)
        return qh_fail(QH_EUSAGE, "--net: %s does not say which network it was made on; name one",
                       r->path);
    QH_TRY(st, qh_netmodel_open_text(r->net.name ? r->net.name : r->path, r->net.text,
                                     r->info->n_devices, &m));
    QH_TRY(st, qh_netmodel_stretch(&m, r->time_scale));
    *net = m;
    m = NULL;
out:
    qh_netmodel_close(m);
    return st;
}

qh_status qh_recording_accelerator(const qh_recording *r, qh_accelerator **accelerator)
{
    if (!r->accelerator.text)
        return qh_fail(QH_EUSAGE, "--accelerator: %s does not say what it computed on; name one",
                       r->path);
    return qh_accelerator_open_text(r->accelerator.name ? r->accelerator.name : r->path,
                                    r->accelerator.text, accelerator);
}

const char *qh_recording_title(const qh_recording *r, char *buf, size_t room)
{
    size_t n =
        (size_t)snprintf(buf, room, "%s%s%s, %d device%s", r->method, *r->graph ? " on " : "",
                         r->graph, r->info->n_devices, r->info->n_devices == 1 ? "" : "s");

    if (n < room && r->net.name && r->accelerator.name)
        snprintf(buf + n, room - n, ", %s, %s", r->net.name, r->accelerator.name);
    return buf;
}

/* The compute stream of the run; the network where it is wanted. */
static qh_status rerun(const qh_recording *r, const char *net, const char *accelerator, bool plays,
                       qh_rerun *out)
{
    qh_status st;

    *out = (qh_rerun){
        .config = {
            .trace = r->trace, .compute = r->compute, .order = r->order, .reduce = r->reduce}};
    if (net && r->info->n_devices > 1)
        QH_TRY(st, qh_netmodel_open(net, r->info->n_devices, &out->net));
    else if (plays)
        QH_TRY(st, qh_recording_net(r, &out->net));
    QH_TRY(st, accelerator ? qh_accelerator_open(accelerator, &out->accelerator)
                           : qh_recording_accelerator(r, &out->accelerator));
    QH_TRY(st, qh_slow_devices("--devices-slow", r->slow, r->info->n_devices, 1, &out->scale));
    out->config.net = out->net;
    out->config.accelerator = out->accelerator;
    out->config.compute_scale = out->scale;
out:
    return st;
}

qh_status qh_recording_rerun(const qh_recording *r, const char *net, const char *accelerator,
                             qh_rerun *out)
{
    return rerun(r, net, accelerator, true, out);
}

void qh_rerun_fini(qh_rerun *r)
{
    qh_mem_free(r->scale);
    qh_accelerator_free(r->accelerator);
    qh_netmodel_close(r->net);
    *r = (qh_rerun){0};
}

qh_status qh_recording_export(const qh_recording *r, const qh_export_ops *format, const char *net,
                              const char *path)
{
    char title[QH_TITLE_BYTES];
    qh_rerun run = {0};
    qh_status st;

    QH_TRY(st, rerun(r, net, NULL, format->plays, &run));
    QH_TRY(st,
           qh_export_run(format, &run.config, path, qh_recording_title(r, title, sizeof title)));
out:
    qh_rerun_fini(&run);
    return st;
}
