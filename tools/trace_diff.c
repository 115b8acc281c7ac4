/* qhalo trace diff. */
#include "tools/trace_parts.h"

#include "sim/replay.h"
#include "src/base/mem.h"
#include "tools/json.h"
#include "tools/summary.h"
#include "tools/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 160 };

/* Records of one device, one after the other. */
typedef struct stream {
    const qh_recording *rec;
    qh_trace_cursor *cursor; /* owned */
    int device;
    int64_t frame, at, n; /* next frame; place in the frame at hand */
    const qh_record *record;
} stream;

/* Moves to the next record; false at the end. */
static qh_status next(stream *s, bool *more)
{
    qh_status st = QH_OK;

    s->at++;
    while (s->at >= s->n && s->frame < qh_trace_n_frames(s->rec->trace, s->device)) {
        QH_TRY(st, qh_trace_read(s->cursor, s->device, s->frame++, &s->record, &s->n));
        s->at = 0;
    }
    *more = s->at < s->n;
out:
    return st;
}

static bool same_record(const qh_record *a, const qh_record *b)
{
    return a->op == b->op && a->direction == b->direction && a->layer == b->layer &&
           a->epoch == b->epoch && a->peer == b->peer && a->round == b->round &&
           a->flops == b->flops && a->bytes == b->bytes && a->host_ns == b->host_ns &&
           memcmp(a->messages, b->messages, sizeof a->messages) == 0;
}

/* Where two traces part. */
typedef struct difference {
    bool found, has[2]; /* has: the trace still has a record there */
    int device;
    int64_t number; /* of the record, from 0 */
    qh_record record[2];
} difference;

static int32_t epoch_of(const difference *d)
{
    return d->has[0] ? d->record[0].epoch : d->record[1].epoch;
}

static qh_status compare_device(stream s[2], int device, difference *best)
{
    difference d = {.device = device};
    qh_status st = QH_OK;

    for (int i = 0; i < 2; i++) {
        s[i].device = device;
        s[i].frame = s[i].n = 0;
        s[i].at = -1;
    }
    for (;; d.number++) {
        for (int i = 0; i < 2; i++)
            QH_TRY(st, next(&s[i], &d.has[i]));
        if (!d.has[0] && !d.has[1])
            return QH_OK;
        for (int i = 0; i < 2; i++)
            if (d.has[i])
                d.record[i] = s[i].record[s[i].at];
        if (d.has[0] && d.has[1] && same_record(&d.record[0], &d.record[1]))
            continue;
        d.found = true;
        if (!best->found || epoch_of(&d) < epoch_of(best))
            *best = d;
        return QH_OK;
    }
out:
    return st;
}

/* The first difference: of the earliest epoch, then of the lowest device. */
static qh_status compare_records(const qh_recording *a, const qh_recording *b, difference *out)
{
    stream s[2] = {{.rec = a}, {.rec = b}};
    int n = a->info->n_devices < b->info->n_devices ? a->info->n_devices : b->info->n_devices;
    difference best = {0};
    qh_status st;

    for (int i = 0; i < 2; i++)
        QH_TRY(st, qh_trace_cursor_new(s[i].rec->trace, &s[i].cursor));
    for (int d = 0; d < n; d++)
        QH_TRY(st, compare_device(s, d, &best));
    *out = best;
out:
    for (int i = 0; i < 2; i++)
        qh_trace_cursor_free(s[i].cursor);
    return st;
}

static const char *describe(const difference *d, int side, char *buf)
{
    const qh_record *r = &d->record[side];
    int n;

    if (!d->has[side]) {
        snprintf(buf, TEXT_BYTES, "no record");
        return buf;
    }
    n = snprintf(buf, TEXT_BYTES, "%s, epoch %d, layer %d, %s", qh_op_name(r->op), r->epoch,
                 r->layer, qh_direction_name(r->direction));
    if (r->peer >= 0)
        n += snprintf(buf + n, (size_t)(TEXT_BYTES - n), ", peer %d, round %d", r->peer, r->round);
    if (r->flops)
        n += snprintf(buf + n, (size_t)(TEXT_BYTES - n), ", %" PRId64 " flops", r->flops);
    if (r->bytes)
        n += snprintf(buf + n, (size_t)(TEXT_BYTES - n), ", %" PRId64 " bytes", r->bytes);
    for (int w = 0; w < QH_N_WIDTHS && n < TEXT_BYTES; w++)
        if (r->messages[w] > 0)
            n += snprintf(buf + n, (size_t)(TEXT_BYTES - n), ", %d messages of %d bits",
                          r->messages[w], qh_width_of_index[w]);
    return buf;
}

/* --- settings --- */

/* The settings that differ: {name: [a, b]}. NULL: no memory. */
static json_t *settings_json(const qh_recording *a, const qh_recording *b)
{
    const json_t *x = json_object_get(a->head, "configuration");
    const json_t *y = json_object_get(b->head, "configuration");
    json_t *all = json_object(), *value;
    const char *key;

    json_object_foreach((json_t *)(uintptr_t)x, key, value)
    {
        json_t *other = json_object_get(y, key);

        if (!json_equal(value, other))
            json_object_set_new(all, key, json_pack("[O,O*]", value, other ? other : json_null()));
    }
    return all;
}

