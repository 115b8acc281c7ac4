#include "sim/placement.h"

#include "sim/cpu_list.h"
#include "src/base/log.h"
#include "src/base/mem.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <string.h>

/* How many CPUs of `cpu`'s core come before it in the allowed set. */
static int place_in_core(const cpu_set_t *allowed, const int *core_of_cpu, int cpu)
{
    int before = 0;

    for (int other = 0; other < cpu && core_of_cpu[cpu] >= 0; other++)
        before += CPU_ISSET(other, allowed) && core_of_cpu[other] == core_of_cpu[cpu];
    return before;
}

/* Of the CPUs at one place, the next after (core, cpu) by core, then by number. */
static int next_cpu(const cpu_set_t *allowed, const int *core_of_cpu, const int *place, int level,
                    int after)
{
    int best = -1;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        bool later, better;

        if (!CPU_ISSET(cpu, allowed) || place[cpu] != level)
            continue;
        later = after < 0 || core_of_cpu[cpu] > core_of_cpu[after] ||
                (core_of_cpu[cpu] == core_of_cpu[after] && cpu > after);
        better = best < 0 || core_of_cpu[cpu] < core_of_cpu[best];
        if (later && better)
            best = cpu;
    }
    return best;
}

int qh_placement_order(const cpu_set_t *allowed, const int *core_of_cpu, int *order, int *n_cores)
{
    int place[CPU_SETSIZE] = {0};
    int n = 0, total = CPU_COUNT(allowed);

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, allowed))
            place[cpu] = place_in_core(allowed, core_of_cpu, cpu);
    for (int level = 0; n < total; level++) {
        for (int cpu = -1; (cpu = next_cpu(allowed, core_of_cpu, place, level, cpu)) >= 0;)
            order[n++] = cpu;
        if (level == 0)
            *n_cores = n;
    }
    return n;
}

/* Fills core_of_cpu from hwloc; CPUs that it does not know count as cores of their own. */
static qh_status read_cores(int *core_of_cpu)
{
    hwloc_topology_t topology;
    qh_status st = QH_OK;
    int n;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        core_of_cpu[cpu] = -1;
    if (hwloc_topology_init(&topology) != 0)
        return qh_fail(QH_EINTERNAL, "placement: hwloc cannot start: %s", strerror(errno));
    /* Cores come from the system; asking the processor itself binds this thread to each in turn. */
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (hwloc_topology_load(topology) != 0) {
        st = qh_fail(QH_EINTERNAL, "placement: hwloc cannot read the machine: %s", strerror(errno));
        goto out;
    }
    n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    for (int core = 0; core < n; core++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)core);

        for (int cpu = hwloc_bitmap_first(obj->cpuset); cpu >= 0 && cpu < CPU_SETSIZE;
             cpu = hwloc_bitmap_next(obj->cpuset, cpu))
            core_of_cpu[cpu] = core;
    }
out:
    hwloc_topology_destroy(topology);
    return st;
}

static qh_status read_order(int *order, int *n_cpus, int *n_cores)
{
    cpu_set_t allowed;
    int core_of_cpu[CPU_SETSIZE];
    qh_status st;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return qh_fail(QH_EINTERNAL, "placement: the allowed CPUs cannot be read: %s",
                       strerror(errno));
    QH_TRY(st, read_cores(core_of_cpu));
    *n_cpus = qh_placement_order(&allowed, core_of_cpu, order, n_cores);
out:
    return st;
}

/* --- --pin --- */

static bool is_list(const char *pin)
{
    return pin && strcmp(pin, "on") != 0 && strcmp(pin, "off") != 0;
}

qh_status qh_placement_check(const char *pin)
{
    int list[CPU_SETSIZE], n;

    return is_list(pin) ? qh_cpu_list(pin, list, &n) : QH_OK;
}

const char *qh_placement_text(const qh_placement *p, int device, char *buf, size_t room)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int i = 0; i < p->team_size[device]; i++)
        CPU_OR(&all, &all, &p->cpu_sets[device][i]);
    return qh_cpu_text(&all, buf, room);
}

int qh_placement_cores(void)
{
    int order[CPU_SETSIZE], n_cpus, n_cores;

    return read_order(order, &n_cpus, &n_cores) == QH_OK ? n_cores : 1;
}

