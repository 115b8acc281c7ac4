#include "tools/stop.h"

#include "src/base/file.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile int stop; /* int, as observers look at it; a store of it is one instruction */

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
    (void)signal_number;
    stop = 1;
    handle(leave);
}

void qh_stop_arm(void)
{
    handle(set_flag);
}

const volatile int *qh_stop_flag(void)
{
    return &stop;
}

void qh_stop_exit_on_signal(void)
{
    handle(leave);
}
