#include "src/base/hash.h"
#include "src/base/mem.h"
#include "src/transport/mpi_parts.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The helper looks so often: while blocks are under way and the rank computes (TCP moves nothing
 * between looks but what its buffers hold), and else, when it only listens for failures. After a
 * failure the rank's own thread has GRACE to leave in order; then the helper ends the job, of rank
 * 0 first, since that is the one to speak. */
enum { LOOK_NS = 200000, LISTEN_NS = 5000000, LAST_LOOKS = 10, GRACE_S = 2, OTHERS_GRACE_S = 6 };

/* --- failures --- */

static void listen_for_notice(qh_mpi *m)
{
    MPI_Irecv(&m->coming, sizeof m->coming, MPI_BYTE, MPI_ANY_SOURCE, 0, m->notices,
              &m->request[0]);
}

static void note(qh_mpi *m, const qh_mpi_notice *n)
{
    if (m->aborted)
        return;
    m->cause = *n;
    m->aborted = true;
    clock_gettime(CLOCK_MONOTONIC, &m->aborted_at);
    pthread_cond_signal(&m->changed);
}

void qh_mpi_heard(qh_mpi *m)
{
    m->spoken = m->spoken || m->coming.spoken;
    note(m, &m->coming);
    listen_for_notice(m);
}

static void tell_all(qh_mpi *m, const qh_mpi_notice *n, MPI_Request *request)
{
    for (int p = 0; p < m->face.n_ranks; p++)
        if (p != m->rank)
            MPI_Isend(n, sizeof *n, MPI_BYTE, p, 0, m->notices, &request[p]);
}

void qh_mpi_tell(qh_mpi *m)
{
    qh_mpi_notice n = {.rank = m->rank, .status = qh_error_status()};

    if (m->aborted)
        return;
    snprintf(n.text, sizeof n.text, "%s", qh_error_text());
    note(m, &n);
    tell_all(m, &m->cause, m->telling);
}

/* --- the end --- */

/* On a busy machine the end takes seconds: the others are told not to say it again meanwhile. */
static void speak(qh_mpi *m)
{
    if (m->spoken)
        return;
    m->spoken = true;
    if (m->config.last_words)
        m->config.last_words((qh_status)m->cause.status, m->cause.text);
    m->last = m->cause;
    m->last.spoken = 1;
    tell_all(m, &m->last, m->telling + m->face.n_ranks);
}

/* Under the lock. Every rank leaves so, with the status of the failure. (MPI_Abort has the launcher
 * do it, and prints more: with several ranks at once, mpirun of Open MPI 4.1 stumbled over that in
 * a third of the trials, and crashed in some.) */
