#include "tools/summary.h"

#include "tools/json.h"
#include "tools/table.h"

#include <inttypes.h>
#include <math.h>

enum { QH_HOT_LINKS = 3 };

static json_t *dataset_json(const qh_dataset *d)
{
    return json_pack("{s:o,s:I,s:I,s:I,s:I,s:b}", "name", qh_json_text(d->name), "nodes",
                     (json_int_t)d->graph->n_nodes, "edges", (json_int_t)d->graph->n_edges,
                     "features", (json_int_t)d->n_features, "classes", (json_int_t)d->n_classes,
                     "multilabel", d->multilabel);
}

static json_t *partition_json(const qh_result *r)
{
    const qh_partition_figures *f = &r->partition;

    return json_pack("{s:o,s:I,s:I,s:I,s:I}", "method",
                     qh_json_text(r->partition_method ? r->partition_method : ""), "edge_cut",
                     (json_int_t)f->edge_cut, "halo_nodes", (json_int_t)f->halo_nodes, "max_inner",
                     (json_int_t)f->max_inner, "min_inner", (json_int_t)f->min_inner);
}

json_t *qh_breakdown_json(const qh_breakdown_seconds *b)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "compute", qh_json_real(b->compute),
                     "comm", qh_json_real(b->comm), "exposed_comm", qh_json_real(b->exposed_comm),
                     "quantize", qh_json_real(b->quantize), "dequantize",
                     qh_json_real(b->dequantize), "allreduce", qh_json_real(b->allreduce), "assign",
                     qh_json_real(b->assign), "idle", qh_json_real(b->idle));
}

static json_t *bits_json(const qh_result *r)
{
    json_t *o = json_object();

    for (int i = 0; i < QH_N_WIDTHS; i++) {
        char width[8];

        snprintf(width, sizeof width, "%d", qh_width_of_index[i]);
        if (r->bits_messages[i] > 0 &&
            json_object_set_new(o, width, json_integer(r->bits_messages[i])) != 0) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

static double per_epoch(double total, const qh_result *r)
{
    return r->train.epochs > 0 ? total / (double)r->train.epochs : NAN;
}

static double compression(const qh_result *r)
{
    return r->bytes_sent > 0 ? (double)r->fp32_bytes / (double)r->bytes_sent : NAN;
}

/* Of the last choice of widths over all channels; null where there was none. */
static json_t *assignment_json(const qh_assign_result *a, const qh_channel_costs *c)
{
    if (a->n_assignments == 0)
        return json_null();
    return json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:[o,o],s:[o,o]}", "assignments",
                     (json_int_t)a->n_assignments, "objective", qh_json_real(a->objective), "gap",
                     qh_json_real(a->gap), "variance", qh_json_real(a->variance),
                     "shuffled_variance", qh_json_real(a->shuffled_variance), "seconds",
                     qh_json_real(a->seconds), "theta_s_per_byte", qh_json_real(c->theta_min),
                     qh_json_real(c->theta_max), "gamma_s", qh_json_real(c->gamma_min),
                     qh_json_real(c->gamma_max));
}

/* The hottest links. */
static json_t *links_json(const qh_result *r)
{
    json_t *all = json_array();

    for (int64_t i = 0; i < r->n_links && i < QH_HOT_LINKS; i++)
        json_array_append_new(all,
                              json_pack("{s:o,s:I,s:o}", "id", qh_json_text(r->links[i].link.name),
                                        "bytes", (json_int_t)r->links[i].link.bytes, "utilisation",
                                        qh_json_real(r->links[i].utilisation)));
    return all;
}

static json_t *pays_json(const qh_settings *s, const qh_result *r)
{
    double below = qh_result_break_even(s, r);

    return isnan(below) ? json_null() : json_boolean(r->net_bytes_per_s < below);
}

