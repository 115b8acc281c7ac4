#include "tools/tracer.h"

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/policy/bits.h"
#include "tools/json.h"
#include "tools/runfolder.h"
#include "tools/summary.h"
#include "traces/reader.h"
#include "traces/writer.h"

#include <stdlib.h>

struct qh_tracer {
    const qh_settings *settings;
    const char *dataset_name;
    const qh_dataset *dataset;
    bool payload;
    char *net, *accelerator; /* owned: their descriptions */
    qh_trace_writer *writer; /* owned */
    qh_time *span;           /* owned, [devices] */
    qh_status begun;
    char error[QH_ERROR_TEXT_BYTES];
};

qh_status qh_tracer_check(const char *path)
{
    if (!path || !qh_file_exists(path) || qh_trace_may_replace(path))
        return QH_OK;
    return qh_fail(QH_EUSAGE, "--trace: %s is there and is no trace; give another name", path);
}

qh_status qh_tracer_open(const char *path, const qh_settings *s, const char *dataset,
                         const qh_dataset *d, bool payload, qh_tracer **out)
{
    qh_tracer *t = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&t));
    *t = (qh_tracer){.settings = s, .dataset_name = dataset, .dataset = d, .payload = payload};
    QH_TRY(st, qh_netmodel_describe(s->net, &t->net));
    QH_TRY(st, qh_accelerator_describe(s->accelerator, &t->accelerator));
    QH_TRY(st, QH_NEW_ARRAY(&t->span, s->devices));
    QH_TRY(st, qh_trace_writer_open(path, (int)s->devices, &t->writer));
    *out = t;
    t = NULL;
out:
    qh_tracer_free(t);
    return st;
}

/* --- the head --- */

static json_t *part_json(const char *name, const char *text)
{
    return json_pack("{s:o,s:o}", "name", qh_json_text(name), "text", qh_json_text(text));
}

static json_t *partition_json(const qh_settings *s, const qh_result *r)
{
    json_t *nodes = json_array();

    for (int64_t d = 0; d < s->devices; d++)
        json_array_append_new(nodes, json_integer(r->inner_nodes[d]));
    return json_pack("{s:o,s:I,s:I,s:o}", "method", qh_json_text(r->partition_method), "edge_cut",
                     (json_int_t)r->partition.edge_cut, "halo_nodes",
                     (json_int_t)r->partition.halo_nodes, "nodes_of_device", nodes);
}

/* Whether the bit-widths would be others on another network: a solver weighs its costs. */
static bool follows_network(const qh_settings *s)
{
    qh_bits_config c = {0};
    const qh_bits_ops *ops = NULL;
    qh_parts parts = {0};

    return qh_settings_parts(s, &parts) == QH_OK && parts.assign &&
           qh_bits_choose("--assign", parts.assign, &c, &ops) == QH_OK && ops->solve;
}

static json_t *head_json(const qh_tracer *t, const qh_result *r)
{
    const qh_settings *s = t->settings;
    char method[QH_METHOD_TEXT_BYTES];
    json_t *head = qh_configuration_json(t->dataset_name, s);
    json_t *more = json_pack(
        "{s:s,s:s,s:o,s:I,s:o,s:o,s:o,s:b,s:b}", "schema", "qhalo.trace/1", "method",
        qh_method_text(s, method, sizeof method), "graph", qh_json_text(t->dataset->name),
        "devices", (json_int_t)s->devices, "partition", partition_json(s, r), "network",
        part_json(s->net, t->net), "accelerator", part_json(s->accelerator, t->accelerator),
        "payload", t->payload, "widths_follow_network", follows_network(s));

    if (!head || !more || json_object_update(head, more) != 0) {
        json_decref(head);
        head = NULL;
    }
    json_decref(more);
    return head;
}

static qh_status begin(qh_tracer *t, const qh_result *r)
{
    json_t *head = head_json(t, r);
    char *text = head ? json_dumps(head, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    qh_status st = text ? qh_trace_writer_begin(t->writer, text)
                        : qh_fail(QH_ERESOURCE, "memory: too short for the head of the trace");

    free(text);
    json_decref(head);
    return st;
}

void qh_tracer_ready(qh_tracer *t, const qh_result *partial)
{
    t->begun = begin(t, partial);
    if (t->begun < 0)
        snprintf(t->error, sizeof t->error, "%s", qh_error_text());
}

/* --- the run --- */

qh_status qh_tracer_widths(qh_tracer *t, int device, const qh_record *send, const uint8_t *width,
                           int64_t n)
{
    return t->begun < 0 ? QH_OK : qh_trace_writer_widths(t->writer, device, send, width, n);
}

qh_status qh_tracer_records(qh_tracer *t, int device, int32_t epoch, const qh_record *r, int64_t n)
{
    if (t->begun == QH_OK)
        return qh_trace_writer_records(t->writer, device, epoch, r, n);
    qh_error_set_text(t->error);
    return t->begun;
}

qh_status qh_tracer_trained(qh_tracer *t, const qh_epoch_metrics *m)
{
    return qh_trace_writer_epoch(t->writer, m);
}

qh_status qh_tracer_times(qh_tracer *t, const qh_epoch_times *e)
{
    for (int64_t d = 0; d < t->settings->devices; d++)
        t->span[d] = e->device[d].total;
    return qh_trace_writer_times(t->writer, e->epoch, t->span);
}

qh_status qh_tracer_close(qh_tracer *t)
{
    return qh_trace_writer_close(&t->writer);
}

void qh_tracer_free(qh_tracer *t)
{
    if (!t)
        return;
    qh_trace_writer_abandon(&t->writer);
    qh_mem_free(t->span);
    qh_mem_free(t->accelerator);
    qh_mem_free(t->net);
    qh_mem_free(t);
}
