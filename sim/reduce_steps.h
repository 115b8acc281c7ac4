/* The steps of an all-reduce: who sends how much to whom. Pure arithmetic.
 *
 * ring: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
 * JPDC 69(2), 2009: in each of 2 (N - 1) steps a device sends one of N chunks to the next device.
 * tree: a binomial tree with root 0, up and down again; ceil(log2 N) steps each way, all of the
 * payload in every one (Thakur, Rabenseifner and Gropp, Optimization of collective communication
 * operations in MPICH, IJHPCA 19(1), 2005).
 * hierarchical: rings inside the machines until each device has the machine's sum of its share,
 * rings between the machines among those with the same share, rings inside the machines to spread
 * the shares; whole machines only. */
#ifndef QH_SIM_REDUCE_STEPS_H
#define QH_SIM_REDUCE_STEPS_H

#include <stdint.h>

typedef enum qh_reduce_kind {
    QH_REDUCE_RING,
    QH_REDUCE_TREE,
    QH_REDUCE_HIERARCHICAL
} qh_reduce_kind;

typedef struct qh_reduce_plan {
    qh_reduce_kind kind;
    int n, per_node; /* per_node: hierarchical, a divisor of n */
} qh_reduce_plan;

/* Of one device; to and from are -1 where it sends or receives nothing. */
typedef struct qh_reduce_step {
    int to, from;
    int64_t send_bytes, recv_bytes;
} qh_reduce_step;

int qh_reduce_n_steps(const qh_reduce_plan *p);

/* What a device sends in a step is what its receiver expects in the step of the same number. */
qh_reduce_step qh_reduce_step_of(const qh_reduce_plan *p, int64_t payload, int rank, int step);

#endif
