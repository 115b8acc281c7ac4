/* goal: the schedules of LogGOPSim (Hoefler, Schneider, Lumsdaine, LogGOPSim, LSAP 2010), in the
 * text that its txt2bin takes:
 *
 *   num_ranks N
 *   rank R {
 *   [LABEL:] calc NANOSECONDS [cpu C]
 *   [LABEL:] send BYTESb to RANK [tag T] [cpu C] [nic K]
 *   [LABEL:] recv BYTESb from RANK [tag T] [cpu C] [nic K]
 *   LABEL requires LABEL      begins when the other is done
 *   LABEL irequires LABEL     begins when the other has begun
 *   }
 *
 * with comments as in C. Labels may be used before they are defined. */
#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/base/mem.h"
#include "traces/format.h"
#include "traces/import_members.h"

#include <ctype.h>
#include <string.h>

/* Labels of a rank: open addressing; its size is a power of two. */
typedef struct label {
    qh_word name; /* n 0: free */
    int32_t op;
} label;

/* A dependence whose labels are looked up at the end of the rank. */
typedef struct reference {
    qh_word op, before;
    int32_t line;
    bool start;
} reference;

typedef struct goal {
    qh_goal_text text;
    const qh_import_options *options;
    qh_foreign *f;
    bool *seen; /* owned, [n]: ranks that were there */
    bool warned;
    /* of the rank at hand */
    qh_goal_rank rank;
    label *label; /* owned */
    int64_t n_labels, label_capacity;
    reference *reference; /* owned */
    int64_t n_references, reference_capacity;
} goal;

/* --- labels --- */

static label *look_up(label *labels, int64_t capacity, qh_word name)
{
    uint64_t at = qh_hash(name.at, name.n, 0);

    for (;; at++) {
        label *l = &labels[at & (uint64_t)(capacity - 1)];

        if (l->name.n == 0 ||
            (l->name.n == name.n && memcmp(l->name.at, name.at, (size_t)name.n) == 0))
            return l;
    }
}

static qh_status grow_labels(goal *g)
{
    int64_t more = g->label_capacity ? 2 * g->label_capacity : 64;
    label *labels = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&labels, more));
    for (int64_t i = 0; i < g->label_capacity; i++)
        if (g->label[i].name.n > 0)
            *look_up(labels, more, g->label[i].name) = g->label[i];
    qh_mem_free(g->label);
    g->label = labels;
    g->label_capacity = more;
out:
    return st;
}

static qh_status add_label(goal *g, qh_word name, int32_t op)
{
    char text[QH_WORD_TEXT_BYTES];
    label *l;
    qh_status st = QH_OK;

    if (2 * (g->n_labels + 1) > g->label_capacity)
        QH_TRY(st, grow_labels(g));
    l = look_up(g->label, g->label_capacity, name);
    if (l->name.n > 0)
        return qh_fail(QH_EINPUT, "%s:%d: there is a label '%s' already, at line %d", g->text.path,
                       g->text.line, qh_word_text(name, text), g->rank.op[l->op].line);
    *l = (label){name, op};
    g->n_labels++;
out:
    return st;
}

static qh_status find_label(const goal *g, qh_word name, int32_t line, int32_t *op)
{
    char text[QH_WORD_TEXT_BYTES];
    const label *l = g->label_capacity ? look_up(g->label, g->label_capacity, name) : NULL;

    if (!l || l->name.n == 0)
        return qh_fail(QH_EINPUT, "%s:%d: there is no label '%s' in the rank", g->text.path, line,
                       qh_word_text(name, text));
    *op = l->op;
    return QH_OK;
}

static bool is_label(qh_word w)
{
    for (int64_t i = 0; i < w.n; i++)
        if (!isalnum((unsigned char)w.at[i]) && w.at[i] != '_')
            return false;
    return w.n > 0 && isalpha((unsigned char)w.at[0]);
}

/* --- operations --- */

