#include "tools/table.h"

#include "src/base/mem.h"

#include <stdarg.h>

enum { CELL_BYTES = 256 };

static qh_status add(qh_table *t, const char *text)
{
    qh_status st = QH_OK;

    if (t->n == t->capacity) {
        int64_t bigger = t->capacity ? 2 * t->capacity : 64;

        QH_TRY(st, QH_RESIZE(&t->cell, t->n, bigger));
        t->capacity = bigger;
    }
    QH_TRY(st, qh_mem_strdup(text, &t->cell[t->n]));
    t->n++;
out:
    return st;
}

void qh_table_cell(qh_table *t, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (t->status == QH_OK)
        t->status = add(t, text);
}

void qh_table_row(qh_table *t)
{
    if (t->n_columns == 0)
        t->n_columns = (int)t->n;
    QH_ASSERT(t->n_columns <= QH_TABLE_COLUMNS);
    while (t->status == QH_OK && t->n % t->n_columns != 0)
        t->status = add(t, "");
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static int width_of(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void print_rows(const qh_table *t, FILE *out)
{
    int width[QH_TABLE_COLUMNS] = {0};

    for (int64_t i = 0; i < t->n; i++) {
        int w = width_of(t->cell[i]), *most = &width[i % t->n_columns];

        *most = w > *most ? w : *most;
    }
    for (int64_t i = 0; i < t->n; i++) {
        int column = (int)(i % t->n_columns);
        int blanks = width[column] - width_of(t->cell[i]);

        if (column == 0)
            fprintf(out, "%s%*s", t->cell[i], blanks, "");
        else
            fprintf(out, "  %*s%s", blanks, "", t->cell[i]);
        if (column == t->n_columns - 1)
            fputc('\n', out);
    }
}

qh_status qh_table_print(qh_table *t, FILE *out)
{
    qh_status st = t->status;

    if (st == QH_OK)
        print_rows(t, out);
    qh_table_fini(t);
    return st;
}

void qh_table_fini(qh_table *t)
{
    for (int64_t i = 0; i < t->n; i++)
        qh_mem_free(t->cell[i]);
    qh_mem_free(t->cell);
    *t = (qh_table){0};
}
