#include "sim/pace.h"

#include "sim/stopwatch.h"
#include "src/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

enum { PS_PER_NS = 1000 };

/* The device's own thread writes all but held; a cache line apart from the others'. */
typedef struct device {
    _Alignas(QH_MEM_ALIGN) int64_t since_ns; /* let go at */
    double debt_ns;                          /* what a slow device has to sleep yet */
    bool inside;                             /* in its epoch */
    pthread_cond_t released;
    bool held; /* it waits for released; under the lock, as all below */
} device;

struct qh_pace {
    qh_sink sink; /* first, so that a qh_sink * is a qh_pace * */
    qh_pace_config config;
    qh_engine *engine; /* owned */
    device *device;    /* owned, [n_devices] */
    int n_ready;       /* devices whose condition exists */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the thread: something may happen before alarm, or it is over */
    pthread_t thread;
    bool started;
    int n_inside;       /* devices in their epochs */
    int64_t zero_ns;    /* the wall clock at instant 0, had the network's never stood still */
    int64_t stopped_ns; /* the wall clock when it stood still */
    qh_time alarm;      /* the thread sleeps until then */
    bool over;
    qh_status failed;
    char error[QH_ERROR_TEXT_BYTES];
};

/* --- under the lock --- */

static qh_time now(const qh_pace *p)
{
    int64_t ns = (p->n_inside > 0 ? qh_wall_ns() : p->stopped_ns) - p->zero_ns;

    return (ns > 0 ? ns : 0) * PS_PER_NS;
}

static void enter(qh_pace *p, device *d)
{
    if (d->inside)
        return;
    d->inside = true;
    if (p->n_inside++ == 0)
        p->zero_ns += qh_wall_ns() - p->stopped_ns;
    pthread_cond_signal(&p->changed);
}

static void leave(qh_pace *p, device *d)
{
    d->inside = false;
    if (--p->n_inside == 0)
        p->stopped_ns = qh_wall_ns();
}

static void release(qh_pace *p, bool all)
{
    for (int i = 0; i < p->n_ready; i++) {
        device *d = &p->device[i];

        if (d->held && (all || qh_engine_is_idle(p->engine, i))) {
            d->held = false;
            pthread_cond_signal(&d->released);
        }
    }
}

static void end(qh_pace *p)
{
    p->over = true;
    release(p, true);
    pthread_cond_signal(&p->changed);
}

static void note(qh_pace *p, qh_status st)
{
    if (st == QH_OK || p->over)
        return;
    p->failed = st;
    snprintf(p->error, sizeof p->error, "%s", qh_error_text());
    end(p);
}

static void run(qh_pace *p, qh_time until)
{
    note(p, qh_engine_run_until(p->engine, until));
    if (!p->over)
        release(p, false);
}

/* --- the thread that wakes devices --- */

static void sleep_until(qh_pace *p, qh_time at)
{
    int64_t ns = at == QH_TIME_NEVER ? 0 : p->zero_ns + (at + PS_PER_NS - 1) / PS_PER_NS;
    struct timespec t = {ns / 1000000000, ns % 1000000000};

    p->alarm = at;
    if (at == QH_TIME_NEVER || p->n_inside == 0)
        pthread_cond_wait(&p->changed, &p->lock);
    else
        pthread_cond_timedwait(&p->changed, &p->lock, &t);
    p->alarm = 0; /* it is awake and looks for itself */
}

