/* Whether the ranks get to their ends when time is nothing: sends go at once, a wait ends when what
 * it asks for was sent, an all-reduce when all ranks are in it. No network can change the answer.
 */
#include "traces/foreign.h"

#include "src/base/mem.h"

#include <stdio.h>

typedef struct progress {
    qh_foreign *f;
    int64_t *at;       /* owned, [n]: the operation that the rank is at */
    int32_t **missing; /* owned, [n][n_groups]: messages that a wait asks for and were not sent */
    int *ready;        /* owned, [n]: a stack of ranks that may go on */
    int n_ready;
    int n_entered;       /* ranks in the all-reduce under way */
    int first_in_reduce; /* of them */
} progress;

static qh_status begin(progress *p, qh_foreign *f)
{
    qh_status st;

    *p = (progress){.f = f};
    QH_TRY(st, QH_NEW_ARRAY(&p->at, f->n));
    QH_TRY(st, QH_NEW_ARRAY(&p->missing, f->n));
    QH_TRY(st, QH_NEW_ARRAY(&p->ready, f->n));
    for (int rank = f->n - 1; rank >= 0; rank--) {
        qh_foreign_rank *r = &f->rank[rank];

        QH_TRY(st, QH_NEW_ARRAY(&p->missing[rank], r->n_groups));
        for (int64_t i = 0; i < r->n; i++)
            r->op[i].open = 0; /* from here on: it is posted */
        p->ready[p->n_ready++] = rank;
    }
    for (int64_t c = 0; c < f->n_channels; c++)
        f->channel[c].taken = 0;
out:
    return st;
}

static void end(progress *p)
{
    for (int rank = 0; p->missing && rank < p->f->n; rank++)
        qh_mem_free(p->missing[rank]);
    qh_mem_free(p->ready);
    qh_mem_free(p->missing);
    qh_mem_free(p->at);
}

static bool is_sent(const qh_foreign *f, const qh_foreign_op *recv)
{
    return recv->place < f->channel[recv->channel].taken;
}

/* The receiver may stand at a wait for it. */
static void send(progress *p, const qh_foreign_op *s)
{
    qh_foreign_channel *c = &p->f->channel[s->channel];
    const qh_foreign_rank *r = &p->f->rank[c->dst];
    const qh_foreign_op *recv = &r->op[p->f->recv[c->first + c->taken++]], *at;

    if (!recv->open || recv->group < 0 || --p->missing[c->dst][recv->group] > 0)
        return;
    at = p->at[c->dst] < r->n ? &r->op[p->at[c->dst]] : NULL;
    if (at && at->kind == QH_FOREIGN_WAIT && at->group == recv->group && at->open)
        p->ready[p->n_ready++] = c->dst;
}

/* The last one to come lets all go on. */
static qh_status enter_reduce(progress *p, int rank, qh_foreign_op *op)
{
    qh_foreign *f = p->f;

    if (p->n_entered == 0) {
        p->first_in_reduce = rank;
    } else {
        int first = p->first_in_reduce;
        const qh_foreign_op *theirs = &f->rank[first].op[p->at[first]];

        if (theirs->amount != op->amount)
            return qh_foreign_bad(f, rank, op->line,
                                  "an all-reduce of %lld bytes, where rank %d has %lld (%s:%d)",
                                  (long long)op->amount, first, (long long)theirs->amount,
                                  f->rank[first].path, theirs->line);
    }
    op->open = 1;
    if (++p->n_entered < f->n)
        return QH_OK;
    p->n_entered = 0;
    for (int other = 0; other < f->n; other++) {
        p->at[other]++;
        p->ready[p->n_ready++] = other;
    }
    return QH_OK;
}

/* Goes on with a rank for as long as it can. */
static qh_status go_on(progress *p, int rank)
{
    qh_foreign *f = p->f;
    qh_foreign_rank *r = &f->rank[rank];

    for (; p->at[rank] < r->n; p->at[rank]++) {
        qh_foreign_op *op = &r->op[p->at[rank]];

        if (op->kind == QH_FOREIGN_REDUCE)
            return enter_reduce(p, rank, op);
        op->open = 1;
        if (op->kind == QH_FOREIGN_SEND)
            send(p, op);
        else if (op->kind == QH_FOREIGN_RECV && op->group >= 0 && !is_sent(f, op))
            p->missing[rank][op->group]++;
        else if (op->kind == QH_FOREIGN_WAIT && p->missing[rank][op->group] > 0)
            return QH_OK;
    }
    return QH_OK;
}

/* --- when they do not --- */

/* Whom a rank waits for where it stands. */
static int waits_for(const progress *p, int rank)
{
    const qh_foreign *f = p->f;
    const qh_foreign_rank *r = &f->rank[rank];
    const qh_foreign_op *at = &r->op[p->at[rank]];

    if (at->kind == QH_FOREIGN_REDUCE) {
        for (int other = 0; other < f->n; other++) {
            const qh_foreign_rank *o = &f->rank[other];

            if (p->at[other] >= o->n || o->op[p->at[other]].kind != QH_FOREIGN_REDUCE)
                return other;
        }
        return rank;
    }
    for (int64_t i = 0; i < p->at[rank]; i++)
        if (r->op[i].kind == QH_FOREIGN_RECV && r->op[i].group == at->group &&
            !is_sent(f, &r->op[i]))
            return r->op[i].peer;
    return rank;
}

static bool has_ended(const progress *p, int rank)
{
    return p->at[rank] >= p->f->rank[rank].n;
}

/* Follows who waits for whom until somebody comes again: that is the circle. */
static qh_status tell_deadlock(const progress *p, int rank)
{
    enum { MANY = 6 };
    const qh_foreign *f = p->f;
    char text[QH_ERROR_TEXT_BYTES / 2];
    size_t used = 0;
    int first, n = 0;

    for (int i = 0; i < f->n && !has_ended(p, waits_for(p, rank)); i++)
        rank = waits_for(p, rank);
    first = rank;
    do {
        const qh_foreign_rank *r = &f->rank[rank];
        int next = waits_for(p, rank);
        int length =
            snprintf(text + used, sizeof text - used, "%srank %d waits for rank %d (%s:%d)",
                     n ? "; " : "", rank, next, r->path, r->op[p->at[rank]].line);

        if (length < 0 || used + (size_t)length >= sizeof text) {
            text[used] = '\0';
            break;
        }
        used += (size_t)length;
        rank = next;
    } while (++n < MANY && rank != first && !has_ended(p, rank));
    return qh_foreign_bad(f, first, f->rank[first].op[p->at[first]].line, "deadlock: %s", text);
}

qh_status qh_foreign_check_progress(qh_foreign *f)
{
    progress p;
    qh_status st;

    QH_TRY(st, begin(&p, f));
    while (p.n_ready > 0)
        QH_TRY(st, go_on(&p, p.ready[--p.n_ready]));
    for (int rank = 0; rank < f->n; rank++)
        if (!has_ended(&p, rank)) {
            st = tell_deadlock(&p, rank);
            goto out;
        }
out:
    end(&p);
    return st;
}
