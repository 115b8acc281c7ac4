/* Collectives as messages. An all-reduce stays one, for qhalo has it; the others follow the plain
 * algorithms of Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations
 * in MPICH, IJHPCA 19(1), 2005:
 *
 *   barrier                      dissemination, ceil(log2 n) rounds of 1 byte
 *   bcast, reduce                binomial tree, a node's messages one after the other
 *   gather(v), scatter(v)        between the root and each, all at once
 *   allgather(v)                 ring, n - 1 steps
 *   alltoall(v), reducescatter   from each to each, all at once
 *
 * Reductions compute what they are given when the messages are there. */
#include "traces/import_members.h"

enum { TAG = QH_FOREIGN_COLLECTIVE_TAG };

static int32_t line_of(const qh_smpi *s)
{
    return s->lines.number;
}

/* Messages of a rank to itself have no request, so rank and peer may be the same. */
static qh_status send(qh_smpi *s, int rank, int peer, int64_t bytes)
{
    int64_t request;

    return qh_foreign_send(s->f, rank, line_of(s), peer, TAG, bytes, &request);
}

static qh_status recv(qh_smpi *s, int rank, int peer)
{
    int64_t request;

    return qh_foreign_recv(s->f, rank, line_of(s), peer, TAG, INT64_MAX, &request);
}

/* Only what the collective posted: the program's own requests stay open. */
static qh_status wait_since(qh_smpi *s, int rank, int64_t from)
{
    const qh_foreign_rank *r = &s->f->rank[rank];
    int64_t n = r->n;
    qh_status st = QH_OK;

    for (int64_t i = from; i < n; i++)
        if (r->op[i].kind == QH_FOREIGN_SEND || r->op[i].kind == QH_FOREIGN_RECV)
            QH_TRY(st, qh_foreign_wait(s->f, rank, line_of(s), i));
out:
    return st;
}

/* --- algorithms --- */

static qh_status barrier(qh_smpi *s, int rank)
{
    int n = s->f->n;
    qh_status st = QH_OK;

    for (int k = 1; k < n; k *= 2) {
        int64_t from = s->f->rank[rank].n;

        QH_TRY(st, recv(s, rank, (rank - k + n) % n));
        QH_TRY(st, send(s, rank, (rank + k) % n, 1));
        QH_TRY(st, wait_since(s, rank, from));
    }
out:
    return st;
}

/* A message up or down the tree, and the wait for it. */
static qh_status hop(qh_smpi *s, int rank, int peer, bool sent, int64_t bytes)
{
    int64_t from = s->f->rank[rank].n;
    qh_status st;

    QH_TRY(st, sent ? send(s, rank, peer, bytes) : recv(s, rank, peer));
    QH_TRY(st, wait_since(s, rank, from));
out:
    return st;
}

/* Ranks counted from the root: v has the parent v without its lowest bit, and children v + 2^i
 * below that bit. */
static qh_status bcast(qh_smpi *s, int rank, int root, int64_t bytes)
{
    int n = s->f->n, v = (rank - root + n) % n, bit = 1;
    qh_status st = QH_OK;

    while (bit < n && !(v & bit))
        bit *= 2;
    if (v > 0)
        QH_TRY(st, hop(s, rank, (v - bit + root) % n, false, bytes));
    for (bit /= 2; bit > 0; bit /= 2)
        if (v + bit < n)
            QH_TRY(st, hop(s, rank, (v + bit + root) % n, true, bytes));
out:
    return st;
}

static qh_status reduce(qh_smpi *s, int rank, int root, int64_t bytes)
{
    int n = s->f->n, v = (rank - root + n) % n;
    qh_status st = QH_OK;

    for (int bit = 1; bit < n; bit *= 2) {
        if (v & bit) {
            QH_TRY(st, hop(s, rank, (v - bit + root) % n, true, bytes));
            break;
        }
        if (v + bit < n)
            QH_TRY(st, hop(s, rank, (v + bit + root) % n, false, bytes));
    }
out:
    return st;
}

