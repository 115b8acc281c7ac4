/* Channels: which send a receive takes; and whether the ranks, left to themselves, get to their
 * ends. */
#include "traces/foreign.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

/* --- lists of the messages --- */

/* A send or receive of a channel. */
typedef struct message {
    int32_t src, dst, op, tag;
    bool send;
} message;

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Channel by channel, sends before receives, each as posted. */
static int by_channel(const void *a, const void *b)
{
    const message *x = a, *y = b;
    int c = order(x->src, y->src);

    c = c ? c : order(x->dst, y->dst);
    c = c ? c : order(y->send, x->send);
    return c ? c : order(x->op, y->op);
}

static int by_tag(const void *a, const void *b)
{
    const message *x = *(const message *const *)a, *y = *(const message *const *)b;
    int c = order(x->tag, y->tag);

    return c ? c : order(x->op, y->op);
}

static qh_status list_messages(const qh_foreign *f, message **out, int64_t *n_out)
{
    message *m = NULL;
    int64_t n = 0;
    qh_status st;

    for (int rank = 0; rank < f->n; rank++)
        for (int64_t i = 0; i < f->rank[rank].n; i++)
            n += f->rank[rank].op[i].kind == QH_FOREIGN_SEND ||
                 f->rank[rank].op[i].kind == QH_FOREIGN_RECV;
    QH_TRY(st, QH_NEW_ARRAY(&m, n));
    n = 0;
    for (int rank = 0; rank < f->n; rank++)
        for (int64_t i = 0; i < f->rank[rank].n; i++) {
            const qh_foreign_op *op = &f->rank[rank].op[i];
            bool send = op->kind == QH_FOREIGN_SEND;

            if (send || op->kind == QH_FOREIGN_RECV)
                m[n++] = (message){.src = send ? rank : op->peer,
                                   .dst = send ? op->peer : rank,
                                   .op = (int32_t)i,
                                   .tag = op->tag,
                                   .send = send};
        }
    qsort(m, (size_t)n, sizeof *m, by_channel);
    *out = m;
    *n_out = n;
out:
    return st;
}

/* --- one channel --- */

typedef struct match {
    qh_foreign *f;
    message *message; /* of all channels */
    /* scratch, for the longest channel: sends by tag, where each tag's untaken ones begin, and
     * which sends are taken */
    const message **sorted;
    int64_t *head;
    bool *taken;
} match;

static const qh_foreign_op *op_of(const qh_foreign *f, const message *m)
{
    return &f->rank[m->send ? m->src : m->dst].op[m->op];
}

static qh_status no_send(const qh_foreign *f, const message *r)
{
    int32_t line = op_of(f, r)->line;

    if (r->tag == QH_FOREIGN_ANY_TAG)
        return qh_foreign_bad(f, r->dst, line,
                              "rank %d receives from rank %d what that never sends; every receive "
                              "needs a send",
                              r->dst, r->src);
    return qh_foreign_bad(f, r->dst, line,
                          "rank %d receives from rank %d with tag %d what that never sends; every "
                          "receive needs a send",
                          r->dst, r->src, r->tag);
}

static qh_status no_recv(const qh_foreign *f, const message *s)
{
    return qh_foreign_bad(f, s->src, op_of(f, s)->line,
                          "rank %d sends to rank %d with tag %d what that never receives; every "
                          "send needs a receive",
                          s->src, s->dst, s->tag);
}

/* The first of the sorted sends with the tag. */
static int64_t first_of_tag(const match *m, int64_t n, int32_t tag)
{
    int64_t low = 0, high = n;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (m->sorted[mid]->tag < tag)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The oldest send that is not taken, of the n of a channel: with the tag, or with any. -1: none. */
static int64_t take_send(match *m, const message *send, int64_t n, int32_t tag, int64_t *oldest)
{
    if (tag == QH_FOREIGN_ANY_TAG) {
        while (*oldest < n && (m->taken[*oldest] || send[*oldest].tag < 0))
            ++*oldest;
        return *oldest < n ? *oldest : -1;
    }
    for (int64_t first = first_of_tag(m, n, tag), i; first < n; m->head[first]++) {
        i = first + m->head[first];
        if (i >= n || m->sorted[i]->tag != tag)
            return -1;
        if (!m->taken[m->sorted[i] - send])
            return m->sorted[i] - send;
    }
    return -1;
}

static qh_status pair(match *m, const message *s, const message *r, int64_t place, int32_t channel)
{
    qh_foreign *f = m->f;
    qh_foreign_op *send = &f->rank[s->src].op[s->op], *recv = &f->rank[r->dst].op[r->op];

    if (recv->amount < send->amount)
        return qh_foreign_bad(
            f, r->dst, recv->line, "a receive of %lld bytes for a message of %lld (sent at %s:%d)",
            (long long)recv->amount, (long long)send->amount, f->rank[s->src].path, send->line);
    send->channel = recv->channel = channel;
    recv->amount = send->amount;
    recv->place = place;
    f->recv[f->channel[channel].first + place] = r->op;
    return QH_OK;
}

/* ns sends, then nr receives. */
static qh_status match_channel(match *m, const message *send, int64_t ns, int64_t nr,
                               int32_t channel)
{
    const message *recv = send + ns;
    int64_t oldest = 0;
    qh_status st = QH_OK;

    for (int64_t i = 0; i < ns; i++) {
        m->sorted[i] = &send[i];
        m->head[i] = 0;
        m->taken[i] = false;
    }
    qsort(m->sorted, (size_t)ns, sizeof *m->sorted, by_tag);
    for (int64_t i = 0; i < nr; i++) {
        int64_t place = take_send(m, send, ns, recv[i].tag, &oldest);

        if (place < 0)
            return no_send(m->f, &recv[i]);
        m->taken[place] = true;
        QH_TRY(st, pair(m, &send[place], &recv[i], place, channel));
    }
    for (int64_t i = 0; i < ns; i++)
        if (!m->taken[i])
            return no_recv(m->f, &send[i]);
out:
    return st;
}

/* --- all channels --- */

static bool same_channel(const message *a, const message *b)
{
    return a->src == b->src && a->dst == b->dst;
}

/* Counts channels, and the messages of the longest. */
static int64_t count_channels(const message *m, int64_t n, int64_t *longest)
{
    int64_t n_channels = 0;

    *longest = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_channel(&m[i], &m[end]); end++)
            ;
        *longest = end - i > *longest ? end - i : *longest;
        n_channels++;
    }
    return n_channels;
}

