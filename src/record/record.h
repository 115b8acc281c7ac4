/* What a device did: one record an operation, in program order, without times. The engine turns
 * records into time; a trace is records on disk.
 *
 * Meaning of the order (one device): operations on the compute stream run one after the other. A
 * SEND or RECV is posted when all that stands before it is done and takes no time of the compute
 * stream. A WAIT holds the compute stream until every RECV of the same (epoch, layer, direction)
 * posted before it has arrived. So overlap is an order of records and nothing more. The k-th SEND
 * from a to b meets the k-th RECV at b from a. */
#ifndef QH_RECORD_RECORD_H
#define QH_RECORD_RECORD_H

#include "src/base/status.h"

#include <stdint.h>

typedef enum qh_op {
    QH_OP_SPMM = 1,    /* aggregation, sparse times dense */
    QH_OP_GEMM,        /* dense product */
    QH_OP_ELEMENTWISE, /* dropout, LayerNorm, activation, bias, adding rows */
    QH_OP_LOSS,
    QH_OP_OPTIMIZER,
    QH_OP_QUANTIZE,   /* gather and encode one block */
    QH_OP_DEQUANTIZE, /* decode and scatter one block */
    QH_OP_ASSIGN,     /* choosing bit-widths */
    QH_OP_SEND,       /* one block leaves for peer */
    QH_OP_RECV,       /* one block is expected from peer */
    QH_OP_WAIT,       /* for the blocks of (epoch, layer, direction) */
    QH_OP_ALLREDUCE,  /* bytes of gradient, over all devices */
    QH_OP_EPOCH_END,
    QH_OP_COUNT
} qh_op;

/* ASSIGNMENT is no direction of messages: it marks what the devices tell each other to choose
 * bit-widths (layer 0: what the choice is made from, 1: the choice). Nor is REQUEST: it marks what
 * an imported program posts, and layer is the number of the WAIT that asks for it (0: none does),
 * used again once that has been. Such a WAIT also holds until each of its SENDs has left, and
 * rounds are not for them. */
typedef enum qh_direction {
    QH_FORWARD = 0,
    QH_BACKWARD = 1,
    QH_ASSIGNMENT = 2,
    QH_REQUEST = 3
} qh_direction;

/* The bit-widths that a message can have: index in records, tables and reports. */
enum { QH_N_WIDTHS = 10 };
extern const uint8_t qh_width_of_index[QH_N_WIDTHS]; /* 1..8, 16, 32 */
int qh_width_index(int width);                       /* -1: no such width */

typedef struct qh_record {
    uint8_t op;        /* qh_op */
    uint8_t direction; /* qh_direction, where it has one */
    uint16_t layer;
    int32_t epoch;
    int32_t peer;  /* SEND, RECV: the other device; else -1 */
    int32_t round; /* SEND, RECV: r of device i to (i + r) mod N; else 0 */
    int64_t flops; /* compute operations */
    int64_t
        bytes; /* compute: memory read and written; SEND, RECV: wire bytes; ALLREDUCE: payload */
    int64_t host_ns;               /* host CPU time, stamped by a sink that measures; else 0 */
    int64_t values;                /* SEND, RECV: numbers that the block stands for; else 0 */
    int32_t messages[QH_N_WIDTHS]; /* SEND: messages of each width */
} qh_record;

const char *qh_op_name(int op);               /* "spmm", "send", ... */
const char *qh_direction_name(int direction); /* "forward", "request", ... */

/* Metrics of an epoch, as one rank knows them after the reduction over all ranks. */
typedef struct qh_epoch_metrics {
    int32_t epoch;
    double loss;
    int evaluated;    /* metric[] is of this epoch */
    double metric[4]; /* by split: [1] training, [2] validation, [3] test; NaN: no such node */
    double rate;      /* compression rate asked for in this epoch, 1 = none */
} qh_epoch_metrics;

/* Where records go. Each rank calls with its own rank only, from its own thread. */
typedef struct qh_sink qh_sink;
struct qh_sink {
    /* Takes a copy of r. */
    void (*emit)(qh_sink *sink, int rank, const qh_record *r);
    /* The widths of the messages of a SEND record just emitted, in the order of its block, in the
     * epochs in which the receiver is told of them. NULL: nobody wants to know. */
    void (*widths)(qh_sink *sink, int rank, const qh_record *send, const uint8_t *width, int64_t n);
    /* All of the rank's records of the epoch have been emitted (the last is EPOCH_END). Any rank
     * may fail: disk full, Ctrl-C. *stop set: end training after this epoch (same on all ranks:
     * the sink decides once for an epoch). */
    qh_status (*end_epoch)(qh_sink *sink, int rank, const qh_epoch_metrics *m, int *stop);
};

/* A sink that drops everything. */
extern qh_sink qh_sink_null;

/* A growing array of records, owned. */
typedef struct qh_record_list {
    qh_record *item; /* owned */
    int64_t n, capacity;
} qh_record_list;

qh_status qh_record_list_add(qh_record_list *list, const qh_record *r); /* QH_ERESOURCE */
void qh_record_list_fini(qh_record_list *list);

#endif
