#include "src/base/thread.h"

#include "src/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A wait spins for at most this many looks (some 20 us) before it sleeps, and for fewer and fewer
 * where spinning did not help: with more threads than cores a spinning thread holds the core that
 * the awaited one needs. */
enum { SPIN_MIN = 8, SPIN_MAX = 1024 };

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Looks at *word until it differs from old; false when the looks ran out. budget adapts. */
static bool spin_while_equal(atomic_uint *word, unsigned old, atomic_int *budget)
{
    int looks = atomic_load_explicit(budget, memory_order_relaxed);

    for (int i = 0; i < looks; i++) {
        if (atomic_load(word) != old) {
            if (looks < SPIN_MAX)
                atomic_store_explicit(budget, 2 * looks, memory_order_relaxed);
            return true;
        }
        pause_core();
    }
    if (looks > SPIN_MIN)
        atomic_store_explicit(budget, looks / 2, memory_order_relaxed);
    return false;
}

static void futex_wait(atomic_uint *word, unsigned old)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

/* --- barrier --- */

struct qh_barrier {
    int n_threads;
    atomic_int spin;
    atomic_uint changes; /* one more when a round ends and at the break: what waiters watch */
    pthread_mutex_t lock;
    /* under the lock */
    int arrived;
    unsigned round;
    bool broken;
    qh_status result;
    char text[QH_ERROR_TEXT_BYTES]; /* of result, when bad */
};

qh_status qh_barrier_new(int n_threads, qh_barrier **out)
{
    qh_status st;
    qh_barrier *b = NULL;

    QH_ASSERT(n_threads >= 1);
    QH_TRY(st, QH_NEW(&b));
    b->n_threads = n_threads;
    atomic_init(&b->spin, SPIN_MIN);
    atomic_init(&b->changes, 0);
    pthread_mutex_init(&b->lock, NULL);
    *out = b;
out:
    return st;
}

void qh_barrier_free(qh_barrier *b)
{
    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    qh_mem_free(b);
}

static qh_status broken_barrier(void)
{
    return qh_fail(QH_EINTERRUPT, "barrier: another thread ended first");
}

static void announce(qh_barrier *b)
{
    atomic_fetch_add(&b->changes, 1);
    futex_wake(&b->changes, INT_MAX);
}

/* The last one's part, called and left with the lock held. */
static qh_status end_round(qh_barrier *b, qh_status (*last)(void *ctx), void *ctx)
{
    qh_status st = QH_OK;

    if (last) {
        pthread_mutex_unlock(&b->lock); /* last may take long, and a break must get through */
        st = last(ctx);
        pthread_mutex_lock(&b->lock);
    }
    b->result = st;
    memcpy(b->text, st < 0 ? qh_error_text() : "", st < 0 ? strlen(qh_error_text()) + 1 : 1);
    b->arrived = 0;
    b->round++;
    announce(b);
    return st;
}

qh_status qh_barrier_wait(qh_barrier *b, qh_status (*last)(void *ctx), void *ctx)
{
    qh_status st = QH_OK;
    unsigned round, seen;

    pthread_mutex_lock(&b->lock);
    round = b->round;
    if (b->broken) {
        st = broken_barrier();
    } else if (++b->arrived == b->n_threads) {
        st = end_round(b, last, ctx);
    } else {
        while (b->round == round && !b->broken) {
            seen = atomic_load(&b->changes);
            pthread_mutex_unlock(&b->lock);
            if (!spin_while_equal(&b->changes, seen, &b->spin))
                futex_wait(&b->changes, seen);
            pthread_mutex_lock(&b->lock);
        }
        /* result stands until the next round ends, for which this thread is needed. */
        if (b->round == round)
            st = broken_barrier();
        else if ((st = b->result) < 0)
            qh_error_set_text(b->text);
    }
    pthread_mutex_unlock(&b->lock);
    return st;
}

void qh_barrier_break(qh_barrier *b)
{
    pthread_mutex_lock(&b->lock);
    if (!b->broken) {
        b->broken = true;
        announce(b);
    }
    pthread_mutex_unlock(&b->lock);
}

/* --- team --- */

/* A job is open from the moment its fields are written until all items are taken and done. A
 * helper first counts itself inside, then looks whether a job is open; the leader first closes the
 * job, then waits until nobody is inside. All four steps are sequentially consistent, so either
 * the helper sees a closed job and leaves its fields alone, or the leader sees the helper. Hence a
 * helper that wakes late costs the leader nothing. */
