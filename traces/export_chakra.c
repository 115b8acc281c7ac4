/* chakra: execution traces of MLCommons Chakra (Sridharan et al., arXiv 2305.14516), a file a
 * device of length-delimited protobuf messages: the metadata, then a node an operation. An
 * operation depends on the one before it on its device and on the receives that it waited for. */
#include "src/base/mem.h"
#include "traces/export_members.h"
#include "traces/format.h"

#include <chakra.pb-c.h>
#include <string.h>

enum { MAX_ATTRIBUTES = 8 };

typedef struct chakra {
    FILE *out;
    int device;
    uint64_t n_nodes;
    uint64_t *after; /* owned: nodes that the next one depends on */
    int64_t n_after, capacity;
    uint8_t *buffer; /* owned: a packed message */
    int64_t buffer_bytes;
    qh_time owing; /* of durations, which are cut to microseconds */
} chakra;

/* A node being put together. */
typedef struct node {
    Chakra__Node base;
    Chakra__Attribute attribute[MAX_ATTRIBUTES];
    Chakra__Attribute *list[MAX_ATTRIBUTES];
} node;

static Chakra__Attribute *add(node *n, const char *name, Chakra__Attribute__ValueCase kind)
{
    Chakra__Attribute *a = &n->attribute[n->base.n_attr];

    chakra__attribute__init(a);
    a->name = (char *)(uintptr_t)name;
    a->value_case = kind;
    n->list[n->base.n_attr++] = a;
    return a;
}

static void add_int32(node *n, const char *name, int32_t value)
{
    add(n, name, CHAKRA__ATTRIBUTE__VALUE_INT32_VAL)->int32_val = value;
}

static void add_int64(node *n, const char *name, int64_t value)
{
    add(n, name, CHAKRA__ATTRIBUTE__VALUE_INT64_VAL)->int64_val = value;
}

static void begin(node *n, chakra *c, const char *name, Chakra__NodeType type)
{
    chakra__node__init(&n->base);
    n->base.id = c->n_nodes++;
    n->base.name = (char *)(uintptr_t)name;
    n->base.type = type;
    n->base.attr = n->list;
    n->base.data_deps = c->after;
    n->base.n_data_deps = (size_t)c->n_after;
    add(n, "is_cpu_op", CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL)->bool_val = false;
}

static qh_status put(chakra *c, const ProtobufCMessage *m)
{
    uint8_t length[QH_TRACE_MAX_VARINT];
    size_t n = protobuf_c_message_get_packed_size(m);
    qh_status st = QH_OK;

    if ((int64_t)n > c->buffer_bytes) {
        QH_TRY(st, QH_RESIZE(&c->buffer, c->buffer_bytes, 2 * (int64_t)n));
        c->buffer_bytes = 2 * (int64_t)n;
    }
    protobuf_c_message_pack(m, c->buffer);
    fwrite(length, 1, (size_t)qh_varint_put(length, n), c->out);
    fwrite(c->buffer, 1, n, c->out);
out:
    return st;
}

static qh_status depend(chakra *c, uint64_t on)
{
    qh_status st = QH_OK;

    if (c->n_after == c->capacity) {
        QH_TRY(st, QH_RESIZE(&c->after, c->capacity, 2 * c->capacity + 16));
        c->capacity = 2 * c->capacity + 16;
    }
    c->after[c->n_after++] = on;
out:
    return st;
}

/* A node of the compute stream: what comes next depends on it alone. */
static qh_status put_stream(chakra *c, const node *n)
{
    qh_status st;

    QH_TRY(st, put(c, &n->base.base));
    c->n_after = 0;
    QH_TRY(st, depend(c, n->base.id));
out:
    return st;
}

static qh_status compute(void *ctx, const qh_record *r, qh_time duration)
{
    chakra *c = ctx;
    node n;

    begin(&n, c, qh_op_name(r->op), CHAKRA__NODE_TYPE__COMP_NODE);
    c->owing += duration;
    n.base.duration_micros = (uint64_t)(c->owing / 1000000);
    c->owing %= 1000000;
    add_int64(&n, "num_ops", r->flops);
    add(&n, "tensor_size", CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL)->uint64_val = (uint64_t)r->bytes;
    add_int32(&n, "epoch", r->epoch);
    add_int32(&n, "layer", r->layer);
    return put_stream(c, &n);
}

static qh_status post(chakra *c, qh_program_request *q, const char *name, Chakra__NodeType type)
{
    node n;

    begin(&n, c, name, type);
    q->label = (int64_t)n.base.id;
    add_int32(&n, "comm_src", q->src);
    add_int32(&n, "comm_dst", q->dst);
    add_int32(&n, "comm_tag", (int32_t)(q->tag % 32768));
    add_int64(&n, "comm_size", q->bytes);
    return put(c, &n.base.base);
}

static qh_status post_send(void *ctx, qh_program_request *q)
{
    return post(ctx, q, "send", CHAKRA__NODE_TYPE__COMM_SEND_NODE);
}

static qh_status post_recv(void *ctx, qh_program_request *q)
{
    return post(ctx, q, "recv", CHAKRA__NODE_TYPE__COMM_RECV_NODE);
}

static qh_status wait_for(void *ctx, const qh_program_request *q, int64_t n, qh_program_wait kind)
{
    chakra *c = ctx;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < n && kind != QH_WAIT_DONE; i++)
        QH_TRY(st, depend(c, (uint64_t)q[i].label));
out:
    return st;
}

static qh_status reduce(void *ctx, int64_t bytes)
{
    chakra *c = ctx;
    node n;

    begin(&n, c, "allreduce", CHAKRA__NODE_TYPE__COMM_COLL_NODE);
    add_int64(&n, "comm_type", 0); /* ALL_REDUCE */
    add_int64(&n, "comm_size", bytes);
    return put_stream(c, &n);
}

static const qh_program_ops ops = {
    .compute = compute, .send = post_send, .recv = post_recv, .wait = wait_for, .reduce = reduce};

static qh_status write_device(const qh_export_job *job, int device)
{
    Chakra__GlobalMetadata head = CHAKRA__GLOBAL_METADATA__INIT;
    chakra c = {.device = device};
    qh_output *o = NULL;
    char name[32];
    qh_status st;

    snprintf(name, sizeof name, "trace.%d.et", device);
    QH_TRY(st, qh_export_open(job, name, &o));
    c.out = qh_output_stream(o);
    head.version = (char *)(uintptr_t) "0.0.4";
    QH_TRY(st, put(&c, &head.base));
    QH_TRY(st, qh_program_walk(job, device, &ops, &c));
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    qh_mem_free(c.buffer);
    qh_mem_free(c.after);
    return st;
}

static qh_status write_chakra(const qh_export_job *job)
{
    qh_status st = QH_OK;

    for (int d = 0; d < qh_trace_look(job->trace)->n_devices; d++)
        QH_TRY(st, write_device(job, d));
out:
    return st;
}

const qh_export_ops qh_export_chakra = {
    .name = "chakra",
    .help = "a folder of MLCommons Chakra execution traces, FOLDER/trace.DEVICE.et",
    .folder = true,
    .write = write_chakra,
};
