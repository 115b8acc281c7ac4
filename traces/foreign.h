/* A foreign program while it is read: what the formats call, rank by rank in program order or
 * mixed.
 *
 * Sends and receives are requests; what waits for them names them. Waits that follow each other
 * directly are one, in which sends come before receives. A message of a rank to itself is left out:
 * it takes no time. */
#ifndef QH_TRACES_FOREIGN_H
#define QH_TRACES_FOREIGN_H

#include "traces/import.h"

enum {
    QH_FOREIGN_ANY_TAG = -1,
    QH_FOREIGN_COLLECTIVE_TAG = -2 /* and below: no tag of a program, and ANY_TAG takes none */
};

enum { QH_FOREIGN_NO_REQUEST = -1 }; /* of a message of a rank to itself */

typedef enum qh_foreign_kind {
    QH_FOREIGN_COMPUTE,
    QH_FOREIGN_SEND,
    QH_FOREIGN_RECV,
    QH_FOREIGN_WAIT,
    QH_FOREIGN_REDUCE,
    QH_FOREIGN_MARK
} qh_foreign_kind;

typedef struct qh_foreign_op {
    int64_t amount;  /* COMPUTE: ps; SEND, REDUCE: bytes; RECV: at most so many; MARK: the epoch */
    int64_t place;   /* RECV, once matched: of its send among all those of its channel */
    int32_t line;    /* in the rank's file */
    int32_t peer;    /* SEND, RECV */
    int32_t tag;     /* SEND, RECV */
    int32_t group;   /* SEND, RECV: the WAIT that asks for it, -1: none; WAIT: its number */
    int32_t channel; /* SEND, RECV, once matched; before: the next of the same kind, peer and tag */
    uint8_t kind;    /* qh_foreign_kind */
    uint8_t open;    /* SEND, RECV: posted and not waited for */
} qh_foreign_op;

/* A collective that a rank takes part in: all ranks have the same ones in the same order. */
typedef struct qh_foreign_collective {
    const char *name; /* static */
    int32_t root, line;
} qh_foreign_collective;

/* Requests of a rank with the same kind, peer and tag, oldest first; the first ones may be open no
 * more. */
typedef struct qh_foreign_list {
    int32_t key[3];
    int32_t first, last; /* -1: none */
    bool used;
} qh_foreign_list;

typedef struct qh_foreign_rank {
    const char *path;  /* owned by the program */
    qh_foreign_op *op; /* owned */
    int64_t n, capacity;
    int32_t n_groups;
    int64_t first_open;    /* no request before it is open */
    qh_foreign_list *list; /* owned: open addressing; its size is a power of two */
    int64_t n_lists, list_capacity;
    qh_foreign_collective *collective; /* owned */
    int64_t n_collectives, collective_capacity;
} qh_foreign_rank;

/* The messages from one rank to another. */
typedef struct qh_foreign_channel {
    int32_t src, dst;
    int64_t first, n; /* in recv */
    int64_t taken;    /* scratch: receives of it that were written, or sends that were posted */
} qh_foreign_channel;

struct qh_foreign {
    int n;
    int64_t eager_bytes;
    qh_foreign_rank *rank; /* owned, [n] */
    char **path;           /* owned, and each text too */
    int64_t n_paths;
    qh_foreign_channel *channel; /* owned: those that have messages, by src and dst */
    int64_t n_channels;
    int64_t *recv;    /* owned: receives of the channels, each in the order of its sends */
    int64_t n_epochs; /* marks of a rank; 0: it has none */
    int32_t first_epoch;
};

qh_status qh_foreign_new(int n_ranks, const qh_import_options *o, qh_foreign **out);
/* The rank's operations come from the file, whose name is copied. */
qh_status qh_foreign_path(qh_foreign *f, int rank, const char *path);

/* QH_EINPUT with "FILE:LINE: " before the text. */
qh_status qh_foreign_bad(const qh_foreign *f, int rank, int32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Each appends an operation. Peers are checked; a request is the number to wait for. */
qh_status qh_foreign_compute(qh_foreign *f, int rank, int32_t line, qh_time duration);
qh_status qh_foreign_send(qh_foreign *f, int rank, int32_t line, int64_t peer, int32_t tag,
                          int64_t bytes, int64_t *request);
/* bytes INT64_MAX: whatever comes. */
qh_status qh_foreign_recv(qh_foreign *f, int rank, int32_t line, int64_t peer, int32_t tag,
                          int64_t bytes, int64_t *request);
qh_status qh_foreign_wait(qh_foreign *f, int rank, int32_t line, int64_t request);
qh_status qh_foreign_wait_all(qh_foreign *f, int rank, int32_t line); /* for all that is open */
qh_status qh_foreign_reduce(qh_foreign *f, int rank, int32_t line, int64_t bytes);
/* The operations since the mark before were those of an epoch. */
qh_status qh_foreign_mark(qh_foreign *f, int rank, int32_t line, int32_t epoch);

/* The rank takes part in a collective, whose operations follow. */
qh_status qh_foreign_enter(qh_foreign *f, int rank, int32_t line, const char *name, int32_t root);

/* The oldest open request of the rank with peer and tag: QH_FOREIGN_NO_REQUEST where there is
 * none. */
int64_t qh_foreign_find(qh_foreign *f, int rank, qh_foreign_kind kind, int32_t peer, int32_t tag);

/* --- foreign_match.c: when all is read --- */
/* Pairs receives with sends, and holds marks and collectives of the ranks against each other. In a
 * channel a receive takes the oldest send with its tag that no earlier receive took, as MPI does.
 */
qh_status qh_foreign_match(qh_foreign *f);
/* QH_EINPUT where ranks wait in a circle, saying who waits for whom, and where. */
qh_status qh_foreign_check_progress(qh_foreign *f);

#endif
