/* The transport over MPI: a rank is a process, and has one thread that calls it.
 *
 * All blocks of a lane go over one communicator ("qhalo exchange", "qhalo tables", "qhalo sums",
 * "qhalo other"), as pieces of at most cut_bytes, whose tag is the number of pieces still to
 * follow. Nothing relies on buffering. Whoever waits looks for progress itself, with pauses in
 * which the core is free; while the rank computes, a helper thread does.
 *
 * When a rank fails, its abort tells all others why; they end with QH_EINTERRUPT. What is in flight
 * then never ends in order, so the processes leave without MPI_Finalize (qh_mpi_leave), which
 * launchers take for a failure. Whatever the ranks are at, the job has ended some seconds after the
 * first abort, and its cause was told once, by rank 0 where that still lives. */
#ifndef QH_TRANSPORT_MPI_H
#define QH_TRANSPORT_MPI_H

#include "src/transport/transport.h"

#include <stdbool.h>

typedef struct qh_mpi_config {
    int64_t cut_bytes; /* largest piece, <= 1 GiB; 0: that */
    bool synchronous;  /* send with MPI_Issend: a send that is not received never ends (tests) */
    /* Called at most once, by one rank where all is well with MPI: why the job ends. Any thread. */
    void (*last_words)(qh_status st, const char *text);
} qh_mpi_config;

/* Starts MPI, once in a process, before anything else here. QH_EINTERNAL where MPI does not serve
 * two threads in turn. */
qh_status qh_mpi_start(int *argc, char ***argv);

/* Collective over all ranks of the job. One transport in a process. QH_EINTERNAL, QH_ERESOURCE. */
qh_status qh_mpi_new(const qh_mpi_config *c, qh_transport **out);

int qh_mpi_rank(const qh_transport *t);

/* Ranks on this machine that may run on the same CPUs as this one, and which of them this one is;
 * 1 and 0 where the ranks here are bound to different CPUs. Collective. */
void qh_mpi_neighbours(const qh_transport *t, int *n_here, int *index_here);

/* What MPI calls itself, in one line. */
const char *qh_mpi_library(char *buf, size_t room);

/* Ends the process with st and frees t (NULL is fine). After QH_OK, QH_EEXPECT and an interruption
 * that no failure caused, the rank has done its part: all ranks end in order. Else the status is
 * that of the failure that began it; last words are the error text that goes with it. */
_Noreturn void qh_mpi_leave(qh_transport *t, qh_status st);

#endif
