/* The inside of the engine, shared by its files; nobody else includes it.
 *
 * Every action is an event with a key (instant, rank, kind, number): a device's next record, the
 * end of a copy, of an overhead. Finishes that the network gives for an instant come before all
 * events of that instant. A device whose next record is unknown keeps its STEP event, and nothing
 * after that key is done; so it cannot matter in which portions records were fed. */
#ifndef QH_SIM_ENGINE_PARTS_H
#define QH_SIM_ENGINE_PARTS_H

#include "netmodel/heap.h"
#include "sim/engine.h"

#include <stdbool.h>

/* In the order in which they go at one instant and rank. */
typedef enum qh_event_kind {
    QH_EVENT_ARRIVE, /* a block's copy to the device is done; id: block */
    QH_EVENT_POST,   /* the overhead of a SEND is paid; id: block */
    QH_EVENT_FLOW,   /* a block's copy to the host is done; id: block */
    QH_EVENT_REDUCE, /* a timer of the all-reduce; id: rank */
    QH_EVENT_STEP    /* the device's next record; id: rank */
} qh_event_kind;

enum { QH_EVENT_RANK_BIT = 44, QH_EVENT_KIND_BIT = 40, QH_ENGINE_MAX_DEVICES = 1 << 19 };

/* One block on its way, from the first of its SEND and RECV to the last thing that touches it: a
 * cache line, since there may be more of them than caches hold. */
typedef struct qh_block {
    int64_t bytes;
    qh_path path; /* with path: the chain to its posting */
    int32_t src, dst;
    int32_t next;        /* in the list of its channel; -1: last */
    int32_t in_exchange; /* at dst; -1: no RECV yet */
    bool sent;           /* its SEND is posted */
    bool flying;         /* between the start of its copy or flow and its arrival */
    bool arrived;        /* and not yet received */
} qh_block;
_Static_assert(sizeof(qh_block) == 64, "a cache line");

/* What rounds, and WAITs for SENDs, want to know of it. */
typedef struct qh_block_round {
    int32_t next_gated;              /* in the list of an exchange's gated sends */
    int32_t in_round;                /* at dst */
    int32_t out_exchange, out_round; /* at src; exchange -1: nobody there wants to know */
} qh_block_round;

/* What is told of its flow. */
typedef struct qh_block_told {
    qh_record send;
    qh_time start;
} qh_block_told;

/* Blocks of one channel for which SEND and RECV have not met: all sent, or all expected. */
typedef struct qh_channel {
    int32_t head, tail; /* -1: empty */
} qh_channel;

/* One (epoch, layer, direction) of one device, while anything of it is open. */
typedef struct qh_engine_exchange {
    uint64_t key;
    int32_t next;              /* of the same device, or of unused ones; -1: last */
    int32_t recv_open;         /* RECVs posted that have not arrived */
    int32_t flying;            /* of those and of a request's SENDs, in flight */
    int32_t send_open;         /* rounds and requests: SENDs posted that have not left */
    int32_t low;               /* rounds: the lowest round with anything undone; n_devices: none */
    int32_t gated, gated_tail; /* rounds: sends that wait for an earlier round, by round */
    qh_time overhead;          /* of blocks that arrived before the WAIT that takes them */
} qh_engine_exchange;

typedef enum qh_device_state { QH_RUNNING, QH_WAITING, QH_REDUCING, QH_ENDED } qh_device_state;

/* What the timer of an all-reduce ends. */
typedef enum qh_reduce_phase {
    QH_REDUCE_COPY_OUT,
    QH_REDUCE_SEND_OVERHEAD,
    QH_REDUCE_RECV_OVERHEAD,
    QH_REDUCE_COPY_IN
} qh_reduce_phase;

typedef struct qh_device_reduce {
    int64_t n_begun; /* all-reduces entered so far */
    int64_t bytes;
    int32_t step;
    int32_t flying; /* flows from and towards here, copies and overheads under way */
    bool sent;      /* this step's flow is done, or it has none */
    qh_reduce_phase phase;
} qh_device_reduce;

