#include "src/transport/mpi_parts.h"

#include "src/base/mem.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

/* Matching goes by order alone: receives of a lane take any tag, and the tag then has to be the
 * number of pieces that follow. So a block of another size is found out, and does not leave both
 * sides waiting. */
enum { LARGEST_PIECE = 1 << 30, LARGEST_TAG = 32767 };

/* A waiting rank looks so many times at once, then with pauses that grow. On shared cores the
 * pauses are what lets the others send; on a core of its own they cost some microseconds of
 * latency. */
enum { LOOKS = 16, FIRST_PAUSE_NS = 5000, LONGEST_PAUSE_NS = 50000 };

static qh_mpi *of(qh_transport *face)
{
    return (qh_mpi *)face;
}

static int64_t cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static qh_status mpi_failed(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;

    MPI_Error_string(code, text, &length);
    return qh_fail(QH_EINTERNAL, "MPI: %s failed: %s", what, text);
}

/* --- room --- */

static qh_status reserve(qh_transport *face, int rank, int peer, int64_t n_blocks)
{
    qh_mpi *m = of(face);
    int64_t all = 2 * n_blocks * m->face.n_ranks; /* sent and received */
    qh_status st;

    (void)rank;
    (void)peer; /* room is for all peers together, as every one of them is reserved alike */
    pthread_mutex_lock(&m->lock);
    QH_TRY(st, qh_mpi_room_for_blocks(m, (int32_t)all));
    QH_TRY(st, qh_mpi_room_for_requests(m, (int)all + 1));
out:
    pthread_mutex_unlock(&m->lock);
    return st;
}

static qh_status expect(qh_transport *face, int rank, int64_t most_bytes)
{
    qh_mpi *m = of(face);
    qh_status st;

    (void)rank;
    pthread_mutex_lock(&m->lock);
    st = qh_mpi_new_inbox(m, most_bytes);
    pthread_mutex_unlock(&m->lock);
    return st;
}

/* --- progress --- */

static void end_piece(qh_mpi *m, int i, const MPI_Status *s)
{
    const qh_mpi_piece *p = &m->piece[i];
    qh_mpi_block *b = &m->block[p->block];
    int n = 0, class = MPI_SUCCESS;

    b->n_left--;
    if (b->sending)
        return;
    MPI_Error_class(s->MPI_ERROR, &class);
    if (class == MPI_ERR_TRUNCATE) {
        b->failed = true;
        b->came = b->bytes + 1;
        return;
    }
    MPI_Get_count(s, MPI_BYTE, &n);
    b->came += n;
    if (n != p->bytes || s->MPI_TAG != p->tag)
        b->failed = true;
}

/* Requests that have ended leave no gap. */
static void close_up(qh_mpi *m)
{
    int to = 1;

    for (int i = 1; i < m->n_requests; i++) {
        if (m->request[i] == MPI_REQUEST_NULL)
            continue;
        m->request[to] = m->request[i];
        m->piece[to++] = m->piece[i];
    }
    m->n_requests = to;
}

qh_status qh_mpi_progress(qh_mpi *m)
{
    int n_done = 0, code;
    bool heard = false;

    code = MPI_Testsome(m->n_requests, m->request, &n_done, m->done, m->status);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
        return mpi_failed(code, "MPI_Testsome");
    if (n_done == MPI_UNDEFINED || n_done == 0)
        return QH_OK;
    for (int k = 0; k < n_done; k++) {
        if (code == MPI_SUCCESS) /* then the statuses leave it unset */
            m->status[k].MPI_ERROR = MPI_SUCCESS;
        if (m->done[k] == 0)
            heard = true;
        else
            end_piece(m, m->done[k], &m->status[k]);
    }
    close_up(m);
    if (heard)
        qh_mpi_heard(m);
    return QH_OK;
}

static void pause_after(int n_looks)
{
    int64_t ns = FIRST_PAUSE_NS;

    if (n_looks < LOOKS) {
        sched_yield();
        return;
    }
    for (int i = LOOKS; i < n_looks && ns < LONGEST_PAUSE_NS; i += LOOKS)
        ns += FIRST_PAUSE_NS;
    nanosleep(&(struct timespec){0, ns}, NULL);
}

static qh_status interrupted(const qh_mpi *m)
{
    return qh_fail(QH_EINTERRUPT, "device %d: stopped because device %d failed", m->rank,
                   m->cause.rank);
}

/* Under the lock, which is given away in the pauses. */
static qh_status wait_for(qh_mpi *m, int32_t block)
{
    int64_t cpu = cpu_now();
    qh_status st = QH_OK;

    m->waiting = true;
    for (int n_looks = 0; m->block[block].n_left > 0; n_looks++) {
        if (m->aborted) {
            st = interrupted(m);
            break;
        }
        QH_TRY(st, qh_mpi_progress(m));
        if (m->block[block].n_left == 0)
            break;
        pthread_mutex_unlock(&m->lock);
        pause_after(n_looks);
        pthread_mutex_lock(&m->lock);
    }
out:
    m->waiting = false;
    m->cpu_ns += cpu_now() - cpu;
    return st;
}

