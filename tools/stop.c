#include "tools/stop.h"

#include "src/base/file.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "stores in a signal handler");
static _Atomic int stop; /* lock-free, so a handler may store it while other threads look */

static void leave(int signal_number)
{
    (void)signal_number;
    qh_output_remove_open();
    _exit(-QH_EINTERRUPT);
}

/* A terminal that goes away counts as well, unless nohup said that it should not. */
static void handle(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, now;

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

static void set_flag(int signal_number)
{
    int error = errno; /* of what was interrupted */

    (void)signal_number;
    stop = 1;
    handle(leave);
    errno = error;
}

void qh_stop_arm(void)
{
    handle(set_flag);
}

const _Atomic int *qh_stop_flag(void)
{
    return &stop;
}

void qh_stop_exit_on_signal(void)
{
    handle(leave);
}
