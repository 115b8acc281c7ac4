/* stderr: notes, warnings, errors and the progress bar, which share the terminal's last line. */
#ifndef QH_TOOLS_CONSOLE_H
#define QH_TOOLS_CONSOLE_H

#include <stdbool.h>

/* Makes the console the sink of qh_log. Notes and the bar are dropped when quiet; warnings stay.
 * The bar shows on a terminal only. May be called again, once --quiet is known. */
void qh_console_start(bool quiet);

/* Nothing but errors from now on: another process speaks. */
void qh_console_silence(void);

/* One line to stderr, unless quiet. */
void qh_console_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "qhalo: TEXT", on one line whatever text holds. */
void qh_console_error(const char *text);

/* Draws the bar at share (0..1) with a text behind it; at most some ten times a second. */
void qh_console_bar(double share, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the bar away. */
void qh_console_clear(void);

#endif
