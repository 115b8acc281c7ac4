/* The members of the registry, and the parts of those that need several files. */
#ifndef QH_TRACES_IMPORT_MEMBERS_H
#define QH_TRACES_IMPORT_MEMBERS_H

#include "traces/foreign.h"
#include "traces/import_text.h"

extern const qh_import_ops qh_import_smpi, qh_import_goal;

/* --- smpi: a line, "RANK ACTION ARGUMENTS" --- */

typedef struct qh_smpi_rank {
    int64_t type_bytes; /* of a number of the default data type */
    bool ended;         /* finalize was there */
} qh_smpi_rank;

typedef struct qh_smpi {
    qh_foreign *f;
    const qh_import_options *options;
    qh_smpi_rank *rank; /* owned, [n] */
    qh_lines lines;     /* the file at hand */
    int64_t *bytes;     /* owned, [n]: sizes of a collective */
} qh_smpi;

/* import_smpi_input.c: a list of files, or one file with lines of all ranks. */
typedef struct qh_smpi_input {
    char *list;    /* owned */
    char **path;   /* owned, and each text too */
    int64_t n;     /* files */
    int64_t ranks; /* in the one file that holds all; else 0 */
} qh_smpi_input;

/* path: a list, a folder with a trace.txt, or a file of all ranks. QH_EINPUT. */
qh_status qh_smpi_input_open(const char *path, qh_smpi_input *in);
void qh_smpi_input_close(qh_smpi_input *in);

/* Argument i = 0, 1, ... of the line at hand, as what it has to be. QH_EINPUT with file:line. */
qh_status qh_smpi_int(qh_smpi *s, int rank, int i, const char *what, int64_t max, int64_t *v);
/* At least 0 and, as a whole number, below 2^62. */
qh_status qh_smpi_real(qh_smpi *s, int rank, int i, const char *what, double *v);
/* Sizes: a count times the bytes of the data type in argument `type`, or of the default one. */
qh_status qh_smpi_type(qh_smpi *s, int rank, int type, int64_t *bytes);
qh_status qh_smpi_bytes(qh_smpi *s, int rank, int i, int64_t type_bytes, int64_t *bytes);
qh_status qh_smpi_want(qh_smpi *s, int rank, int64_t least, int64_t most); /* arguments */
qh_status qh_smpi_compute(qh_smpi *s, int rank, double flops);

/* import_smpi_collectives.c: *known false: the action is none of them. */
qh_status qh_smpi_collective(qh_smpi *s, int rank, bool *known);

/* --- goal --- */

/* import_goal_text.c: the words of a file. */
typedef struct qh_goal_text {
    const char *path;
    const char *at, *end;
    int32_t line;
    qh_word word;           /* the one at hand; n 0: the line or the file ends */
    int32_t epoch, n_marks; /* comments said that so many epochs end, from this one on */
} qh_goal_text;

/* The next word of the line: letters, digits, _ and -, or one other character. */
void qh_goal_next(qh_goal_text *g);
/* The first word of what is left of the line, or of the next one that has any. */
void qh_goal_next_line(qh_goal_text *g);
/* "FILE:LINE: 'word' where WHAT has to stand". */
qh_status qh_goal_expected(const qh_goal_text *g, const char *what);
/* The next word, as a whole number up to max. */
qh_status qh_goal_int(qh_goal_text *g, const char *what, int64_t max, int64_t *v);

/* The operations of a rank, in the order of the file, and what they wait for. */

typedef struct qh_goal_op {
    qh_foreign_kind kind; /* COMPUTE, SEND, RECV, or MARK */
    int32_t line;
    int64_t peer, amount; /* COMPUTE: ps; SEND, RECV: bytes; MARK: epoch */
    int32_t tag;
} qh_goal_op;

typedef struct qh_goal_edge {
    int32_t op, before; /* op needs that `before` is done, or only (start) that it has begun */
    bool start;
} qh_goal_edge;

typedef struct qh_goal_rank {
    qh_goal_op *op; /* owned */
    int64_t n, capacity;
    qh_goal_edge *edge; /* owned */
    int64_t n_edges, edge_capacity;
} qh_goal_rank;

/* import_goal_order.c: one order for a graph. What can go without waiting goes first, by its place
 * in the file; then the first that waits only for messages. Whatever stands before a mark goes
 * before what stands behind it. QH_EINPUT where operations need each other. */
qh_status qh_goal_order(qh_foreign *f, int rank, const qh_goal_rank *g);

#endif
