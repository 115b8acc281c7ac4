/* Warnings and notes of the lower floors: they print nothing themselves, a sink does. */
#ifndef QH_BASE_LOG_H
#define QH_BASE_LOG_H

typedef enum qh_log_level { QH_LOG_WARNING, QH_LOG_NOTE } qh_log_level;

typedef void (*qh_log_sink)(qh_log_level level, const char *text, void *ctx);

/* Where the lines go; NULL (the start) drops them. Set once, before threads. */
void qh_log_set_sink(qh_log_sink sink, void *ctx);

/* One line without newline: "WHERE: what". Any thread; lines are handed over whole. */
void qh_log(qh_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
