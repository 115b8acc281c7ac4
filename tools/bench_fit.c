#include "tools/bench_fit.h"

#include "tools/console.h"
#include "tools/run.h"

#include "sim/scenario.h"
#include "src/base/file.h"
#include "src/base/mem.h"

#include <math.h>

enum { DEVICES = 4, FIRST_EPOCH = 2 }; /* before that, caches and pages are cold */

/* Of a call of a function: what is left of an operation on no rows. */
static const double LAUNCH_S = 1e-6;

typedef struct fit {
    double peak, memory;
    struct {
        double measured, roof; /* seconds; roof: at the full peak and bandwidth */
        int64_t n;
    } sum[DEVICES][QH_OP_COUNT]; /* a device's own thread adds to its row */
} fit;

static qh_status take(void *ctx, int device, int32_t epoch, const qh_record *r, int64_t n)
{
    fit *f = ctx;

    for (int64_t i = 0; epoch >= FIRST_EPOCH && i < n; i++) {
        double arithmetic, memory;

        if (r[i].op < QH_OP_SPMM || r[i].op > QH_OP_ASSIGN)
            continue;
        arithmetic = (double)r[i].flops / f->peak;
        memory = (double)r[i].bytes / f->memory;
        f->sum[device][r[i].op].measured += 1e-9 * (double)r[i].host_ns;
        f->sum[device][r[i].op].roof += arithmetic > memory ? arithmetic : memory;
        f->sum[device][r[i].op].n++;
    }
    return QH_OK;
}

/* Over all devices. */
static void add_up(fit *f)
{
    for (int d = 1; d < DEVICES; d++)
        for (int op = 0; op < QH_OP_COUNT; op++) {
            f->sum[0][op].measured += f->sum[d][op].measured;
            f->sum[0][op].roof += f->sum[d][op].roof;
            f->sum[0][op].n += f->sum[d][op].n;
        }
}

/* launch + roof / efficiency = measured, in the sum over all operations of a kind. Rows that lie in
 * the caches can beat the memory: 1 is the most. */
static double efficiency(const fit *f, int op)
{
    double work = f->sum[0][op].measured - LAUNCH_S * (double)f->sum[0][op].n;
    double least = f->sum[0][op].measured / 2; /* operations shorter than a launch */
    double e = f->sum[0][op].roof / (work > least ? work : least);

    if (!(e > 0))
        return 0.5; /* the training had none of them */
    return e < 1e-3 ? 1e-3 : e > 1 ? 1 : e;
}

static void print(const fit *f, FILE *out)
{
    fprintf(out,
            "# One core of the host that qhalo bench --fit ran on.\n"
            "#\n"
            "# peak: what a product of two 1024 x 1024 matrices reached.\n"
            "# memory_bandwidth: a copy of a 100 MB matrix, reading and writing together.\n"
            "# launch: a call of a function, not measured.\n"
            "# host_copy_bandwidth: absent, because the device's memory is the host's.\n"
            "# efficiency: of the CPU time of a training's operations, by kind, epochs %d on:\n",
            FIRST_EPOCH);
    for (int op = QH_OP_SPMM; op <= QH_OP_ASSIGN; op++)
        fprintf(out, "#   %-12s %lld operations, %.4g s\n", qh_op_name(op),
                (long long)f->sum[0][op].n, f->sum[0][op].measured);
    fprintf(out,
            "about: \"one core of a host, fitted\"\npeak: %.4gGFLOP/s\nmemory_bandwidth: "
            "%.4gGB/s\nlaunch: 1us\nefficiency:\n",
            1e-9 * f->peak, 1e-9 * f->memory);
    for (int op = QH_OP_SPMM; op <= QH_OP_ASSIGN; op++)
        fprintf(out, "  %s: %.3g\n", qh_op_name(op), efficiency(f, op));
}

static qh_status set(qh_settings *s, const char *name, const char *text)
{
    return qh_options_set(qh_scenario_options, s, "--fit", name, text);
}

/* Adaptive widths, so that every kind of operation comes up. */
static qh_status train(fit *f, bool quick)
{
    static const char *const rows[][2] = {
        {"devices", "4"},      {"method", "adaqp"}, {"compute", "measured"},
        {"threads", "1"},      {"epochs", "8"},     {"assign-every", "3"},
        {"eval-every", "100"}, {"hidden", "128"},   {"net", "switch-10g"},
    };
    qh_observer o = {.records = take, .ctx = f};
    qh_settings s = {0};
    qh_dataset *d = NULL;
    qh_result r = {0};
    qh_status st;

    QH_TRY(st, qh_settings_init(&s));
    for (size_t i = 0; i < QH_COUNT(rows); i++)
        QH_TRY(st, set(&s, rows[i][0], rows[i][1]));
    QH_TRY(st, qh_run_open_dataset(quick ? "synth:sbm,nodes=600,degree=10,features=32,classes=4"
                                         : "synth:sbm,nodes=20000,degree=25,features=128,classes=8",
                                   &s, &d));
    QH_TRY(st, qh_scenario_run(&s, d, &o, &r));
out:
    qh_result_fini(&r);
    qh_dataset_free(d);
    qh_settings_fini(&s);
    return st;
}

qh_status qh_bench_fit(double peak_flops, double memory_bytes_per_s, bool quick, const char *path)
{
    fit f = {.peak = peak_flops, .memory = memory_bytes_per_s};
    qh_output *o = NULL;
    qh_status st;

    qh_console_note("bench: a training with measured times");
    QH_TRY(st, train(&f, quick));
    add_up(&f);
    if (path) {
        QH_TRY(st, qh_output_open(path, &o));
        print(&f, qh_output_stream(o));
        QH_TRY(st, qh_output_commit(&o));
    } else {
        print(&f, stdout);
    }
out:
    qh_output_abort(&o);
    return st;
}
