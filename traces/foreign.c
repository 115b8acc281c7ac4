#include "traces/foreign.h"

#include "src/base/hash.h"
#include "src/base/mem.h"
#include "traces/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

qh_status qh_foreign_new(int n_ranks, const qh_import_options *o, qh_foreign **out)
{
    qh_foreign *f = NULL;
    qh_status st;

    QH_ASSERT(1 <= n_ranks && n_ranks <= QH_TRACE_MAX_DEVICES);
    QH_TRY(st, QH_NEW(&f));
    f->n = n_ranks;
    f->eager_bytes = o->eager_bytes;
    QH_TRY(st, QH_NEW_ARRAY(&f->rank, n_ranks));
    *out = f;
    f = NULL;
out:
    qh_foreign_free(f);
    return st;
}

void qh_foreign_free(qh_foreign *f)
{
    if (!f)
        return;
    qh_mem_free(f->recv);
    qh_mem_free(f->channel);
    for (int64_t i = 0; i < f->n_paths; i++)
        qh_mem_free(f->path[i]);
    qh_mem_free(f->path);
    for (int r = 0; f->rank && r < f->n; r++) {
        qh_mem_free(f->rank[r].collective);
        qh_mem_free(f->rank[r].list);
        qh_mem_free(f->rank[r].op);
    }
    qh_mem_free(f->rank);
    qh_mem_free(f);
}

int qh_foreign_n_ranks(const qh_foreign *f)
{
    return f->n;
}

qh_status qh_foreign_path(qh_foreign *f, int rank, const char *path)
{
    int64_t n = f->n_paths;
    qh_status st = QH_OK;

    if (n == 0 || strcmp(f->path[n - 1], path) != 0) {
        if ((n & (n - 1)) == 0) /* no or a power of two: it is full */
            QH_TRY(st, QH_RESIZE(&f->path, n, n ? 2 * n : 1));
        QH_TRY(st, qh_mem_strdup(path, &f->path[n]));
        f->n_paths = ++n;
    }
    f->rank[rank].path = f->path[n - 1];
out:
    return st;
}

qh_status qh_foreign_bad(const qh_foreign *f, int rank, int32_t line, const char *format, ...)
{
    char text[QH_ERROR_TEXT_BYTES / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return qh_fail(QH_EINPUT, "%s:%d: %s", f->rank[rank].path, line, text);
}

/* --- open requests, by kind, peer and tag --- */

/* The list with the key, or the free place where it would be. */
static qh_foreign_list *look_up(qh_foreign_list *list, int64_t capacity, const int32_t *key)
{
    uint64_t at = qh_hash(key, sizeof list->key, 0);

    for (;; at++) {
        qh_foreign_list *l = &list[at & (uint64_t)(capacity - 1)];

        if (!l->used || memcmp(l->key, key, sizeof l->key) == 0)
            return l;
    }
}

static qh_status grow_lists(qh_foreign_rank *r)
{
    int64_t more = r->list_capacity ? 2 * r->list_capacity : 64;
    qh_foreign_list *list = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&list, more));
    for (int64_t i = 0; i < r->list_capacity; i++)
        if (r->list[i].used)
            *look_up(list, more, r->list[i].key) = r->list[i];
    qh_mem_free(r->list);
    r->list = list;
    r->list_capacity = more;
out:
    return st;
}

static qh_status list_request(qh_foreign_rank *r, int32_t request)
{
    qh_foreign_op *q = &r->op[request];
    int32_t key[3] = {q->kind, q->peer, q->tag};
    qh_foreign_list *l;
    qh_status st = QH_OK;

    if (2 * (r->n_lists + 1) > r->list_capacity)
        QH_TRY(st, grow_lists(r));
    l = look_up(r->list, r->list_capacity, key);
    if (!l->used) {
        *l = (qh_foreign_list){.key = {key[0], key[1], key[2]}, .first = -1, .used = true};
        r->n_lists++;
    }
    q->channel = -1;
    if (l->first < 0)
        l->first = request;
    else
        r->op[l->last].channel = request;
    l->last = request;
out:
    return st;
}

int64_t qh_foreign_find(qh_foreign *f, int rank, qh_foreign_kind kind, int32_t peer, int32_t tag)
{
    qh_foreign_rank *r = &f->rank[rank];
    int32_t key[3] = {kind, peer, tag};
    qh_foreign_list *l;

    if (r->list_capacity == 0)
        return QH_FOREIGN_NO_REQUEST;
    l = look_up(r->list, r->list_capacity, key);
    if (!l->used)
        return QH_FOREIGN_NO_REQUEST;
    while (l->first >= 0 && !r->op[l->first].open)
        l->first = r->op[l->first].channel;
    return l->first >= 0 ? l->first : QH_FOREIGN_NO_REQUEST;
}

/* --- operations --- */

