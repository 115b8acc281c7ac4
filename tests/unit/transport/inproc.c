#include "src/base/mem.h"
#include "src/transport/transport.h"
#include "tests/support/pattern.h"
#include "tests/support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

/* Every rank is a thread that runs `body`; its status is kept. */
enum { MAX_RANKS = PATTERN_MAX_RANKS };

typedef struct crew {
    qh_transport *t;
    int n_ranks;
    uint64_t seed;
    qh_status (*body)(struct crew *c, int rank);
    qh_status status[MAX_RANKS];
    char error[MAX_RANKS][QH_ERROR_TEXT_BYTES];
    atomic_int n_waiting; /* for the tests of abort */
} crew;

typedef struct seat {
    crew *c;
    int rank;
} seat;

static void *run_rank(void *arg)
{
    seat *s = arg;

    s->c->status[s->rank] = s->c->body(s->c, s->rank);
    strcpy(s->c->error[s->rank], qh_error_text());
    return NULL;
}

static void run_crew(crew *c)
{
    pthread_t thread[MAX_RANKS];
    seat seats[MAX_RANKS];

    ck_assert_int_eq(qh_inproc_new(c->n_ranks, &c->t), QH_OK);
    for (int r = 0; r < c->n_ranks; r++) {
        seats[r] = (seat){c, r};
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run_rank, &seats[r]), 0);
    }
    for (int r = 0; r < c->n_ranks; r++)
        pthread_join(thread[r], NULL);
    c->t->ops->free(c->t);
}

/* --- random patterns --- */

static qh_status random_pattern(crew *c, int rank)
{
    pattern p = {.t = c->t, .n_ranks = c->n_ranks, .seed = c->seed};

    return pattern_run(&p, rank);
}

static const int rank_counts[] = {1, 2, 3, 8, 16};

START_TEST(random_patterns_arrive_whole_and_in_order)
{
    crew c = {.n_ranks = rank_counts[_i], .seed = (uint64_t)_i + 1, .body = random_pattern};

    run_crew(&c);
    for (int r = 0; r < c.n_ranks; r++)
        ck_assert_msg(c.status[r] == QH_OK, "seed %d, rank %d: %s", _i + 1, r, c.error[r]);
}
END_TEST

/* --- a steady exchange allocates in its first round only, and blocks are not copied --- */
static atomic_llong count_after_first;

static qh_status steady(crew *c, int rank)
{
    int peer = 1 - rank;
    qh_transfer send[3], recv;
    float block[3][100] = {{0}};
    qh_status st = QH_OK;

    for (int round = 0; round < 20; round++) {
        for (int k = 0; k < 3; k++)
            QH_TRY(st,
                   c->t->ops->send_begin(c->t, rank, peer, block[k], sizeof block[k], &send[k]));
        for (int k = 0; k < 3; k++) {
            QH_TRY(st, c->t->ops->recv_begin(c->t, rank, peer, NULL, sizeof block[k], &recv));
            QH_TRY(st, c->t->ops->recv_finish(c->t, rank, &recv));
            if (!recv.view || recv.view == block[k])
                return qh_fail(QH_EINTERNAL, "no view");
            c->t->ops->recv_release(c->t, rank, &recv);
        }
        for (int k = 0; k < 3; k++)
            QH_TRY(st, c->t->ops->send_finish(c->t, rank, &send[k]));
        if (round == 1 && rank == 0) /* the peer has sent too, so both rings are there */
            atomic_store(&count_after_first, qh_mem_count());
    }
out:
    return st;
}

START_TEST(nothing_is_allocated_after_the_first_round)
{
    crew c = {.n_ranks = 2, .body = steady};

    run_crew(&c);
    ck_assert_int_eq(c.status[0], QH_OK);
    ck_assert_int_eq(c.status[1], QH_OK);
    ck_assert_int_eq(qh_mem_count(), atomic_load(&count_after_first));
}
END_TEST

/* --- errors --- */
static qh_status wrong_size(crew *c, int rank)
{
    qh_transfer x;
    char bytes[8] = {0};
    qh_status st;

    if (rank == 0) {
        QH_TRY(st, c->t->ops->send_begin(c->t, 0, 1, bytes, 7, &x));
        QH_TRY(st, c->t->ops->send_finish(c->t, 0, &x));
    } else {
        QH_TRY(st, c->t->ops->recv_begin(c->t, 1, 0, NULL, 8, &x));
        QH_TRY(st, c->t->ops->recv_finish(c->t, 1, &x));
    }
out:
    if (st < 0)
        c->t->ops->abort(c->t, rank);
    return st;
}

START_TEST(another_size_than_sent_is_an_error)
{
    crew c = {.n_ranks = 2, .body = wrong_size};

    run_crew(&c);
    ck_assert_int_eq(c.status[1], QH_EINTERNAL);
    ck_assert_ptr_nonnull(strstr(c.error[1], "from device 0 has 7 bytes; 8 were expected"));
    ck_assert_int_eq(c.status[0], QH_EINTERRUPT);
    ck_assert_ptr_nonnull(strstr(c.error[0], "device 1 failed"));
}
END_TEST

