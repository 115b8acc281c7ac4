/* qhalo trace info and verify. */
#include "tools/trace_parts.h"

#include "sim/replay.h"
#include "src/base/mem.h"
#include "tools/json.h"
#include "tools/table.h"

#include <inttypes.h>
#include <math.h>

/* What an epoch held. */
typedef struct epoch_figures {
    qh_epoch_metrics metrics;
    qh_time sim; /* -1: not recorded */
    int64_t bytes, messages, blocks;
    double bits; /* sum over messages */
} epoch_figures;

typedef struct figures {
    const qh_recording *rec;
    epoch_figures *epoch; /* owned */
    int64_t bytes, messages, blocks;
    int64_t of_width[QH_N_WIDTHS];
} figures;

static void add_records(figures *f, epoch_figures *e, const qh_record *r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (r[i].op != QH_OP_SEND)
            continue;
        e->blocks++;
        e->bytes += r[i].bytes;
        for (int w = 0; w < QH_N_WIDTHS; w++) {
            e->messages += r[i].messages[w];
            e->bits += (double)r[i].messages[w] * qh_width_of_index[w];
            f->of_width[w] += r[i].messages[w];
        }
    }
}

static qh_status read_records(figures *f, qh_trace_cursor *c)
{
    const qh_trace *t = f->rec->trace;
    const qh_record *r = NULL;
    int64_t n = 0;
    qh_status st = QH_OK;

    for (int d = 0; d < f->rec->info->n_devices; d++)
        for (int64_t k = 0; k < qh_trace_n_frames(t, d); k++) {
            int32_t epoch = qh_trace_frame_epoch(t, d, k) - f->rec->info->first_epoch;

            QH_TRY(st, qh_trace_read(c, d, k, &r, &n));
            add_records(f, &f->epoch[epoch], r, n);
        }
out:
    return st;
}

/* The epoch ends when the last device has ended it. */
static qh_status read_times(figures *f, qh_trace_cursor *c)
{
    int n = f->rec->info->n_devices;
    qh_time *span = NULL, *end = NULL, last = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&span, n));
    QH_TRY(st, QH_NEW_ARRAY(&end, n));
    for (int64_t i = 0; i < f->rec->info->n_times; i++) {
        qh_time now = 0;

        QH_TRY(st, qh_trace_read_times(c, i, span));
        for (int d = 0; d < n; d++) {
            end[d] = end[d] > QH_TIME_NEVER - span[d] ? QH_TIME_NEVER : end[d] + span[d];
            now = end[d] > now ? end[d] : now;
        }
        f->epoch[i].sim = now - last;
        last = now;
    }
out:
    qh_mem_free(span);
    qh_mem_free(end);
    return st;
}

static qh_status gather(const qh_recording *rec, figures *f)
{
    qh_trace_cursor *c = NULL;
    qh_status st;

    *f = (figures){.rec = rec};
    QH_TRY(st, QH_NEW_ARRAY(&f->epoch, rec->info->n_epochs));
    QH_TRY(st, qh_trace_cursor_new(rec->trace, &c));
    for (int64_t i = 0; i < rec->info->n_epochs; i++) {
        QH_TRY(st, qh_trace_read_epoch(c, i, &f->epoch[i].metrics));
        f->epoch[i].sim = -1;
    }
    QH_TRY(st, read_records(f, c));
    QH_TRY(st, read_times(f, c));
    for (int64_t i = 0; i < rec->info->n_epochs; i++) {
        f->bytes += f->epoch[i].bytes;
        f->messages += f->epoch[i].messages;
        f->blocks += f->epoch[i].blocks;
    }
out:
    qh_trace_cursor_free(c);
    return st;
}

/* --- for people --- */

static void print_run(const qh_recording *r)
{
    printf("%s\n\n", r->path);
    printf("method      %s%s%s\n", r->method, *r->graph ? " on " : "", r->graph);
    printf("devices     %d, %s exchange\n", r->info->n_devices,
           r->order == QH_EXCHANGE_ROUNDS ? "round by round" : "posted");
    if (r->net.name)
        printf("network     %s\n", r->net.name);
    if (r->accelerator.name)
        printf("computing   %s, %s\n", r->accelerator.name,
               r->compute == QH_COMPUTE_MEASURED ? "measured" : "modeled");
    printf("epochs      %" PRId64, r->info->n_epochs);
    if (r->epochs > r->info->n_epochs)
        printf(" of %" PRId64, r->epochs);
    printf("%s\n", r->info->closed ? "" : " (it was not closed)");
}

