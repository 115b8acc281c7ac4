#include "tools/compare.h"

#include "src/base/mem.h"
#include "tools/json.h"
#include "tools/table.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#define MEAN(m, member) qh_method_mean((m), offsetof(qh_sample, member))
#define STD(m, member)  qh_method_std((m), offsetof(qh_sample, member))

qh_status qh_comparison_init(qh_comparison *c, char *const *methods, int64_t n_methods,
                             int64_t n_seeds)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&c->method, n_methods));
    c->n_methods = n_methods;
    for (int64_t i = 0; i < n_methods; i++) {
        c->method[i].method = methods[i];
        c->method[i].capacity = n_seeds;
        QH_TRY(st, QH_NEW_ARRAY(&c->method[i].run, n_seeds));
    }
out:
    return st;
}

void qh_comparison_fini(qh_comparison *c)
{
    for (int64_t i = 0; i < c->n_methods; i++)
        qh_mem_free(c->method[i].run);
    qh_mem_free(c->method);
    *c = (qh_comparison){0};
}

void qh_comparison_add(qh_comparison *c, int64_t method, const qh_result *r)
{
    qh_method_runs *m = &c->method[method];
    double epochs = (double)(r->train.epochs > 0 ? r->train.epochs : 1);

    QH_ASSERT(m->n < m->capacity);
    m->run[m->n++] = (qh_sample){
        .test_metric = r->train.metric[QH_SPLIT_TEST],
        .val_metric = r->train.metric[QH_SPLIT_VALIDATION],
        .final_loss = r->train.final_loss,
        .sim_s = qh_seconds(r->sim_end) / epochs,
        .bytes = (double)r->bytes_sent / epochs,
        .messages = (double)r->messages / epochs,
        .floats = (double)r->floats_sent / epochs,
        .compression = r->bytes_sent > 0 ? (double)r->fp32_bytes / (double)r->bytes_sent : NAN,
        .breakdown = r->mean,
        .wall_s = r->wall_seconds,
    };
}

static double value_at(const qh_method_runs *m, int64_t run, size_t offset)
{
    return *(const double *)(const void *)((const char *)&m->run[run] + offset);
}

double qh_method_mean(const qh_method_runs *m, size_t offset)
{
    double sum = 0;

    for (int64_t i = 0; i < m->n; i++)
        sum += value_at(m, i, offset);
    return m->n > 0 ? sum / (double)m->n : NAN;
}

double qh_method_std(const qh_method_runs *m, size_t offset)
{
    double mean = qh_method_mean(m, offset), sum = 0;

    for (int64_t i = 0; i < m->n; i++)
        sum += (value_at(m, i, offset) - mean) * (value_at(m, i, offset) - mean);
    return m->n > 1 ? sqrt(sum / (double)(m->n - 1)) : 0;
}

double qh_method_speedup(const qh_comparison *c, int64_t method)
{
    return MEAN(&c->method[0], sim_s) / MEAN(&c->method[method], sim_s);
}

static double codec_time(const qh_method_runs *m)
{
    return MEAN(m, breakdown.quantize) + MEAN(m, breakdown.dequantize) + MEAN(m, breakdown.assign);
}

double qh_method_break_even(const qh_comparison *c, int64_t method)
{
    const qh_method_runs *first = &c->method[0], *m = &c->method[method];
    double saved = (MEAN(first, bytes) - MEAN(m, bytes)) / (double)c->devices;
    double time = codec_time(m) - codec_time(first);

    if (!(saved > 0))
        return NAN;
    return time > 0 ? saved / time : INFINITY;
}

/* Columns of times have one unit, so that parts can be added up by eye. */
typedef struct time_unit {
    const char *name;
    double factor;
} time_unit;

static time_unit choose_unit(const qh_comparison *c)
{
    static const time_unit units[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};
    double longest = 0;
    size_t u = 0;

    for (int64_t i = 0; i < c->n_methods; i++)
        if (c->method[i].n > 0 && MEAN(&c->method[i], sim_s) > longest)
            longest = MEAN(&c->method[i], sim_s);
    while (u + 1 < QH_COUNT(units) && longest * units[u].factor < 10)
        u++;
    return units[u];
}

/* Floats are a column of their own where methods send other numbers of them: those that keep a part
 * of the columns. Otherwise bytes say it all. */
