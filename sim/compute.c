#include "sim/compute.h"

#include "netmodel/preset.h"
#include "sim/accelerators.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

static const char *const keys[] = {"about",          "peak",       "memory_bandwidth",
                                   "launch",         "efficiency", "host_copy_bandwidth",
                                   "measured_factor"};

/* Every operation must be named: a forgotten one would run at full peak without anyone saying so.
 */
static qh_status read_efficiency(const qh_yaml *y, const qh_yaml_node *root, qh_accelerator *a)
{
    const qh_yaml_node *map = qh_yaml_get(root, "efficiency");
    const char *names[QH_OP_ASSIGN];
    qh_status st;

    for (int op = QH_OP_SPMM; op <= QH_OP_ASSIGN; op++)
        names[op - QH_OP_SPMM] = qh_op_name(op);
    if (!map)
        return qh_yaml_fail(y, root, "'efficiency' is missing; give efficiency: {spmm: 0.5, ...}");
    QH_TRY(st, qh_yaml_check_keys(y, map, names, (int64_t)QH_COUNT(names)));
    for (int op = QH_OP_SPMM; op <= QH_OP_ASSIGN; op++) {
        double *e = &a->efficiency[op];

        QH_TRY(st, qh_yaml_real(y, map, qh_op_name(op), true, 0, 1, e));
        if (!(*e > 0)) {
            st = qh_yaml_fail(y, qh_yaml_get(map, qh_op_name(op)),
                              "an efficiency of 0 never ends; give one in (0, 1]");
            goto out;
        }
    }
out:
    return st;
}

static qh_status read_accelerator(const qh_yaml *y, const qh_yaml_node *map, qh_accelerator *a)
{
    const char *about = "";
    qh_status st;

    if (qh_yaml_get(map, "model"))
        return qh_fail(QH_EUSAGE, "%s: 'model' is a network's; give the file to --net",
                       qh_yaml_where(y, qh_yaml_get(map, "model")));
    QH_TRY(st, qh_yaml_check_keys(y, map, keys, (int64_t)QH_COUNT(keys)));
    if (qh_yaml_get(map, "about"))
        QH_TRY(st, qh_yaml_text(y, qh_yaml_get(map, "about"), "about", &about));
    QH_TRY(st, qh_mem_strdup(about, &a->about));
    QH_TRY(st, qh_yaml_flops(y, map, "peak", true, &a->peak_flops));
    QH_TRY(st, qh_yaml_rate(y, map, "memory_bandwidth", true, &a->memory_bytes_per_s));
    QH_TRY(st, qh_yaml_duration(y, map, "launch", true, &a->launch));
    if (qh_yaml_get(map, "host_copy_bandwidth")) {
        QH_TRY(st, qh_yaml_rate(y, map, "host_copy_bandwidth", true, &a->copy_bytes_per_s));
    }
    a->measured_factor = 1;
    QH_TRY(st, qh_yaml_real(y, map, "measured_factor", false, 1e-6, 1e6, &a->measured_factor));
    QH_TRY(st, read_efficiency(y, map, a));
out:
    return st;
}

qh_status qh_accelerator_open_text(const char *name, const char *text, qh_accelerator **out)
{
    qh_accelerator *a = NULL;
    qh_yaml *y = NULL;
    qh_status st;

    QH_TRY(st, qh_yaml_parse(name, text, (int64_t)strlen(text), QH_EINPUT, &y));
    QH_TRY(st, QH_NEW(&a));
    QH_TRY(st, qh_mem_strdup(name, &a->name));
    QH_TRY(st, read_accelerator(y, qh_yaml_root(y), a));
    *out = a;
    a = NULL;
out:
    qh_accelerator_free(a);
    qh_yaml_free(y);
    return st;
}

qh_status qh_accelerator_describe(const char *name_or_file, char **text)
{
    return qh_preset_read("accelerator", qh_accelerator_presets, qh_accelerator_presets_count,
                          name_or_file, text);
}

qh_status qh_accelerator_open(const char *name_or_file, qh_accelerator **out)
{
    char *text = NULL;
    qh_status st;

    QH_TRY(st, qh_accelerator_describe(name_or_file, &text));
    QH_TRY(st, qh_accelerator_open_text(name_or_file, text, out));
out:
    qh_mem_free(text);
    return st;
}

