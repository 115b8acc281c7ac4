#include "src/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char error_text[QH_ERROR_TEXT_BYTES];

qh_status qh_fail(qh_status st, const char *format, ...)
{
    char text[QH_ERROR_TEXT_BYTES]; /* apart, so that an argument may be the old text */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    qh_error_set_text(text);
    return st;
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