/* In step i the block of rank - i goes on to the next rank. bytes[n], by rank. */
static qh_status ring(qh_smpi *s, int rank, const int64_t *bytes)
{
    int n = s->f->n;
    qh_status st = QH_OK;

    for (int i = 0; i < n - 1; i++) {
        int64_t from = s->f->rank[rank].n;

        QH_TRY(st, recv(s, rank, (rank + n - 1) % n));
        QH_TRY(st, send(s, rank, (rank + 1) % n, bytes[(rank - i + n) % n]));
        QH_TRY(st, wait_since(s, rank, from));
    }
out:
    return st;
}

/* bytes[n], by who gets them; the nearest ranks come first, so that not all send to one. */
static qh_status exchange(qh_smpi *s, int rank, const int64_t *bytes)
{
    int n = s->f->n;
    int64_t from = s->f->rank[rank].n;
    qh_status st = QH_OK;

    for (int i = 1; i < n; i++)
        QH_TRY(st, recv(s, rank, (rank - i + n) % n));
    for (int i = 1; i < n; i++)
        QH_TRY(st, send(s, rank, (rank + i) % n, bytes[(rank + i) % n]));
    QH_TRY(st, wait_since(s, rank, from));
out:
    return st;
}

static qh_status to_root(qh_smpi *s, int rank, int root, int64_t bytes)
{
    int n = s->f->n;
    int64_t from = s->f->rank[rank].n;
    qh_status st = QH_OK;

    if (rank != root)
        return hop(s, rank, root, true, bytes);
    for (int i = 1; i < n; i++)
        QH_TRY(st, recv(s, rank, (rank + i) % n));
    QH_TRY(st, wait_since(s, rank, from));
out:
    return st;
}

static qh_status from_root(qh_smpi *s, int rank, int root, const int64_t *bytes)
{
    int n = s->f->n;
    int64_t from = s->f->rank[rank].n;
    qh_status st = QH_OK;

    if (rank != root)
        return hop(s, rank, root, false, 0);
    for (int i = 1; i < n; i++)
        QH_TRY(st, send(s, rank, (rank + i) % n, bytes[(rank + i) % n]));
    QH_TRY(st, wait_since(s, rank, from));
out:
    return st;
}

/* --- the actions: arguments, as SimGrid reads them --- */

/* The root in argument i, 0 where it is not given. */
static qh_status read_root(qh_smpi *s, int rank, int i, int *root)
{
    int64_t v = 0;
    qh_status st = QH_OK;

    if (s->lines.n > 2 + i)
        QH_TRY(st, qh_smpi_int(s, rank, i, "the root", s->f->n - 1, &v));
    *root = (int)v;
out:
    return st;
}

/* n sizes from argument i on. */
static qh_status read_sizes(qh_smpi *s, int rank, int i, int64_t type_bytes)
{
    qh_status st = QH_OK;

    for (int r = 0; r < s->f->n; r++)
        QH_TRY(st, qh_smpi_bytes(s, rank, i + r, type_bytes, &s->bytes[r]));
out:
    return st;
}

static qh_status same_size(qh_smpi *s, int rank, int i, int64_t type_bytes)
{
    int64_t bytes = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_bytes(s, rank, i, type_bytes, &bytes));
    for (int r = 0; r < s->f->n; r++)
        s->bytes[r] = bytes;
out:
    return st;
}

typedef struct action action;
struct action {
    const char *name;
    /* Arguments: fixed + lists * n at least, and `optional` more. */
    int fixed, lists, optional;
    int root; /* argument with the root, counted behind the lists; -1: it has none */
    int type; /* with the data type, likewise; -1: none */
    qh_status (*run)(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes);
};

static qh_status run_barrier(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    (void)a;
    (void)root;
    (void)type_bytes;
    return barrier(s, rank);
}

static qh_status run_bcast(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    int64_t bytes = 0;
    qh_status st;

    (void)a;
    QH_TRY(st, qh_smpi_bytes(s, rank, 0, type_bytes, &bytes));
    QH_TRY(st, bcast(s, rank, root, bytes));
out:
    return st;
}

