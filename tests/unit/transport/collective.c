#include "src/transport/collective.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_RANKS = 16 };

static const int rank_counts[] = {1, 2, 3, 8, 16};
static const int64_t sizes[] = {1, 0, 2, 15, 16, 17, 97, 4099, 1}; /* shrinking again at the end */

static double value(int rank, size_t round, int64_t i)
{
    qh_key key = qh_rand_key(5, QH_RAND_SAMPLE, (uint32_t)round, (uint32_t)rank, 0);

    return qh_rand_normal(key, (uint64_t)i) * (rank % 3 ? 1e-6 : 1e6); /* order matters */
}

typedef struct seat {
    qh_transport *t;
    int rank;
    qh_status status;
    char wrong[200]; /* the first wrong element, or "" */
} seat;

#define GUARD 12345

/* One all-reduce of each type and its check against the serial sum in rank order. */
static qh_status round_of(seat *s, qh_collective *c, size_t round, double *d, float *f)
{
    int64_t n = sizes[round];
    qh_status st;

    for (int64_t i = 0; i < n; i++) {
        d[i] = value(s->rank, round, i);
        f[i] = (float)d[i];
    }
    d[n] = GUARD;
    f[n] = GUARD;
    QH_TRY(st, qh_allreduce_double(c, d, n));
    QH_TRY(st, qh_allreduce_float(c, f, n));
    for (int64_t i = 0; i < n; i++) {
        double sum = value(0, round, i);
        float sum_float = (float)value(0, round, i);

        for (int p = 1; p < s->t->n_ranks; p++) {
            sum += value(p, round, i);
            sum_float += (float)value(p, round, i);
        }
        if ((memcmp(&sum, &d[i], sizeof sum) != 0 ||
             memcmp(&sum_float, &f[i], sizeof sum_float) != 0) &&
            !*s->wrong)
            snprintf(s->wrong, sizeof s->wrong, "n %lld, element %lld: %a and %a, not %a and %a",
                     (long long)n, (long long)i, d[i], (double)f[i], sum, (double)sum_float);
    }
    if (d[n] != GUARD || f[n] != GUARD)
        snprintf(s->wrong, sizeof s->wrong, "n %lld: the guard is gone", (long long)n);
out:
    return st;
}

static void *run_rank(void *arg)
{
    seat *s = arg;
    qh_collective *c = NULL;
    double *d = NULL;
    float *f = NULL;
    qh_status st;

    QH_TRY(st, qh_collective_new(s->t, s->rank, &c));
    QH_TRY(st, QH_NEW_ARRAY(&d, 5000));
    QH_TRY(st, QH_NEW_ARRAY(&f, 5000));
    for (size_t round = 0; round < QH_COUNT(sizes); round++)
        QH_TRY(st, round_of(s, c, round, d, f));
out:
    if (st < 0)
        s->t->ops->abort(s->t, s->rank);
    qh_mem_free(f);
    qh_mem_free(d);
    qh_collective_free(c);
    s->status = st;
    return NULL;
}

static void run_all(int n_ranks, seat *seats)
{
    qh_transport *t = NULL;
    pthread_t thread[MAX_RANKS];

    ck_assert_int_eq(qh_inproc_new(n_ranks, &t), QH_OK);
    for (int r = 0; r < n_ranks; r++) {
        seats[r] = (seat){.t = t, .rank = r};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &seats[r]), 0);
    }
    for (int r = 0; r < n_ranks; r++)
        pthread_join(thread[r], NULL);
    t->ops->free(t);
}

START_TEST(the_sum_is_the_serial_one_to_the_bit)
{
    seat seats[MAX_RANKS];

    run_all(rank_counts[_i], seats);
    for (int r = 0; r < rank_counts[_i]; r++) {
        ck_assert_int_eq(seats[r].status, QH_OK);
        ck_assert_msg(!*seats[r].wrong, "rank %d of %d: %s", r, rank_counts[_i], seats[r].wrong);
    }
}
END_TEST

/* Whichever allocation fails, on whichever rank: all ranks end, and nothing stays allocated. */
START_TEST(a_failed_allocation_stops_all_ranks)
{
    seat seats[MAX_RANKS];
    int64_t before = qh_mem_bytes();
    int n = 1, n_failed;

    do {
        qh_transport *t = NULL;
        pthread_t thread[3];

        ck_assert_int_eq(qh_inproc_new(3, &t), QH_OK);
        qh_mem_fail_at(n++);
        for (int r = 0; r < 3; r++) {
            seats[r] = (seat){.t = t, .rank = r};
            ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &seats[r]), 0);
        }
        n_failed = 0;
        for (int r = 0; r < 3; r++) {
            pthread_join(thread[r], NULL);
            n_failed += seats[r].status == QH_ERESOURCE;
            ck_assert(seats[r].status == QH_OK || seats[r].status == QH_ERESOURCE ||
                      seats[r].status == QH_EINTERRUPT);
        }
        qh_mem_fail_at(0);
        t->ops->free(t);
        ck_assert_int_le(n_failed, 1);
        ck_assert_int_eq(qh_mem_bytes(), before);
    } while (n_failed > 0);
    ck_assert_int_gt(n, 10); /* it did fail somewhere */
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("collective");
    TCase *t = tcase_create("collective");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_sum_is_the_serial_one_to_the_bit, 0, QH_COUNT(rank_counts));
    tcase_add_test(t, a_failed_allocation_stops_all_ranks);
    suite_add_tcase(s, t);
    return s;
}
