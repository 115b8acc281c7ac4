/* smpi: SimGrid's time-independent traces as its releases from 3.20 on write and replay them. The
 * actions and their arguments: src/smpi/internals/smpi_replay.cpp of SimGrid. */
#include "src/base/mem.h"
#include "traces/import_members.h"

#include <math.h>

/* MPI_ANY_SOURCE and MPI_ANY_TAG there; earlier releases had -1 for both. */
enum { ANY_TAG_THERE = -444, MAX_TAG = INT32_MAX };

/* --- arguments --- */

enum { FIRST_ARGUMENT = 2 };

static qh_status bad_argument(qh_smpi *s, int rank, int i, const char *what, const char *right)
{
    char text[QH_WORD_TEXT_BYTES], action[QH_WORD_TEXT_BYTES];

    qh_word_text(s->lines.word[1], action);
    if (FIRST_ARGUMENT + i >= s->lines.n)
        return qh_foreign_bad(s->f, rank, s->lines.number, "%s: %s is missing", action, what);
    return qh_foreign_bad(s->f, rank, s->lines.number, "%s: %s is '%s'; it has to be %s", action,
                          what, qh_word_text(s->lines.word[FIRST_ARGUMENT + i], text), right);
}

static bool argument(const qh_smpi *s, int i, qh_word *w)
{
    if (FIRST_ARGUMENT + i >= s->lines.n)
        return false;
    *w = s->lines.word[FIRST_ARGUMENT + i];
    return true;
}

qh_status qh_smpi_int(qh_smpi *s, int rank, int i, const char *what, int64_t max, int64_t *v)
{
    qh_word w;

    if (argument(s, i, &w) && qh_word_int(w, max, v))
        return QH_OK;
    return bad_argument(s, rank, i, what, "a whole number in its range");
}

qh_status qh_smpi_real(qh_smpi *s, int rank, int i, const char *what, double *v)
{
    qh_word w;

    if (argument(s, i, &w) && qh_word_real(w, v) && *v >= 0 && *v < 0x1p62)
        return QH_OK;
    return bad_argument(s, rank, i, what, "a number from 0 to 2^62");
}

qh_status qh_smpi_type(qh_smpi *s, int rank, int type, int64_t *bytes)
{
    /* As Datatype::encode there numbers them: double, int, char, short, long, float, byte, long
     * long, signed char, unsigned char, short, int, long, long long, long double, wchar_t, bool,
     * int8 to int64, uint8 to uint64. */
    static const int8_t bytes_of[] = {8, 4,  1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8,
                                      8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8};
    int64_t number;
    qh_word w;

    *bytes = s->rank[rank].type_bytes;
    if (!argument(s, type, &w))
        return QH_OK;
    if (!qh_word_int(w, (int64_t)QH_COUNT(bytes_of) - 1, &number))
        return bad_argument(s, rank, type, "the data type", "a number from 0 to 24");
    *bytes = bytes_of[number];
    return QH_OK;
}

qh_status qh_smpi_bytes(qh_smpi *s, int rank, int i, int64_t type_bytes, int64_t *bytes)
{
    double count = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_real(s, rank, i, "the size", &count));
    if (count >= 0x1p57)
        return bad_argument(s, rank, i, "the size", "below 2^57");
    *bytes = (int64_t)llrint(count) * type_bytes;
out:
    return st;
}

qh_status qh_smpi_want(qh_smpi *s, int rank, int64_t least, int64_t most)
{
    int64_t n = s->lines.n - FIRST_ARGUMENT;
    char action[QH_WORD_TEXT_BYTES];

    if (least <= n && n <= most)
        return QH_OK;
    return qh_foreign_bad(
        s->f, rank, s->lines.number, "%s takes %lld to %lld arguments, and here are %lld",
        qh_word_text(s->lines.word[1], action), (long long)least, (long long)most, (long long)n);
}

/* --- actions --- */

