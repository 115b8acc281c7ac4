/* Status codes, the error text that goes with them, and the try/clean-up idiom. */
#ifndef QH_BASE_STATUS_H
#define QH_BASE_STATUS_H

#include <stddef.h>

/* Negative when bad. The exit status of the program is the negated value. */
typedef enum qh_status {
    QH_OK = 0,
    QH_EINTERNAL = -1,   /* a failure of qhalo itself */
    QH_EUSAGE = -2,      /* wrong option or configuration */
    QH_EINPUT = -3,      /* bad input file: dataset, partition, trace, plug-in */
    QH_ERESOURCE = -4,   /* out of memory or disk */
    QH_EEXPECT = -5,     /* an --expect did not hold */
    QH_EINTERRUPT = -130 /* Ctrl-C, or another device failed first */
} qh_status;

enum { QH_ERROR_TEXT_BYTES = 1024 };

/* Keeps "WHERE: what is wrong; what would be right" as this thread's error text and returns st.
 * Only whoever decides that something failed calls it; callers pass the status on. */
qh_status qh_fail(qh_status st, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* This thread's last error text, never NULL, "" when there is none. Borrowed until the next
 * qh_fail of this thread. */
const char *qh_error_text(void);

/* The status that this thread's last qh_fail gave; QH_OK when there was none. */
qh_status qh_error_status(void);

/* Makes text (copied) this thread's error text: how a joined thread's message is carried over. */
void qh_error_set_text(const char *text);

/* Evaluates a call; when it fails, goes to the label `out` of the function with st set. */
#define QH_TRY(st, call)                                                                           \
    do {                                                                                           \
        (st) = (call);                                                                             \
        if ((st) < 0)                                                                              \
            goto out;                                                                              \
    } while (0)

/* A mistake of the programmer: prints file:line and aborts, in every build. */
#define QH_ASSERT(condition)                                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            qh_assert_failed(#condition, __FILE__, __LINE__);                                      \
    } while (0)

_Noreturn void qh_assert_failed(const char *condition, const char *file, int line);

#define QH_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