typedef struct qh_engine_device {
    qh_record *queue; /* owned; records [head, n) are to be done */
    int64_t head, n, capacity;
    int64_t n_done; /* records begun so far */
    qh_time now;
    qh_device_state state;
    bool closed;       /* no more records will come */
    bool idle;         /* live: it computes */
    qh_record current; /* the record that holds the device, or whose interval is to be told */
    qh_time held_from; /* start of current */
    bool untold;       /* current's interval ends at now */
    int32_t exchanges; /* list of open ones, newest first */
    int32_t waits;     /* the exchange of the WAIT */
    qh_time busy;      /* WAIT: until then overheads of receiving are paid */
    qh_time since;     /* up to here the time of the hold is attributed */
    qh_time copy_out_free, copy_in_free; /* the two copy engines */
    int64_t flying;                      /* blocks in flight towards here */
    qh_time flying_since;
    qh_device_reduce reduce;
    qh_path path;      /* with path: the chain that ends at now */
    qh_path busy_path; /* and at busy */
    qh_breakdown sums; /* of the epoch so far */
    qh_time epoch_start;
    int64_t n_epochs; /* closed */
} qh_engine_device;

/* Epochs that some device has closed and not all. */
typedef struct qh_epoch_rows {
    int64_t first, capacity;   /* number of the oldest; row i lies at i % capacity */
    qh_breakdown *sums;        /* owned, [capacity][n_devices] */
    qh_time *end;              /* owned, [capacity] */
    int32_t *epoch, *n_closed; /* owned, [capacity] */
    qh_time last_end;          /* of the epoch before first */
} qh_epoch_rows;

struct qh_engine {
    qh_engine_config config;
    int n;
    bool fine; /* intervals are told, so that a device stops after each operation */
    bool rounds;
    qh_status failed;
    qh_heap events;
    uint64_t n_events;        /* pushed so far, STEPs apart */
    qh_engine_device *device; /* owned, [n] */
    qh_channel *channel;      /* owned, [n * n]: src * n + dst */
    qh_block *block;          /* owned, [block_capacity] */
    qh_block_round *round;    /* owned, [block_capacity]; NULL without rounds or requests */
    qh_block_told *told;      /* owned, [block_capacity]; NULL unless fine */
    qh_path cause;            /* with path: the chain to what ends a round */
    int32_t *free;            /* owned, [block_capacity]: blocks that are not in use */
    int32_t block_capacity, n_free;
    qh_engine_exchange *exchange; /* owned, [exchange_capacity] */
    int32_t *undone;              /* owned, rounds: [exchange_capacity][n], by round */
    int32_t exchange_capacity, free_exchange;
    int64_t reduce_bytes[2]; /* of the all-reduces under way, by number % 2; two at most are */
    int64_t n_reduces;       /* begun by at least one device */
    qh_reduce_plan reduce_plan;
    uint64_t *reduce_arrived; /* owned, [n][2][reduce_words] */
    int64_t reduce_words;
    qh_epoch_rows rows;
};

