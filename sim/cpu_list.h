/* CPUs by number, as the system's tools write them: "0,2,4-7". */
#ifndef QH_SIM_CPU_LIST_H
#define QH_SIM_CPU_LIST_H

#include "src/base/status.h"

#include <sched.h>

/* In the order in which they stand, into list[CPU_SETSIZE]. QH_EUSAGE, naming --pin: not such a
 * list, a CPU that stands in it twice, a number that no CPU can have. */
qh_status qh_cpu_list(const char *text, int *list, int *n);

/* Rising, with ranges; cut off with "..." where there is no room. Gives buf. */
const char *qh_cpu_text(const cpu_set_t *set, char *buf, size_t room);

#endif
