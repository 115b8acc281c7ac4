/* A field of a record becomes the difference to what the scope and the fields before it foretell;
 * most differences are 0. A column of which all are 0 is one byte. */
#include "traces/columns.h"

#include "src/base/mem.h"
#include "traces/format.h"

#include <string.h>

qh_status qh_bytes_reserve(qh_bytes *b, int64_t more)
{
    int64_t bigger = b->capacity ? b->capacity : 256;
    qh_status st = QH_OK;

    if (b->n + more <= b->capacity)
        return QH_OK;
    while (bigger < b->n + more)
        bigger *= 2;
    QH_TRY(st, QH_RESIZE(&b->data, b->capacity, bigger));
    b->capacity = bigger;
out:
    return st;
}

void qh_bytes_fini(qh_bytes *b)
{
    qh_mem_free(b->data);
    *b = (qh_bytes){0};
}

/* One column: split gives the numbers of records, join puts them back and tells whether all of them
 * can be. `which` tells columns of one kind apart. */
typedef struct column {
    int which;
    void (*split)(const qh_columns_scope *s, int which, const qh_record *r, int64_t n, uint64_t *v);
    bool (*join)(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n, qh_record *r);
} column;

static void split_op(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                     uint64_t *v)
{
    (void)s;
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        QH_ASSERT(r[i].op > 0 && r[i].op < QH_OP_COUNT && r[i].direction <= QH_REQUEST);
        v[i] = (uint64_t)r[i].op << 2 | r[i].direction;
    }
}

static bool join_op(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                    qh_record *r)
{
    (void)s;
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] < 4 || v[i] >= 4 * QH_OP_COUNT)
            return false;
        r[i].op = (uint8_t)(v[i] >> 2);
        r[i].direction = v[i] & 3;
    }
    return true;
}

static void split_layer(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                        uint64_t *v)
{
    int before = 0;

    (void)s;
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        v[i] = qh_zigzag(r[i].layer - before);
        before = r[i].layer;
    }
}

static bool join_layer(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                       qh_record *r)
{
    int64_t layer = 0;

    (void)s;
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] > 2 * UINT16_MAX)
            return false;
        layer += qh_unzigzag(v[i]);
        if (layer < 0 || layer > UINT16_MAX)
            return false;
        r[i].layer = (uint16_t)layer;
    }
    return true;
}

static void split_epoch(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                        uint64_t *v)
{
    (void)which;
    for (int64_t i = 0; i < n; i++)
        v[i] = qh_zigzag((int64_t)r[i].epoch - s->epoch);
}

static bool join_epoch(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                       qh_record *r)
{
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        int64_t epoch;

        if (v[i] > UINT64_C(1) << 33)
            return false;
        epoch = s->epoch + qh_unzigzag(v[i]);
        if (epoch < INT32_MIN || epoch > INT32_MAX)
            return false;
        r[i].epoch = (int32_t)epoch;
    }
    return true;
}

/* Peers go round: a send goes to the device after that of the send before, a receive is from the
 * device before that of the receive before. */
typedef struct peers {
    int n_devices, send, recv;
} peers;

static peers peers_begin(const qh_columns_scope *s)
{
    return (peers){s->n_devices, s->device, s->device};
}

static int foretell(const peers *p, int op)
{
    return op == QH_OP_SEND   ? (p->send + 1) % p->n_devices
           : op == QH_OP_RECV ? (p->recv - 1 + p->n_devices) % p->n_devices
                              : -1;
}

static void note_peer(peers *p, int op, int peer)
{
    if (op == QH_OP_SEND)
        p->send = peer;
    else if (op == QH_OP_RECV)
        p->recv = peer;
}

static void split_peer(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                       uint64_t *v)
{
    peers p = peers_begin(s);

    (void)which;
    for (int64_t i = 0; i < n; i++) {
        QH_ASSERT(r[i].peer >= -1 && r[i].peer < s->n_devices &&
                  (r[i].peer >= 0 || (r[i].op != QH_OP_SEND && r[i].op != QH_OP_RECV)));
        v[i] = qh_zigzag((int64_t)r[i].peer - foretell(&p, r[i].op));
        note_peer(&p, r[i].op, r[i].peer);
    }
}

static bool join_peer(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                      qh_record *r)
{
    peers p = peers_begin(s);

    (void)which;
    for (int64_t i = 0; i < n; i++) {
        bool needs = r[i].op == QH_OP_SEND || r[i].op == QH_OP_RECV;
        int64_t peer;

        if (v[i] > 4 * QH_TRACE_MAX_DEVICES)
            return false;
        peer = foretell(&p, r[i].op) + qh_unzigzag(v[i]);
        if (peer < (needs ? 0 : -1) || peer >= s->n_devices)
            return false;
        r[i].peer = (int32_t)peer;
        note_peer(&p, r[i].op, r[i].peer);
    }
    return true;
}

