/* Where the threads of the devices run: hwloc's cores inside the CPU set that this process may use,
 * distinct cores before hyper-threads, hyper-threads before sharing. */
#ifndef QH_SIM_PLACEMENT_H
#define QH_SIM_PLACEMENT_H

#include "src/base/status.h"

#include <sched.h>
#include <stdbool.h>

typedef struct qh_placement {
    int n_devices;
    int n_cores;          /* CPUs used in all */
    int *team_size;       /* owned, [n_devices]: threads of each device, >= 1 */
    cpu_set_t **cpu_sets; /* owned, [n_devices][team_size]: where each thread may run */
    bool pinned;
    bool shared; /* more devices than CPUs: CPUs are shared */
} qh_placement;

/* threads 0: as many as there are cores allowed, or hyper-threads where the devices are more than
 * the cores; more than there are hyper-threads allowed: cut to that, with a note. Threads beyond
 * the devices go to the first ones, one each in turn. pin "on" (or NULL): each thread has one CPU;
 * "off": all may float over the chosen ones. Devices that share CPUs are noted through qh_log.
 *
 * Any other pin is a list of CPUs, "0,2,4-7": the threads of device 0 get the first, those of
 * device 1 the next, and so on; threads 0: one for each. QH_EUSAGE, naming --pin: no such list, a
 * CPU twice or not allowed, fewer than there are devices or threads. */
qh_status qh_placement_new(int n_devices, int threads, const char *pin, qh_placement **out);
void qh_placement_free(qh_placement *p);

/* Of a pin: whether it is "on", "off" or a list; what this machine has is not looked at. */
qh_status qh_placement_check(const char *pin);

/* Where the threads of a device may run: "0", "2,4-5". Gives buf. */
const char *qh_placement_text(const qh_placement *p, int device, char *buf, size_t room);

/* Cores in the allowed set (>= 1). */
int qh_placement_cores(void);

/* Binds the calling thread. QH_EINTERNAL where the system refuses. */
qh_status qh_placement_bind(const cpu_set_t *set);

/* The CPUs of allowed in the order in which threads get them, into order[CPU_SETSIZE]; returns how
 * many: the first CPU of each core, cores rising, then the second of each, and so on.
 * core_of_cpu[CPU_SETSIZE] gives a core's number, -1 for a core of its own. *n_cores: cores with
 * an allowed CPU. */
int qh_placement_order(const cpu_set_t *allowed, const int *core_of_cpu, int *order, int *n_cores);

#endif