static void print_sizes(const figures *f)
{
    const qh_trace_info *i = f->rec->info;
    char buf[QH_UNIT_TEXT_BYTES];

    printf("file        %s, %" PRId64 " records, %.1f bytes each%s\n",
           qh_print_bytes((double)i->read_bytes, buf), i->n_records,
           i->n_records > 0 ? (double)i->read_bytes / (double)i->n_records : 0.0,
           i->n_widths > 0 ? ", with the width of every message" : "");
    if (f->messages == 0) {
        printf("sent        %s in %" PRId64 " blocks\n", qh_print_bytes((double)f->bytes, buf),
               f->blocks);
        return;
    }
    printf("sent        %s in %" PRId64 " messages and %" PRId64 " blocks\n",
           qh_print_bytes((double)f->bytes, buf), f->messages, f->blocks);
    printf("bit-widths ");
    for (int w = 0; w < QH_N_WIDTHS; w++)
        if (f->of_width[w] > 0)
            printf(" %d: %.3g %%", qh_width_of_index[w],
                   100 * (double)f->of_width[w] / (double)f->messages);
    printf(" of messages\n");
}

static void percent_cell(qh_table *t, double share)
{
    if (isfinite(share))
        qh_table_cell(t, "%.2f", 100 * share);
    else
        qh_table_cell(t, "-");
}

static void epoch_row(qh_table *t, const epoch_figures *e)
{
    char buf[QH_UNIT_TEXT_BYTES];

    qh_table_cell(t, "%" PRId32, e->metrics.epoch);
    if (isfinite(e->metrics.loss))
        qh_table_cell(t, "%.5g", e->metrics.loss);
    else
        qh_table_cell(t, "-");
    percent_cell(t, e->metrics.metric[2]);
    percent_cell(t, e->metrics.metric[3]);
    qh_table_cell(t, "%s", e->sim >= 0 ? qh_print_seconds(qh_seconds(e->sim), buf) : "-");
    qh_table_cell(t, "%s", qh_print_bytes((double)e->bytes, buf));
    qh_table_cell(t, "%" PRId64, e->messages);
    if (e->messages > 0)
        qh_table_cell(t, "%.3g", e->bits / (double)e->messages);
    else
        qh_table_cell(t, "-");
    qh_table_row(t);
}

static qh_status print_epochs(const figures *f)
{
    static const char *const names[] = {"epoch", "loss",  "validation %", "test %",
                                        "time",  "bytes", "messages",     "bits"};
    qh_table t = {0};

    for (size_t i = 0; i < QH_COUNT(names); i++)
        qh_table_cell(&t, "%s", names[i]);
    qh_table_row(&t);
    for (int64_t i = 0; i < f->rec->info->n_epochs; i++)
        epoch_row(&t, &f->epoch[i]);
    return qh_table_print(&t, stdout);
}

/* --- for programs --- */

static json_t *epoch_json(const epoch_figures *e)
{
    return json_pack(
        "{s:i,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:o}", "epoch", e->metrics.epoch, "loss",
        qh_json_real(e->metrics.loss), "train_metric", qh_json_real(e->metrics.metric[1]),
        "val_metric", qh_json_real(e->metrics.metric[2]), "test_metric",
        qh_json_real(e->metrics.metric[3]), "sim_seconds",
        e->sim >= 0 ? qh_json_real(qh_seconds(e->sim)) : json_null(), "bytes", (json_int_t)e->bytes,
        "messages", (json_int_t)e->messages, "blocks", (json_int_t)e->blocks, "mean_bits",
        qh_json_real(e->messages > 0 ? e->bits / (double)e->messages : NAN));
}