/* Rank 0 fails while some wait for a block and others for a release. */
static qh_status wait_for_ever(crew *c, int rank)
{
    qh_transfer x;
    char byte = 0;
    qh_status st;

    if (rank == 0) {
        while (atomic_load(&c->n_waiting) < c->n_ranks - 1)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        c->t->ops->abort(c->t, 0);
        c->t->ops->abort(c->t, 0); /* once more does no harm */
        return QH_EINTERNAL;
    }
    atomic_fetch_add(&c->n_waiting, 1);
    if (rank % 2) {
        QH_TRY(st, c->t->ops->recv_begin(c->t, rank, 0, NULL, 1, &x));
        QH_TRY(st, c->t->ops->recv_finish(c->t, rank, &x));
    } else {
        QH_TRY(st, c->t->ops->send_begin(c->t, rank, 0, &byte, 1, &x));
        QH_TRY(st, c->t->ops->send_finish(c->t, rank, &x));
    }
out:
    if (c->t->ops->send_begin(c->t, rank, 0, &byte, 1, &x) != QH_EINTERRUPT ||
        c->t->ops->recv_begin(c->t, rank, 0, NULL, 1, &x) != QH_EINTERRUPT)
        return QH_EINTERNAL; /* later calls stop as well */
    return st;
}

START_TEST(abort_wakes_all_who_wait)
{
    crew c = {.n_ranks = rank_counts[_i], .body = wait_for_ever};

    run_crew(&c);
    for (int r = 1; r < c.n_ranks; r++)
        ck_assert_int_eq(c.status[r], QH_EINTERRUPT);
}
END_TEST

/* Rank 0 fails and frees its block while rank 1 still reads it: the abort has to wait. The reader
 * would see the bytes change (and the sanitizers a use after free). */
static atomic_bool is_reading;

static qh_status read_slowly(crew *c, int rank)
{
    enum { N = 1000 };
    qh_transfer x;
    char *block = NULL;
    qh_status st = QH_OK;

    if (rank == 0) {
        QH_TRY(st, QH_NEW_ARRAY(&block, N));
        memset(block, 1, N);
        QH_TRY(st, c->t->ops->send_begin(c->t, 0, 1, block, N, &x));
        while (!atomic_load(&is_reading))
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        c->t->ops->abort(c->t, 0);
        memset(block, 2, N);
        qh_mem_free(block);
        return QH_OK;
    }
    QH_TRY(st, c->t->ops->recv_begin(c->t, 1, 0, NULL, N, &x));
    QH_TRY(st, c->t->ops->recv_finish(c->t, 1, &x));
    atomic_store(&is_reading, true);
    for (int i = 0; i < N && st == QH_OK; i++) {
        if (i % 100 == 0)
            nanosleep(&(struct timespec){0, 5000000}, NULL);
        if (((const char *)x.view)[i] != 1)
            st = qh_fail(QH_EINTERNAL, "byte %d changed under the reader", i);
    }
    c->t->ops->recv_release(c->t, 1, &x);
out:
    return st;
}

START_TEST(a_block_outlives_the_failure_of_its_sender_while_it_is_read)
{
    crew c = {.n_ranks = 2, .body = read_slowly};

    atomic_store(&is_reading, false);
    run_crew(&c);
    ck_assert_msg(c.status[1] == QH_OK, "%s", c.error[1]);
}
END_TEST

/* Some rank stops in the middle of a random pattern; everyone ends, whatever the moment. */
static qh_status out_of_patience(void *ctx, int rank, int step)
{
    const crew *c = ctx;

    if (step == (int)(c->seed % (PATTERN_STEPS / 2)) &&
        rank == (int)(c->seed % (uint64_t)c->n_ranks))
        return qh_fail(QH_ERESOURCE, "out of patience");
    return QH_OK;
}

static qh_status stop_somewhere(crew *c, int rank)
{
    pattern p = {
        .t = c->t, .n_ranks = c->n_ranks, .seed = c->seed, .step = out_of_patience, .ctx = c};

    return pattern_run(&p, rank);
}

START_TEST(a_failure_at_any_moment_stops_everyone)
{
    crew c = {.n_ranks = rank_counts[_i % 5], .seed = (uint64_t)_i, .body = stop_somewhere};
    int failed = (int)(c.seed % (uint64_t)c.n_ranks);

    run_crew(&c);
    for (int r = 0; r < c.n_ranks; r++)
        ck_assert_int_eq(c.status[r], r == failed ? QH_ERESOURCE : QH_EINTERRUPT);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("inproc");
    TCase *t = tcase_create("inproc");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, random_patterns_arrive_whole_and_in_order, 0, QH_COUNT(rank_counts));
    tcase_add_test(t, nothing_is_allocated_after_the_first_round);
    tcase_add_test(t, another_size_than_sent_is_an_error);
    tcase_add_loop_test(t, abort_wakes_all_who_wait, 0, QH_COUNT(rank_counts));
    tcase_add_test(t, a_block_outlives_the_failure_of_its_sender_while_it_is_read);
    tcase_add_loop_test(t, a_failure_at_any_moment_stops_everyone, 0, 30);
    suite_add_tcase(s, t);
    return s;
}
