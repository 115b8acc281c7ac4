/* Moving blocks of bytes between ranks: threads of one process (below), or MPI (mpi.h).
 *
 * A channel (src, dst) keeps order: the k-th block sent meets the k-th receive. Nothing relies on
 * buffering: a send may last until its receive. */
#ifndef QH_TRANSPORT_TRANSPORT_H
#define QH_TRANSPORT_TRANSPORT_H

#include "src/base/status.h"

#include <stdint.h>

typedef struct qh_transport qh_transport;

/* What a block is for. Each lane of a channel keeps its own order, and both ends use the same lane
 * for the same block, so that what is charged can be told from what is not. */
typedef enum qh_lane {
    QH_LANE_EXCHANGE, /* blocks, charged as records say; where a rank begins */
    QH_LANE_TABLES,   /* what tells of blocks, and how widths are chosen; charged as well */
    QH_LANE_SUMS,     /* collectives */
    QH_LANE_OTHER,    /* evaluation, records on their way to rank 0 */
    QH_N_LANES
} qh_lane;

/* In flight, in the caller's storage. */
typedef struct qh_transfer {
    int peer;
    int64_t bytes;
    void *buffer;     /* send: the caller's; receive: the caller's, or NULL for a view */
    const void *view; /* a finished receive: where the bytes are */
    uint64_t ticket;  /* the transport's own */
    void *hidden;
} qh_transfer;

typedef struct qh_transport_ops {
    const char *name, *help;
    /* Begins to send bytes (>= 0) at data to peer; data stays untouched until send_finish. */
    qh_status (*send_begin)(qh_transport *t, int rank, int peer, const void *data, int64_t bytes,
                            qh_transfer *out);
    qh_status (*send_finish)(qh_transport *t, int rank, qh_transfer *x);
    /* Begins to receive exactly bytes from peer into buffer. A transport of one address space may
     * leave buffer untouched and show the sender's bytes: after recv_finish, x->view points to
     * them, valid until recv_release. A size other than the sender's: QH_EINTERNAL. */
    qh_status (*recv_begin)(qh_transport *t, int rank, int peer, void *buffer, int64_t bytes,
                            qh_transfer *out);
    qh_status (*recv_finish)(qh_transport *t, int rank, qh_transfer *x);
    void (*recv_release)(qh_transport *t, int rank, qh_transfer *x);
    /* So many blocks may be on their way to peer at once, the caller knows: makes room for them, so
     * that sending allocates nothing. NULL: there is nothing to make. QH_ERESOURCE. */
    qh_status (*reserve)(qh_transport *t, int rank, int peer, int64_t n_blocks);
    /* One more block of at most so many bytes may be expected without a buffer at the same time as
     * all that this was called for before: makes room for it. NULL: as above. QH_ERESOURCE. */
    qh_status (*expect)(qh_transport *t, int rank, int64_t most_bytes);
    /* What rank begins from now on goes on that lane. NULL: all lanes are one. */
    void (*use_lane)(qh_transport *t, int rank, qh_lane lane);
    /* CPU time that the calls of rank have taken so far, in nanoseconds, for who measures what the
     * rank itself takes. NULL: next to none. */
    int64_t (*cpu_ns)(qh_transport *t, int rank);
    /* Wakes every rank that waits, now and later, with QH_EINTERRUPT: this rank failed. */
    void (*abort)(qh_transport *t, int rank);
    void (*free)(qh_transport *t);
} qh_transport_ops;

struct qh_transport {
    const qh_transport_ops *ops;
    int n_ranks;
};

static inline void qh_transport_use_lane(qh_transport *t, int rank, qh_lane lane)
{
    if (t->ops->use_lane)
        t->ops->use_lane(t, rank, lane);
}

/* Ranks are threads of this process; blocks are handed over without a copy. Waiting sleeps. */
qh_status qh_inproc_new(int n_ranks, qh_transport **out);

#endif
