/* The job that this process is a rank of, for the commands of qhalo-mpi. */
#ifndef QH_TOOLS_MPI_JOB_H
#define QH_TOOLS_MPI_JOB_H

#include "src/transport/transport.h"
#include "tools/command.h"

typedef struct qh_job {
    qh_transport *transport;
    int rank, n_ranks;
    int n_here, index_here; /* as qh_mpi_neighbours says */
} qh_job;

const qh_job *qh_job_here(void);

extern const qh_command qh_mpi_cmd_train;

#endif