/* --- blocks --- */

static qh_status count_pieces(const qh_mpi *m, int64_t bytes, int64_t *n)
{
    *n = bytes > 0 ? (bytes - 1) / m->config.cut_bytes + 1 : 1;
    if (*n <= LARGEST_TAG)
        return QH_OK;
    return qh_fail(QH_EUSAGE,
                   "MPI: a block of %lld bytes would be %lld pieces of %lld; there may be %d",
                   (long long)bytes, (long long)*n, (long long)m->config.cut_bytes, LARGEST_TAG);
}

static int begin_piece(qh_mpi *m, const qh_mpi_block *b, char *data, int n, int tag)
{
    MPI_Comm comm = m->comm[m->lane];
    MPI_Request *r = &m->request[m->n_requests];

    if (!b->sending)
        return MPI_Irecv(data, n, MPI_BYTE, b->peer, MPI_ANY_TAG, comm, r);
    return m->config.synchronous ? MPI_Issend(data, n, MPI_BYTE, b->peer, tag, comm, r)
                                 : MPI_Isend(data, n, MPI_BYTE, b->peer, tag, comm, r);
}

/* All pieces of the block, under the lock. */
static qh_status begin_pieces(qh_mpi *m, int32_t block, char *data)
{
    qh_mpi_block *b = &m->block[block];
    int64_t n_pieces;
    qh_status st;

    QH_TRY(st, count_pieces(m, b->bytes, &n_pieces));
    QH_TRY(st, qh_mpi_room_for_requests(m, m->n_requests + (int)n_pieces));
    for (int64_t i = 0; i < n_pieces; i++) {
        int64_t from = i * m->config.cut_bytes, left = b->bytes - from;
        int n = (int)(left < m->config.cut_bytes ? left : m->config.cut_bytes);
        int tag = (int)(n_pieces - 1 - i), code = begin_piece(m, b, data + from, n, tag);

        if (code != MPI_SUCCESS)
            QH_TRY(st, mpi_failed(code, b->sending ? "MPI_Isend" : "MPI_Irecv"));
        m->piece[m->n_requests++] = (qh_mpi_piece){.block = block, .tag = tag, .bytes = n};
        b->n_left++;
    }
    if (m->dozing)
        pthread_cond_signal(&m->changed);
out:
    return st;
}

static qh_status begin(qh_mpi *m, qh_mpi_block b, char *data, qh_transfer *out)
{
    int64_t cpu = cpu_now();
    int32_t block = -1;
    qh_status st = QH_OK;

    QH_ASSERT(b.bytes >= 0 && b.peer >= 0 && b.peer < m->face.n_ranks);
    pthread_mutex_lock(&m->lock);
    if (m->aborted)
        QH_TRY(st, interrupted(m));
    if (!b.sending && !data) {
        QH_TRY(st, qh_mpi_take_inbox(m, b.bytes, &b.inbox));
        data = m->inbox[b.inbox].data;
    }
    QH_TRY(st, qh_mpi_take_block(m, b, &block));
    QH_TRY(st, begin_pieces(m, block, data));
    *out =
        (qh_transfer){.peer = b.peer, .bytes = b.bytes, .buffer = data, .ticket = (uint64_t)block};
out:
    pthread_mutex_unlock(&m->lock);
    m->cpu_ns += cpu_now() - cpu;
    return st;
}

static qh_status send_begin(qh_transport *face, int rank, int peer, const void *data, int64_t bytes,
                            qh_transfer *out)
{
    qh_mpi_block b = {.sending = true, .inbox = -1, .peer = peer, .bytes = bytes};

    (void)rank;
    return begin(of(face), b, (char *)(uintptr_t)data, out);
}

static qh_status send_finish(qh_transport *face, int rank, qh_transfer *x)
{
    qh_mpi *m = of(face);
    qh_status st;

    (void)rank;
    pthread_mutex_lock(&m->lock);
    QH_ASSERT(m->block[x->ticket].used && m->block[x->ticket].sending);
    st = wait_for(m, (int32_t)x->ticket);
    if (st == QH_OK)
        m->block[x->ticket].used = false;
    pthread_mutex_unlock(&m->lock);
    return st;
}

static qh_status recv_begin(qh_transport *face, int rank, int peer, void *buffer, int64_t bytes,
                            qh_transfer *out)
{
    (void)rank;
    return begin(of(face), (qh_mpi_block){.inbox = -1, .peer = peer, .bytes = bytes}, buffer, out);
}

