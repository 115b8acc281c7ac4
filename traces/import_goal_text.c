#include "traces/import_members.h"

qh_status qh_goal_expected(const qh_goal_text *g, const char *what)
{
    char text[QH_WORD_TEXT_BYTES];

    if (g->word.n == 0)
        return qh_fail(QH_EINPUT, "%s:%d: %s is missing", g->path, g->line, what);
    return qh_fail(QH_EINPUT, "%s:%d: '%s' where %s has to stand", g->path, g->line,
                   qh_word_text(g->word, text), what);
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* The mark that an export leaves is the whole text of a comment. */
static void look_for_mark(qh_goal_text *g, const char *from, const char *to)
{
    qh_word word[3];
    int64_t n = 0;
    int32_t epoch;

    while (from < to && n < 3) {
        while (from < to && (*from == ' ' || *from == '\t'))
            from++;
        word[n] = (qh_word){from, 0};
        for (; from < to && *from != ' ' && *from != '\t' && *from != '\r'; from++)
            word[n].n++;
        if (word[n].n == 0)
            break;
        n++;
    }
    epoch = qh_word_mark(word, n);
    if (epoch < 0)
        return;
    if (g->n_marks == 0 || epoch != g->epoch + g->n_marks) {
        g->epoch = epoch;
        g->n_marks = 0;
    }
    g->n_marks++;
}

static bool starts(const qh_goal_text *g, const char *two)
{
    return g->end - g->at >= 2 && g->at[0] == two[0] && g->at[1] == two[1];
}

/* Blanks and comments, up to a word or the end of the line. */
static void skip(qh_goal_text *g)
{
    while (g->at < g->end) {
        if (*g->at == ' ' || *g->at == '\t' || *g->at == '\r') {
            g->at++;
        } else if (starts(g, "//")) {
            const char *from = g->at + 2;

            while (g->at < g->end && *g->at != '\n')
                g->at++;
            look_for_mark(g, from, g->at);
        } else if (starts(g, "/*")) {
            for (g->at += 2; g->at < g->end && !starts(g, "*/"); g->at++)
                g->line += *g->at == '\n';
            g->at += g->at < g->end ? 2 : 0;
        } else {
            return;
        }
    }
}

/* The next word of the line: letters and digits, or one other character. */
void qh_goal_next(qh_goal_text *g)
{
    skip(g);
    g->word = (qh_word){g->at, 0};
    if (g->at == g->end || *g->at == '\n')
        return;
    do {
        g->at++;
    } while (g->at < g->end && in_word(g->at[-1]) && in_word(*g->at));
    g->word.n = g->at - g->word.at;
}

/* The first word of the next line that has any, or of what is left of this one. */
void qh_goal_next_line(qh_goal_text *g)
{
    for (qh_goal_next(g); g->word.n == 0 && g->at < g->end; qh_goal_next(g)) {
        g->at++;
        g->line++;
    }
}

qh_status qh_goal_int(qh_goal_text *g, const char *what, int64_t max, int64_t *v)
{
    qh_goal_next(g);
    return qh_word_int(g->word, max, v) ? QH_OK : qh_goal_expected(g, what);
}
