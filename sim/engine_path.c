/* Following the critical path forward: each device has the chain that ends at its instant, each
 * block the chain to its posting. Where something waits for several things, it goes on with the
 * chain of the one that came last. */
#include "sim/engine_parts.h"

static qh_path_part part_of(const qh_record *r)
{
    return r->op == QH_OP_QUANTIZE || r->op == QH_OP_DEQUANTIZE ? QH_PATH_CODEC : QH_PATH_COMPUTE;
}

void qh_engine_path_add(qh_engine *e, int rank, const qh_record *r, qh_time span)
{
    if (e->config.path)
        e->device[rank].path.part[part_of(r)] += span;
}

void qh_engine_path_posted(qh_engine *e, int rank, int32_t block, qh_time overhead)
{
    if (!e->config.path)
        return;
    e->device[rank].path.part[QH_PATH_TRANSFER] += overhead;
    e->block[block].path = e->device[rank].path;
}

void qh_engine_path_moved(qh_engine *e, int32_t block, qh_time at)
{
    if (e->config.path)
        e->cause = qh_path_to(&e->block[block].path, at, QH_PATH_TRANSFER);
}

void qh_engine_path_own(qh_engine *e, int rank)
{
    e->cause = e->device[rank].path;
}

void qh_engine_path_released(qh_engine *e, int32_t block)
{
    if (e->config.path)
        e->block[block].path = e->cause;
}

void qh_engine_path_wait(qh_engine *e, int rank, qh_time overhead)
{
    qh_engine_device *d = &e->device[rank];

    d->busy_path = d->path;
    d->busy_path.part[QH_PATH_TRANSFER] += overhead;
}

void qh_engine_path_arrived(qh_engine *e, int32_t block, qh_time overhead, qh_time at)
{
    qh_engine_device *d = &e->device[e->block[block].dst];

    if (!e->config.path)
        return;
    if (at > d->busy)
        d->busy_path = qh_path_to(&e->block[block].path, at, QH_PATH_TRANSFER);
    d->busy_path.part[QH_PATH_TRANSFER] += overhead;
}

void qh_engine_path_left(qh_engine *e, int rank, const qh_path *posted, qh_time at)
{
    qh_engine_device *d = &e->device[rank];

    if (e->config.path && at > d->busy)
        d->busy_path = qh_path_to(posted, at, QH_PATH_TRANSFER);
}

void qh_engine_path_waited(qh_engine *e, int rank)
{
    e->device[rank].path = e->device[rank].busy_path;
}

void qh_engine_path_reduced(qh_engine *e, int by, int rank, qh_time at)
{
    if (e->config.path)
        e->device[rank].path = qh_path_to(&e->device[by].path, at, QH_PATH_ALLREDUCE);
}

qh_path qh_engine_path(const qh_engine *e)
{
    int last = 0;

    for (int rank = 1; rank < e->n; rank++)
        if (e->device[rank].now > e->device[last].now)
            last = rank;
    return e->device[last].path;
}