static qh_status append(qh_foreign *f, int rank, qh_foreign_op op)
{
    qh_foreign_rank *r = &f->rank[rank];
    qh_status st = QH_OK;

    if (r->n == INT32_MAX)
        return qh_foreign_bad(f, rank, op.line, "more than 2^31 operations in a rank");
    if (r->n == r->capacity) {
        int64_t more = r->capacity ? 2 * r->capacity : 64;

        QH_TRY(st, QH_RESIZE(&r->op, r->capacity, more));
        r->capacity = more;
    }
    r->op[r->n++] = op;
out:
    return st;
}

qh_status qh_foreign_compute(qh_foreign *f, int rank, int32_t line, qh_time duration)
{
    qh_foreign_op op = {.kind = QH_FOREIGN_COMPUTE, .line = line, .amount = duration};

    return duration > 0 ? append(f, rank, op) : QH_OK;
}

static qh_status post(qh_foreign *f, int rank, qh_foreign_op op, int64_t peer, int64_t *request)
{
    qh_status st = QH_OK;

    if (peer < 0 || peer >= f->n)
        return qh_foreign_bad(f, rank, op.line, "there is no rank %lld; ranks are 0 to %d",
                              (long long)peer, f->n - 1);
    if (peer == rank) {
        *request = QH_FOREIGN_NO_REQUEST;
        return QH_OK;
    }
    op.peer = (int32_t)peer;
    op.group = -1;
    op.open = 1;
    QH_TRY(st, append(f, rank, op));
    QH_TRY(st, list_request(&f->rank[rank], (int32_t)(f->rank[rank].n - 1)));
    *request = f->rank[rank].n - 1;
out:
    return st;
}

qh_status qh_foreign_send(qh_foreign *f, int rank, int32_t line, int64_t peer, int32_t tag,
                          int64_t bytes, int64_t *request)
{
    qh_foreign_op op = {.kind = QH_FOREIGN_SEND, .line = line, .tag = tag, .amount = bytes};

    return post(f, rank, op, peer, request);
}

qh_status qh_foreign_recv(qh_foreign *f, int rank, int32_t line, int64_t peer, int32_t tag,
                          int64_t bytes, int64_t *request)
{
    qh_foreign_op op = {.kind = QH_FOREIGN_RECV, .line = line, .tag = tag, .amount = bytes};

    return post(f, rank, op, peer, request);
}

qh_status qh_foreign_wait(qh_foreign *f, int rank, int32_t line, int64_t request)
{
    qh_foreign_rank *r = &f->rank[rank];
    qh_foreign_op *q;
    qh_status st = QH_OK;

    if (request == QH_FOREIGN_NO_REQUEST)
        return QH_OK;
    r->op[request].open = 0;
    if (r->op[request].kind == QH_FOREIGN_SEND && r->op[request].amount < f->eager_bytes)
        return QH_OK;
    if (r->op[r->n - 1].kind != QH_FOREIGN_WAIT) {
        qh_foreign_op op = {.kind = QH_FOREIGN_WAIT, .line = line, .group = r->n_groups};

        QH_TRY(st, append(f, rank, op));
        r->n_groups++;
    }
    q = &r->op[request];
    q->group = r->op[r->n - 1].group;
out:
    return st;
}

/* Skips what is not open any more, so that looking from here is short. */
static int64_t first_open(qh_foreign_rank *r)
{
    while (r->first_open < r->n && !r->op[r->first_open].open)
        r->first_open++;
    return r->first_open;
}

qh_status qh_foreign_wait_all(qh_foreign *f, int rank, int32_t line)
{
    qh_foreign_rank *r = &f->rank[rank];
    int64_t n = r->n;
    qh_status st = QH_OK;

    for (int64_t i = first_open(r); i < n; i++)
        if (r->op[i].open)
            QH_TRY(st, qh_foreign_wait(f, rank, line, i));
out:
    return st;
}

qh_status qh_foreign_reduce(qh_foreign *f, int rank, int32_t line, int64_t bytes)
{
    qh_foreign_op op = {.kind = QH_FOREIGN_REDUCE, .line = line, .amount = bytes};

    return append(f, rank, op);
}

qh_status qh_foreign_mark(qh_foreign *f, int rank, int32_t line, int32_t epoch)
{
    qh_foreign_op op = {.kind = QH_FOREIGN_MARK, .line = line, .amount = epoch};

    return append(f, rank, op);
}

qh_status qh_foreign_enter(qh_foreign *f, int rank, int32_t line, const char *name, int32_t root)
{
    qh_foreign_rank *r = &f->rank[rank];
    qh_status st = QH_OK;

    if (r->n_collectives == r->collective_capacity) {
        int64_t more = r->collective_capacity ? 2 * r->collective_capacity : 16;

        QH_TRY(st, QH_RESIZE(&r->collective, r->collective_capacity, more));
        r->collective_capacity = more;
    }
    r->collective[r->n_collectives++] =
        (qh_foreign_collective){.name = name, .root = root, .line = line};
out:
    return st;
}
