/* Where the threads of the devices run: hwloc's cores inside the CPU set that this process may use,
 * distinct cores before hyper-threads, hyper-threads before sharing. */
#ifndef QH_SIM_PLACEMENT_H
#define QH_SIM_PLACEMENT_H

#include "src/base/status.h"

#include <sched.h>
#include <stdbool.h>

typedef struct qh_placement {
    int n_devices;
    int n_cores;          /* used in all */
    int *team_size;       /* owned, [n_devices]: threads of each device, >= 1 */
    cpu_set_t **cpu_sets; /* owned, [n_devices][team_size]: where each thread may run */
    bool pinned;
    bool shared; /* more devices than cores: cores are shared */
} qh_placement;

/* threads 0: as many as there are cores allowed; more than allowed: cut to that, with a note.
 * With pin each thread has one CPU; without, all may float over the chosen ones. */
qh_status qh_placement_new(int n_devices, int threads, bool pin, qh_placement **out);
void qh_placement_free(qh_placement *p);

/* Cores in the allowed set (>= 1). */
int qh_placement_cores(void);

/* Binds the calling thread. */
qh_status qh_placement_bind(const cpu_set_t *set);

#endif