static qh_status compute_for(qh_smpi *s, int rank, double ps)
{
    if (!(ps < 0x1p62))
        return qh_foreign_bad(s->f, rank, s->lines.number,
                              "a computation that outlasts virtual time (106 days)");
    return qh_foreign_compute(s->f, rank, s->lines.number, (qh_time)llrint(ps));
}

qh_status qh_smpi_compute(qh_smpi *s, int rank, double flops)
{
    return compute_for(s, rank, flops * (1e12 / s->options->flops_per_s));
}

/* A tag, or -1 (or what SimGrid has in its place) for any. */
static qh_status read_tag(qh_smpi *s, int rank, int i, bool any, int32_t *tag)
{
    double v = -1;
    qh_word w;

    if (argument(s, i, &w) && qh_word_real(w, &v) && v == floor(v)) {
        if (0 <= v && v <= MAX_TAG) {
            *tag = (int32_t)v;
            return QH_OK;
        }
        if (any && (v == -1 || v == ANY_TAG_THERE)) {
            *tag = QH_FOREIGN_ANY_TAG;
            return QH_OK;
        }
    }
    return bad_argument(s, rank, i, "the tag",
                        any ? "0 to 2^31 - 1, or -1 for any" : "0 to 2^31 - 1");
}

static qh_status read_peer(qh_smpi *s, int rank, int i, int64_t *peer)
{
    qh_word w;
    double v;

    if (argument(s, i, &w) && qh_word_real(w, &v) && v < 0)
        return bad_argument(s, rank, i, "the rank",
                            "a rank: what comes from any of them (MPI_ANY_SOURCE) has no order "
                            "without times");
    return qh_smpi_int(s, rank, i, "the rank", INT32_MAX, peer);
}

static qh_status do_send(qh_smpi *s, int rank, bool wait)
{
    int64_t peer = 0, type = 1, bytes = 0, request;
    int32_t tag = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_want(s, rank, 3, 4));
    QH_TRY(st, read_peer(s, rank, 0, &peer));
    QH_TRY(st, read_tag(s, rank, 1, false, &tag));
    QH_TRY(st, qh_smpi_type(s, rank, 3, &type));
    QH_TRY(st, qh_smpi_bytes(s, rank, 2, type, &bytes));
    QH_TRY(st, qh_foreign_send(s->f, rank, s->lines.number, peer, tag, bytes, &request));
    if (wait)
        QH_TRY(st, qh_foreign_wait(s->f, rank, s->lines.number, request));
out:
    return st;
}

/* A size of 0 or less stands for one that the receiver does not know. */
static qh_status do_recv(qh_smpi *s, int rank, bool wait)
{
    int64_t peer = 0, type = 1, bytes = INT64_MAX, request;
    int32_t tag = 0;
    double size = 0;
    qh_word w;
    qh_status st;

    QH_TRY(st, qh_smpi_want(s, rank, 3, 4));
    QH_TRY(st, read_peer(s, rank, 0, &peer));
    QH_TRY(st, read_tag(s, rank, 1, true, &tag));
    QH_TRY(st, qh_smpi_type(s, rank, 3, &type));
    if (!argument(s, 2, &w) || !qh_word_real(w, &size) || size > 0)
        QH_TRY(st, qh_smpi_bytes(s, rank, 2, type, &bytes));
    QH_TRY(st, qh_foreign_recv(s->f, rank, s->lines.number, peer, tag, bytes, &request));
    if (wait)
        QH_TRY(st, qh_foreign_wait(s->f, rank, s->lines.number, request));
out:
    return st;
}

