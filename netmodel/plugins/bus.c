/* An example of a network plug-in: one bus for all, which carries one flow after the other in the
 * order in which they were started. Its only key is `bus_MBps: 100` [1000]. */
#include "netmodel/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16 }; /* flows under way */

typedef struct bus {
    double ps_per_byte;
    int64_t free_at; /* when the last flow is done */
    int64_t head, n; /* of the queue, a ring */
    int64_t id[MOST], end[MOST];
} bus;

static void *create(const char *yaml, int n_devices, char *error, size_t error_size)
{
    const char *key = strstr(yaml, "bus_MBps:");
    double rate = 1000;
    bus *b;

    (void)n_devices;
    if (key && (sscanf(key, "bus_MBps: %lf", &rate) != 1 || !(rate > 0))) {
        snprintf(error, error_size, "bus_MBps is not above 0; bus_MBps: 100");
        return NULL;
    }
    b = calloc(1, sizeof *b);
    if (b)
        b->ps_per_byte = 1e6 / rate;
    return b;
}

static int64_t alone(void *model, int src, int dst, int64_t bytes)
{
    double ps = (double)bytes * ((bus *)model)->ps_per_byte;

    (void)src, (void)dst;
    return ps < 9e18 ? (int64_t)ps + 1 : INT64_MAX;
}

static int start(void *model, int64_t now, const qhalo_net_flow *f)
{
    bus *b = model;
    int64_t from = now > b->free_at ? now : b->free_at, span = alone(b, f->src, f->dst, f->bytes);
    int64_t last = (b->head + b->n) % MOST;

    if (b->n == MOST || span > INT64_MAX - from)
        return 1;
    b->free_at = from + span;
    b->id[last] = f->id;
    b->end[last] = b->free_at;
    b->n++;
    return 0;
}

static int64_t next(void *model)
{
    const bus *b = model;

    return b->n ? b->end[b->head] : INT64_MAX;
}

static int64_t advance(void *model, int64_t now, int64_t *done, int64_t capacity)
{
    bus *b = model;
    int64_t n = 0;

    for (; n < capacity && next(b) <= now; b->head = (b->head + 1) % MOST, b->n--)
        done[n++] = b->id[b->head];
    return n;
}

const qhalo_net_plugin qhalo_net_plugin_table = {
    .abi = QHALO_NET_PLUGIN_ABI,
    .size = sizeof(qhalo_net_plugin),
    .name = "bus",
    .help = "one bus for all",
    .contention = 1,
    .create = create,
    .destroy = free,
    .start = start,
    .next = next,
    .advance = advance,
    .alone = alone,
};