/* By the wall clock. */
static json_t *measured_json(const qh_result *r)
{
    qh_measured m;

    if (!qh_result_measured(r, &m))
        return json_null();
    return json_pack("{s:I,s:o,s:o,s:o,s:o}", "epochs", (json_int_t)m.n, "seconds_per_epoch",
                     qh_json_real(m.median), "min", qh_json_real(m.min), "max", qh_json_real(m.max),
                     "over_simulated",
                     qh_json_real(m.median / per_epoch(qh_seconds(r->sim_end), r)));
}

json_t *qh_summary_json(const qh_settings *s, const qh_dataset *d, const qh_result *r)
{
    double seconds = qh_seconds(r->sim_end);
    char digest[17];
    json_t *learnt, *cost, *all;

    snprintf(digest, sizeof digest, "%016" PRIx64, r->train.digest);
    all = json_pack("{s:s,s:o,s:I,s:o,s:s,s:s,s:I,s:I,s:s}", "schema", "qhalo.summary/1", "dataset",
                    dataset_json(d), "devices", (json_int_t)s->devices, "partition",
                    partition_json(r), "method", s->method, "model", s->model, "epochs",
                    (json_int_t)r->train.epochs, "seed", (json_int_t)s->seed, "metric",
                    d->multilabel ? "f1_micro" : "accuracy");
    learnt = json_pack("{s:I,s:o,s:o,s:o,s:o}", "best_epoch", (json_int_t)r->train.best_epoch,
                       "train_metric", qh_json_real(r->train.metric[QH_SPLIT_TRAIN]), "val_metric",
                       qh_json_real(r->train.metric[QH_SPLIT_VALIDATION]), "test_metric",
                       qh_json_real(r->train.metric[QH_SPLIT_TEST]), "final_loss",
                       qh_json_real(r->train.final_loss));
    cost = json_pack(
        "{s:o,s:o,s:o,s:I,s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:s}", "sim_seconds",
        qh_json_real(seconds), "sim_seconds_per_epoch", qh_json_real(per_epoch(seconds, r)),
        "breakdown", qh_breakdown_json(&r->mean), "bytes_sent", (json_int_t)r->bytes_sent,
        "bytes_per_epoch", qh_json_real(per_epoch((double)r->bytes_sent, r)), "messages",
        (json_int_t)r->messages, "floats_sent", (json_int_t)r->floats_sent, "compression",
        qh_json_real(compression(r)), "bits_histogram", bits_json(r), "assignment",
        assignment_json(&r->train.assign, &r->costs), "break_even_bytes_per_s",
        qh_json_real(qh_result_break_even(s, r)), "compression_pays", pays_json(s, r), "links",
        links_json(r), "measured", measured_json(r), "wall_seconds", qh_json_real(r->wall_seconds),
        "peak_rss_bytes", (json_int_t)r->peak_rss_bytes, "digest", digest);
    if (!all || !learnt || !cost || json_object_update(all, learnt) != 0 ||
        json_object_update(all, cost) != 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(learnt);
    json_decref(cost);
    return all;
}

/* --- in words --- */

/* "81.52 %", or "-" where there is no such node. */
static const char *percent(double share, char *buf, size_t room)
{
    if (isfinite(share))
        snprintf(buf, room, "%.2f %%", 100 * share);
    else
        snprintf(buf, room, "-");
    return buf;
}

static void print_learnt(const qh_result *r, const char *metric, FILE *out)
{
    char test[16], validation[16], train[16];

    fprintf(out,
            "%-11s test %s, validation %s, training %s (best epoch %" PRId64 " of 0 to %" PRId64
            ")\n",
            metric, percent(r->train.metric[QH_SPLIT_TEST], test, sizeof test),
            percent(r->train.metric[QH_SPLIT_VALIDATION], validation, sizeof validation),
            percent(r->train.metric[QH_SPLIT_TRAIN], train, sizeof train), r->train.best_epoch,
            r->train.epochs - 1);
    fprintf(out, "loss        %.6g\n", r->train.final_loss);
}

/* Whether sending less is worth its codec on this network. */
static void print_break_even(const qh_settings *s, const qh_result *r, FILE *out)
{
    char even[QH_UNIT_TEXT_BYTES], net[QH_UNIT_TEXT_BYTES];
    double below = qh_result_break_even(s, r);

    if (isnan(below) || !(r->net_bytes_per_s > 0))
        return;
    if (isinf(below))
        fprintf(out, "pays        at any rate of the links\n");
    else
        fprintf(out, "pays        %son this network of %s: below %s a device's link\n",
                r->net_bytes_per_s < below ? "" : "not ", qh_print_rate(r->net_bytes_per_s, net),
                qh_print_rate(below, even));
}

/* What the assigner reckons with; one figure where all channels are alike. */
static void print_costs(const qh_channel_costs *c, FILE *out)
{
    char low[QH_UNIT_TEXT_BYTES], high[QH_UNIT_TEXT_BYTES];

    if (!(c->theta_max > 0))
        return;
    fprintf(out, "a block     at %s", qh_print_rate(1 / c->theta_max, low));
    if (c->theta_min < c->theta_max)
        fprintf(out, " to %s", qh_print_rate(1 / c->theta_min, high));
    fprintf(out, " + %s", qh_print_seconds(c->gamma_min, low));
    if (c->gamma_min < c->gamma_max)
        fprintf(out, " to %s", qh_print_seconds(c->gamma_max, high));
    fprintf(out, ", as the assignment of bit-widths reckons\n");
}

/* "links       device 2 in 43 %, device 0 out 41 %, ..." */
static void print_links(const qh_result *r, FILE *out)
{
    for (int64_t i = 0; i < r->n_links && i < QH_HOT_LINKS; i++)
        fprintf(out, "%s%s %.1f %%", i ? ", " : "busiest     ", r->links[i].link.name,
                100 * r->links[i].utilisation);
    if (r->n_links > 0)
        fputc('\n', out);
}

/* Beside what is simulated; and where devices share cores, what their computing takes by itself. */
static void print_measured(const qh_settings *s, const qh_result *r, FILE *out)
{
    char a[QH_UNIT_TEXT_BYTES], b[QH_UNIT_TEXT_BYTES], c[QH_UNIT_TEXT_BYTES];
    double predicted = per_epoch(qh_seconds(r->sim_end), r);
    const qh_breakdown_seconds *m = &r->mean;
    double computing = m->compute + m->quantize + m->dequantize + m->assign;
    qh_measured all;

    if (!qh_result_measured(r, &all))
        return;
    fprintf(out, "measured    %s an epoch (median; %s to %s), %+.1f %% of what is simulated\n",
            qh_print_seconds(all.median, a), qh_print_seconds(all.min, b),
            qh_print_seconds(all.max, c), 100 * (all.median / predicted - 1));
    if (r->cores_shared && s->clock == QH_CLOCK_REAL)
        fprintf(out,
                "shared      %" PRId64 " devices on %d core%s: their computing alone takes %s an "
                "epoch there\n",
                s->devices, r->cores, r->cores == 1 ? "" : "s",
                qh_print_seconds(computing * (double)s->devices / r->cores, a));
}

static void print_cost(const qh_settings *s, const qh_result *r, FILE *out)
{
    char a[QH_UNIT_TEXT_BYTES], b[QH_UNIT_TEXT_BYTES], c[QH_UNIT_TEXT_BYTES];
    double seconds = qh_seconds(r->sim_end);

    fprintf(out, "simulated   %s, %s an epoch\n", qh_print_seconds(seconds, a),
            qh_print_seconds(per_epoch(seconds, r), b));
    print_measured(s, r, out);
    fprintf(out, "sent        %s, %s an epoch in %" PRId64 " messages",
            qh_print_bytes((double)r->bytes_sent, a),
            qh_print_bytes(per_epoch((double)r->bytes_sent, r), b),
            r->train.epochs > 0 ? r->messages / r->train.epochs : 0);
    if (fabs(compression(r) - 1) < 0.005) /* also with some bytes to tell what is not sent */
        fprintf(out, ", as in fp32");
    else if (isfinite(compression(r)))
        fprintf(out, ", %.2f times less than fp32", compression(r));
    fputc('\n', out);
    print_break_even(s, r, out);
    print_costs(&r->costs, out);
    print_links(r, out);
    fprintf(out, "host        %s wall, %s CPU on %d cores, %s at most\n",
            qh_print_seconds(r->wall_seconds, a), qh_print_seconds(r->cpu_seconds, b), r->cores,
            qh_print_bytes((double)r->peak_rss_bytes, c));
    fprintf(out, "digest      %016" PRIx64 "\n", r->train.digest);
}

static void breakdown_row(qh_table *t, const char *name, double mean, double max)
{
    char buf[QH_UNIT_TEXT_BYTES];

    qh_table_cell(t, "%s", name);
    qh_table_cell(t, "%s", qh_print_seconds(mean, buf));
    qh_table_cell(t, "%s", qh_print_seconds(max, buf));
    qh_table_row(t);
}

static qh_status print_breakdown(const qh_result *r, FILE *out)
{
    const qh_breakdown_seconds *m = &r->mean, *x = &r->max;
    qh_table t = {0};

    qh_table_cell(&t, "time of an epoch");
    qh_table_cell(&t, "mean of devices");
    qh_table_cell(&t, "slowest");
    qh_table_row(&t);
    breakdown_row(&t, "compute", m->compute, x->compute);
    breakdown_row(&t, "quantize", m->quantize, x->quantize);
    breakdown_row(&t, "dequantize", m->dequantize, x->dequantize);
    breakdown_row(&t, "exposed transfer", m->exposed_comm, x->exposed_comm);
    breakdown_row(&t, "all-reduce", m->allreduce, x->allreduce);
    breakdown_row(&t, "assignment", m->assign, x->assign);
    breakdown_row(&t, "waiting for others", m->idle, x->idle);
    breakdown_row(&t, "(transfer, hidden or not)", m->comm, x->comm);
    return qh_table_print(&t, out);
}

const char *qh_method_text(const qh_settings *s, char *buf, size_t room)
{
    const char *between = " with ";
    size_t n = (size_t)snprintf(buf, room, "%s", s->method);
    const struct {
        const char *name, *value;
    } parts[] = {{"codec ", s->codec},
                 {"assign ", s->assign},
                 {"rate schedule ", s->rate_schedule},
                 {"mask rescale", s->mask_rescale ? "" : NULL},
                 {"error feedback", s->error_feedback ? "" : NULL},
                 {"overlap", s->overlap ? "" : NULL},
                 {"stale ", s->stale},
                 {"skip-bound ", s->skip_bound},
                 {"boundary-sample ", s->boundary_sample}};

    for (size_t i = 0; i < QH_COUNT(parts) && n < room; i++)
        if (parts[i].value) {
            n += (size_t)snprintf(buf + n, room - n, "%s%s%s", between, parts[i].name,
                                  parts[i].value);
            between = ", ";
        }
    return buf;
}

qh_status qh_summary_print(const qh_settings *s, const qh_dataset *d, const qh_result *r, FILE *out)
{
    char method[QH_METHOD_TEXT_BYTES];

    fprintf(out, "%s on %s, %" PRId64 " device%s, method %s, seed %" PRId64 "\n\n", s->model,
            d->name, s->devices, s->devices == 1 ? "" : "s",
            qh_method_text(s, method, sizeof method), s->seed);
    print_learnt(r, d->multilabel ? "F1-micro" : "accuracy", out);
    print_cost(s, r, out);
    fputc('\n', out);
    return print_breakdown(r, out);
}