/* wait SRC DST TAG: the rank is one of the two. */
static qh_status do_wait(qh_smpi *s, int rank)
{
    int64_t src = 0, dst = 0, request = QH_FOREIGN_NO_REQUEST;
    int32_t tag = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_want(s, rank, 3, 3));
    QH_TRY(st, read_peer(s, rank, 0, &src));
    QH_TRY(st, read_peer(s, rank, 1, &dst));
    QH_TRY(st, read_tag(s, rank, 2, true, &tag));
    if (src == rank && dst == rank)
        return QH_OK;
    if (src == rank)
        request = qh_foreign_find(s->f, rank, QH_FOREIGN_SEND, (int32_t)dst, tag);
    else if (dst == rank)
        request = qh_foreign_find(s->f, rank, QH_FOREIGN_RECV, (int32_t)src, tag);
    if (request == QH_FOREIGN_NO_REQUEST)
        return qh_foreign_bad(s->f, rank, s->lines.number,
                              "wait: rank %d has no isend or irecv from %lld to %lld with tag %d "
                              "that is not waited for yet",
                              rank, (long long)src, (long long)dst, tag);
    QH_TRY(st, qh_foreign_wait(s->f, rank, s->lines.number, request));
out:
    return st;
}

static qh_status do_compute(qh_smpi *s, int rank, bool sleep)
{
    double amount = 0;
    qh_status st;

    QH_TRY(st, qh_smpi_want(s, rank, 1, 1));
    QH_TRY(st, qh_smpi_real(s, rank, 0, sleep ? "the time" : "the number of flops", &amount));
    st = sleep ? compute_for(s, rank, amount * 1e12) : qh_smpi_compute(s, rank, amount);
out:
    return st;
}

/* Without an argument sizes are in bytes, else in doubles. */
static qh_status do_init(qh_smpi *s, int rank)
{
    qh_word w;

    s->rank[rank].type_bytes = argument(s, 0, &w) ? 8 : 1;
    return QH_OK;
}

static qh_status no_action(qh_smpi *s, int rank)
{
    char text[QH_WORD_TEXT_BYTES];

    return qh_foreign_bad(s->f, rank, s->lines.number,
                          "there is no action '%s'; it has to be init, finalize, compute, sleep, "
                          "send, isend, recv, irecv, wait, waitall, test, barrier, bcast, reduce, "
                          "allreduce, alltoall, alltoallv, gather, gatherv, allgather, allgatherv, "
                          "scatter, scatterv or reducescatter",
                          qh_word_text(s->lines.word[1], text));
}

static qh_status act(qh_smpi *s, int rank)
{
    /* A test that succeeds in one run may not in another, and the wait follows; communicators are
     * made and left alone, there. */
    static const char *const nothing[] = {"test", "location", "comm_size", "comm_split",
                                          "comm_dup"};
    qh_word w = s->lines.word[1];
    bool known = false;
    qh_status st;

    if (s->rank[rank].ended)
        return qh_foreign_bad(s->f, rank, s->lines.number, "rank %d goes on behind finalize", rank);
    if (qh_word_is(w, "compute") || qh_word_is(w, "sleep"))
        return do_compute(s, rank, qh_word_is(w, "sleep"));
    if (qh_word_is(w, "send") || qh_word_is(w, "isend"))
        return do_send(s, rank, qh_word_is(w, "send"));
    if (qh_word_is(w, "recv") || qh_word_is(w, "irecv"))
        return do_recv(s, rank, qh_word_is(w, "recv"));
    if (qh_word_is(w, "wait"))
        return do_wait(s, rank);
    if (qh_word_is(w, "waitall"))
        return qh_foreign_wait_all(s->f, rank, s->lines.number);
    if (qh_word_is(w, "init"))
        return do_init(s, rank);
    if (qh_word_is(w, "finalize")) {
        s->rank[rank].ended = true;
        return QH_OK;
    }
    for (size_t i = 0; i < QH_COUNT(nothing); i++)
        if (qh_word_is(w, nothing[i]))
            return QH_OK;
    QH_TRY(st, qh_smpi_collective(s, rank, &known));
    if (!known)
        st = no_action(s, rank);
out:
    return st;
}

/* --- files --- */

