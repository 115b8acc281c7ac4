#include "tools/console.h"

#include "src/base/hash.h"
#include "src/base/log.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 24, TEXT_BYTES = 2048, FRAME_MS = 100, REMEMBERED = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_quiet, is_silent, bar_shown;
static struct timespec last_frame;
static uint64_t told[REMEMBERED]; /* hashes of lines, the oldest overwritten */
static int64_t n_told;

/* Called with the lock held. */
static void erase_bar(void)
{
    if (bar_shown)
        fputs("\r\033[K", stderr);
    bar_shown = false;
}

/* Whether the line was told before: runs that are compared have most of their notes in common. */
static bool is_old(const char *text)
{
    uint64_t hash = qh_hash(text, (int64_t)strlen(text), 0);
    bool old = false;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < REMEMBERED && i < n_told && !old; i++)
        old = told[i] == hash;
    if (!old)
        told[n_told++ % REMEMBERED] = hash;
    pthread_mutex_unlock(&lock);
    return old;
}

static void print_line(const char *before, const char *text)
{
    char line[TEXT_BYTES];
    int n = 0;

    for (; text[n] && n < TEXT_BYTES - 1; n++)
        line[n] = iscntrl((unsigned char)text[n]) ? ' ' : text[n]; /* one line, no escapes */
    line[n] = '\0';
    pthread_mutex_lock(&lock);
    erase_bar();
    fprintf(stderr, "%s%s\n", before, line);
    pthread_mutex_unlock(&lock);
}

static void take_log(qh_log_level level, const char *text, void *ctx)
{
    (void)ctx;
    if (is_silent || is_old(text))
        return;
    if (level == QH_LOG_WARNING)
        print_line("qhalo: warning: ", text);
    else if (!is_quiet)
        print_line("qhalo: note: ", text);
}

void qh_console_start(bool quiet)
{
    is_quiet = quiet || is_silent;
    qh_log_set_sink(take_log, NULL);
}

void qh_console_silence(void)
{
    is_silent = is_quiet = true;
}

void qh_console_note(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    if (is_quiet)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!is_old(text))
        print_line("", text);
}

void qh_console_error(const char *text)
{
    print_line("qhalo: ", text);
}

static bool frame_is_due(void)
{
    struct timespec now;
    long ms;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ms = (now.tv_sec - last_frame.tv_sec) * 1000 + (now.tv_nsec - last_frame.tv_nsec) / 1000000;
    if (bar_shown && ms < FRAME_MS)
        return false;
    last_frame = now;
    return true;
}

void qh_console_bar(double share, const char *format, ...)
{
    char text[TEXT_BYTES], bar[BAR_WIDTH + 1];
    va_list args;

    if (is_quiet || !isatty(STDERR_FILENO))
        return;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < share * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    if (frame_is_due()) {
        fprintf(stderr, "\r\033[K[%s] %s", bar, text);
        fflush(stderr);
        bar_shown = true;
    }
    pthread_mutex_unlock(&lock);
}

void qh_console_clear(void)
{
    pthread_mutex_lock(&lock);
    erase_bar();
    pthread_mutex_unlock(&lock);
}
