/* Ctrl-C: a flag for runs that close their results, an exit for everything else. */
#ifndef QH_TOOLS_STOP_H
#define QH_TOOLS_STOP_H

/* From here on the first SIGINT or SIGTERM sets the flag, the second ends the program at once. */
void qh_stop_arm(void);

/* Non-zero once a signal came; borrowed for ever. */
const _Atomic int *qh_stop_flag(void);

/* The start: a signal removes files being written and exits with 130. */
void qh_stop_exit_on_signal(void);

#endif
