/* Lines and words of the formats that are text. */
#ifndef QH_TRACES_IMPORT_TEXT_H
#define QH_TRACES_IMPORT_TEXT_H

#include "src/base/file.h"
#include "src/base/units.h"

/* A piece of the file's text, which it does not end with a NUL. */
typedef struct qh_word {
    const char *at;
    int64_t n;
} qh_word;

enum { QH_WORD_TEXT_BYTES = 64 };

/* As much of it as an error can show, without control characters. Gives buf. */
const char *qh_word_text(qh_word w, char *buf);
bool qh_word_is(qh_word w, const char *text);         /* whatever the case of letters */
bool qh_word_int(qh_word w, int64_t max, int64_t *v); /* digits only, at most max */
bool qh_word_real(qh_word w, double *v);              /* finite */

/* "epoch N ends", the mark that exports leave in a comment: the number, or -1. */
int32_t qh_word_mark(const qh_word *w, int64_t n);

/* A file by lines, each cut into its words at blanks. */
typedef struct qh_lines {
    char *path; /* owned */
    qh_map map; /* owned */
    int64_t at;
    int32_t number; /* of the line at hand, from 1 */
    qh_word *word;  /* owned: of the line at hand */
    int64_t n, capacity;
} qh_lines;

/* QH_EINPUT where it cannot be read. */
qh_status qh_lines_open(qh_lines *l, const char *path);
void qh_lines_close(qh_lines *l);

/* The next line that has words. *more false: there is none. QH_EINPUT past 2^31 lines. */
qh_status qh_lines_next(qh_lines *l, bool *more);

#endif