/* How many CPUs to use. */
static int choose_count(int n_devices, int threads, int n_cpus, int n_cores)
{
    if (threads == 0 && n_devices <= n_cores)
        return n_cores;
    if (threads == 0)
        return n_devices < n_cpus ? n_devices : n_cpus;
    if (threads > n_cpus)
        qh_log(QH_LOG_NOTE, "--threads: %d are asked for, %d are allowed; %d are used", threads,
               n_cpus, n_cpus);
    return threads < n_cpus ? threads : n_cpus;
}

static qh_status fill(qh_placement *p, const int *order)
{
    qh_status st = QH_OK;
    int slot = 0;
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int i = 0; i < p->n_cores; i++)
        CPU_SET(order[i], &all);
    for (int d = 0; d < p->n_devices; d++) {
        int extra = d < p->n_cores % p->n_devices;

        p->team_size[d] = p->shared ? 1 : p->n_cores / p->n_devices + extra;
        QH_TRY(st, QH_NEW_ARRAY(&p->cpu_sets[d], p->team_size[d]));
        for (int i = 0; i < p->team_size[d]; i++, slot++) {
            CPU_ZERO(&p->cpu_sets[d][i]);
            CPU_SET(order[slot % p->n_cores], &p->cpu_sets[d][i]);
            if (!p->pinned)
                p->cpu_sets[d][i] = all;
        }
    }
out:
    return st;
}

/* The CPUs of a list in place of those that are allowed, which they have to be among. */
static qh_status take_list(const char *pin, int n_devices, int threads, int *order, int *n_cpus)
{
    int list[CPU_SETSIZE], n = 0;
    qh_status st;

    QH_TRY(st, qh_cpu_list(pin, list, &n));
    for (int i = 0; i < n; i++) {
        bool allowed = false;

        for (int k = 0; k < *n_cpus && !allowed; k++)
            allowed = order[k] == list[i];
        if (!allowed)
            return qh_fail(QH_EUSAGE, "--pin: CPU %d is none of the %d that this process may use",
                           list[i], *n_cpus);
    }
    if (n < n_devices || n < threads)
        return qh_fail(QH_EUSAGE, "--pin: %s has %d CPUs for %d %s; each takes one", pin, n,
                       n < n_devices ? n_devices : threads, n < n_devices ? "devices" : "threads");
    memcpy(order, list, (size_t)n * sizeof *list);
    *n_cpus = n;
out:
    return st;
}

qh_status qh_placement_new(int n_devices, int threads, const char *pin, qh_placement **out)
{
    qh_status st;
    qh_placement *p = NULL;
    int order[CPU_SETSIZE], n_cpus, n_cores;

    QH_ASSERT(n_devices >= 1 && threads >= 0);
    QH_TRY(st, read_order(order, &n_cpus, &n_cores));
    if (is_list(pin)) {
        QH_TRY(st, take_list(pin, n_devices, threads, order, &n_cpus));
        n_cores = n_cpus;
    }
    QH_TRY(st, QH_NEW(&p));
    p->n_devices = n_devices;
    p->n_cores = choose_count(n_devices, threads, n_cpus, n_cores);
    p->pinned = !pin || strcmp(pin, "off") != 0;
    p->shared = n_devices > p->n_cores;
    QH_TRY(st, QH_NEW_ARRAY(&p->team_size, n_devices));
    QH_TRY(st, QH_NEW_ARRAY(&p->cpu_sets, n_devices));
    QH_TRY(st, fill(p, order));
    if (p->shared)
        qh_log(QH_LOG_NOTE,
               "--devices: %d devices share %d cores; wall times suffer, virtual "
               "times of the modeled compute do not",
               n_devices, p->n_cores);
    *out = p;
    p = NULL;
out:
    qh_placement_free(p);
    return st;
}

void qh_placement_free(qh_placement *p)
{
    if (!p)
        return;
    for (int d = 0; p->cpu_sets && d < p->n_devices; d++)
        qh_mem_free(p->cpu_sets[d]);
    qh_mem_free(p->cpu_sets);
    qh_mem_free(p->team_size);
    qh_mem_free(p);
}

qh_status qh_placement_bind(const cpu_set_t *set)
{
    int error = pthread_setaffinity_np(pthread_self(), sizeof *set, set);

    if (error)
        return qh_fail(QH_EINTERNAL,
                       "placement: a thread cannot be bound: %s; --pin off goes "
                       "without",
                       strerror(error));
    return QH_OK;
}