static void print_settings(const json_t *settings)
{
    const char *key;
    json_t *pair;

    json_object_foreach((json_t *)(uintptr_t)settings, key, pair)
    {
        char *x = json_dumps(json_array_get(pair, 0), JSON_ENCODE_ANY);
        char *y = json_dumps(json_array_get(pair, 1), JSON_ENCODE_ANY);

        printf("%-20s %s, and %s\n", key, x ? x : "", y ? y : "");
        free(x);
        free(y);
    }
}

/* --- time by phase --- */

static qh_status time_of(const qh_recording *r, qh_replay_result *out)
{
    qh_rerun run = {0};
    qh_status st;

    QH_TRY(st, qh_recording_rerun(r, NULL, NULL, &run));
    QH_TRY(st, qh_replay(&run.config, out));
out:
    qh_rerun_fini(&run);
    return st;
}

static void phase_row(qh_table *t, const char *name, double a, double b)
{
    char buf[QH_UNIT_TEXT_BYTES];

    qh_table_cell(t, "%s", name);
    qh_table_cell(t, "%s", qh_print_seconds(a, buf));
    qh_table_cell(t, "%s", qh_print_seconds(b, buf));
    qh_table_cell(t, "%s%s", b < a ? "-" : "+", qh_print_seconds(fabs(b - a), buf));
    qh_table_row(t);
}

static double per_epoch(const qh_replay_result *r)
{
    return r->n_epochs > 0 ? qh_seconds(r->end) / (double)r->n_epochs : 0;
}

static qh_status print_phases(const qh_recording *a, const qh_recording *b,
                              const qh_replay_result r[2])
{
    const qh_breakdown_seconds *x = &r[0].mean, *y = &r[1].mean;
    qh_table t = {0};

    qh_table_cell(&t, "time of an epoch");
    qh_table_cell(&t, "%s", a->path);
    qh_table_cell(&t, "%s", b->path);
    qh_table_cell(&t, "difference");
    qh_table_row(&t);
    phase_row(&t, "compute", x->compute, y->compute);
    phase_row(&t, "quantize", x->quantize, y->quantize);
    phase_row(&t, "dequantize", x->dequantize, y->dequantize);
    phase_row(&t, "exposed transfer", x->exposed_comm, y->exposed_comm);
    phase_row(&t, "all-reduce", x->allreduce, y->allreduce);
    phase_row(&t, "assignment", x->assign, y->assign);
    phase_row(&t, "waiting for others", x->idle, y->idle);
    phase_row(&t, "whole", per_epoch(&r[0]), per_epoch(&r[1]));
    return qh_table_print(&t, stdout);
}

/* --- together --- */

static void print_difference(const difference *d)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];

    if (d->found)
        printf("first difference: device %d, record %" PRId64 "\n  %s\n  %s\n", d->device,
               d->number, describe(d, 0, a), describe(d, 1, b));
    else
        printf("the records are the same\n");
}

static json_t *difference_json(const difference *d)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];

    if (!d->found)
        return json_null();
    return json_pack("{s:i,s:I,s:i,s:s,s:s}", "device", d->device, "record", (json_int_t)d->number,
                     "epoch", epoch_of(d), "a", describe(d, 0, a), "b", describe(d, 1, b));
}

static json_t *side_json(const qh_recording *r, const qh_replay_result *t)
{
    return json_pack("{s:o,s:i,s:I,s:o,s:o}", "path", qh_json_text(r->path), "devices",
                     r->info->n_devices, "epochs", (json_int_t)r->info->n_epochs,
                     "sim_seconds_per_epoch", qh_json_real(per_epoch(t)), "breakdown",
                     qh_breakdown_json(&t->mean));
}

qh_status qh_trace_diff_print(const qh_recording *a, const qh_recording *b, bool json)
{
    qh_replay_result r[2] = {{0}};
    difference d = {0};
    json_t *settings = NULL, *o = NULL;
    qh_status st;

    QH_TRY(st, compare_records(a, b, &d));
    QH_TRY(st, time_of(a, &r[0]));
    QH_TRY(st, time_of(b, &r[1]));
    settings = settings_json(a, b);
    if (json) {
        o = json_pack("{s:s,s:o,s:o,s:o,s:O}", "schema", "qhalo.trace-diff/1", "a",
                      side_json(a, &r[0]), "b", side_json(b, &r[1]), "first_difference",
                      difference_json(&d), "settings", settings);
        QH_TRY(st, qh_json_print(o, stdout));
        goto out;
    }
    print_settings(settings);
    if (a->info->n_devices != b->info->n_devices || a->info->n_epochs != b->info->n_epochs)
        printf("%d devices and %" PRId64 " epochs, %d devices and %" PRId64 " epochs\n",
               a->info->n_devices, a->info->n_epochs, b->info->n_devices, b->info->n_epochs);
    print_difference(&d);
    printf("\n");
    QH_TRY(st, print_phases(a, b, r));
out:
    json_decref(o);
    json_decref(settings);
    return st;
}