/* The rank that the line at hand belongs to: all of them in a file that holds all, else `only`. */
static qh_status rank_of_line(qh_smpi *s, int only, int *rank)
{
    char text[QH_WORD_TEXT_BYTES];
    int64_t v;

    if (!qh_word_int(s->lines.word[0], s->f->n - 1, &v))
        return qh_fail(QH_EINPUT, "%s:%d: '%s' is no rank; ranks are 0 to %d", s->lines.path,
                       s->lines.number, qh_word_text(s->lines.word[0], text), s->f->n - 1);
    if (only >= 0 && v != only)
        return qh_fail(QH_EINPUT, "%s:%d: a line of rank %lld in the file of rank %d",
                       s->lines.path, s->lines.number, (long long)v, only);
    if (s->lines.n < FIRST_ARGUMENT)
        return qh_fail(QH_EINPUT, "%s:%d: the action is missing", s->lines.path, s->lines.number);
    *rank = (int)v;
    return QH_OK;
}

/* Comments are for nobody, but for the marks of exports, which are of all ranks of the file. */
static qh_status take_comment(qh_smpi *s, int only)
{
    qh_word *w = s->lines.word;
    int64_t n = s->lines.n;
    int32_t epoch;
    qh_status st = QH_OK;

    if (w[0].n == 1) {
        w++;
        n--;
    } else {
        w[0].at++;
        w[0].n--;
    }
    epoch = qh_word_mark(w, n);
    for (int rank = 0; epoch >= 0 && rank < s->f->n; rank++)
        if (only < 0 || rank == only)
            QH_TRY(st, qh_foreign_mark(s->f, rank, s->lines.number, epoch));
out:
    return st;
}

static qh_status read_file(qh_smpi *s, const char *path, int only)
{
    bool more = true;
    int rank = 0;
    qh_status st;

    QH_TRY(st, qh_lines_open(&s->lines, path));
    for (int r = 0; r < s->f->n; r++)
        if (only < 0 || r == only)
            QH_TRY(st, qh_foreign_path(s->f, r, path));
    for (;;) {
        QH_TRY(st, qh_lines_next(&s->lines, &more));
        if (!more)
            break;
        if (s->lines.word[0].at[0] == '#') {
            QH_TRY(st, take_comment(s, only));
            continue;
        }
        QH_TRY(st, rank_of_line(s, only, &rank));
        QH_TRY(st, act(s, rank));
    }
out:
    qh_lines_close(&s->lines);
    return st;
}

/* As smpirun does at the end of a replay; where the ends of epochs are marked, the last mark is the
 * end, and what was sent is left to go. */
static qh_status wait_for_open(qh_smpi *s)
{
    qh_status st = QH_OK;

    for (int rank = 0; rank < s->f->n; rank++) {
        const qh_foreign_rank *r = &s->f->rank[rank];

        if (r->n > 0 && r->op[r->n - 1].kind != QH_FOREIGN_MARK)
            QH_TRY(st, qh_foreign_wait_all(s->f, rank, r->op[r->n - 1].line));
    }
out:
    return st;
}

static qh_status read_smpi(const char *path, const qh_import_options *o, qh_foreign **out)
{
    qh_smpi s = {.options = o};
    qh_smpi_input in = {0};
    int n;
    qh_status st;

    QH_TRY(st, qh_smpi_input_open(path, &in));
    n = (int)(in.ranks > 0 ? in.ranks : in.n);
    QH_TRY(st, qh_foreign_new(n, o, &s.f));
    QH_TRY(st, QH_NEW_ARRAY(&s.rank, n));
    QH_TRY(st, QH_NEW_ARRAY(&s.bytes, n));
    for (int rank = 0; rank < n; rank++)
        s.rank[rank].type_bytes = 1;
    for (int64_t i = 0; i < in.n; i++)
        QH_TRY(st, read_file(&s, in.path[i], in.ranks > 0 ? -1 : (int)i));
    QH_TRY(st, wait_for_open(&s));
    *out = s.f;
    s.f = NULL;
out:
    qh_mem_free(s.bytes);
    qh_mem_free(s.rank);
    qh_foreign_free(s.f);
    qh_smpi_input_close(&in);
    return st;
}

const qh_import_ops qh_import_smpi = {
    .name = "smpi",
    .help = "a list of files (or its folder, or one file) that smpirun -replay takes",
    .read = read_smpi,
};
