/* qhalo-mpi: commands whose devices are the ranks of an MPI job. Rank 0 speaks. */
#include "src/base/file.h"
#include "src/transport/mpi.h"
#include "tools/console.h"
#include "tools/mpi_job.h"
#include "tools/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const qh_command *const commands[] = {&qh_mpi_cmd_train};

static qh_job job;

const qh_job *qh_job_here(void)
{
    return &job;
}

static void last_words(qh_status st, const char *text)
{
    (void)st;
    qh_output_remove_open();
    qh_console_clear();
    qh_console_error(*text ? text : "failed without a reason given");
}

/* For tests: how the transport moves what it moves. */
static qh_mpi_config transport_config(void)
{
    const char *cut = getenv("QHALO_MPI_CUT"), *synchronous = getenv("QHALO_MPI_SYNCHRONOUS");
    int64_t bytes = cut ? atoll(cut) : 0;

    return (qh_mpi_config){.cut_bytes = bytes > 0 && bytes <= 1 << 30 ? bytes : 0,
                           .synchronous = synchronous && strcmp(synchronous, "1") == 0,
                           .last_words = last_words};
}

/* The others end when rank 0 says so. */
static void be_silent(void)
{
    qh_console_silence();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (!freopen("/dev/null", "w", stdout))
        fclose(stdout);
}

static qh_status join(int *argc, char ***argv)
{
    qh_mpi_config c = transport_config();
    qh_status st;

    QH_TRY(st, qh_mpi_start(argc, argv));
    QH_TRY(st, qh_mpi_new(&c, &job.transport));
    job.rank = qh_mpi_rank(job.transport);
    job.n_ranks = job.transport->n_ranks;
    qh_mpi_neighbours(job.transport, &job.n_here, &job.index_here);
    if (job.rank > 0)
        be_silent();
out:
    return st;
}

int main(int argc, char **argv)
{
    static const qh_program program = {
        .name = "qhalo-mpi",
        .about = "the same training on the ranks of an MPI job",
        .before = "mpirun -n N ",
        .commands = commands,
        .n_commands = QH_COUNT(commands),
    };
    bool quiet = false;
    qh_status st;

    qh_program_begin();
    st = join(&argc, &argv);
    if (st == QH_OK) {
        st = qh_program_run(&program, argc, argv);
        qh_console_clear();
        st = qh_program_close_stdout(st, &quiet);
    }
    qh_mpi_leave(job.transport, st);
}
