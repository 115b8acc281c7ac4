/* The inside of the MPI transport, shared by mpi*.c alone. */
#ifndef QH_TRANSPORT_MPI_PARTS_H
#define QH_TRANSPORT_MPI_PARTS_H

#include "src/transport/mpi.h"

#include <mpi.h>
#include <pthread.h>
#include <time.h>

/* A block on its way. */
typedef struct qh_mpi_block {
    bool used, sending, failed;
    int32_t n_left; /* pieces under way */
    int32_t inbox;  /* of a receive without a buffer: which; else -1 */
    int peer;
    int64_t bytes, came; /* came: bytes that arrived, more than bytes when a piece was too long */
} qh_mpi_block;

/* What stands beside request i. */
typedef struct qh_mpi_piece {
    int32_t block;
    int32_t tag; /* that a received piece has to have */
    int64_t bytes;
} qh_mpi_piece;

typedef struct qh_mpi_inbox {
    char *data; /* owned */
    int64_t capacity;
    bool used;
} qh_mpi_inbox;

/* What a failing rank tells the others; or, spoken, that the last words have been said. */
typedef struct qh_mpi_notice {
    int32_t rank, status, spoken;
    char text[QH_ERROR_TEXT_BYTES];
} qh_mpi_notice;

/* Everything below is under the lock, which is also around all calls of MPI. */
typedef struct qh_mpi {
    qh_transport face; /* first, so that a qh_transport * is a qh_mpi * */
    qh_mpi_config config;
    int rank;
    MPI_Comm comm[QH_N_LANES], notices;
    qh_lane lane;
    int64_t cpu_ns; /* that the calls of the rank's thread have taken */
    pthread_mutex_t lock;
    /* Requests 1 .. n_requests - 1 are pieces; request 0 waits for a notice. */
    MPI_Request *request; /* owned, [capacity] */
    qh_mpi_piece *piece;  /* owned, [capacity] */
    int *done;            /* owned, [capacity]: indices for MPI_Testsome */
    MPI_Status *status;   /* owned, [capacity] */
    int n_requests, capacity;
    qh_mpi_block *block; /* owned */
    int32_t n_blocks;
    qh_mpi_inbox *inbox; /* owned */
    int32_t n_inboxes;
    /* Failure. */
    bool aborted, spoken;
    qh_mpi_notice cause;  /* of the first failure heard of; ours if we failed first */
    qh_mpi_notice coming; /* where request 0 puts it */
    qh_mpi_notice last;   /* that the last words have been said */
    MPI_Request *telling; /* owned, [2 * n_ranks]: our own notices */
    struct timespec aborted_at;
    /* The helper. */
    pthread_t helper;
    pthread_cond_t changed; /* a request came, or the end */
    bool has_helper, end, dozing;
    bool waiting; /* the rank's thread waits, and looks for progress itself */
} qh_mpi;

/* Lets MPI work and sees to what has ended. */
qh_status qh_mpi_progress(qh_mpi *m);

/* mpi_room.c: what grows. Requests and blocks to at least so many; a block, and an inbox for a
 * received one. QH_ERESOURCE. */
qh_status qh_mpi_room_for_requests(qh_mpi *m, int wanted);
qh_status qh_mpi_room_for_blocks(qh_mpi *m, int32_t wanted);
qh_status qh_mpi_take_block(qh_mpi *m, qh_mpi_block b, int32_t *out);
qh_status qh_mpi_new_inbox(qh_mpi *m, int64_t bytes);
qh_status qh_mpi_take_inbox(qh_mpi *m, int64_t bytes, int32_t *out);

/* mpi_job.c: failures of other ranks, and progress while the rank's thread is elsewhere.
 * begin fills request 0; after end it is gone. */
qh_status qh_mpi_job_begin(qh_mpi *m);
void qh_mpi_job_end(qh_mpi *m);
/* Request 0 has ended: m->coming holds a notice. */
void qh_mpi_heard(qh_mpi *m);
/* This rank failed, with what stands as this thread's error: tells the others, unless one of them
 * failed before. */
void qh_mpi_tell(qh_mpi *m);

#endif