static bool shows_floats(const qh_comparison *c)
{
    double most = 0;

    for (int64_t i = 0; i < c->n_methods; i++)
        if (c->method[i].n > 0)
            most = fmax(most, MEAN(&c->method[i], floats));
    for (int64_t i = 0; i < c->n_methods; i++)
        if (c->method[i].n > 0 && MEAN(&c->method[i], floats) > 0 &&
            MEAN(&c->method[i], floats) < most)
            return true;
    return false;
}

static void headings(const qh_comparison *c, qh_table *t)
{
    enum { FLOATS = 2 };
    static const char *const lines[][13] = {{"method", "test", "floats", "bytes", "vs", "time",
                                             "speed-", "compute", "codec", "exposed", "all-",
                                             "waiting", "pays"},
                                            {"", NULL, "/epoch", "/epoch", "fp32", "/epoch", "up",
                                             "", "", "transfer", "reduce", "", "below"}};
    bool floats = shows_floats(c);

    for (size_t l = 0; l < QH_COUNT(lines); l++) {
        for (size_t i = 0; i < QH_COUNT(lines[l]); i++)
            if (!lines[l][i])
                qh_table_cell(t, "%s %%", c->metric);
            else if (i != FLOATS || floats)
                qh_table_cell(t, "%s", lines[l][i]);
        qh_table_row(t);
    }
}

static void method_row(const qh_comparison *c, int64_t i, time_unit unit, qh_table *t)
{
    const qh_method_runs *m = &c->method[i];
    const double parts[] = {MEAN(m, breakdown.compute), codec_time(m),
                            MEAN(m, breakdown.exposed_comm), MEAN(m, breakdown.allreduce),
                            MEAN(m, breakdown.idle)};
    double even = qh_method_break_even(c, i);
    char buf[QH_UNIT_TEXT_BYTES];

    qh_table_cell(t, "%s", m->method);
    if (!isfinite(MEAN(m, test_metric)))
        qh_table_cell(t, "-");
    else if (m->n > 1)
        qh_table_cell(t, "%.2f ± %.2f", 100 * MEAN(m, test_metric), 100 * STD(m, test_metric));
    else
        qh_table_cell(t, "%.2f", 100 * MEAN(m, test_metric));
    if (shows_floats(c))
        qh_table_cell(t, "%s", qh_print_count(MEAN(m, floats), buf));
    qh_table_cell(t, "%s", qh_print_bytes(MEAN(m, bytes), buf));
    if (isfinite(MEAN(m, compression)))
        qh_table_cell(t, "%.2fx", MEAN(m, compression));
    else
        qh_table_cell(t, "-");
    qh_table_cell(t, "%.2f", unit.factor * MEAN(m, sim_s));
    qh_table_cell(t, "%.2fx", qh_method_speedup(c, i));
    for (size_t k = 0; k < QH_COUNT(parts); k++)
        qh_table_cell(t, "%.2f", unit.factor * parts[k]);
    if (isnan(even))
        qh_table_cell(t, "-");
    else
        qh_table_cell(t, "%s", isinf(even) ? "any rate" : qh_print_rate(even, buf));
    qh_table_row(t);
}

static void footnote(const qh_comparison *c, time_unit unit, FILE *out)
{
    const char *first = c->method[0].method;

    fprintf(
        out,
        "\nTimes are in %s, means over devices; compute, codec, exposed transfer, all-reduce and "
        "waiting\nmake up the time of an epoch. test %s: of the test nodes%s.\n"
        "%svs fp32: how many times fewer bytes than in fp32. speed-up: against %s.\n",
        unit.name, c->metric,
        c->method[0].capacity > 1 ? ", mean ± standard deviation over seeds" : "",
        shows_floats(c) ? "floats: numbers that messages brought, whatever their bits.\n" : "",
        first);
    fprintf(out,
            "pays below: the rate of a device's link under which the bytes saved against %s take "
            "longer to\nsend than the extra codec time against %s. any rate: the codec takes no "
            "longer than packing the\nrows of %s, so that fewer bytes always pay. -: nothing is "
            "saved.\n",
            first, first, first);
}