/* reduce and allreduce: what is sent, what is computed. */
static qh_status run_reduce(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    int64_t bytes = 0;
    double flops = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_bytes(s, rank, 0, type_bytes, &bytes));
    QH_TRY(st, qh_smpi_real(s, rank, 1, "the number of flops", &flops));
    QH_TRY(st, a->root < 0 ? qh_foreign_reduce(s->f, rank, line_of(s), bytes)
                           : reduce(s, rank, root, bytes));
    QH_TRY(st, qh_smpi_compute(s, rank, flops));
out:
    return st;
}

static qh_status run_alltoall(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    qh_status st;

    (void)root;
    QH_TRY(st, a->lists ? read_sizes(s, rank, 1, type_bytes) : same_size(s, rank, 0, type_bytes));
    QH_TRY(st, exchange(s, rank, s->bytes));
out:
    return st;
}

static qh_status run_gather(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    int64_t bytes = 0;
    qh_status st;

    (void)a;
    QH_TRY(st, qh_smpi_bytes(s, rank, 0, type_bytes, &bytes));
    QH_TRY(st, to_root(s, rank, root, bytes));
out:
    return st;
}

static qh_status run_allgather(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    qh_status st;

    (void)root;
    QH_TRY(st, a->lists ? read_sizes(s, rank, 1, type_bytes) : same_size(s, rank, 0, type_bytes));
    QH_TRY(st, ring(s, rank, s->bytes));
out:
    return st;
}

static qh_status run_scatter(qh_smpi *s, const action *a, int rank, int root, int64_t type_bytes)
{
    qh_status st;

    QH_TRY(st, a->lists ? read_sizes(s, rank, 0, type_bytes) : same_size(s, rank, 0, type_bytes));
    QH_TRY(st, from_root(s, rank, root, s->bytes));
out:
    return st;
}

static qh_status run_reducescatter(qh_smpi *s, const action *a, int rank, int root,
                                   int64_t type_bytes)
{
    double flops = 0;
    qh_status st;

    (void)a;
    (void)root;
    QH_TRY(st, read_sizes(s, rank, 0, type_bytes));
    QH_TRY(st, qh_smpi_real(s, rank, s->f->n, "the number of flops", &flops));
    QH_TRY(st, exchange(s, rank, s->bytes));
    QH_TRY(st, qh_smpi_compute(s, rank, flops));
out:
    return st;
}

static const action actions[] = {
    {"barrier", 0, 0, 0, -1, -1, run_barrier},
    {"bcast", 1, 0, 2, 1, 2, run_bcast},
    {"reduce", 2, 0, 2, 2, 3, run_reduce},
    {"allreduce", 2, 0, 1, -1, 2, run_reduce},
    {"alltoall", 2, 0, 2, -1, 2, run_alltoall},
    {"alltoallv", 2, 2, 2, -1, 2, run_alltoall},
    {"gather", 2, 0, 3, 2, 3, run_gather},
    {"gatherv", 1, 1, 3, 1, 2, run_gather},
    {"allgather", 2, 0, 2, -1, 2, run_allgather},
    {"allgatherv", 1, 1, 2, -1, 1, run_allgather},
    {"scatter", 2, 0, 3, 2, 3, run_scatter},
    {"scatterv", 1, 1, 3, 1, 2, run_scatter},
    {"reducescatter", 1, 1, 1, -1, 1, run_reducescatter},
};

qh_status qh_smpi_collective(qh_smpi *s, int rank, bool *known)
{
    const action *a = NULL;
    int root = 0, lists, least;
    int64_t type_bytes = 1;
    qh_status st;

    for (size_t i = 0; i < QH_COUNT(actions) && !a; i++)
        if (qh_word_is(s->lines.word[1], actions[i].name))
            a = &actions[i];
    *known = a != NULL;
    if (!a)
        return QH_OK;
    lists = a->lists * s->f->n;
    least = a->fixed + lists;
    QH_TRY(st, qh_smpi_want(s, rank, least, least + a->optional));
    if (a->root >= 0)
        QH_TRY(st, read_root(s, rank, a->root + lists, &root));
    QH_TRY(st, qh_smpi_type(s, rank, a->type < 0 ? least : a->type + lists, &type_bytes));
    QH_TRY(st, qh_foreign_enter(s->f, rank, line_of(s), a->name, root));
    QH_TRY(st, a->run(s, a, rank, root, type_bytes));
out:
    return st;
}
