/* What is left when no record will come and nothing moves: who waits for whom. */
#include "sim/engine_parts.h"

#include <stdio.h>

enum { TEXT_BYTES = 700 }; /* of the list; the whole must fit the error text */

/* A sender whose block the device waits for: the first in the list of devices; -1: none. */
static int missing_sender(const qh_engine *e, int rank)
{
    int first = -1;

    for (int32_t b = 0; b < e->block_capacity; b++)
        if (e->block[b].in_exchange == e->device[rank].waits && e->block[b].dst == rank &&
            !e->block[b].arrived && (first < 0 || e->block[b].src < first))
            first = e->block[b].src;
    return first;
}

static int describe(const qh_engine *e, int rank, char *text, size_t size)
{
    const qh_engine_device *d = &e->device[rank];
    const qh_record *r = &d->current;

    if (d->state == QH_REDUCING)
        return snprintf(
            text, size, "device %d waits for device %d (epoch %d, all-reduce)", rank,
            qh_reduce_step_of(&e->reduce_plan, d->reduce.bytes, rank, d->reduce.step).from,
            r->epoch);
    return snprintf(text, size, "device %d waits for device %d (epoch %d, layer %d, %s)", rank,
                    missing_sender(e, rank), r->epoch, r->layer, qh_direction_name(r->direction));
}

static qh_status deadlock(const qh_engine *e)
{
    char text[TEXT_BYTES];
    size_t used = 0;
    int n_held = 0, n_told = 0;

    for (int rank = 0; rank < e->n; rank++) {
        char one[128];
        int length;

        if (e->device[rank].state == QH_ENDED)
            continue;
        n_held++;
        length = describe(e, rank, one, sizeof one);
        if (n_told + 1 < n_held || used + (size_t)length + 3 > sizeof text)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", n_told ? "; " : "", one);
        n_told++;
    }
    if (n_told < n_held)
        return qh_fail(QH_EINPUT, "deadlock: %s; and %d more devices", text, n_held - n_told);
    return qh_fail(QH_EINPUT, "deadlock: %s", text);
}

/* A block of which one half was recorded and the other never: nothing waited for it, but the
 * records do not describe a run that could have been. */
static qh_status check_halves(const qh_engine *e)
{
    for (int64_t c = 0; c < (int64_t)e->n * e->n; c++) {
        const qh_block *b = e->channel[c].head >= 0 ? &e->block[e->channel[c].head] : NULL;

        if (b && b->sent)
            return qh_fail(QH_EINPUT,
                           "device %d: has no receive for %lld bytes that device %d sent; every "
                           "send needs one",
                           b->dst, (long long)b->bytes, b->src);
        if (b)
            return qh_fail(QH_EINPUT,
                           "device %d: sends nothing for a receive of %lld bytes at device %d; "
                           "every receive needs a send",
                           b->src, (long long)b->bytes, b->dst);
    }
    return QH_OK;
}

qh_status qh_engine_check_ended(const qh_engine *e)
{
    for (int rank = 0; rank < e->n; rank++)
        if (e->device[rank].state != QH_ENDED)
            return deadlock(e);
    return check_halves(e);
}
