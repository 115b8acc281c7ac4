#include "src/transport/collective.h"

#include "src/base/mem.h"

#include <string.h>

/* Rank p sums slice p, so that every element is added in rank order by one rank, and each rank
 * moves 2 (N-1)/N of the data, as a ring does, in two steps instead of 2 (N-1). */

struct qh_collective {
    qh_transport *transport; /* borrowed */
    int rank;
    int64_t capacity;      /* bytes in each of sum and inbox */
    char *sum;             /* owned: the sum of this rank's slice */
    char *inbox;           /* owned: where a transport without views puts blocks */
    qh_transfer *out, *in; /* owned, [n_ranks]: slices to sum */
    qh_transfer *out_sum;  /* owned, [n_ranks]: the sum of this rank's slice, to all others */
};

typedef struct element {
    size_t bytes;
    void (*add)(void *acc, const void *x, int64_t n);
} element;

static void add_float(void *acc, const void *x, int64_t n)
{
    float *restrict a = acc;
    const float *restrict b = x;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

static void add_double(void *acc, const void *x, int64_t n)
{
    double *restrict a = acc;
    const double *restrict b = x;

    for (int64_t i = 0; i < n; i++)
        a[i] += b[i];
}

static const element float_element = {sizeof(float), add_float};
static const element double_element = {sizeof(double), add_double};

qh_status qh_collective_new(qh_transport *t, int rank, qh_collective **out)
{
    qh_status st;
    qh_collective *c = NULL;

    QH_ASSERT(rank >= 0 && rank < t->n_ranks);
    QH_TRY(st, QH_NEW(&c));
    c->transport = t;
    c->rank = rank;
    QH_TRY(st, QH_NEW_ARRAY(&c->out, t->n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&c->in, t->n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&c->out_sum, t->n_ranks));
    *out = c;
    c = NULL; /* handed over */
out:
    qh_collective_free(c);
    return st;
}

void qh_collective_free(qh_collective *c)
{
    if (!c)
        return;
    qh_mem_free(c->out_sum);
    qh_mem_free(c->in);
    qh_mem_free(c->out);
    qh_mem_free(c->inbox);
    qh_mem_free(c->sum);
    qh_mem_free(c);
}

/* Where slice p of n elements begins; slices differ by one element at most. */
static int64_t slice_first(const qh_collective *c, int64_t n, int p)
{
    int64_t n_ranks = c->transport->n_ranks;

    return n / n_ranks * p + n % n_ranks * p / n_ranks;
}

static int64_t slice_size(const qh_collective *c, int64_t n, int p)
{
    return slice_first(c, n, p + 1) - slice_first(c, n, p);
}

/* Room for the sum of a slice, and for a block of at most that size plus one from every rank. */
static qh_status reserve(qh_collective *c, int64_t bytes, int64_t n_blocks)
{
    qh_status st;

    if (bytes <= c->capacity)
        return QH_OK;
    qh_mem_free(c->sum);
    qh_mem_free(c->inbox);
    c->sum = c->inbox = NULL;
    c->capacity = 0;
    QH_TRY(st, QH_NEW_ARRAY(&c->sum, bytes));
    QH_TRY(st, qh_mem_alloc((void **)&c->inbox, n_blocks, (size_t)bytes));
    c->capacity = bytes;
out:
    return st;
}

/* Step 1: every rank sends each other rank that one's slice, and sums its own in rank order. */
static qh_status reduce_slice(qh_collective *c, element e, char *data, int64_t n)
{
    qh_transport *t = c->transport;
    int rank = c->rank, n_ranks = t->n_ranks;
    int64_t own = slice_size(c, n, rank), own_bytes = own * (int64_t)e.bytes;
    const char *mine = data + slice_first(c, n, rank) * (int64_t)e.bytes;
    qh_status st = QH_OK;

    for (int i = 1; i < n_ranks; i++) {
        int p = (rank + i) % n_ranks;

        QH_TRY(st, t->ops->send_begin(t, rank, p, data + slice_first(c, n, p) * (int64_t)e.bytes,
                                      slice_size(c, n, p) * (int64_t)e.bytes, &c->out[p]));
    }
    for (int p = 0; p < n_ranks; p++)
        if (p != rank)
            QH_TRY(st, t->ops->recv_begin(t, rank, p, c->inbox + p * c->capacity, own_bytes,
                                          &c->in[p]));
    for (int p = 0; p < n_ranks; p++) {
        if (p != rank)
            QH_TRY(st, t->ops->recv_finish(t, rank, &c->in[p]));
        if (p == 0)
            memcpy(c->sum, p == rank ? mine : c->in[p].view, (size_t)own_bytes);
        else
            e.add(c->sum, p == rank ? mine : c->in[p].view, own);
        if (p != rank)
            t->ops->recv_release(t, rank, &c->in[p]);
    }
out:
    return st;
}

/* Step 2: every rank sends the sum of its slice to all. The sum of slice p may overwrite data only
 * after p has read what it was sent in step 1; p released that before it sent its sum. */
static qh_status share_sums(qh_collective *c, element e, char *data, int64_t n)
{
    qh_transport *t = c->transport;
    int rank = c->rank, n_ranks = t->n_ranks;
    int64_t own_bytes = slice_size(c, n, rank) * (int64_t)e.bytes;
    qh_status st = QH_OK;

    for (int i = 1; i < n_ranks; i++)
        QH_TRY(st, t->ops->send_begin(t, rank, (rank + i) % n_ranks, c->sum, own_bytes,
                                      &c->out_sum[(rank + i) % n_ranks]));
    for (int p = 0; p < n_ranks; p++)
        if (p != rank)
            QH_TRY(st, t->ops->recv_begin(t, rank, p, c->inbox + p * c->capacity,
                                          slice_size(c, n, p) * (int64_t)e.bytes, &c->in[p]));
    memcpy(data + slice_first(c, n, rank) * (int64_t)e.bytes, c->sum, (size_t)own_bytes);
    for (int i = 1; i < n_ranks; i++) {
        int p = (rank + n_ranks - i) % n_ranks;

        QH_TRY(st, t->ops->recv_finish(t, rank, &c->in[p]));
        QH_TRY(st, t->ops->send_finish(t, rank, &c->out[p]));
        memcpy(data + slice_first(c, n, p) * (int64_t)e.bytes, c->in[p].view,
               (size_t)c->in[p].bytes);
        t->ops->recv_release(t, rank, &c->in[p]);
    }
    for (int i = 1; i < n_ranks; i++)
        QH_TRY(st, t->ops->send_finish(t, rank, &c->out_sum[(rank + i) % n_ranks]));
out:
    return st;
}

static qh_status allreduce(qh_collective *c, element e, char *data, int64_t n)
{
    int64_t n_ranks = c->transport->n_ranks;
    qh_status st = QH_OK;

    QH_ASSERT(n >= 0);
    if (n == 0 || n_ranks == 1)
        return QH_OK;
    qh_transport_use_lane(c->transport, c->rank, QH_LANE_SUMS);
    QH_TRY(st, reserve(c, (n + n_ranks - 1) / n_ranks * (int64_t)e.bytes, n_ranks));
    QH_TRY(st, reduce_slice(c, e, data, n));
    QH_TRY(st, share_sums(c, e, data, n));
out:
    qh_transport_use_lane(c->transport, c->rank, QH_LANE_EXCHANGE);
    return st;
}

qh_status qh_allreduce_float(qh_collective *c, float *data, int64_t n)
{
    return allreduce(c, float_element, (char *)data, n);
}

qh_status qh_allreduce_double(qh_collective *c, double *data, int64_t n)
{
    return allreduce(c, double_element, (char *)data, n);
}
