#include "src/base/log.h"

#include "src/base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static qh_log_sink current_sink;
static void *current_ctx;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void qh_log_set_sink(qh_log_sink sink, void *ctx)
{
    pthread_mutex_lock(&lock);
    current_sink = sink;
    current_ctx = ctx;
    pthread_mutex_unlock(&lock);
}

void qh_log(qh_log_level level, const char *format, ...)
{
    char text[QH_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (current_sink)
        current_sink(level, text, current_ctx);
    pthread_mutex_unlock(&lock);
}
