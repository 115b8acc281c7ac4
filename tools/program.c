#include "tools/program.h"

#include "src/base/options.h"
#include "tools/console.h"
#include "tools/stop.h"
#include "tools/version.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void print_overview(const qh_program *p, FILE *out)
{
    fprintf(out, "%s: %s\n\nusage: %s%s COMMAND [ARGS] [--options]\n\n", p->name, p->about,
            p->before, p->name);
    for (size_t i = 0; i < p->n_commands; i++)
        fprintf(out, "  %-10s %s\n", p->commands[i]->name, p->commands[i]->about);
    fprintf(out,
            "\n%s COMMAND --help says more of each; %s --version what is built in.\n"
            "Exit status: 0 done; 1 internal failure; 2 wrong usage; 3 bad input file; 4 out of\n"
            "memory or disk; 5 an --expect did not hold; 130 stopped by Ctrl-C.\n",
            p->name, p->name);
}

static void print_help(const qh_program *p, const qh_command *c, FILE *out)
{
    const char *line = c->usage;

    for (size_t n; *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        fprintf(out, "%s %s%s %s %.*s\n", line == c->usage ? "usage:" : "      ", p->before,
                p->name, c->name, (int)n, line);
    }
    fprintf(out, "\n%s\n", c->about);
    if (c->help) {
        fputc('\n', out);
        c->help(out);
    }
}

static const qh_command *find(const qh_program *p, const char *name)
{
    for (size_t i = 0; i < p->n_commands; i++)
        if (strcmp(p->commands[i]->name, name) == 0)
            return p->commands[i];
    return NULL;
}

static qh_status no_command(const qh_program *p, const char *name)
{
    const char *names[QH_MAX_COMMANDS], *close;

    for (size_t i = 0; i < p->n_commands; i++)
        names[i] = p->commands[i]->name;
    close = qh_did_you_mean(name, names, p->n_commands);
    if (close)
        return qh_fail(QH_EUSAGE, "%s: there is no such command; did you mean %s?", name, close);
    return qh_fail(QH_EUSAGE, "%s: there is no such command; %s --help lists those there are", name,
                   p->name);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

qh_status qh_program_run(const qh_program *p, int argc, char **argv)
{
    const qh_command *c;

    if (argc < 2)
        return qh_fail(QH_EUSAGE, "a command is missing; %s --help lists them", p->name);
    if (strcmp(argv[1], "--version") == 0) {
        qh_version_print(stdout);
        return QH_OK;
    }
    if (asks_for_help(1, &argv[1]) || strcmp(argv[1], "help") == 0) {
        print_overview(p, stdout);
        return QH_OK;
    }
    c = find(p, argv[1]);
    if (!c)
        return no_command(p, argv[1]);
    if (asks_for_help(argc - 2, &argv[2])) {
        print_help(p, c, stdout);
        return QH_OK;
    }
    return c->run(argc - 2, &argv[2]);
}

/* Whether standard output is a pipe that nobody reads any more: after an earlier failed write errno
 * says nothing. */
static bool pipe_is_gone(void)
{
    struct pollfd p = {.fd = STDOUT_FILENO};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* What was printed may still be in a buffer, and the disk behind it full. */
qh_status qh_program_close_stdout(qh_status st, bool *quiet)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return st;
    /* Who read has enough: nothing to tell, but not done either. */
    if (errno == EPIPE || pipe_is_gone()) {
        *quiet = true;
        return QH_ERESOURCE;
    }
    if (st == QH_OK)
        st = qh_fail(QH_ERESOURCE, "standard output: could not be written: %s", strerror(errno));
    return st;
}

/* Where a standard stream is closed, the next file opened takes its number, and notes would go into
 * that file. /dev/null takes it instead: for reading only where it stands for stdout, so that
 * results with nowhere to go are still a failed write. */
static void keep_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
            return; /* without /dev/null nothing can be done */
}

void qh_program_begin(void)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader that left is a failed write, which ends in exit 4 */
    signal(SIGXFSZ, SIG_IGN); /* and so does a file that reached the limit of its size */
    qh_stop_exit_on_signal();
    qh_console_start(false);
}
