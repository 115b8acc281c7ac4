#include "sim/traffic.h"

#include "src/base/hash.h"
#include "src/base/mem.h"

#include <stdlib.h>

/* What assigners tell each other is bytes without messages. */
static bool is_used(const qh_traffic_row *row)
{
    return row->messages > 0 || row->bytes > 0;
}

static bool same_channel(const qh_traffic_row *a, const qh_traffic_row *b)
{
    return a->src == b->src && a->dst == b->dst && a->layer == b->layer &&
           a->direction == b->direction;
}

static qh_traffic_row *find(const qh_traffic *t, const qh_traffic_row *key)
{
    int word[4] = {key->src, key->dst, key->layer, key->direction};
    int64_t mask = t->capacity - 1, i = (int64_t)qh_hash(word, sizeof word, 0) & mask;

    while (is_used(&t->slot[i]) && !same_channel(&t->slot[i], key))
        i = (i + 1) & mask;
    return &t->slot[i];
}

static qh_status grow(qh_traffic *t)
{
    qh_traffic bigger = {.n = t->n, .capacity = t->capacity ? 2 * t->capacity : 256};
    qh_status st = QH_NEW_ARRAY(&bigger.slot, bigger.capacity);

    if (st < 0)
        return st;
    for (int64_t i = 0; i < t->capacity; i++)
        if (is_used(&t->slot[i]))
            *find(&bigger, &t->slot[i]) = t->slot[i];
    qh_mem_free(t->slot);
    *t = bigger;
    return QH_OK;
}

qh_status qh_traffic_add(qh_traffic *t, int src, const qh_record *send)
{
    qh_traffic_row key = {
        .src = src, .dst = send->peer, .layer = send->layer, .direction = send->direction};
    qh_traffic_row *row;
    int64_t messages = 0;
    qh_status st = QH_OK;

    for (int i = 0; i < QH_N_WIDTHS; i++)
        messages += send->messages[i];
    if (messages == 0 && send->bytes == 0)
        return QH_OK;
    if (2 * (t->n + 1) > t->capacity)
        QH_TRY(st, grow(t));
    row = find(t, &key);
    if (!is_used(row)) {
        *row = key;
        t->n++;
    }
    row->messages += messages;
    row->bytes += send->bytes;
out:
    return st;
}

static int by_channel(const void *a, const void *b)
{
    const qh_traffic_row *x = a, *y = b;
    int dx[4] = {x->src, x->dst, x->layer, x->direction};
    int dy[4] = {y->src, y->dst, y->layer, y->direction};

    for (int i = 0; i < 4; i++)
        if (dx[i] != dy[i])
            return dx[i] < dy[i] ? -1 : 1;
    return 0;
}

qh_status qh_traffic_list(const qh_traffic *t, qh_traffic_row **rows)
{
    qh_traffic_row *list = NULL;
    qh_status st;
    int64_t n = 0;

    QH_TRY(st, QH_NEW_ARRAY(&list, t->n));
    for (int64_t i = 0; i < t->capacity; i++)
        if (is_used(&t->slot[i]))
            list[n++] = t->slot[i];
    qsort(list, (size_t)n, sizeof *list, by_channel);
    *rows = list;
out:
    return st;
}

void qh_traffic_fini(qh_traffic *t)
{
    qh_mem_free(t->slot);
    *t = (qh_traffic){0};
}