static qh_status match_all(match *m, int64_t n)
{
    qh_foreign *f = m->f;
    int64_t n_recv = 0;
    qh_status st = QH_OK;

    for (int64_t i = 0, end; i < n; i = end) {
        const message *first = &m->message[i];
        int64_t ns = 0;

        for (end = i; end < n && same_channel(first, &m->message[end]); end++)
            ns += m->message[end].send;
        f->channel[f->n_channels] = (qh_foreign_channel){
            .src = first->src, .dst = first->dst, .first = n_recv, .n = end - i - ns};
        QH_TRY(st, match_channel(m, first, ns, end - i - ns, (int32_t)f->n_channels));
        n_recv += end - i - ns;
        f->n_channels++;
    }
out:
    return st;
}

static qh_status match_messages(qh_foreign *f)
{
    match m = {.f = f};
    int64_t n = 0, longest, n_channels;
    qh_status st;

    QH_TRY(st, list_messages(f, &m.message, &n));
    n_channels = count_channels(m.message, n, &longest);
    QH_TRY(st, QH_NEW_ARRAY(&m.sorted, longest));
    QH_TRY(st, QH_NEW_ARRAY(&m.head, longest));
    QH_TRY(st, QH_NEW_ARRAY(&m.taken, longest));
    QH_TRY(st, QH_NEW_ARRAY(&f->channel, n_channels));
    QH_TRY(st, QH_NEW_ARRAY(&f->recv, n));
    QH_TRY(st, match_all(&m, n));
out:
    qh_mem_free(m.taken);
    qh_mem_free(m.head);
    qh_mem_free(m.sorted);
    qh_mem_free(m.message);
    return st;
}

/* --- what all ranks have to have in common --- */

static qh_status compare_collectives(const qh_foreign *f, int rank)
{
    const qh_foreign_rank *a = &f->rank[0], *b = &f->rank[rank];

    for (int64_t i = 0; i < a->n_collectives && i < b->n_collectives; i++) {
        const qh_foreign_collective *x = &a->collective[i], *y = &b->collective[i];

        if (x->name != y->name || x->root != y->root)
            return qh_foreign_bad(f, rank, y->line,
                                  "collective %lld of rank %d is %s with root %d, and that of rank "
                                  "0 is %s with root %d (%s:%d)",
                                  (long long)i + 1, rank, y->name, y->root, x->name, x->root,
                                  a->path, x->line);
    }
    if (a->n_collectives != b->n_collectives)
        return qh_fail(QH_EINPUT,
                       "%s: rank %d takes part in %lld collectives, and rank 0 (%s) in %lld; all "
                       "ranks have to take part in each",
                       b->path, rank, (long long)b->n_collectives, a->path,
                       (long long)a->n_collectives);
    return QH_OK;
}

/* Marks rise by 1, and each rank has the same. */
static qh_status check_marks(qh_foreign *f, int rank)
{
    const qh_foreign_rank *r = &f->rank[rank];
    int64_t n = 0;

    for (int64_t i = 0; i < r->n; i++) {
        const qh_foreign_op *op = &r->op[i];

        if (op->kind != QH_FOREIGN_MARK)
            continue;
        if (rank == 0 && n == 0)
            f->first_epoch = (int32_t)op->amount;
        if (op->amount != (int64_t)f->first_epoch + n)
            return qh_foreign_bad(f, rank, op->line, "epoch %lld ends where epoch %lld should",
                                  (long long)op->amount, (long long)f->first_epoch + n);
        n++;
    }
    if (rank == 0)
        f->n_epochs = n;
    if (n != f->n_epochs)
        return qh_fail(QH_EINPUT, "%s: rank %d marks the ends of %lld epochs, and rank 0 of %lld",
                       r->path, rank, (long long)n, (long long)f->n_epochs);
    return QH_OK;
}

qh_status qh_foreign_match(qh_foreign *f)
{
    qh_status st = QH_OK;

    for (int rank = 0; rank < f->n; rank++) {
        QH_TRY(st, check_marks(f, rank));
        QH_TRY(st, compare_collectives(f, rank));
    }
    QH_TRY(st, match_messages(f));
out:
    return st;
}
