#include "tests/support/pattern.h"

#include "src/base/mem.h"
#include "src/base/rng.h"

enum { MAX_BLOCKS = 11, MAX_BYTES = 500 };

static int n_blocks(const pattern *p, int step, int src, int dst)
{
    qh_key key = qh_rand_key(p->seed, QH_RAND_SAMPLE, (uint32_t)step, 0, 0);

    return (int)qh_rand_below(key, (uint64_t)(src * PATTERN_MAX_RANKS + dst), MAX_BLOCKS + 1);
}

static int64_t block_bytes(const pattern *p, int step, int src, int dst, int k)
{
    qh_key key = qh_rand_key(p->seed, QH_RAND_SAMPLE, (uint32_t)step, 1, 0);
    uint64_t index = (uint64_t)((src * PATTERN_MAX_RANKS + dst) * MAX_BLOCKS + k);

    return (int64_t)qh_rand_below(key, index, MAX_BYTES); /* 0 too */
}

static uint8_t block_byte(int step, int src, int dst, int k, int64_t i)
{
    return (uint8_t)(step * 31 + src * 7 + dst * 13 + k * 101 + i);
}

typedef struct post {
    qh_transfer send[PATTERN_MAX_RANKS][MAX_BLOCKS], recv[PATTERN_MAX_RANKS][MAX_BLOCKS];
    uint8_t bytes[PATTERN_MAX_RANKS][MAX_BLOCKS][MAX_BYTES];
} post;

static qh_status begin_sends(const pattern *c, int rank, int step, post *p)
{
    qh_status st = QH_OK;

    for (int dst = 0; dst < c->n_ranks; dst++)
        for (int k = 0; k < n_blocks(c, step, rank, dst); k++) {
            int64_t n = block_bytes(c, step, rank, dst, k);

            for (int64_t i = 0; i < n; i++)
                p->bytes[dst][k][i] = block_byte(step, rank, dst, k, i);
            QH_TRY(st,
                   c->t->ops->send_begin(c->t, rank, dst, p->bytes[dst][k], n, &p->send[dst][k]));
        }
out:
    return st;
}

static qh_status take_blocks(const pattern *c, int rank, int step, post *p)
{
    qh_status st = QH_OK;

    for (int src = 0; src < c->n_ranks; src++)
        for (int k = 0; k < n_blocks(c, step, src, rank); k++)
            QH_TRY(st, c->t->ops->recv_begin(c->t, rank, src, NULL,
                                             block_bytes(c, step, src, rank, k), &p->recv[src][k]));
    for (int src = c->n_ranks - 1; src >= 0; src--) {
        int n = n_blocks(c, step, src, rank);

        for (int k = 0; k < n; k++) { /* finished against the order of beginning as well */
            qh_transfer *x = &p->recv[src][step % 2 ? n - 1 - k : k];
            int block = (int)(x - p->recv[src]);

            QH_TRY(st, c->t->ops->recv_finish(c->t, rank, x));
            for (int64_t i = 0; i < x->bytes; i++)
                if (((const uint8_t *)x->view)[i] != block_byte(step, src, rank, block, i))
                    return qh_fail(QH_EINTERNAL, "step %d: %d -> %d, block %d, byte %d", step, src,
                                   rank, block, (int)i);
        }
        for (int k = 0; k < n; k++)
            c->t->ops->recv_release(c->t, rank, &p->recv[src][step % 3 ? n - 1 - k : k]);
    }
out:
    return st;
}

qh_status pattern_run(const pattern *c, int rank)
{
    qh_status st;
    post *p = NULL;

    QH_TRY(st, QH_NEW(&p));
    for (int step = 0; step < PATTERN_STEPS; step++) {
        QH_TRY(st, begin_sends(c, rank, step, p));
        if (c->step)
            QH_TRY(st, c->step(c->ctx, rank, step));
        QH_TRY(st, take_blocks(c, rank, step, p));
        for (int dst = 0; dst < c->n_ranks; dst++)
            for (int k = n_blocks(c, step, rank, dst) - 1; k >= 0; k--)
                QH_TRY(st, c->t->ops->send_finish(c->t, rank, &p->send[dst][k]));
    }
out:
    if (st < 0)
        c->t->ops->abort(c->t, rank);
    qh_mem_free(p);
    return st;
}