/* r of device i to (i + r) mod N. */
static int usual_round(const qh_columns_scope *s, const qh_record *r)
{
    int ahead = r->op == QH_OP_SEND   ? r->peer - s->device
                : r->op == QH_OP_RECV ? s->device - r->peer
                                      : 0;

    return (ahead + s->n_devices) % s->n_devices;
}

static void split_round(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                        uint64_t *v)
{
    (void)which;
    for (int64_t i = 0; i < n; i++)
        v[i] = qh_zigzag((int64_t)r[i].round - usual_round(s, &r[i]));
}

static bool join_round(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                       qh_record *r)
{
    (void)which;
    for (int64_t i = 0; i < n; i++) {
        int64_t round;

        if (v[i] > UINT64_C(1) << 33)
            return false;
        round = usual_round(s, &r[i]) + qh_unzigzag(v[i]);
        if (round < INT32_MIN || round > INT32_MAX)
            return false;
        r[i].round = (int32_t)round;
    }
    return true;
}

/* Counts are what they are. */
enum { FLOPS, BYTES, HOST_NS };

static int64_t *count_of(qh_record *r, int which)
{
    return which == FLOPS ? &r->flops : which == BYTES ? &r->bytes : &r->host_ns;
}

static void split_count(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                        uint64_t *v)
{
    (void)s;
    for (int64_t i = 0; i < n; i++)
        v[i] = (uint64_t)(which == FLOPS ? r[i].flops : which == BYTES ? r[i].bytes : r[i].host_ns);
}

static bool join_count(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                       qh_record *r)
{
    (void)s;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] > INT64_MAX)
            return false;
        *count_of(&r[i], which) = (int64_t)v[i];
    }
    return true;
}

static void split_messages(const qh_columns_scope *s, int which, const qh_record *r, int64_t n,
                           uint64_t *v)
{
    (void)s;
    for (int64_t i = 0; i < n; i++)
        v[i] = (uint32_t)r[i].messages[which];
}

static bool join_messages(const qh_columns_scope *s, int which, const uint64_t *v, int64_t n,
                          qh_record *r)
{
    (void)s;
    for (int64_t i = 0; i < n; i++) {
        if (v[i] > INT32_MAX)
            return false;
        r[i].messages[which] = (int32_t)v[i];
    }
    return true;
}

/* In the order of the file: a column may look at those before it. */
static const column columns[] = {
    {0, split_op, join_op},
    {0, split_layer, join_layer},
    {0, split_epoch, join_epoch},
    {0, split_peer, join_peer},
    {0, split_round, join_round},
    {FLOPS, split_count, join_count},
    {BYTES, split_count, join_count},
    {HOST_NS, split_count, join_count},
    {0, split_messages, join_messages},
    {1, split_messages, join_messages},
    {2, split_messages, join_messages},
    {3, split_messages, join_messages},
    {4, split_messages, join_messages},
    {5, split_messages, join_messages},
    {6, split_messages, join_messages},
    {7, split_messages, join_messages},
    {8, split_messages, join_messages},
    {9, split_messages, join_messages},
};
_Static_assert(QH_N_WIDTHS == 10, "a column for each width");

qh_status qh_columns_put(const qh_columns_scope *s, const qh_record *r, int64_t n, uint64_t *value,
                         qh_bytes *out)
{
    qh_status st = QH_OK;

    for (size_t c = 0; c < QH_COUNT(columns); c++) {
        uint64_t any = 0;
        int longest = 1;
        uint8_t *to;

        columns[c].split(s, columns[c].which, r, n, value);
        for (int64_t i = 0; i < n; i++)
            any |= value[i];
        for (uint64_t rest = any >> 7; rest; rest >>= 7)
            longest++;
        QH_TRY(st, qh_bytes_reserve(out, 1 + n * longest));
        to = out->data + out->n;
        *to++ = any != 0;
        for (int64_t i = 0; any && i < n; i++)
            to += qh_varint_put(to, value[i]);
        out->n = to - out->data;
    }
out:
    return st;
}

const char *qh_columns_get(const qh_columns_scope *s, const uint8_t *data, int64_t size, int64_t n,
                           uint64_t *value, qh_record *r)
{
    const uint8_t *at = data, *end = data + size;

    memset(r, 0, (size_t)n * sizeof *r);
    for (size_t c = 0; c < QH_COUNT(columns); c++) {
        int mode = at < end ? *at++ : -1;

        if (mode != 0 && mode != 1)
            return mode < 0 ? "its columns end early" : "a column of an unknown kind";
        if (mode == 0 && (columns[c].join == join_messages ||
                          columns[c].join == join_count)) /* as the records are already */
            continue;
        if (mode == 0)
            memset(value, 0, (size_t)n * sizeof *value);
        for (int64_t i = 0; mode == 1 && i < n; i++)
            if (!qh_varint_get(&at, end, &value[i]))
                return "its columns end early";
        if (!columns[c].join(s, columns[c].which, value, n, r))
            return "a field out of range";
    }
    return at == end ? NULL : "bytes behind its columns";
}