qh_status qh_comparison_print(const qh_comparison *c, FILE *out)
{
    time_unit unit = choose_unit(c);
    qh_table t = {0};
    qh_status st;

    fprintf(out, "%s, %" PRId64 " device%s, %" PRId64 " seed%s from %" PRId64 "\n\n", c->dataset,
            c->devices, c->devices == 1 ? "" : "s", c->method[0].capacity,
            c->method[0].capacity == 1 ? "" : "s", c->first_seed);
    headings(c, &t);
    for (int64_t i = 0; i < c->n_methods; i++)
        if (c->method[i].n > 0)
            method_row(c, i, unit, &t);
    QH_TRY(st, qh_table_print(&t, out));
    footnote(c, unit, out);
out:
    return st;
}

static json_t *spread_json(const qh_method_runs *m, size_t offset)
{
    json_t *values = json_array();

    for (int64_t i = 0; i < m->n; i++)
        if (json_array_append_new(values, qh_json_real(value_at(m, i, offset))) != 0) {
            json_decref(values);
            return NULL;
        }
    return json_pack("{s:o,s:o,s:o}", "mean", qh_json_real(qh_method_mean(m, offset)), "std",
                     qh_json_real(qh_method_std(m, offset)), "values", values);
}

static json_t *method_json(const qh_comparison *c, int64_t i)
{
    const qh_method_runs *m = &c->method[i];

    return json_pack(
        "{s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "method", m->method,
        "runs", (json_int_t)m->n, "test_metric", spread_json(m, offsetof(qh_sample, test_metric)),
        "val_metric", spread_json(m, offsetof(qh_sample, val_metric)), "final_loss",
        spread_json(m, offsetof(qh_sample, final_loss)), "floats_per_epoch",
        qh_json_real(MEAN(m, floats)), "bytes_per_epoch", qh_json_real(MEAN(m, bytes)),
        "compression", qh_json_real(MEAN(m, compression)), "sim_seconds_per_epoch",
        qh_json_real(MEAN(m, sim_s)), "speedup", qh_json_real(qh_method_speedup(c, i)), "compute",
        qh_json_real(MEAN(m, breakdown.compute)), "codec", qh_json_real(codec_time(m)),
        "exposed_comm", qh_json_real(MEAN(m, breakdown.exposed_comm)), "allreduce",
        qh_json_real(MEAN(m, breakdown.allreduce)), "idle", qh_json_real(MEAN(m, breakdown.idle)),
        "break_even_bytes_per_s", qh_json_real(qh_method_break_even(c, i)));
}

json_t *qh_comparison_json(const qh_comparison *c)
{
    json_t *methods = json_array();

    for (int64_t i = 0; i < c->n_methods; i++)
        if (c->method[i].n > 0 && json_array_append_new(methods, method_json(c, i)) != 0) {
            json_decref(methods);
            return NULL;
        }
    return json_pack("{s:s,s:o,s:s,s:I,s:I,s:I,s:o}", "schema", "qhalo.compare/1", "dataset",
                     qh_json_text(c->dataset), "metric", c->metric, "devices",
                     (json_int_t)c->devices, "first_seed", (json_int_t)c->first_seed, "seeds",
                     (json_int_t)c->method[0].capacity, "methods", methods);
}

void qh_comparison_csv(const qh_comparison *c, FILE *out)
{
    fprintf(out,
            "method,runs,test_metric,test_metric_std,bytes_per_epoch,compression,sim_s,speedup,"
            "compute_s,quantize_s,dequantize_s,assign_s,exposed_comm_s,allreduce_s,idle_s,"
            "floats_per_epoch\n");
    for (int64_t i = 0; i < c->n_methods; i++) {
        const qh_method_runs *m = &c->method[i];
        const double values[] = {MEAN(m, test_metric),
                                 STD(m, test_metric),
                                 MEAN(m, bytes),
                                 MEAN(m, compression),
                                 MEAN(m, sim_s),
                                 qh_method_speedup(c, i),
                                 MEAN(m, breakdown.compute),
                                 MEAN(m, breakdown.quantize),
                                 MEAN(m, breakdown.dequantize),
                                 MEAN(m, breakdown.assign),
                                 MEAN(m, breakdown.exposed_comm),
                                 MEAN(m, breakdown.allreduce),
                                 MEAN(m, breakdown.idle),
                                 MEAN(m, floats)};

        if (m->n == 0)
            continue;
        fprintf(out, "%s,%" PRId64, m->method, m->n);
        for (size_t v = 0; v < QH_COUNT(values); v++) {
            fputc(',', out);
            qh_print_real(values[v], out);
        }
        fputc('\n', out);
    }
}
