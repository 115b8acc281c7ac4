#include "tools/plot.h"

#include "src/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts gnuplot with its input from a pipe and everything it says thrown away. */
static bool start_gnuplot(pid_t *pid, FILE **to, const char *out)
{
    char *const argv[] = {"gnuplot", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], error;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC,
                                     0666);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(pid, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    *to = error ? NULL : fdopen(ends[1], "w");
    if (!*to)
        close(ends[1]);
    return *to != NULL;
}

/* Closes gnuplot's input and waits; true when it went well. */
static bool finish_gnuplot(pid_t pid, FILE *to)
{
    bool good = fclose(to) == 0;
    int status = 1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool qh_plot_available(void)
{
    pid_t pid;
    FILE *to;

    return start_gnuplot(&pid, &to, "/dev/null") && finish_gnuplot(pid, to);
}

/* 'text' for gnuplot: single quotes are doubled, and a new line is joined on from double ones. */
static void quote(const char *text, FILE *to)
{
    fputc('\'', to);
    for (; *text; text++)
        fprintf(to, *text == '\'' ? "''" : *text == '\n' ? "'.\"\\n\".'" : "%c", *text);
    fputc('\'', to);
}

static void begin_picture(const char *title, FILE *to)
{
    fprintf(to, "set terminal svg size 900,520 font 'sans,14' background 'white' noenhanced\n"
                "set datafile separator ','\n"
                "set datafile missing ''\n"
                "set border 3\nset tics nomirror out\n"
                "set grid ytics lc rgb '#dddddd' lw 1\n"
                "set key outside right top Left reverse noenhanced\n"
                "set linetype 1 lc rgb '#1b6ca8' lw 2\nset linetype 2 lc rgb '#d1495b' lw 2\n"
                "set linetype 3 lc rgb '#2e933c' lw 2\nset linetype 4 lc rgb '#edae49' lw 2\n"
                "set linetype 5 lc rgb '#7d4e9e' lw 2\nset linetype 6 lc rgb '#5c5c5c' lw 2\n"
                "set linetype 7 lc rgb '#00a6a6' lw 2\nset linetype 8 lc rgb '#b5651d' lw 2\n"
                "set title ");
    quote(title, to);
    fputc('\n', to);
}

typedef struct picture {
    const char *title, *csv;
    const qh_axes *axes;
    const qh_curve *curves;
    int n;
    const qh_bars *bars;
} picture;

static void write_curves(const picture *p, FILE *to)
{
    const qh_axes *a = p->axes;

    begin_picture(p->title, to);
    fprintf(to, "set ylabel ");
    quote(a->label, to);
    fprintf(to, "\n%sset xlabel ", a->spent ? "set logscale x\nset format x '%.0s %c'\n" : "");
    quote(a->spent ? a->spent_label : "epoch", to);
    for (int i = 0; i < p->n; i++) {
        fprintf(to, "%s ", i ? "," : "\nplot");
        if (a->spent) /* a sum of its own for each curve */
            fprintf(to, "sum_%d = 0, ", i);
        quote(p->curves[i].csv, to);
        if (a->spent)
            fprintf(to, " using (sum_%d = sum_%d + column('%s'), sum_%d):", i, i, a->spent, i);
        else
            fprintf(to, " using 'epoch':");
        fprintf(to, "'%s' with lines title ", a->column);
        quote(p->curves[i].title, to);
    }
    fputc('\n', to);
}

static void write_breakdown(const picture *p, FILE *to)
{
    static const struct {
        const char *column, *title;
    } parts[] = {{"compute_s", "compute"},
                 {"quantize_s", "quantize"},
                 {"dequantize_s", "dequantize"},
                 {"assign_s", "assignment"},
                 {"exposed_comm_s", "exposed transfer"},
                 {"allreduce_s", "all-reduce"},
                 {"idle_s", "waiting"}};

    begin_picture(p->title, to);
    fprintf(to, "set style data histograms\nset style histogram rowstacked\n"
                "set style fill solid 0.9 noborder\nset boxwidth 0.7\nset yrange [0:*]\n"
                "set ylabel 'simulated ms an epoch, mean of devices'\n"
                "set xtics rotate by -30\nset key invert\n");
    for (size_t i = 0; i < QH_COUNT(parts); i++) {
        fprintf(to, "%s ", i ? "," : "plot");
        quote(p->csv, to);
        fprintf(to, " using (1000*column('%s'))%s title '%s'", parts[i].column, i ? "" : ":xtic(1)",
                parts[i].title);
    }
    fputc('\n', to);
}

/* The unit in which x_max is 1 to 1000. */
static double time_unit(double x_max, const char **name)
{
    static const struct {
        double seconds;
        const char *name;
    } unit[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;

    while (i + 1 < QH_COUNT(unit) && x_max < unit[i].seconds)
        i++;
    *name = unit[i].name;
    return unit[i].seconds;
}

/* Each kind a block of data: middle, middle, and the four borders. */
static bool write_bars_of(const qh_bars *b, int kind, double unit, FILE *to)
{
    bool some = false;

    for (int64_t i = 0; i < b->n_bars; i++) {
        const qh_bar *bar = &b->bar[i];
        double x0 = bar->x0 / unit, x1 = bar->x1 / unit;

        if (bar->kind != kind)
            continue;
        if (!some)
            fprintf(to, "$kind_%d << END\n", kind);
        some = true;
        fprintf(to, "%.6g,%.4g,%.6g,%.6g,%.4g,%.4g\n", (x0 + x1) / 2, (bar->y0 + bar->y1) / 2, x0,
                x1, bar->y0, bar->y1);
    }
    if (some)
        fprintf(to, "END\n");
    return some;
}

static void write_bars(const picture *p, FILE *to)
{
    const qh_bars *b = p->bars;
    const char *unit_name, *between = "plot";
    double unit = time_unit(b->x_max, &unit_name);
    bool some[32];

    begin_picture("", to);
    fprintf(
        to,
        "set terminal svg size 900,%d font 'sans,13' background 'white' noenhanced\n"
        "set bmargin 8\nset yrange [%d:0]\nset xrange [0:%.6g]\nset border 1\nunset grid\nunset "
        "title\n"
        "set grid xtics lc rgb '#dddddd' lw 1\nset key outside bottom center horizontal "
        "maxrows 2 samplen 1.5\nset style fill solid 1 noborder\nset xlabel '%s, %s' offset 0,0.5\n"
        "set ytics scale 0 (",
        150 + 26 * b->n_rows, b->n_rows, b->x_max > 0 ? b->x_max / unit : 1, b->x_label, unit_name);
    for (int i = 0; i < b->n_tics; i++) {
        fprintf(to, "%s", i ? "," : "");
        quote(b->tic[i].text, to);
        fprintf(to, " %g", b->tic[i].y);
    }
    fprintf(to, ")\n");
    for (int i = 0; i < b->n_captions; i++) {
        fprintf(to, "set label ");
        quote(b->caption[i].text, to);
        fprintf(to, " at graph 0, first %g left front\n", b->caption[i].y);
    }
    for (int k = 0; k < b->n_kinds; k++)
        some[k] = write_bars_of(b, k, unit, to);
    for (int k = 0; k < b->n_kinds; k++)
        if (some[k]) {
            fprintf(to, "%s $kind_%d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' title ", between,
                    k, b->kind[k].color);
            quote(b->kind[k].title, to);
            between = ",";
        }
    fprintf(to, *between == ',' ? "\n" : "plot NaN notitle\n");
}

static qh_status draw(const char *svg, const picture *p, void (*write)(const picture *, FILE *))
{
    char temporary[4096];
    pid_t pid;
    FILE *to;

    if (snprintf(temporary, sizeof temporary, "%s.tmp.%ld", svg, (long)getpid()) >=
        (int)sizeof temporary)
        return qh_fail(QH_ERESOURCE, "%s: the name is too long", svg);
    if (!start_gnuplot(&pid, &to, temporary)) {
        unlink(temporary); /* it may have been opened before */
        return qh_fail(QH_ERESOURCE, "%s: gnuplot could not be started; is it installed?", svg);
    }
    write(p, to);
    if (finish_gnuplot(pid, to) && rename(temporary, svg) == 0)
        return QH_OK;
    unlink(temporary);
    return qh_fail(QH_ERESOURCE, "%s: gnuplot could not draw it", svg);
}

qh_status qh_plot_curves(const char *svg, const char *title, const qh_axes *axes,
                         const qh_curve *curves, int n)
{
    const picture p = {.title = title, .axes = axes, .curves = curves, .n = n};

    return draw(svg, &p, write_curves);
}

qh_status qh_plot_breakdown(const char *svg, const char *title, const char *compare_csv)
{
    const picture p = {.title = title, .csv = compare_csv};

    return draw(svg, &p, write_breakdown);
}

qh_status qh_plot_bars(const char *svg, const qh_bars *b)
{
    const picture p = {.bars = b};

    QH_ASSERT(b->n_kinds <= 32);
    return draw(svg, &p, write_bars);
}