static qh_status add_op(goal *g, qh_goal_op op)
{
    qh_goal_rank *r = &g->rank;
    qh_status st = QH_OK;

    if (r->n == INT32_MAX)
        return qh_fail(QH_EINPUT, "%s:%d: more than 2^31 operations in a rank", g->text.path,
                       g->text.line);
    if (r->n == r->capacity) {
        int64_t more = r->capacity ? 2 * r->capacity : 64;

        QH_TRY(st, QH_RESIZE(&r->op, r->capacity, more));
        r->capacity = more;
    }
    r->op[r->n++] = op;
out:
    return st;
}

/* What comments said stands before the operations that follow them. */
static qh_status add_marks(goal *g)
{
    qh_status st = QH_OK;

    for (; g->text.n_marks > 0; g->text.n_marks--, g->text.epoch++)
        QH_TRY(st, add_op(g, (qh_goal_op){.kind = QH_FOREIGN_MARK,
                                          .line = g->text.line,
                                          .amount = g->text.epoch}));
out:
    return st;
}

static void warn_of_cpus(goal *g, const char *what)
{
    if (!g->warned)
        qh_log(QH_LOG_WARNING,
               "%s:%d: more than one %s in a rank; a device here has one, so what they do goes one "
               "after the other",
               g->text.path, g->text.line, what);
    g->warned = true;
}

/* [tag T] [cpu C] [nic K], in this order, up to the end of the line. */
static qh_status read_tail(goal *g, qh_goal_op *op)
{
    static const char *const keys[] = {"tag", "cpu", "nic"};
    int64_t v = 0;
    qh_status st = QH_OK;

    qh_goal_next(&g->text);
    for (size_t i = op->kind == QH_FOREIGN_COMPUTE ? 1 : 0; i < QH_COUNT(keys); i++) {
        if (!qh_word_is(g->text.word, keys[i]) || (op->kind == QH_FOREIGN_COMPUTE && i == 2))
            continue;
        qh_goal_next(&g->text);
        if (i == 0 && op->kind == QH_FOREIGN_RECV && qh_word_is(g->text.word, "-1"))
            op->tag = QH_FOREIGN_ANY_TAG;
        else if (!qh_word_int(g->text.word, i == 0 ? INT32_MAX : UINT8_MAX, &v))
            return qh_goal_expected(&g->text,
                                    i == 0 ? "a tag (0 to 2^31 - 1)" : "a number from 0 to 255");
        else if (i == 0)
            op->tag = (int32_t)v;
        else if (v > 0)
            warn_of_cpus(g, keys[i]);
        qh_goal_next(&g->text);
    }
    if (g->text.word.n > 0 && !qh_word_is(g->text.word, "}"))
        return qh_goal_expected(&g->text, op->kind == QH_FOREIGN_COMPUTE
                                              ? "cpu or the end of the line"
                                              : "tag, cpu, nic or the end of the line");
    return st;
}

static qh_status read_message(goal *g, qh_goal_op *op)
{
    bool send = op->kind == QH_FOREIGN_SEND;
    qh_status st = QH_OK;

    qh_goal_next(&g->text);
    if (g->text.word.n > 1 && g->text.word.at[g->text.word.n - 1] == 'b') { /* 8b, in one piece */
        g->text.word.n--;
        g->text.at--;
    }
    if (!qh_word_int(g->text.word, INT64_C(1) << 61, &op->amount))
        return qh_goal_expected(&g->text, "a size");
    qh_goal_next(&g->text);
    if (!qh_word_is(g->text.word, "b"))
        return qh_goal_expected(&g->text, "b (the size is in bytes)");
    qh_goal_next(&g->text);
    if (!qh_word_is(g->text.word, send ? "to" : "from"))
        return qh_goal_expected(&g->text, send ? "to" : "from");
    qh_goal_next(&g->text);
    if (!send && qh_word_is(g->text.word, "-1"))
        return qh_fail(QH_EINPUT,
                       "%s:%d: recv from -1 takes what comes from any rank, which has no order "
                       "without times; name the rank",
                       g->text.path, g->text.line);
    if (!qh_word_int(g->text.word, g->f->n - 1, &op->peer))
        return qh_goal_expected(&g->text, "a rank of those there are");
    QH_TRY(st, read_tail(g, op));
out:
    return st;
}

