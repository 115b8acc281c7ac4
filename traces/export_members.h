/* The members of the registry, and what they share. */
#ifndef QH_TRACES_EXPORT_MEMBERS_H
#define QH_TRACES_EXPORT_MEMBERS_H

#include "src/base/file.h"
#include "traces/export.h"

extern const qh_export_ops qh_export_chrome, qh_export_csv, qh_export_smpi, qh_export_goal,
    qh_export_chakra;

/* --- programs (export_program.c): a device's records as operations and what they wait for --- */

/* A request: the k-th SEND from src to dst meets the k-th RECV, and tag is k. */
typedef struct qh_program_request {
    int src, dst;
    int64_t tag, bytes;
    int64_t label; /* what the format calls it: set by send and recv, given back to wait */
} qh_program_request;

typedef enum qh_program_wait {
    QH_WAIT_COMPUTE, /* the compute stream waits */
    QH_WAIT_GATE,    /* only what is sent afterwards waits */
    QH_WAIT_DONE     /* nobody waits: sends of an epoch before the last, for formats that want to
                        hear of every request again */
} qh_program_wait;

/* What a format makes of it. */
typedef struct qh_program_ops {
    qh_status (*compute)(void *ctx, const qh_record *r, qh_time duration);
    qh_status (*send)(void *ctx, qh_program_request *q);
    qh_status (*recv)(void *ctx, qh_program_request *q);
    qh_status (*wait)(void *ctx, const qh_program_request *q, int64_t n, qh_program_wait kind);
    /* All that stands before it was of the epoch. NULL: nobody wants to know. */
    void (*epoch)(void *ctx, int32_t epoch);
    /* NULL: the ring that the engine runs is spelt out in sends, receives and waits. */
    qh_status (*reduce)(void *ctx, int64_t bytes);
} qh_program_ops;

/* Walks one device's program. QH_EINPUT, QH_ERESOURCE, or what ops give. */
qh_status qh_program_walk(const qh_export_job *job, int device, const qh_program_ops *ops,
                          void *ctx);

/* A new file FOLDER/NAME of the job, whose folder is made where it is not there. */
qh_status qh_export_open(const qh_export_job *job, const char *name, qh_output **out);

#endif