bool qh_accelerator_describes(const char *path)
{
    const qh_yaml_node *map;
    qh_yaml *y = NULL;
    bool found = false;

    if (qh_preset_parse("accelerator", NULL, 0, path, &y) < 0)
        return false;
    map = qh_yaml_root(y);
    for (size_t i = 1; i < QH_COUNT(keys); i++) /* networks have an "about" too */
        found = found || qh_yaml_get(map, keys[i]);
    found = found && !qh_yaml_get(map, "model");
    qh_yaml_free(y);
    return found;
}

void qh_accelerator_free(qh_accelerator *a)
{
    if (!a)
        return;
    qh_mem_free(a->about);
    qh_mem_free(a->name);
    qh_mem_free(a);
}

void qh_accelerator_show(const qh_accelerator *a, FILE *out)
{
    char text[QH_UNIT_TEXT_BYTES];
    bool large = a->peak_flops >= 1e12;

    fprintf(out, "%s: %s\n", a->name, a->about);
    fprintf(out, "  time of an operation = launch + max(flops / (peak x efficiency), bytes / "
                 "(memory bandwidth x efficiency))\n");
    fprintf(out, "  peak             %.4g %s (fp32)\n", a->peak_flops / (large ? 1e12 : 1e9),
            large ? "TFLOP/s" : "GFLOP/s");
    fprintf(out, "  memory bandwidth %s\n", qh_print_rate(a->memory_bytes_per_s, text));
    fprintf(out, "  launch           %s\n", qh_print_seconds(qh_seconds(a->launch), text));
    fprintf(out, "  host copies      %s\n",
            a->copy_bytes_per_s > 0 ? qh_print_rate(a->copy_bytes_per_s, text)
                                    : "none (its memory is the host's)");
    fprintf(out, "  measured times   host CPU time x %.4g\n", a->measured_factor);
    fprintf(out, "  efficiency      ");
    for (int op = QH_OP_SPMM; op <= QH_OP_ASSIGN; op++)
        fprintf(out, " %s %.3g%s", qh_op_name(op), a->efficiency[op],
                op < QH_OP_ASSIGN ? "," : "\n");
}

int64_t qh_accelerator_preset_count(void)
{
    return qh_accelerator_presets_count;
}

const char *qh_accelerator_preset_name(int64_t i)
{
    return qh_accelerator_presets[i].name;
}

const char *qh_accelerator_preset_about(int64_t i)
{
    return qh_accelerator_presets[i].about;
}

const char *qh_accelerator_preset_text(int64_t i)
{
    return qh_accelerator_presets[i].text;
}

/* One rounding, of the whole duration without the launch. IEEE double arithmetic without
 * contraction gives the same bits on every host. */
static qh_time duration_of_ps(double ps, qh_time launch)
{
    static const double never_ps = 9.2e18; /* a little under 2^63 */

    if (!(ps + (double)launch < never_ps))
        return QH_TIME_NEVER;
    return launch + (qh_time)llrint(ps);
}

qh_time qh_compute_duration(const qh_accelerator *a, qh_compute_kind kind, const qh_record *r)
{
    double arithmetic_ps, memory_ps, efficiency = a->efficiency[r->op];

    if (kind == QH_COMPUTE_MEASURED)
        return duration_of_ps((double)r->host_ns * 1e3 * a->measured_factor, 0);
    arithmetic_ps = (double)r->flops * 1e12 / (a->peak_flops * efficiency);
    memory_ps = (double)r->bytes * 1e12 / (a->memory_bytes_per_s * efficiency);
    return duration_of_ps(arithmetic_ps > memory_ps ? arithmetic_ps : memory_ps, a->launch);
}

qh_time qh_compute_scaled(qh_time duration, double factor)
{
    return duration == QH_TIME_NEVER ? duration : duration_of_ps((double)duration * factor, 0);
}

qh_time qh_compute_staging(const qh_accelerator *a, int64_t bytes)
{
    qh_time copy;

    if (!(a->copy_bytes_per_s > 0))
        return 0;
    copy = qh_time_of_bytes(bytes, a->copy_bytes_per_s);
    return copy > QH_TIME_NEVER - a->launch ? QH_TIME_NEVER : a->launch + copy;
}