static qh_status read_calc(goal *g, qh_goal_op *op)
{
    qh_status st;

    QH_TRY(st,
           qh_goal_int(&g->text, "a number of nanoseconds that virtual time (106 days) can hold",
                       INT64_MAX / 2000, &op->amount));
    op->amount *= 1000;
    QH_TRY(st, read_tail(g, op));
out:
    return st;
}

/* The word at hand is calc, send or recv; anything else is refused. */
static qh_status read_op(goal *g)
{
    qh_goal_op op = {.line = g->text.line};
    qh_status st;

    if (qh_word_is(g->text.word, "calc")) {
        op.kind = QH_FOREIGN_COMPUTE;
        QH_TRY(st, read_calc(g, &op));
    } else if (qh_word_is(g->text.word, "send") || qh_word_is(g->text.word, "recv")) {
        op.kind = qh_word_is(g->text.word, "send") ? QH_FOREIGN_SEND : QH_FOREIGN_RECV;
        QH_TRY(st, read_message(g, &op));
    } else {
        return qh_goal_expected(&g->text, "calc, send or recv");
    }
    QH_TRY(st, add_op(g, op));
out:
    return st;
}

static qh_status read_reference(goal *g, qh_word op)
{
    reference r = {.op = op, .line = g->text.line, .start = qh_word_is(g->text.word, "irequires")};
    qh_status st = QH_OK;

    qh_goal_next(&g->text);
    if (!is_label(g->text.word))
        return qh_goal_expected(&g->text, "a label");
    r.before = g->text.word;
    qh_goal_next(&g->text);
    if (g->text.word.n > 0 && !qh_word_is(g->text.word, "}"))
        return qh_goal_expected(&g->text, "the end of the line");
    if (g->n_references == g->reference_capacity) {
        int64_t more = g->reference_capacity ? 2 * g->reference_capacity : 64;

        QH_TRY(st, QH_RESIZE(&g->reference, g->reference_capacity, more));
        g->reference_capacity = more;
    }
    g->reference[g->n_references++] = r;
out:
    return st;
}

/* A line of a rank, whose first word is at hand. */
static qh_status read_line(goal *g)
{
    qh_word name = g->text.word;
    qh_status st;

    if (qh_word_is(name, "calc") || qh_word_is(name, "send") || qh_word_is(name, "recv"))
        return read_op(g);
    if (!is_label(name))
        return qh_goal_expected(&g->text, "calc, send, recv, a label or }");
    qh_goal_next(&g->text);
    if (qh_word_is(g->text.word, "requires") || qh_word_is(g->text.word, "irequires"))
        return read_reference(g, name);
    if (!qh_word_is(g->text.word, ":"))
        return qh_goal_expected(&g->text, "a colon, requires or irequires");
    qh_goal_next(&g->text);
    QH_TRY(st, read_op(g));
    QH_TRY(st, add_label(g, name, (int32_t)g->rank.n - 1));
out:
    return st;
}

/* --- ranks --- */

static qh_status resolve(goal *g)
{
    qh_goal_rank *r = &g->rank;
    qh_status st = QH_OK;

    if (g->n_references > r->edge_capacity) {
        QH_TRY(st, QH_RESIZE(&r->edge, r->edge_capacity, g->n_references));
        r->edge_capacity = g->n_references;
    }
    r->n_edges = 0;
    for (int64_t i = 0; i < g->n_references; i++) {
        const reference *ref = &g->reference[i];
        qh_goal_edge e = {.start = ref->start};

        QH_TRY(st, find_label(g, ref->op, ref->line, &e.op));
        QH_TRY(st, find_label(g, ref->before, ref->line, &e.before));
        r->edge[r->n_edges++] = e;
    }
out:
    return st;
}

