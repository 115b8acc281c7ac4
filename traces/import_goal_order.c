/* The graph of a rank in one order, as the one compute stream of a device runs it. */
#include "src/base/mem.h"
#include "traces/import_members.h"

/* A heap of operations, the first in the file on top. */
typedef struct heap {
    int32_t *item; /* owned, [n operations] */
    int64_t n;
} heap;

static void push(heap *h, int32_t op)
{
    int64_t i = h->n++;

    for (; i > 0 && h->item[(i - 1) / 2] > op; i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = op;
}

static int32_t pop(heap *h)
{
    int32_t top = h->item[0], last = h->item[--h->n];
    int64_t i = 0, child;

    while ((child = 2 * i + 1) < h->n) {
        if (child + 1 < h->n && h->item[child + 1] < h->item[child])
            child++;
        if (h->item[child] >= last)
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = last;
    return top;
}

typedef struct node {
    int32_t n_needs;    /* what it needs and is not so yet */
    int32_t n_unposted; /* of these, what no wait can bring about */
    int64_t request;    /* of a message that was posted */
    bool gone, done;    /* posted or computed; what needs it done need not wait */
} node;

typedef struct order {
    qh_foreign *f;
    int rank;
    const qh_goal_rank *g;
    node *node;               /* owned, [n] */
    int64_t *first_in, *in;   /* owned: edges by what needs something */
    int64_t *first_out, *out; /* owned: and by what is needed */
    heap ready, waiting;      /* of what nothing is missing; of what only messages are */
    int32_t *early;           /* owned, [n]: messages that go when a computation begins */
    int64_t n_early;
    int64_t end; /* operations before it may go */
} order;

/* Edges by one of their ends: first[i] .. first[i + 1] of list are those of op i. */
static qh_status list_edges(const qh_goal_rank *g, bool by_op, int64_t **first, int64_t **list)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(first, g->n + 2));
    QH_TRY(st, QH_NEW_ARRAY(list, g->n_edges));
    for (int64_t e = 0; e < g->n_edges; e++)
        (*first)[(by_op ? g->edge[e].op : g->edge[e].before) + 2]++;
    for (int64_t i = 2; i < g->n + 2; i++)
        (*first)[i] += (*first)[i - 1];
    for (int64_t e = 0; e < g->n_edges; e++)
        (*list)[(*first)[(by_op ? g->edge[e].op : g->edge[e].before) + 1]++] = e;
out:
    return st;
}

static qh_status begin(order *o)
{
    const qh_goal_rank *g = o->g;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&o->node, g->n));
    QH_TRY(st, QH_NEW_ARRAY(&o->ready.item, g->n));
    QH_TRY(st, QH_NEW_ARRAY(&o->waiting.item, g->n));
    QH_TRY(st, QH_NEW_ARRAY(&o->early, g->n));
    QH_TRY(st, list_edges(g, true, &o->first_in, &o->in));
    QH_TRY(st, list_edges(g, false, &o->first_out, &o->out));
    for (int64_t e = 0; e < g->n_edges; e++) {
        o->node[g->edge[e].op].n_needs++;
        o->node[g->edge[e].op].n_unposted++;
    }
out:
    return st;
}

static void end(order *o)
{
    qh_mem_free(o->out);
    qh_mem_free(o->first_out);
    qh_mem_free(o->in);
    qh_mem_free(o->first_in);
    qh_mem_free(o->early);
    qh_mem_free(o->waiting.item);
    qh_mem_free(o->ready.item);
    qh_mem_free(o->node);
}

static bool is_message(const qh_goal_op *op)
{
    return op->kind == QH_FOREIGN_SEND || op->kind == QH_FOREIGN_RECV;
}

/* Of what op needs some is so, and some can be brought about by waiting. */
static void lessen(order *o, int32_t op, int needs, int unposted, bool early)
{
    node *n = &o->node[op];

    n->n_needs -= needs;
    n->n_unposted -= unposted;
    if (op >= o->end)
        return;
    if (n->n_needs == 0 && early && is_message(&o->g->op[op]))
        o->early[o->n_early++] = op;
    else if (n->n_needs == 0)
        push(&o->ready, op);
    else if (unposted > 0 && n->n_unposted == 0)
        push(&o->waiting, op);
}

