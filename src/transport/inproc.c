#include "src/base/mem.h"
#include "src/transport/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

/* A channel is a ring of posted blocks under its own lock. Each side has one thread, so a channel
 * has at most two waiters: the sender (for a release) and the receiver (for a block), which share
 * one condition variable. Nothing spins, so many more ranks than cores work.
 *
 * Lock-free rings were set aside: a block is tens of kilobytes of decoding, a lock costs tens of
 * nanoseconds, and growing a ring while the other side reads it is where such code goes wrong. */

typedef enum block_state { BLOCK_POSTED, BLOCK_VIEWED, BLOCK_RELEASED } block_state;

typedef struct block {
    const void *data; /* borrowed from the sender */
    int64_t bytes;
    block_state state;
} block;

typedef struct channel {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    block *ring; /* owned, [capacity], a power of two; block k stands at k % capacity */
    int64_t capacity;
    uint64_t base;       /* blocks before it are released */
    uint64_t n_sent;     /* blocks posted so far */
    uint64_t n_expected; /* receives begun so far */
} channel;

typedef struct inproc {
    qh_transport face; /* first, so that a qh_transport * is an inproc * */
    channel *channels; /* owned, [n_ranks * n_ranks], by source, then destination */
    int64_t n_ready;   /* channels whose lock and condition exist */
    atomic_bool aborted;
    atomic_int culprit; /* the rank that failed first */
    atomic_bool
        *left; /* owned, [n_ranks]: this rank failed or was told to stop; it reads no more */
} inproc;

static channel *channel_of(inproc *t, int src, int dst)
{
    QH_ASSERT(src >= 0 && src < t->face.n_ranks && dst >= 0 && dst < t->face.n_ranks);
    return &t->channels[(int64_t)src * t->face.n_ranks + dst];
}

static block *block_at(const channel *c, uint64_t ticket)
{
    return &c->ring[ticket & (uint64_t)(c->capacity - 1)];
}

