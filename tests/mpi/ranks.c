/* What one rank does in the tests of the MPI transport; transport.py runs them under mpirun.
 *
 *   ranks CASE [CUT_BYTES [synchronous]] */
#include "src/base/mem.h"
#include "src/transport/collective.h"
#include "src/transport/mpi.h"
#include "tests/support/pattern.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void last_words(qh_status st, const char *text)
{
    fprintf(stderr, "cause %d: %s\n", -st, text);
}

/* Sums on their own lane in the middle of a step. */
typedef struct lanes {
    qh_transport *t;
    qh_collective *sums;
} lanes;

static qh_status sum_up(void *ctx, int rank, int step)
{
    const lanes *l = ctx;
    double sum = rank;
    qh_status st;

    QH_TRY(st, qh_allreduce_double(l->sums, &sum, 1));
    if (sum != l->t->n_ranks * (l->t->n_ranks - 1) / 2)
        QH_TRY(st, qh_fail(QH_EINTERNAL, "step %d: the sum is %g", step, sum));
out:
    return st;
}

static qh_status patterns(qh_transport *t, int rank)
{
    lanes l = {.t = t};
    qh_status st;

    QH_TRY(st, qh_collective_new(t, rank, &l.sums));
    for (uint64_t seed = 1; seed <= 3; seed++) {
        pattern p = {.t = t, .n_ranks = t->n_ranks, .seed = seed, .step = sum_up, .ctx = &l};

        QH_TRY(st, pattern_run(&p, rank));
    }
out:
    qh_collective_free(l.sums);
    return st;
}

/* Room that was asked for beforehand is enough. */
static qh_status steady(qh_transport *t, int rank)
{
    enum { ROUNDS = 20, LARGEST = 100000 };
    qh_transfer send[PATTERN_MAX_RANKS], recv[PATTERN_MAX_RANKS];
    int64_t before = 0;
    char *out = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&out, LARGEST));
    for (int p = 0; p < t->n_ranks; p++) {
        QH_TRY(st, t->ops->reserve(t, rank, p, 1));
        QH_TRY(st, t->ops->expect(t, rank, LARGEST / (p + 1)));
    }
    before = qh_mem_count();
    for (int round = 0; round < ROUNDS; round++) {
        for (int p = 0; p < t->n_ranks; p++) /* a block of the largest size, or any below */
            QH_TRY(st, t->ops->send_begin(t, rank, p, out, LARGEST / (rank + 1) / (1 + round % 7),
                                          &send[p]));
        for (int p = 0; p < t->n_ranks; p++)
            QH_TRY(st, t->ops->recv_begin(t, rank, p, NULL, LARGEST / (p + 1) / (1 + round % 7),
                                          &recv[p]));
        for (int p = 0; p < t->n_ranks; p++) {
            QH_TRY(st, t->ops->recv_finish(t, rank, &recv[p]));
            QH_TRY(st, t->ops->send_finish(t, rank, &send[p]));
            t->ops->recv_release(t, rank, &recv[p]);
        }
    }
    if (qh_mem_count() != before)
        st = qh_fail(QH_EINTERNAL, "%lld allocations where none was to be",
                     (long long)(qh_mem_count() - before));
out:
    qh_mem_free(out);
    return st;
}

/* Rank 0 sends `sent` bytes, rank 1 expects others. */
static qh_status sizes(qh_transport *t, int rank, int64_t sent, int64_t expected)
{
    static char bytes[1000];
    qh_transfer x;
    qh_status st = QH_OK;

    if (rank == 0) {
        QH_TRY(st, t->ops->send_begin(t, 0, 1, bytes, sent, &x));
        QH_TRY(st, t->ops->send_finish(t, 0, &x));
        QH_TRY(st, t->ops->recv_begin(t, 0, 1, bytes, 1, &x)); /* which never comes */
        QH_TRY(st, t->ops->recv_finish(t, 0, &x));
    } else if (rank == 1) {
        QH_TRY(st, t->ops->recv_begin(t, 1, 0, NULL, expected, &x));
        QH_TRY(st, t->ops->recv_finish(t, 1, &x));
    }
out:
    return st;
}

static qh_status too_few(qh_transport *t, int rank)
{
    return sizes(t, rank, 407, 408);
}

static qh_status too_many(qh_transport *t, int rank)
{
    return sizes(t, rank, 409, 408);
}

static qh_status pieces_too_many(qh_transport *t, int rank)
{
    return sizes(t, rank, 1000, 400);
}

/* Waits for a block that never comes. */
static qh_status wait_for(qh_transport *t, int rank, int peer)
{
    qh_transfer x;
    qh_status st;

    QH_TRY(st, t->ops->recv_begin(t, rank, peer, NULL, 1, &x));
    QH_TRY(st, t->ops->recv_finish(t, rank, &x));
out:
    return st;
}

static qh_status last_fails(qh_transport *t, int rank)
{
    if (rank == t->n_ranks - 1)
        return qh_fail(QH_EINPUT, "part: the last rank's is missing");
    return wait_for(t, rank, t->n_ranks - 1);
}

static qh_status all_fail(qh_transport *t, int rank)
{
    (void)t;
    (void)rank;
    return qh_fail(QH_ERESOURCE, "memory: short everywhere");
}

/* Rank 0 is busy elsewhere, and does not look at the transport. */
static qh_status deaf(qh_transport *t, int rank)
{
    if (rank == 1)
        return qh_fail(QH_EINPUT, "part: rank 1's is missing");
    sleep(60);
    return wait_for(t, rank, 1);
}

static qh_status killed(qh_transport *t, int rank)
{
    if (rank == 1) {
        nanosleep(&(struct timespec){0, 200000000}, NULL);
        raise(SIGKILL);
    }
    return wait_for(t, rank, 1);
}

static const struct {
    const char *name;
    qh_status (*run)(qh_transport *t, int rank);
} cases[] = {{"patterns", patterns},
             {"steady", steady},
             {"too-few", too_few},
             {"too-many", too_many},
             {"pieces-too-many", pieces_too_many},
             {"last-fails", last_fails},
             {"all-fail", all_fail},
             {"deaf", deaf},
             {"killed", killed}};

int main(int argc, char **argv)
{
    qh_mpi_config c = {.last_words = last_words};
    qh_transport *t = NULL;
    qh_status st;

    QH_TRY(st, qh_mpi_start(&argc, &argv));
    c.cut_bytes = argc > 2 ? atoll(argv[2]) : 0;
    c.synchronous = argc > 3;
    QH_TRY(st, qh_mpi_new(&c, &t));
    st = qh_fail(QH_EUSAGE, "no such case");
    for (size_t i = 0; argc > 1 && i < QH_COUNT(cases); i++)
        if (strcmp(cases[i].name, argv[1]) == 0)
            st = cases[i].run(t, qh_mpi_rank(t));
out:
    if (st == QH_OK) {
        if (qh_mpi_rank(t) == 0)
            printf("passed\n");
        fflush(stdout);
    }
    qh_mpi_leave(t, st);
}
