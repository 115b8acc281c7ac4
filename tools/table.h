/* Readable tables: columns as wide as they need be, numbers to the right. */
#ifndef QH_TOOLS_TABLE_H
#define QH_TOOLS_TABLE_H

#include "src/base/status.h"

#include <stdint.h>
#include <stdio.h>

enum { QH_TABLE_COLUMNS = 16 };

typedef struct qh_table {
    int n_columns;
    char **cell; /* owned, rows one after the other */
    int64_t n, capacity;
    qh_status status; /* of what went wrong so far */
} qh_table;

/* A zeroed table is ready: the first row gives the number of columns. */
void qh_table_cell(qh_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void qh_table_row(qh_table *t); /* ends a row; missing cells stay empty */

/* Prints the rows, the first being headings. The first column stands left, the others right. Frees
 * the table. Errors of earlier calls come out here. */
qh_status qh_table_print(qh_table *t, FILE *out);
void qh_table_fini(qh_table *t);

#endif
