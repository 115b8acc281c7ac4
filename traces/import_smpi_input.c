/* What smpirun -replay takes: a list of files, one a rank, or one file with lines of all ranks. */
#include "src/base/mem.h"
#include "traces/format.h"
#include "traces/import_members.h"

#include <string.h>

void qh_smpi_input_close(qh_smpi_input *in)
{
    for (int64_t i = 0; i < in->n; i++)
        qh_mem_free(in->path[i]);
    qh_mem_free(in->path);
    qh_mem_free(in->list);
}

static qh_status join(const char *folder, int64_t folder_bytes, qh_word name, char **out)
{
    int64_t room = folder_bytes + name.n + 2;
    char *path = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&path, room));
    if (folder_bytes > 0 && name.at[0] != '/')
        snprintf(path, (size_t)room, "%.*s/%.*s", (int)folder_bytes, folder, (int)name.n, name.at);
    else
        snprintf(path, (size_t)room, "%.*s", (int)name.n, name.at);
    *out = path;
out:
    return st;
}

/* A name in the list is looked for beside it, and from where qhalo was called, as smpirun does. */
static qh_status add_path(qh_smpi_input *in, int32_t line, qh_word name)
{
    const char *slash = strrchr(in->list, '/');
    char text[QH_WORD_TEXT_BYTES];
    qh_status st = QH_OK;

    if ((in->n & (in->n - 1)) == 0) /* no or a power of two: it is full */
        QH_TRY(st, QH_RESIZE(&in->path, in->n, in->n ? 2 * in->n : 1));
    QH_TRY(st, join(in->list, slash ? slash - in->list : 0, name, &in->path[in->n]));
    in->n++;
    if (qh_file_exists(in->path[in->n - 1]))
        return QH_OK;
    qh_mem_free(in->path[--in->n]);
    QH_TRY(st, join(NULL, 0, name, &in->path[in->n]));
    in->n++;
    if (!qh_file_exists(in->path[in->n - 1]))
        st = qh_fail(QH_EINPUT,
                     "%s:%d: there is no file '%s'; it has to be the name of one, or the line of a "
                     "rank, RANK ACTION ...",
                     in->list, line, qh_word_text(name, text));
out:
    return st;
}

/* The highest rank that begins a line, and 1. */
static qh_status count_ranks(const char *path, int64_t *out)
{
    qh_lines l;
    bool more = true;
    int64_t v, n = 0;
    qh_status st;

    QH_TRY(st, qh_lines_open(&l, path));
    for (;;) {
        QH_TRY(st, qh_lines_next(&l, &more));
        if (!more)
            break;
        if (qh_word_int(l.word[0], QH_TRACE_MAX_DEVICES - 1, &v) && v >= n)
            n = v + 1;
    }
    if (n == 0)
        st = qh_fail(QH_EINPUT, "%s: no line begins with a rank", path);
    *out = n;
out:
    qh_lines_close(&l);
    return st;
}

/* Whether the line at hand is one of a rank and no name of a file. */
static bool is_action(const qh_lines *l)
{
    int64_t v;

    return l->n >= 2 && qh_word_int(l->word[0], INT32_MAX, &v);
}

static qh_status read_list(qh_smpi_input *in)
{
    qh_lines l = {0};
    bool more = true, whole = false;
    qh_word self;
    qh_status st;

    QH_TRY(st, qh_lines_open(&l, in->list));
    while (!whole) {
        QH_TRY(st, qh_lines_next(&l, &more));
        if (!more)
            break;
        whole = in->n == 0 && is_action(&l);
        if (l.word[0].at[0] == '#' || whole)
            continue;
        if (in->n == QH_TRACE_MAX_DEVICES) {
            st = qh_fail(QH_EINPUT, "%s:%d: more than %d files", in->list, l.number,
                         QH_TRACE_MAX_DEVICES);
            goto out;
        }
        QH_TRY(st, add_path(in, l.number, l.word[0]));
    }
    self = (qh_word){in->list, (int64_t)strlen(in->list)};
    if (whole) {
        QH_TRY(st, QH_NEW_ARRAY(&in->path, 1));
        QH_TRY(st, join(NULL, 0, self, &in->path[0]));
        in->n = 1;
    }
    if (in->n == 0)
        st = qh_fail(QH_EINPUT, "%s: names no file of a rank", in->list);
    else if (in->n == 1)
        QH_TRY(st, count_ranks(in->path[0], &in->ranks));
out:
    qh_lines_close(&l);
    return st;
}

qh_status qh_smpi_input_open(const char *path, qh_smpi_input *in)
{
    qh_word name = {"trace.txt", 9};
    size_t n = strlen(path);
    qh_status st;

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (qh_is_folder(path))
        QH_TRY(st, join(path, (int64_t)n, name, &in->list));
    else
        QH_TRY(st, qh_mem_strdup(path, &in->list));
    QH_TRY(st, read_list(in));
out:
    return st;
}