/* "rank R {" was read up to R. */
static qh_status read_rank(goal *g)
{
    int32_t line = g->text.line;
    int64_t rank = 0;
    qh_status st;

    QH_TRY(st, qh_goal_int(&g->text, "the number of a rank, below num_ranks", g->f->n - 1, &rank));
    if (g->seen[rank])
        return qh_fail(QH_EINPUT, "%s:%d: rank %lld was there before", g->text.path, g->text.line,
                       (long long)rank);
    g->seen[rank] = true;
    qh_goal_next(&g->text);
    if (!qh_word_is(g->text.word, "{"))
        return qh_goal_expected(&g->text, "{");
    g->rank.n = g->rank.n_edges = g->n_references = g->n_labels = 0;
    qh_mem_free(g->label);
    g->label = NULL;
    g->label_capacity = 0;
    g->text.n_marks = 0;
    for (;;) {
        if (!qh_word_is(g->text.word, "}"))
            qh_goal_next_line(&g->text);
        QH_TRY(st, add_marks(g));
        if (qh_word_is(g->text.word, "}"))
            break;
        if (g->text.word.n == 0)
            return qh_fail(QH_EINPUT, "%s:%d: the rank that begins here has no }", g->text.path,
                           line);
        QH_TRY(st, read_line(g));
    }
    QH_TRY(st, resolve(g));
    QH_TRY(st, qh_goal_order(g->f, (int)rank, &g->rank));
out:
    return st;
}

static qh_status read_num_ranks(goal *g)
{
    int64_t n = 0;
    qh_status st;

    qh_goal_next_line(&g->text);
    if (!qh_word_is(g->text.word, "num_ranks"))
        return qh_goal_expected(&g->text, "num_ranks");
    QH_TRY(st, qh_goal_int(&g->text, "a number of ranks, 1 to 65536", QH_TRACE_MAX_DEVICES, &n));
    if (n == 0)
        return qh_goal_expected(&g->text, "a number of ranks, 1 to 65536");
    QH_TRY(st, qh_foreign_new((int)n, g->options, &g->f));
    QH_TRY(st, QH_NEW_ARRAY(&g->seen, n));
    for (int rank = 0; rank < n; rank++)
        QH_TRY(st, qh_foreign_path(g->f, rank, g->text.path));
out:
    return st;
}

static qh_status read_ranks(goal *g)
{
    qh_status st;

    QH_TRY(st, read_num_ranks(g));
    for (qh_goal_next_line(&g->text); g->text.word.n > 0; qh_goal_next_line(&g->text)) {
        if (!qh_word_is(g->text.word, "rank"))
            return qh_goal_expected(&g->text, "rank");
        QH_TRY(st, read_rank(g));
    }
    for (int rank = 0; rank < g->f->n; rank++)
        if (!g->seen[rank])
            return qh_fail(QH_EINPUT, "%s: rank %d of %d is missing", g->text.path, rank, g->f->n);
out:
    return st;
}

static qh_status read_goal(const char *path, const qh_import_options *o, qh_foreign **out)
{
    goal g = {.text = {.path = path, .line = 1}, .options = o};
    qh_map map = {0};
    qh_status st;

    QH_TRY(st, qh_map_open(path, &map));
    g.text.at = (const char *)map.data;
    g.text.end = g.text.at + map.size;
    QH_TRY(st, read_ranks(&g));
    *out = g.f;
    g.f = NULL;
out:
    qh_mem_free(g.reference);
    qh_mem_free(g.label);
    qh_mem_free(g.rank.edge);
    qh_mem_free(g.rank.op);
    qh_mem_free(g.seen);
    qh_foreign_free(g.f);
    qh_map_close(&map);
    return st;
}

const qh_import_ops qh_import_goal = {
    .name = "goal",
    .help = "a schedule of LogGOPSim, as the text that txt2bin takes",
    .read = read_goal,
};
