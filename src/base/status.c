#include "src/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char error_text[QH_ERROR_TEXT_BYTES];
static _Thread_local qh_status error_status;

enum { LONG_TEXT = 16384, HEAD = 256 };

/* Names of files may be thousands of bytes long. What is wrong stands behind the name, so a text
 * that is too long loses its middle and not its end. */
static void shorten(char *text, size_t length)
{
    static const char gap[] = "...";
    size_t tail = QH_ERROR_TEXT_BYTES - 1 - HEAD - (sizeof gap - 1);

    memcpy(text + HEAD, gap, sizeof gap - 1);
    memmove(text + HEAD + sizeof gap - 1, text + length - tail, tail + 1);
}

qh_status qh_fail(qh_status st, const char *format, ...)
{
    char text[LONG_TEXT]; /* apart, so that an argument may be the old text */
    size_t length;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    length = strlen(text);
    if (length >= QH_ERROR_TEXT_BYTES)
        shorten(text, length);
    qh_error_set_text(text);
    error_status = st;
    return st;
}

qh_status qh_error_status(void)
{
    return error_status;
}

const char *qh_error_text(void)
{
    return error_text;
}

void qh_error_set_text(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
}

_Noreturn void qh_assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "qhalo: %s:%d: internal error: %s does not hold\n", file, line, condition);
    abort();
}