static qh_status recv_finish(qh_transport *face, int rank, qh_transfer *x)
{
    qh_mpi *m = of(face);
    const qh_mpi_block *b;
    qh_status st;

    pthread_mutex_lock(&m->lock);
    b = &m->block[x->ticket];
    QH_ASSERT(b->used && !b->sending);
    QH_TRY(st, wait_for(m, (int32_t)x->ticket));
    if (b->failed)
        QH_TRY(st, qh_fail(QH_EINTERNAL,
                           "device %d: a block from device %d has %s%lld bytes; %lld were expected",
                           rank, x->peer, b->came > b->bytes ? "at least " : "", (long long)b->came,
                           (long long)b->bytes));
    x->view = x->buffer;
out:
    pthread_mutex_unlock(&m->lock);
    return st;
}

static void recv_release(qh_transport *face, int rank, qh_transfer *x)
{
    qh_mpi *m = of(face);
    qh_mpi_block *b;

    (void)rank;
    pthread_mutex_lock(&m->lock);
    b = &m->block[x->ticket];
    QH_ASSERT(b->used && b->n_left == 0);
    if (b->inbox >= 0)
        m->inbox[b->inbox].used = false;
    b->used = false;
    x->view = NULL;
    pthread_mutex_unlock(&m->lock);
}

static void use_lane(qh_transport *face, int rank, qh_lane lane)
{
    (void)rank;
    of(face)->lane = lane; /* the rank's own thread alone looks at it */
}

static void abort_all(qh_transport *face, int rank)
{
    qh_mpi *m = of(face);

    (void)rank;
    pthread_mutex_lock(&m->lock);
    qh_mpi_tell(m);
    pthread_mutex_unlock(&m->lock);
}

static int64_t cpu_ns(qh_transport *face, int rank)
{
    (void)rank;
    return of(face)->cpu_ns;
}

/* --- life --- */

static void free_memory(qh_mpi *m)
{
    for (int32_t i = 0; i < m->n_inboxes; i++)
        qh_mem_free(m->inbox[i].data);
    qh_mem_free(m->inbox);
    qh_mem_free(m->telling);
    qh_mem_free(m->block);
    qh_mem_free(m->status);
    qh_mem_free(m->done);
    qh_mem_free(m->piece);
    qh_mem_free(m->request);
    qh_mem_free(m);
}

/* After a failure MPI may still write into the buffers: they stay until the process ends. */
static void mpi_free(qh_transport *face)
{
    qh_mpi *m = of(face);

    if (!m || m->aborted)
        return;
    qh_mpi_job_end(m);
    QH_ASSERT(m->n_requests <= 1 && "all that was begun is finished");
    for (int i = 0; i < QH_N_LANES; i++)
        if (m->comm[i] != MPI_COMM_NULL)
            MPI_Comm_free(&m->comm[i]);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free_memory(m);
}

static const qh_transport_ops mpi_ops = {
    .name = "mpi",
    .help = "ranks are processes; blocks go through MPI",
    .send_begin = send_begin,
    .send_finish = send_finish,
    .recv_begin = recv_begin,
    .recv_finish = recv_finish,
    .recv_release = recv_release,
    .reserve = reserve,
    .expect = expect,
    .use_lane = use_lane,
    .cpu_ns = cpu_ns,
    .abort = abort_all,
    .free = mpi_free,
};

/* Communicators have names so that a tool which listens to MPI can tell what is charged. */
static qh_status new_lanes(qh_mpi *m)
{
    static const char *const names[QH_N_LANES] = {"qhalo exchange", "qhalo tables", "qhalo sums",
                                                  "qhalo other"};

    for (int i = 0; i < QH_N_LANES; i++) {
        int code = MPI_Comm_dup(MPI_COMM_WORLD, &m->comm[i]);

        if (code != MPI_SUCCESS)
            return mpi_failed(code, "MPI_Comm_dup");
        MPI_Comm_set_errhandler(m->comm[i], MPI_ERRORS_RETURN);
        MPI_Comm_set_name(m->comm[i], names[i]);
    }
    return QH_OK;
}

static void init_lock(qh_mpi *m)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

qh_status qh_mpi_new(const qh_mpi_config *c, qh_transport **out)
{
    qh_mpi *m = NULL;
    qh_status st;

    QH_ASSERT(c->cut_bytes >= 0 && c->cut_bytes <= LARGEST_PIECE);
    QH_TRY(st, QH_NEW(&m));
    m->face.ops = &mpi_ops;
    m->config = *c;
    if (m->config.cut_bytes == 0)
        m->config.cut_bytes = LARGEST_PIECE;
    MPI_Comm_rank(MPI_COMM_WORLD, &m->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m->face.n_ranks);
    for (int i = 0; i < QH_N_LANES; i++)
        m->comm[i] = MPI_COMM_NULL;
    m->notices = MPI_COMM_NULL;
    init_lock(m);
    prctl(PR_SET_TIMERSLACK, 1UL); /* pauses as long as they say; the helper inherits it */
    QH_TRY(st, qh_mpi_room_for_requests(m, 1));
    QH_TRY(st, new_lanes(m));
    QH_TRY(st, qh_mpi_job_begin(m));
    *out = &m->face;
    m = NULL;
out:
    mpi_free(m ? &m->face : NULL);
    return st;
}