/* Those who need that op has begun (start) or is done: needs and unposted as in lessen. */
static void tell(order *o, int32_t op, bool start, int needs, int unposted, bool early)
{
    for (int64_t i = o->first_out[op]; i < o->first_out[op + 1]; i++) {
        const qh_goal_edge *e = &o->g->edge[o->out[i]];

        if (e->start == start)
            lessen(o, e->op, needs, unposted, early);
    }
}

static qh_status post(order *o, int32_t op, bool early)
{
    const qh_goal_op *m = &o->g->op[op];
    node *n = &o->node[op];
    bool send = m->kind == QH_FOREIGN_SEND;
    qh_status st;

    QH_TRY(st, (send ? qh_foreign_send : qh_foreign_recv)(o->f, o->rank, m->line, m->peer, m->tag,
                                                          m->amount, &n->request));
    n->gone = true;
    n->done = n->request == QH_FOREIGN_NO_REQUEST || (send && m->amount < o->f->eager_bytes);
    tell(o, op, true, 1, 1, early);
    tell(o, op, false, n->done, 1, false);
out:
    return st;
}

/* Messages that may go when it begins go before it, since it holds what comes after. */
static qh_status compute(order *o, int32_t op)
{
    const qh_goal_op *c = &o->g->op[op];
    qh_status st = QH_OK;

    o->n_early = 0;
    tell(o, op, true, 1, 1, true);
    for (int64_t i = 0; i < o->n_early; i++)
        QH_TRY(st, post(o, o->early[i], true));
    QH_TRY(st, qh_foreign_compute(o->f, o->rank, c->line, c->amount));
    o->node[op].gone = o->node[op].done = true;
    tell(o, op, false, 1, 1, false);
out:
    return st;
}

/* Waits for the messages that op needs. */
static qh_status wait_for(order *o, int32_t op)
{
    qh_status st = QH_OK;

    for (int64_t i = o->first_in[op]; i < o->first_in[op + 1]; i++) {
        const qh_goal_edge *e = &o->g->edge[o->in[i]];
        node *n = &o->node[e->before];

        if (e->start || n->done)
            continue;
        QH_TRY(st, qh_foreign_wait(o->f, o->rank, o->g->op[op].line, n->request));
        n->done = true;
        tell(o, e->before, false, 1, 0, false);
    }
out:
    return st;
}

/* --- from mark to mark --- */

static qh_status check_gone(const order *o, int64_t from)
{
    for (int64_t i = from; i < o->end; i++)
        if (!o->node[i].gone)
            return qh_foreign_bad(o->f, o->rank, o->g->op[i].line,
                                  "this operation never begins: what it requires requires it, or "
                                  "stands behind the mark of an epoch");
    return QH_OK;
}

static qh_status order_segment(order *o, int64_t from)
{
    qh_status st = QH_OK;

    for (int64_t i = from; i < o->end; i++)
        if (o->node[i].n_needs == 0)
            push(&o->ready, (int32_t)i);
        else if (o->node[i].n_unposted == 0)
            push(&o->waiting, (int32_t)i);
    while (o->ready.n > 0 || o->waiting.n > 0) {
        if (o->ready.n > 0) {
            int32_t op = pop(&o->ready);

            QH_TRY(st, is_message(&o->g->op[op]) ? post(o, op, false) : compute(o, op));
        } else {
            QH_TRY(st, wait_for(o, pop(&o->waiting)));
        }
    }
    st = check_gone(o, from);
out:
    return st;
}

qh_status qh_goal_order(qh_foreign *f, int rank, const qh_goal_rank *g)
{
    order o = {.f = f, .rank = rank, .g = g};
    int64_t from = 0;
    qh_status st;

    QH_TRY(st, begin(&o));
    for (int64_t i = 0; i <= g->n; i++) {
        if (i < g->n && g->op[i].kind != QH_FOREIGN_MARK)
            continue;
        o.end = i;
        QH_TRY(st, order_segment(&o, from));
        from = i + 1;
        if (i < g->n)
            QH_TRY(st, qh_foreign_mark(f, rank, g->op[i].line, (int32_t)g->op[i].amount));
        else if (i > 0 && g->op[i - 1].kind != QH_FOREIGN_MARK) /* a rank ends when all is done */
            QH_TRY(st, qh_foreign_wait_all(f, rank, g->op[i - 1].line));
    }
out:
    end(&o);
    return st;
}