static void *thread_main(void *ctx)
{
    qh_pace *p = ctx;

    prctl(PR_SET_TIMERSLACK, 1UL); /* ns; else the kernel adds 50 us to every sleep */
    pthread_mutex_lock(&p->lock);
    while (!p->over) {
        run(p, now(p));
        if (!p->over)
            sleep_until(p, qh_engine_next(p->engine));
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- the sink --- */

static bool is_compute(const qh_record *r)
{
    return r->op >= QH_OP_SPMM && r->op <= QH_OP_ASSIGN;
}

static void sleep_ns(double ns)
{
    struct timespec t = {(time_t)(ns / 1e9), 0};

    t.tv_nsec = (long)(ns - 1e9 * (double)t.tv_sec);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
}

/* A slow device has computed for longer, in effect, before anyone hears of it. */
static void pay_debt(device *d)
{
    if (d->debt_ns >= 1)
        sleep_ns(d->debt_ns);
    d->debt_ns = 0;
}

/* The device does what r says, and is let go when that is over. */
static void take(qh_pace *p, int rank, const qh_record *r)
{
    device *d = &p->device[rank];
    qh_time at;

    enter(p, d); /* as it is, but after a last epoch */
    at = now(p);
    run(p, at);
    if (p->over)
        return;
    note(p, qh_engine_do(p->engine, rank, at, r));
    if (p->over)
        return;
    release(p, false);
    d->held = !qh_engine_is_idle(p->engine, rank);
    if (qh_engine_next(p->engine) < p->alarm)
        pthread_cond_signal(&p->changed);
    while (d->held)
        pthread_cond_wait(&d->released, &p->lock);
}

static void emit(qh_sink *sink, int rank, const qh_record *r)
{
    qh_pace *p = (qh_pace *)sink;
    device *d = &p->device[rank];
    const double *scale = p->config.engine.compute_scale;
    qh_record copy = *r;

    copy.host_ns = qh_wall_ns() - d->since_ns;
    p->config.next->emit(p->config.next, rank, &copy);
    if (is_compute(r)) {
        if (scale && scale[rank] > 1)
            d->debt_ns += (scale[rank] - 1) * (double)copy.host_ns;
    } else {
        pay_debt(d);
        pthread_mutex_lock(&p->lock);
        if (r->op == QH_OP_EPOCH_END)
            leave(p, d);
        else if (!p->over)
            take(p, rank, r);
        pthread_mutex_unlock(&p->lock);
    }
    d->since_ns = qh_wall_ns();
}

static void widths(qh_sink *sink, int rank, const qh_record *send, const uint8_t *width, int64_t n)
{
    qh_sink *next = ((qh_pace *)sink)->config.next;

    next->widths(next, rank, send, width, n);
}

static qh_status end_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *metrics, int *stop)
{
    qh_pace *p = (qh_pace *)sink;
    qh_sink *next = p->config.next;
    qh_status st;

    pthread_mutex_lock(&p->lock);
    st = p->failed;
    if (st < 0)
        qh_error_set_text(p->error);
    pthread_mutex_unlock(&p->lock);
    if (st < 0)
        return st;
    st = next->end_epoch(next, rank, metrics, stop);
    if (st == QH_OK && !*stop)
        qh_pace_begin(p, rank);
    return st;
}

qh_sink *qh_pace_sink(qh_pace *p)
{
    return &p->sink;
}

void qh_pace_begin(qh_pace *p, int rank)
{
    pthread_mutex_lock(&p->lock);
    enter(p, &p->device[rank]);
    pthread_mutex_unlock(&p->lock);
    p->device[rank].since_ns = qh_wall_ns();
}

void qh_pace_break(qh_pace *p)
{
    pthread_mutex_lock(&p->lock);
    end(p);
    pthread_mutex_unlock(&p->lock);
}

/* --- building --- */

static void init_condition(pthread_cond_t *c)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attributes);
    pthread_condattr_destroy(&attributes);
}

static qh_status start_thread(qh_pace *p)
{
    int error = pthread_create(&p->thread, NULL, thread_main, p);

    if (error)
        return qh_fail(QH_ERESOURCE, "--clock: the thread of the network could not be started: %s",
                       strerror(error));
    p->started = true;
    return QH_OK;
}

qh_status qh_pace_new(const qh_pace_config *c, qh_pace **out)
{
    int n = c->engine.n_devices;
    qh_engine_config engine = c->engine;
    qh_pace *p = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&p));
    pthread_mutex_init(&p->lock, NULL);
    init_condition(&p->changed);
    p->config = *c;
    p->sink =
        (qh_sink){.emit = emit, .widths = c->next->widths ? widths : NULL, .end_epoch = end_epoch};
    engine.live = true;
    engine.path = false;
    engine.compute_scale = NULL;
    engine.timeline = (qh_timeline){0};
    QH_TRY(st, qh_engine_new(&engine, &p->engine));
    QH_TRY(st, QH_NEW_ARRAY(&p->device, n));
    for (; p->n_ready < n; p->n_ready++)
        init_condition(&p->device[p->n_ready].released);
    QH_TRY(st, start_thread(p));
    *out = p;
    p = NULL;
out:
    qh_pace_free(p);
    return st;
}

void qh_pace_free(qh_pace *p)
{
    if (!p)
        return;
    if (p->started) {
        qh_pace_break(p);
        pthread_join(p->thread, NULL);
    }
    for (int i = 0; i < p->n_ready; i++)
        pthread_cond_destroy(&p->device[i].released);
    qh_mem_free(p->device);
    qh_engine_free(p->engine);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    qh_mem_free(p);
}
