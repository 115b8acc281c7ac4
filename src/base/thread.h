/* Threads: a barrier that can be broken, and teams that share out the items of a loop. Waiting
 * sleeps (futex or condition variable) after a short spin, so more threads than cores work. */
#ifndef QH_BASE_THREAD_H
#define QH_BASE_THREAD_H

#include "src/base/status.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* --- barrier --- */
typedef struct qh_barrier qh_barrier;

qh_status qh_barrier_new(int n_threads, qh_barrier **out);
void qh_barrier_free(qh_barrier *b);

/* Waits until n_threads threads are here. The last one to come runs last(ctx) (may be NULL) before
 * anyone goes on; its status is returned to all. After qh_barrier_break: QH_EINTERRUPT at once. */
qh_status qh_barrier_wait(qh_barrier *b, qh_status (*last)(void *ctx), void *ctx);

/* Wakes all who wait, for good: a device failed. Idempotent, any thread. */
void qh_barrier_break(qh_barrier *b);

/* --- team --- */
typedef struct qh_team qh_team;

/* n_threads - 1 sleeping helpers beside the caller, who leads; helper i = 1 .. n_threads - 1 is
 * bound to cpu_sets[i] (cpu_sets NULL: they inherit the leader's affinity; cpu_sets[0] is the
 * leader's own business). n_threads >= 1. QH_ERESOURCE when a thread cannot be started. */
qh_status qh_team_new(int n_threads, const cpu_set_t *cpu_sets, qh_team **out);
void qh_team_free(qh_team *team);

int qh_team_size(const qh_team *team); /* NULL counts as 1 */

/* Calls fn(ctx, item) once for each item 0 .. n_items-1, on whichever thread is free, and returns
 * when all are done. Items must not depend on each other, and nothing may depend on which thread
 * ran them. team NULL, or a team of one: a plain loop in order. Not reentrant. */
void qh_team_run(qh_team *team, int64_t n_items, void (*fn)(void *ctx, int64_t item), void *ctx);

/* CPU time used so far by the helpers (not the leader), in nanoseconds. */
int64_t qh_team_helpers_cpu_ns(const qh_team *team);

#endif