struct qh_team {
    int n_threads;
    pthread_t *helper; /* owned, [n_threads - 1] */
    int n_started;
    atomic_int helper_spin, leader_spin;
    _Alignas(64) atomic_uint posted; /* one more for each job and at the end */
    atomic_int sleepers, open, quit;
    _Alignas(64) atomic_uint inside;
    _Alignas(64) atomic_llong next; /* item to take */
    int64_t n_items;
    void (*fn)(void *ctx, int64_t item);
    void *ctx;
};

static void take_items(qh_team *t)
{
    int64_t item;

    while ((item = atomic_fetch_add(&t->next, 1)) < t->n_items)
        t->fn(t->ctx, item);
}

static void help_once(qh_team *t)
{
    atomic_fetch_add(&t->inside, 1);
    if (atomic_load(&t->open))
        take_items(t);
    if (atomic_fetch_sub(&t->inside, 1) == 1 && !atomic_load(&t->open))
        futex_wake(&t->inside, 1);
}

static void *helper_main(void *arg)
{
    qh_team *t = arg;
    unsigned seen = 0;

    while (!atomic_load(&t->quit)) {
        unsigned now = atomic_load(&t->posted);

        if (now != seen) {
            seen = now;
            help_once(t);
        } else if (!spin_while_equal(&t->posted, seen, &t->helper_spin)) {
            atomic_fetch_add(&t->sleepers, 1);
            futex_wait(&t->posted, seen);
            atomic_fetch_sub(&t->sleepers, 1);
        }
    }
    return NULL;
}

static qh_status start_helper(qh_team *t, const cpu_set_t *set)
{
    pthread_attr_t attr;
    int error;

    pthread_attr_init(&attr);
    error = set ? pthread_attr_setaffinity_np(&attr, sizeof *set, set) : 0;
    if (!error)
        error = pthread_create(&t->helper[t->n_started], &attr, helper_main, t);
    pthread_attr_destroy(&attr);
    if (error)
        return qh_fail(QH_ERESOURCE, "threads: helper %d could not be started: %s",
                       t->n_started + 1, strerror(error));
    t->n_started++;
    return QH_OK;
}

qh_status qh_team_new(int n_threads, const cpu_set_t *cpu_sets, qh_team **out)
{
    qh_status st;
    qh_team *t = NULL;

    QH_ASSERT(n_threads >= 1);
    QH_TRY(st, QH_NEW(&t));
    t->n_threads = n_threads;
    atomic_init(&t->helper_spin, SPIN_MIN);
    atomic_init(&t->leader_spin, SPIN_MIN);
    QH_TRY(st, QH_NEW_ARRAY(&t->helper, n_threads - 1));
    for (int i = 1; i < n_threads; i++)
        QH_TRY(st, start_helper(t, cpu_sets ? &cpu_sets[i] : NULL));
    *out = t;
    t = NULL;
out:
    qh_team_free(t);
    return st;
}

void qh_team_free(qh_team *t)
{
    if (!t)
        return;
    atomic_store(&t->quit, 1);
    atomic_fetch_add(&t->posted, 1);
    futex_wake(&t->posted, INT_MAX);
    for (int i = 0; i < t->n_started; i++)
        pthread_join(t->helper[i], NULL);
    qh_mem_free(t->helper);
    qh_mem_free(t);
}

int qh_team_size(const qh_team *team)
{
    return team ? team->n_threads : 1;
}

void qh_team_run(qh_team *t, int64_t n_items, void (*fn)(void *ctx, int64_t item), void *ctx)
{
    unsigned inside;

    if (!t || t->n_threads == 1 || n_items <= 1) {
        for (int64_t item = 0; item < n_items; item++)
            fn(ctx, item);
        return;
    }
    t->fn = fn;
    t->ctx = ctx;
    t->n_items = n_items;
    atomic_store(&t->next, 0);
    atomic_store(&t->open, 1);
    atomic_fetch_add(&t->posted, 1);
    if (atomic_load(&t->sleepers) > 0)
        futex_wake(&t->posted, n_items - 1 < t->n_started ? (int)(n_items - 1) : t->n_started);
    take_items(t);
    atomic_store(&t->open, 0);
    while ((inside = atomic_load(&t->inside)) > 0)
        if (!spin_while_equal(&t->inside, inside, &t->leader_spin))
            futex_wait(&t->inside, inside);
}

int64_t qh_team_helpers_cpu_ns(const qh_team *team)
{
    int64_t sum = 0;

    for (int i = 0; team && i < team->n_started; i++) {
        clockid_t clock;
        struct timespec t;

        if (pthread_getcpuclockid(team->helper[i], &clock) == 0 && clock_gettime(clock, &t) == 0)
            sum += t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
    }
    return sum;
}