static json_t *info_json(const figures *f)
{
    const qh_trace_info *i = f->rec->info;
    json_t *epochs = json_array(), *widths = json_object();
    char key[8];

    for (int64_t e = 0; e < i->n_epochs; e++)
        json_array_append_new(epochs, epoch_json(&f->epoch[e]));
    for (int w = 0; w < QH_N_WIDTHS; w++) {
        snprintf(key, sizeof key, "%d", qh_width_of_index[w]);
        if (f->of_width[w] > 0)
            json_object_set_new(widths, key, json_integer(f->of_width[w]));
    }
    return json_pack("{s:s,s:o,s:b,s:i,s:I,s:I,s:I,s:I,s:b,s:I,s:I,s:I,s:o,s:O,s:o}", "schema",
                     "qhalo.trace-info/1", "path", qh_json_text(f->rec->path), "closed", i->closed,
                     "devices", i->n_devices, "epochs", (json_int_t)i->n_epochs, "records",
                     (json_int_t)i->n_records, "file_bytes", (json_int_t)i->file_bytes,
                     "read_bytes", (json_int_t)i->read_bytes, "payload", i->n_widths > 0, "bytes",
                     (json_int_t)f->bytes, "messages", (json_int_t)f->messages, "blocks",
                     (json_int_t)f->blocks, "bits_histogram", widths, "head", f->rec->head,
                     "epoch_table", epochs);
}

qh_status qh_trace_info_print(const qh_recording *r, bool json)
{
    figures f = {0};
    json_t *o = NULL;
    qh_status st;

    QH_TRY(st, gather(r, &f));
    if (json) {
        o = info_json(&f);
        QH_TRY(st, qh_json_print(o, stdout));
    } else {
        print_run(r);
        print_sizes(&f);
        printf("\n");
        QH_TRY(st, print_epochs(&f));
    }
out:
    json_decref(o);
    qh_mem_free(f.epoch);
    return st;
}

/* --- verify --- */

static qh_status skip_table(void *ctx, const qh_trace_widths *w)
{
    (void)ctx;
    (void)w;
    return QH_OK;
}

static qh_status read_widths(const qh_recording *r)
{
    qh_trace_cursor *c = NULL;
    qh_status st;

    QH_TRY(st, qh_trace_cursor_new(r->trace, &c));
    for (int64_t i = 0; i < r->info->n_widths; i++)
        QH_TRY(st, qh_trace_read_widths(c, i, skip_table, NULL));
out:
    qh_trace_cursor_free(c);
    return st;
}

/* As recorded, or only for who waits for whom where the trace names no network. */
static qh_status replay(const qh_recording *r, qh_replay_result *out)
{
    qh_rerun run = {0};
    qh_status st;

    QH_TRY(st, qh_recording_rerun(r, r->net.text ? NULL : "switch-10g",
                                  r->accelerator.text ? NULL : "v100", &run));
    QH_TRY(st, qh_replay(&run.config, out));
out:
    qh_rerun_fini(&run);
    return st;
}

qh_status qh_trace_verify(const qh_recording *r, bool json)
{
    qh_replay_result result = {0};
    figures f = {0};
    json_t *o = NULL;
    qh_status st;

    QH_TRY(st, gather(r, &f));
    QH_TRY(st, read_widths(r));
    QH_TRY(st, replay(r, &result));
    if (json) {
        o = json_pack("{s:s,s:o,s:b,s:I,s:I,s:I,s:I}", "schema", "qhalo.trace-verify/1", "path",
                      qh_json_text(r->path), "closed", r->info->closed, "epochs",
                      (json_int_t)r->info->n_epochs, "records", (json_int_t)r->info->n_records,
                      "epochs_timed", (json_int_t)result.n_timed, "epochs_of_same_time",
                      (json_int_t)result.n_same);
        QH_TRY(st, qh_json_print(o, stdout));
        goto out;
    }
    printf("%s: %" PRId64 " epochs, %" PRId64 " records: every checksum holds, every message is "
           "received",
           r->path, r->info->n_epochs, r->info->n_records);
    if (result.n_timed > 0 && result.n_same == result.n_timed)
        printf(", times are those of the run to the picosecond");
    else if (result.n_timed > 0)
        printf(", %" PRId64 " of %" PRId64 " epochs take another time than in the run",
               result.n_timed - result.n_same, result.n_timed);
    printf("\n");
out:
    json_decref(o);
    qh_mem_free(f.epoch);
    return st;
}