static void wake(channel *c)
{
    pthread_mutex_lock(&c->lock);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static bool has_view(const channel *c)
{
    for (uint64_t k = c->base; k < c->n_sent; k++)
        if (block_at(c, k)->state == BLOCK_VIEWED)
            return true;
    return false;
}

/* rank takes no further part: it reads no view any more. Comes back when no one else reads its
 * blocks either, so that the caller may free them. No cycle of waits: a rank is marked before it
 * waits, and nobody waits for a marked one. */
static void leave(inproc *t, int rank)
{
    int n = t->face.n_ranks;

    atomic_store(&t->left[rank], true);
    for (int src = 0; src < n; src++)
        wake(channel_of(t, src, rank));
    for (int dst = 0; dst < n; dst++) {
        channel *c = channel_of(t, rank, dst);

        pthread_mutex_lock(&c->lock);
        while (has_view(c) && !atomic_load(&t->left[dst]))
            pthread_cond_wait(&c->changed, &c->lock);
        pthread_mutex_unlock(&c->lock);
    }
}

static qh_status interrupted(inproc *t, int rank)
{
    leave(t, rank);
    return qh_fail(QH_EINTERRUPT, "device %d: stopped because device %d failed", rank,
                   atomic_load(&t->culprit));
}

static qh_status grow(channel *c, int64_t wanted)
{
    int64_t capacity = c->capacity ? c->capacity : 8;
    block *ring = NULL;
    qh_status st;

    while (capacity < wanted)
        capacity *= 2;
    if (capacity == c->capacity)
        return QH_OK;
    st = QH_NEW_ARRAY(&ring, capacity);
    if (st < 0)
        return st;
    for (uint64_t k = c->base; k < c->n_sent; k++)
        ring[k & (uint64_t)(capacity - 1)] = *block_at(c, k);
    qh_mem_free(c->ring);
    c->ring = ring;
    c->capacity = capacity;
    return QH_OK;
}

static qh_status reserve(qh_transport *face, int rank, int peer, int64_t n_blocks)
{
    channel *c = channel_of((inproc *)face, rank, peer);
    qh_status st;

    pthread_mutex_lock(&c->lock);
    st = grow(c, n_blocks);
    pthread_mutex_unlock(&c->lock);
    return st;
}

static qh_status send_begin(qh_transport *face, int rank, int peer, const void *data, int64_t bytes,
                            qh_transfer *out)
{
    inproc *t = (inproc *)face;
    channel *c = channel_of(t, rank, peer);
    qh_status st = QH_OK;
    uint64_t ticket = 0;

    QH_ASSERT(bytes >= 0);
    if (atomic_load(&t->aborted))
        return interrupted(t, rank);
    pthread_mutex_lock(&c->lock);
    if (c->n_sent - c->base == (uint64_t)c->capacity)
        st = grow(c, c->capacity + 1);
    if (st == QH_OK) {
        ticket = c->n_sent++;
        *block_at(c, ticket) = (block){.data = data, .bytes = bytes, .state = BLOCK_POSTED};
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    if (st == QH_OK)
        *out = (qh_transfer){
            .peer = peer, .bytes = bytes, .buffer = (void *)(uintptr_t)data, .ticket = ticket};
    return st;
}

static bool is_released(const channel *c, uint64_t ticket)
{
    return ticket < c->base || block_at(c, ticket)->state == BLOCK_RELEASED;
}

static qh_status send_finish(qh_transport *face, int rank, qh_transfer *x)
{
    inproc *t = (inproc *)face;
    channel *c = channel_of(t, rank, x->peer);
    bool done;

    pthread_mutex_lock(&c->lock);
    QH_ASSERT(x->ticket < c->n_sent);
    while (!(done = is_released(c, x->ticket)) && !atomic_load(&t->aborted))
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return done ? QH_OK : interrupted(t, rank);
}

static qh_status recv_begin(qh_transport *face, int rank, int peer, void *buffer, int64_t bytes,
                            qh_transfer *out)
{
    inproc *t = (inproc *)face;
    channel *c = channel_of(t, peer, rank);
    uint64_t ticket;

    QH_ASSERT(bytes >= 0);
    if (atomic_load(&t->aborted))
        return interrupted(t, rank);
    pthread_mutex_lock(&c->lock);
    ticket = c->n_expected++;
    pthread_mutex_unlock(&c->lock);
    *out = (qh_transfer){.peer = peer, .bytes = bytes, .buffer = buffer, .ticket = ticket};
    return QH_OK;
}

static qh_status recv_finish(qh_transport *face, int rank, qh_transfer *x)
{
    inproc *t = (inproc *)face;
    channel *c = channel_of(t, x->peer, rank);
    int64_t sent_bytes = 0;
    bool stopped;

    pthread_mutex_lock(&c->lock);
    while (!(stopped = atomic_load(&t->aborted)) && x->ticket >= c->n_sent)
        pthread_cond_wait(&c->changed, &c->lock);
    if (!stopped) {
        block *b = block_at(c, x->ticket);

        QH_ASSERT(x->ticket >= c->base && b->state == BLOCK_POSTED);
        sent_bytes = b->bytes;
        if (sent_bytes == x->bytes) {
            x->view = b->data;
            b->state = BLOCK_VIEWED;
        }
    }
    pthread_mutex_unlock(&c->lock);
    if (stopped)
        return interrupted(t, rank);
    if (sent_bytes != x->bytes)
        return qh_fail(QH_EINTERNAL,
                       "device %d: block %llu from device %d has %lld bytes; %lld were expected",
                       rank, (unsigned long long)x->ticket, x->peer, (long long)sent_bytes,
                       (long long)x->bytes);
    return QH_OK;
}

static void recv_release(qh_transport *face, int rank, qh_transfer *x)
{
    inproc *t = (inproc *)face;
    channel *c = channel_of(t, x->peer, rank);

    if (atomic_load(&t->left[rank]))
        return; /* the sender may be gone */
    pthread_mutex_lock(&c->lock);
    QH_ASSERT(x->ticket >= c->base && x->ticket < c->n_sent &&
              block_at(c, x->ticket)->state == BLOCK_VIEWED);
    block_at(c, x->ticket)->state = BLOCK_RELEASED;
    while (c->base < c->n_sent && block_at(c, c->base)->state == BLOCK_RELEASED)
        c->base++;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    x->view = NULL;
}

static void abort_all(qh_transport *face, int rank)
{
    inproc *t = (inproc *)face;
    int nobody = -1;

    QH_ASSERT(rank >= 0 && rank < face->n_ranks);
    atomic_compare_exchange_strong(&t->culprit, &nobody, rank);
    atomic_store(&t->aborted, true);
    for (int64_t i = 0; i < t->n_ready; i++)
        wake(&t->channels[i]);
    leave(t, rank);
}

static void inproc_free(qh_transport *face)
{
    inproc *t = (inproc *)face;

    if (!t)
        return;
    for (int64_t i = 0; i < t->n_ready; i++) {
        pthread_cond_destroy(&t->channels[i].changed);
        pthread_mutex_destroy(&t->channels[i].lock);
        qh_mem_free(t->channels[i].ring);
    }
    qh_mem_free(t->left);
    qh_mem_free(t->channels);
    qh_mem_free(t);
}

static const qh_transport_ops inproc_ops = {
    .name = "inproc",
    .help = "ranks are threads of one process; blocks are read where they lie",
    .send_begin = send_begin,
    .send_finish = send_finish,
    .recv_begin = recv_begin,
    .recv_finish = recv_finish,
    .recv_release = recv_release,
    .reserve = reserve,
    .abort = abort_all,
    .free = inproc_free,
};

qh_status qh_inproc_new(int n_ranks, qh_transport **out)
{
    qh_status st;
    inproc *t = NULL;
    int64_t n_channels = (int64_t)n_ranks * n_ranks;

    QH_ASSERT(n_ranks >= 1);
    QH_TRY(st, QH_NEW(&t));
    t->face = (qh_transport){.ops = &inproc_ops, .n_ranks = n_ranks};
    atomic_init(&t->culprit, -1);
    QH_TRY(st, QH_NEW_ARRAY(&t->left, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&t->channels, n_channels));
    for (; t->n_ready < n_channels; t->n_ready++) {
        pthread_mutex_init(&t->channels[t->n_ready].lock, NULL);
        pthread_cond_init(&t->channels[t->n_ready].changed, NULL);
    }
    *out = &t->face;
    t = NULL; /* handed over */
out:
    inproc_free(t ? &t->face : NULL);
    return st;
}