/* QH_EINPUT with "device 3, record 17 (send, epoch 2, layer 1, forward): " before the text. */
qh_status qh_engine_bad(const qh_engine *e, int rank, const qh_record *r, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

qh_status qh_engine_push(qh_engine *e, qh_time at, int rank, qh_event_kind kind, int64_t id);

/* The device goes on with its next record at an instant. */
qh_status qh_engine_resume(qh_engine *e, int rank, qh_time at);

/* a + b, or QH_TIME_NEVER. */
static inline qh_time qh_time_after(qh_time a, qh_time b)
{
    return a > QH_TIME_NEVER - b ? QH_TIME_NEVER : a + b;
}

static inline qh_time qh_engine_overhead(const qh_engine *e, int src, int dst, int64_t bytes)
{
    const qh_netmodel *net = e->config.net;

    return net->ops->overhead ? net->ops->overhead(net, src, dst, bytes) : 0;
}

/* --- engine_blocks.c: sends, receives and waits --- */
qh_status qh_engine_send(qh_engine *e, int rank, const qh_record *r);
qh_status qh_engine_recv(qh_engine *e, int rank, const qh_record *r);
qh_status qh_engine_wait(qh_engine *e, int rank, const qh_record *r);
qh_status qh_engine_flow(qh_engine *e, int32_t block, qh_time at);  /* its flow starts */
qh_status qh_engine_begin(qh_engine *e, int32_t block, qh_time at); /* its copy or flow starts */
qh_status qh_engine_flown(qh_engine *e, int32_t block, qh_time at); /* its flow has finished */
qh_status qh_engine_arrived(qh_engine *e, int32_t block, qh_time at);

/* --- engine_exchange.c: open exchanges of a device, and the gates of rounds --- */
static inline bool qh_engine_is_request(const qh_engine_exchange *x)
{
    return (x->key & 0xff) == QH_REQUEST;
}

static inline bool qh_engine_in_rounds(const qh_engine *e, int32_t x)
{
    return e->rounds && !qh_engine_is_request(&e->exchange[x]);
}

int32_t qh_engine_find_exchange(const qh_engine *e, int rank, const qh_record *r); /* -1: none */
qh_status qh_engine_open_exchange(qh_engine *e, int rank, const qh_record *r, int32_t *out);
void qh_engine_release_exchange(qh_engine *e, int rank, int32_t x); /* where nothing is open */
void qh_engine_round_posted(qh_engine *e, int32_t x, int32_t round);
qh_status qh_engine_round_done(qh_engine *e, int32_t x, int32_t round, qh_time at);
qh_status qh_engine_post(qh_engine *e, int32_t block, qh_time at); /* begin, or wait at the gate */

/* --- engine_reduce.c --- */
qh_status qh_engine_reduce_init(qh_engine *e);
qh_status qh_engine_reduce(qh_engine *e, int rank, const qh_record *r);
qh_status qh_engine_reduce_timer(qh_engine *e, int rank, qh_time at);
qh_status qh_engine_reduce_flown(qh_engine *e, int rank, qh_time at); /* its step's flow finished */

/* --- engine_sums.c: attribution of time --- */
/* Where time held by r goes while something it waits for is in flight, or not. */
qh_time *qh_engine_transfer_sum(qh_breakdown *sums, const qh_record *r);
qh_time *qh_engine_waiting_sum(qh_breakdown *sums, const qh_record *r);
void qh_engine_hold(qh_engine *e, int rank, const qh_record *r); /* r holds the device from now */
void qh_engine_attribute(qh_engine *e, int rank, qh_time at); /* before what is in flight changes */
void qh_engine_flying(qh_engine *e, int rank, int change, qh_time at); /* blocks towards rank */
void qh_engine_tell(qh_engine *e, int rank, int stream, qh_time start, qh_time end,
                    const qh_record *r);
qh_status qh_engine_close_epoch(qh_engine *e, int rank, const qh_record *r);
qh_status qh_engine_rows_init(qh_engine *e);
void qh_engine_rows_fini(qh_engine *e);

/* --- engine_path.c: nothing, unless the path is asked for --- */
void qh_engine_path_add(qh_engine *e, int rank, const qh_record *r, qh_time span); /* computing */
void qh_engine_path_posted(qh_engine *e, int rank, int32_t block, qh_time overhead);
void qh_engine_path_moved(qh_engine *e, int32_t block, qh_time at); /* it may end a round */
void qh_engine_path_own(qh_engine *e, int rank);           /* so may what the device does */
void qh_engine_path_released(qh_engine *e, int32_t block); /* by what moved last */
void qh_engine_path_wait(qh_engine *e, int rank, qh_time overhead);
void qh_engine_path_arrived(qh_engine *e, int32_t block, qh_time overhead, qh_time at);
void qh_engine_path_left(qh_engine *e, int rank, const qh_path *posted, qh_time at);
void qh_engine_path_waited(qh_engine *e, int rank);
void qh_engine_path_reduced(qh_engine *e, int by, int rank, qh_time at); /* by: the last flow's */

/* --- engine_deadlock.c: what is left when nothing moves --- */
qh_status qh_engine_check_ended(const qh_engine *e);

#endif
