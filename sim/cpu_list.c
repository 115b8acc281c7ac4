#include "sim/cpu_list.h"

#include "src/base/units.h"

#include <stdio.h>
#include <string.h>

static qh_status no_list(const char *text)
{
    return qh_fail(QH_EUSAGE, "--pin: '%s' has to be on, off, or CPUs such as 0,2,4-7", text);
}

static qh_status add(int cpu, int *list, int *n)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == cpu)
            return qh_fail(QH_EUSAGE, "--pin: CPU %d stands there twice", cpu);
    list[(*n)++] = cpu;
    return QH_OK;
}

/* "A" or "A-B", of `length` characters. */
static qh_status read_item(const char *text, const char *item, size_t length, int *list, int *n)
{
    char copy[32], first[16], last[16], extra;
    int64_t a, b;
    qh_status st;

    if (length >= sizeof copy)
        return no_list(text);
    memcpy(copy, item, length);
    copy[length] = 0;
    if (sscanf(copy, "%15[0-9]-%15[0-9]%c", first, last, &extra) != 2) {
        if (sscanf(copy, "%15[0-9]%c", first, &extra) != 1)
            return no_list(text);
        strcpy(last, first);
    }
    QH_TRY(st, qh_parse_int("--pin", first, 0, CPU_SETSIZE - 1, &a));
    QH_TRY(st, qh_parse_int("--pin", last, a, CPU_SETSIZE - 1, &b));
    for (int64_t cpu = a; cpu <= b; cpu++)
        QH_TRY(st, add((int)cpu, list, n));
out:
    return st;
}

qh_status qh_cpu_list(const char *text, int *list, int *n)
{
    const char *item = text;
    qh_status st;

    *n = 0;
    for (;;) {
        size_t length = strcspn(item, ",");

        QH_TRY(st, read_item(text, item, length, list, n));
        if (!item[length])
            break;
        item += length + 1;
    }
out:
    return st;
}

const char *qh_cpu_text(const cpu_set_t *set, char *buf, size_t room)
{
    size_t n = 0;

    buf[0] = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int last = cpu;

        if (!CPU_ISSET(cpu, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        if (n + 16 > room) {
            snprintf(buf + n, room - n, "...");
            return buf;
        }
        n += (size_t)snprintf(buf + n, room - n, last > cpu ? "%s%d-%d" : "%s%d", n ? "," : "", cpu,
                              last);
        cpu = last;
    }
    return buf;
}
