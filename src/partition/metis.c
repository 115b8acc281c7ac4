#include "src/partition/partitioners.h"

#include "src/base/mem.h"
#include "src/base/rng.h"

#include <errno.h>
#include <fcntl.h>
#include <metis.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* METIS runs in a child process: it prints, it raises signals on its own errors and it draws from
 * the C library's one rand(). None of that reaches us, and the child's heap is gone afterwards. The
 * graph is shared by fork, the answer comes back through a shared mapping. */
typedef struct answer {
    int status; /* of METIS; 0 while it has not ended */
    idx_t part[];
} answer;

typedef struct job {
    idx_t n_nodes, n_parts;
    idx_t *ptr;      /* owned, [n_nodes + 1] */
    idx_t *adjacent; /* owned when widened, else borrowed from the graph */
    idx_t *widened;  /* owned or NULL: the adjacency where idx_t is not int32_t */
    idx_t options[METIS_NOPTIONS];
    answer *answer; /* owned mapping */
    size_t answer_bytes;
} job;

static void job_fini(job *j)
{
    if (j->answer)
        munmap(j->answer, j->answer_bytes);
    qh_mem_free(j->widened);
    qh_mem_free(j->ptr);
}

static qh_status job_init(const qh_graph *g, const qh_partition_request *r, job *j)
{
    qh_key key = qh_rand_key(r->seed, QH_RAND_PARTITION, 0, 2, 0);
    void *map;
    qh_status st;

    if (!(g->n_edges <= IDX_MAX && g->n_nodes < IDX_MAX))
        return qh_fail(QH_EUSAGE,
                       "partitioner 'metis': %lld edges (both directions counted); this METIS has "
                       "%d-bit indices and takes up to %lld, another partitioner takes any number",
                       (long long)g->n_edges, IDXTYPEWIDTH, (long long)IDX_MAX);
    j->n_nodes = (idx_t)g->n_nodes;
    j->n_parts = r->n_parts;
    QH_TRY(st, QH_NEW_ARRAY(&j->ptr, g->n_nodes + 1));
    for (int64_t i = 0; i <= g->n_nodes; i++)
        j->ptr[i] = (idx_t)g->in_ptr[i];
    if (sizeof(idx_t) == sizeof(int32_t)) {
        j->adjacent = (idx_t *)(void *)g->in_src; /* METIS only reads it */
    } else {
        QH_TRY(st, QH_NEW_ARRAY(&j->widened, g->n_edges));
        for (int64_t e = 0; e < g->n_edges; e++)
            j->widened[e] = g->in_src[e];
        j->adjacent = j->widened;
    }
    METIS_SetDefaultOptions(j->options);
    j->options[METIS_OPTION_NUMBERING] = 0;
    j->options[METIS_OPTION_SEED] = (idx_t)(qh_rand_u64(key, 0) & INT32_MAX);
    j->options[METIS_OPTION_OBJTYPE] =
        r->objective == QH_OBJECTIVE_VOL ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
    j->answer_bytes = sizeof(answer) + (size_t)g->n_nodes * sizeof(idx_t);
    map = mmap(NULL, j->answer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        QH_TRY(st, qh_fail(QH_ERESOURCE, "memory: %zu bytes for METIS could not be had (%s)",
                           j->answer_bytes, strerror(errno)));
    j->answer = map;
out:
    return st;
}

static _Noreturn void run_child(job *j)
{
    idx_t n_constraints = 1, objective = 0;
    int null = open("/dev/null", O_WRONLY);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGINT, SIG_DFL); /* Ctrl-C ends the child, not a handler of the program */
    signal(SIGTERM, SIG_DFL);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    j->answer->status =
        METIS_PartGraphKway(&j->n_nodes, &n_constraints, j->ptr, j->adjacent, NULL, NULL, NULL,
                            &j->n_parts, NULL, NULL, j->options, &objective, j->answer->part);
    _exit(0);
}

static qh_status run_job(job *j)
{
    int how = 0;
    pid_t got, child = fork();

    if (child < 0)
        return qh_fail(QH_ERESOURCE,
                       "partitioner 'metis': no process for METIS (%s); less memory "
                       "in use, or another partitioner, would help",
                       strerror(errno));
    if (child == 0)
        run_child(j);
    do
        got = waitpid(child, &how, 0);
    while (got < 0 && errno == EINTR);
    if (got == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGINT)
        return qh_fail(QH_EINTERRUPT, "partitioner 'metis': interrupted");
    if (got == child && WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
        return qh_fail(QH_ERESOURCE, "partitioner 'metis': METIS was killed, most likely for want "
                                     "of memory; range, hash and random need less");
    if (j->answer->status == METIS_ERROR_MEMORY)
        return qh_fail(QH_ERESOURCE, "partitioner 'metis': METIS ran out of memory; range, hash "
                                     "and random need less");
    if (j->answer->status != METIS_OK)
        return qh_fail(QH_EINTERNAL,
                       "partitioner 'metis': METIS failed (code %d, signal %d); another "
                       "partitioner or --seed may work",
                       j->answer->status, got == child && WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    return QH_OK;
}

static qh_status run_symmetric(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    job j = {0};
    qh_status st;

    QH_TRY(st, job_init(g, r, &j));
    QH_TRY(st, run_job(&j));
    for (int64_t i = 0; i < g->n_nodes; i++) {
        if (!(j.answer->part[i] >= 0 && j.answer->part[i] < r->n_parts))
            QH_TRY(st, qh_fail(QH_EINTERNAL,
                               "partitioner 'metis': METIS put node %lld into part %lld of %d",
                               (long long)i, (long long)j.answer->part[i], r->n_parts));
        part[i] = (int32_t)j.answer->part[i];
    }
    QH_TRY(st, qh_partition_fill_empty(g->n_nodes, r->n_parts, part));
out:
    job_fini(&j);
    return st;
}

static qh_status run(const qh_graph *g, const qh_partition_request *r, int32_t *part)
{
    qh_graph *both = NULL;
    qh_status st = QH_OK;

    if (r->n_parts == 1) { /* METIS divides by zero there in some versions */
        memset(part, 0, (size_t)g->n_nodes * sizeof *part);
        return QH_OK;
    }
    if (g->n_edges == 0) /* nothing to cut; METIS wants an edge */
        return qh_partitioner_range.run(g, r, part);
    if (!g->symmetric) /* METIS may crash on a one-way graph */
        QH_TRY(st, qh_graph_symmetrise(g, &both));
    QH_TRY(st, run_symmetric(both ? both : g, r, part));
out:
    qh_graph_free(both);
    return st;
}

const qh_partitioner_ops qh_partitioner_metis = {
    .name = "metis",
    .help = "METIS k-way on the symmetrised graph, least cut or least volume (--objective)",
    .run = run};
