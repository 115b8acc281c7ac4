/* The inside of choosing widths for all channels together, shared by exchange_trace.c and
 * exchange_assign*.c. */
#ifndef QH_TRAIN_EXCHANGE_ASSIGN_H
#define QH_TRAIN_EXCHANGE_ASSIGN_H

#include "src/policy/groups.h"
#include "src/train/exchange_parts.h"

/* What is known of the messages that this rank sends. The k-th message of layer l and direction d
 * is at[2 l + d] + k. */
typedef struct qh_trace {
    int64_t *at;       /* owned, [n_layers * 2 + 1] */
    double *square;    /* owned, [at's last]: squares of ranges, added up */
    int32_t *order;    /* owned, [at's last]: messages of a channel by group */
    int32_t *n_blocks; /* owned, [n_layers * 2 * n_ranks]: epochs added up */
    bool *used;      /* owned, likewise: a choice was made from them; the next block begins anew */
    float *range;    /* owned, [longest block]: of the block at hand */
    float *v;        /* owned, [longest block] */
    uint64_t *key;   /* owned, [2 * longest block] */
    float *beta[2];  /* owned, [messages sent] by direction */
    float *beta_out; /* owned: those of the messages that come */
    qh_transfer *send; /* owned, [n_ranks] */
} qh_trace;

/* Rank 0 chooses for all. */
typedef struct qh_chooser {
    int64_t *count;               /* owned, [n * n]: messages forward from src to dst */
    int64_t *at, *next;           /* owned, [n + 1]: the groups of a rank, all pairs; walks there */
    float *sum;                   /* owned, [at[n]]: their variances */
    uint8_t *width;               /* owned, [at[n]] */
    uint8_t *answer;              /* owned: widths of one problem */
    uint8_t *packed;              /* owned: tables of all ranks */
    qh_tradeoff_channel *channel; /* owned, [n * n] */
    double *z;                    /* owned, [n] */
    qh_tradeoff_work *work[2];    /* owned, by direction */
    qh_transfer *send;            /* owned, [n] */
} qh_chooser;

typedef struct qh_assignment {
    qh_trace trace;
    int64_t *counts;     /* owned, [n]: messages forward to each rank */
    int64_t n_groups;    /* of this rank, all layers and directions */
    float *sum;          /* owned, [n_groups] */
    uint8_t *width;      /* owned, [n_groups] */
    qh_chooser *chooser; /* owned; NULL but on rank 0, and there until the first epoch */
    bool told, chosen;
    qh_assign_result result;
} qh_assignment;

/* Whether widths of a layer and direction are chosen after the first epoch. */
bool qh_exchange_chooses(const qh_exchange *x, int layer, qh_direction dir);

void qh_assign_record_move(qh_exchange *x, qh_op op, int layer, int peer, int64_t bytes);

/* --- exchange_trace.c --- */
qh_status qh_trace_init(qh_exchange *x, qh_trace *t);
void qh_trace_fini(qh_trace *t);
int64_t qh_trace_beta_bytes(const qh_exchange *x); /* that this rank sends */
/* Receivers tell senders; with records of layer 0, but for the WAIT. */
qh_status qh_trace_tell_betas(qh_exchange *x);
int32_t *qh_channel_order(const qh_channel *c); /* [n_rows] */
/* Groups of a channel from what was traced; sum[its groups]. */
void qh_channel_group(const qh_channel *c, float *sum);

/* --- exchange_choose.c: rank 0 --- */
/* count is taken over. Everything is allocated here. */
qh_status qh_chooser_new(const qh_exchange *x, int64_t *count, qh_chooser **out);
void qh_chooser_free(qh_chooser *k);
/* width from sum, for all ranks. *steps: deadlines tried by the solver. */
qh_status qh_chooser_solve(const qh_exchange *x, qh_chooser *k, qh_assign_result *r,
                           int64_t *steps);

#endif