static _Noreturn void end_job(qh_mpi *m)
{
    speak(m);
    for (int i = 0; i < LAST_LOOKS; i++) { /* until the others have heard */
        qh_mpi_progress(m);
        nanosleep(&(struct timespec){0, LISTEN_NS}, NULL);
    }
    _Exit(m->cause.status < 0 ? -m->cause.status : 1);
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

static int grace(const qh_mpi *m)
{
    return m->rank == 0 ? GRACE_S : OTHERS_GRACE_S;
}

/* A failure: rank 0 says why, the others wait for that and see to it that they are heard. */
static _Noreturn void leave_failed(qh_mpi *m)
{
    pthread_mutex_lock(&m->lock);
    qh_mpi_tell(m);
    m->waiting = true; /* the helper keeps out */
    while (m->rank != 0 && !m->spoken && seconds_since(&m->aborted_at) < OTHERS_GRACE_S) {
        qh_mpi_progress(m);
        pthread_mutex_unlock(&m->lock);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_lock(&m->lock);
    }
    end_job(m);
}

_Noreturn void qh_mpi_leave(qh_transport *t, qh_status st)
{
    qh_mpi *m = (qh_mpi *)t;

    bool whole = st == QH_OK || st == QH_EINTERRUPT || st == QH_EEXPECT;

    if (m && (m->aborted || !whole))
        leave_failed(m);
    if (!whole)
        _Exit(-st);
    if (m && st < 0 && m->config.last_words)
        m->config.last_words(st, qh_error_text());
    if (m)
        t->ops->free(t);
    MPI_Finalize();
    exit(-st);
}

/* --- the helper --- */

static void add_ns(struct timespec *t, int64_t ns)
{
    t->tv_nsec += ns;
    t->tv_sec += t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
}

static void *help(void *ctx)
{
    qh_mpi *m = ctx;

    pthread_mutex_lock(&m->lock);
    while (!m->end) {
        struct timespec until;

        if (!m->waiting)
            qh_mpi_progress(m); /* an error of MPI shows at the next wait of the rank itself */
        if (m->aborted && seconds_since(&m->aborted_at) > grace(m) + 1)
            end_job(m);
        m->dozing = m->n_requests <= 1;
        clock_gettime(CLOCK_MONOTONIC, &until);
        add_ns(&until, m->dozing || m->waiting ? LISTEN_NS : LOOK_NS);
        pthread_cond_timedwait(&m->changed, &m->lock, &until);
        m->dozing = false;
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

qh_status qh_mpi_job_begin(qh_mpi *m)
{
    int error;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&m->telling, 2 * (int64_t)m->face.n_ranks));
    if (MPI_Comm_dup(MPI_COMM_WORLD, &m->notices) != MPI_SUCCESS)
        QH_TRY(st, qh_fail(QH_EINTERNAL, "MPI: MPI_Comm_dup failed"));
    MPI_Comm_set_errhandler(m->notices, MPI_ERRORS_RETURN);
    listen_for_notice(m);
    m->n_requests = 1;
    error = pthread_create(&m->helper, NULL, help, m);
    if (error)
        QH_TRY(st, qh_fail(QH_ERESOURCE, "MPI: the helper thread could not be started: %s",
                           strerror(error)));
    m->has_helper = true;
out:
    return st;
}

void qh_mpi_job_end(qh_mpi *m)
{
    if (m->has_helper) {
        pthread_mutex_lock(&m->lock);
        m->end = true;
        pthread_cond_signal(&m->changed);
        pthread_mutex_unlock(&m->lock);
        pthread_join(m->helper, NULL);
    }
    if (m->n_requests > 0) {
        MPI_Cancel(&m->request[0]);
        MPI_Wait(&m->request[0], MPI_STATUS_IGNORE);
    }
    if (m->notices != MPI_COMM_NULL)
        MPI_Comm_free(&m->notices);
}

/* --- the surroundings --- */

qh_status qh_mpi_start(int *argc, char ***argv)
{
    int provided = MPI_THREAD_SINGLE;

    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
    if (provided < MPI_THREAD_SERIALIZED)
        return qh_fail(QH_EINTERNAL, "MPI: this library lets one thread call it only; one that "
                                     "gives MPI_THREAD_SERIALIZED is needed");
    return QH_OK;
}

int qh_mpi_rank(const qh_transport *t)
{
    return ((const qh_mpi *)t)->rank;
}

void qh_mpi_neighbours(const qh_transport *t, int *n_here, int *index_here)
{
    qh_mpi *m = (qh_mpi *)(uintptr_t)t;
    cpu_set_t cpus;
    uint64_t span[2];
    MPI_Comm here;

    pthread_mutex_lock(&m->lock);
    MPI_Comm_split_type(m->comm[QH_LANE_OTHER], MPI_COMM_TYPE_SHARED, m->rank, MPI_INFO_NULL,
                        &here);
    MPI_Comm_size(here, n_here);
    MPI_Comm_rank(here, index_here);
    sched_getaffinity(0, sizeof cpus, &cpus);
    span[0] = qh_hash(&cpus, sizeof cpus, 0);
    span[1] = ~span[0]; /* so that the least of both says whether all are the same */
    MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_UINT64_T, MPI_MIN, here);
    if (span[0] != ~span[1])
        *n_here = 1, *index_here = 0;
    MPI_Comm_free(&here);
    pthread_mutex_unlock(&m->lock);
}

const char *qh_mpi_library(char *buf, size_t room)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(buf, room, "%s", text);
    return buf;
}
