#include "src/base/mem.h"
#include "src/transport/mpi_parts.h"

qh_status qh_mpi_room_for_requests(qh_mpi *m, int wanted)
{
    int old = m->capacity, now = old ? old : 32;
    qh_status st;

    while (now < wanted)
        now *= 2;
    if (now == old)
        return QH_OK;
    QH_TRY(st, QH_RESIZE(&m->request, old, now));
    QH_TRY(st, QH_RESIZE(&m->piece, old, now));
    QH_TRY(st, QH_RESIZE(&m->done, old, now));
    QH_TRY(st, QH_RESIZE(&m->status, old, now));
    m->capacity = now;
out:
    return st;
}

qh_status qh_mpi_room_for_blocks(qh_mpi *m, int32_t wanted)
{
    qh_status st = QH_OK;

    if (wanted > m->n_blocks)
        QH_TRY(st, QH_RESIZE(&m->block, m->n_blocks, wanted));
    m->n_blocks = wanted > m->n_blocks ? wanted : m->n_blocks;
out:
    return st;
}

qh_status qh_mpi_take_block(qh_mpi *m, qh_mpi_block b, int32_t *out)
{
    int32_t i = 0;
    qh_status st = QH_OK;

    while (i < m->n_blocks && m->block[i].used)
        i++;
    if (i == m->n_blocks)
        QH_TRY(st, qh_mpi_room_for_blocks(m, i ? 2 * i : 16));
    b.used = true;
    m->block[i] = b;
    *out = i;
out:
    return st;
}

qh_status qh_mpi_new_inbox(qh_mpi *m, int64_t bytes)
{
    char *data = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&data, bytes > 64 ? bytes : 64));
    QH_TRY(st, QH_RESIZE(&m->inbox, m->n_inboxes, m->n_inboxes + 1));
    m->inbox[m->n_inboxes++] =
        (qh_mpi_inbox){.data = data, .capacity = bytes > 64 ? bytes : 64, .used = false};
    data = NULL;
out:
    qh_mem_free(data);
    return st;
}

/* The smallest that fits. Where each block has been given an inbox beforehand (expect), all of them
 * find one in any order: a block that takes another's, a smaller one, leaves its own for that. */
qh_status qh_mpi_take_inbox(qh_mpi *m, int64_t bytes, int32_t *out)
{
    int32_t best = -1;
    qh_status st = QH_OK;

    for (int32_t i = 0; i < m->n_inboxes; i++)
        if (!m->inbox[i].used && m->inbox[i].capacity >= bytes &&
            (best < 0 || m->inbox[i].capacity < m->inbox[best].capacity))
            best = i;
    if (best < 0) {
        QH_TRY(st, qh_mpi_new_inbox(m, bytes));
        best = m->n_inboxes - 1;
    }
    m->inbox[best].used = true;
    *out = best;
out:
    return st;
}
