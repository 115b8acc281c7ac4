#include "tools/runfolder.h"

#include "src/base/file.h"
#include "src/base/mem.h"
#include "tools/json.h"
#include "tools/summary.h"
#include "tools/version.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct qh_runfolder {
    char *path;      /* owned */
    FILE *epochs;    /* owned */
    bool measured;   /* epochs.csv has measured times as well */
    qh_output *bits; /* owned */
};

qh_status qh_path_join(const char *path, const char *name, char **out)
{
    int64_t room = (int64_t)(strlen(path) + strlen(name)) + 2;
    char *text = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&text, room));
    snprintf(text, (size_t)room, "%s/%s", path, name);
    *out = text;
out:
    return st;
}

static qh_status open_file(const qh_runfolder *f, const char *name, qh_output **out)
{
    char *path = NULL;
    qh_status st;

    QH_TRY(st, qh_path_join(f->path, name, &path));
    QH_TRY(st, qh_output_open(path, out));
out:
    qh_mem_free(path);
    return st;
}

static qh_status epochs_failed(const qh_runfolder *f)
{
    return qh_fail(QH_ERESOURCE, "%s/epochs.csv: could not be written: %s; is the disk full?",
                   f->path, strerror(errno));
}

/* What an earlier run left would be taken for this one's, were this one killed. */
static qh_status remove_old(const qh_runfolder *f)
{
    static const char *const names[] = {"run.json", "traffic.csv", "bits.csv", "links.csv"};
    char *path = NULL;
    qh_status st = QH_OK;

    for (size_t i = 0; i < QH_COUNT(names); i++) {
        QH_TRY(st, qh_path_join(f->path, names[i], &path));
        unlink(path);
        qh_mem_free(path);
        path = NULL;
    }
out:
    return st;
}

static qh_status open_epochs(qh_runfolder *f)
{
    char *path = NULL;
    qh_status st;

    QH_TRY(st, remove_old(f));
    QH_TRY(st, qh_path_join(f->path, "epochs.csv", &path));
    f->epochs = fopen(path, "we");
    if (!f->epochs ||
        fputs("epoch,loss,train_metric,val_metric,test_metric,sim_s,compute_s,comm_s,"
              "exposed_comm_s,quant_s,bytes,messages,mean_bits,rate,floats",
              f->epochs) < 0 ||
        fputs(f->measured ? ",measured_s\n" : "\n", f->epochs) < 0 || fflush(f->epochs) != 0)
        st = epochs_failed(f);
out:
    qh_mem_free(path);
    return st;
}

/* Whether the entry of the folder at path tells of a run that was made there. */
static bool is_of_run(const char *path, const char *name)
{
    static const char *const marks[] = {"run.json", "epochs.csv", "compare.csv"};
    char epochs[4096];

    for (size_t i = 0; i < QH_COUNT(marks); i++)
        if (strcmp(name, marks[i]) == 0)
            return true;
    snprintf(epochs, sizeof epochs, "%s/%s/epochs.csv", path, name);
    return strstr(name, "-seed") && qh_file_exists(epochs); /* compare's runs */
}

qh_status qh_runfolder_check(const char *path)
{
    DIR *d = path ? opendir(path) : NULL;
    bool used = false, of_run = false;
    const struct dirent *e;

    if (!d)
        return QH_OK; /* what is wrong with it shows when it is made */
    while ((e = readdir(d)) && !of_run)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            used = true;
            of_run = is_of_run(path, e->d_name);
        }
    closedir(d);
    if (used && !of_run)
        return qh_fail(QH_EUSAGE,
                       "--out: %s holds files, and none of an earlier run; give a new or an empty "
                       "folder",
                       path);
    return QH_OK;
}

qh_status qh_runfolder_open(const char *path, bool measured, qh_runfolder **out)
{
    qh_runfolder *f = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&f));
    f->measured = measured;
    QH_TRY(st, qh_mem_strdup(path, &f->path));
    QH_TRY(st, qh_make_folder(path));
    QH_TRY(st, open_epochs(f));
    QH_TRY(st, open_file(f, "bits.csv", &f->bits));
    fprintf(qh_output_stream(f->bits), "epoch,layer,direction,bits,messages\n");
    *out = f;
    f = NULL;
out:
    qh_runfolder_free(f);
    return st;
}

void qh_runfolder_free(qh_runfolder *f)
{
    if (!f)
        return;
    if (f->epochs)
        fclose(f->epochs);
    qh_output_abort(&f->bits);
    qh_mem_free(f->path);
    qh_mem_free(f);
}

/* A value that was not measured is an empty field. */
static void field(double value, FILE *out)
{
    fputc(',', out);
    qh_print_real(value, out);
}

qh_status qh_runfolder_epoch(qh_runfolder *f, const qh_epoch_row *row)
{
    const qh_epoch_metrics *m = &row->metrics;

    fprintf(f->epochs, "%" PRId32, m->epoch);
    field(m->loss, f->epochs);
    for (int split = QH_SPLIT_TRAIN; split <= QH_SPLIT_TEST; split++)
        if (m->evaluated)
            field(m->metric[split], f->epochs);
        else
            fputc(',', f->epochs);
    field(qh_seconds(row->sim), f->epochs);
    field(row->compute_s, f->epochs);
    field(row->comm_s, f->epochs);
    field(row->exposed_comm_s, f->epochs);
    field(row->quant_s, f->epochs);
    fprintf(f->epochs, ",%" PRId64 ",%" PRId64, row->bytes, row->messages);
    field(row->mean_bits, f->epochs);
    field(m->rate, f->epochs);
    fprintf(f->epochs, ",%" PRId64, row->floats);
    if (f->measured)
        field(row->wall_s, f->epochs);
    fputc('\n', f->epochs);
    return fflush(f->epochs) == 0 ? QH_OK : epochs_failed(f);
}

qh_status qh_runfolder_bits(qh_runfolder *f, int32_t epoch, int layer, int direction, int width,
                            int64_t messages)
{
    fprintf(qh_output_stream(f->bits), "%" PRId32 ",%d,%s,%d,%" PRId64 "\n", epoch, layer,
            qh_direction_name(direction), width, messages);
    return QH_OK; /* a full disk shows in the commit */
}

static qh_status write_links(const qh_runfolder *f, const qh_result *r)
{
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, open_file(f, "links.csv", &o));
    fprintf(qh_output_stream(o), "link,bytes,bytes_per_s,utilisation\n");
    for (int64_t i = 0; i < r->n_links; i++) {
        const qh_link_load *l = &r->links[i];

        fprintf(qh_output_stream(o), "\"%s\",%" PRId64 ",", l->link.name, l->link.bytes);
        qh_print_real(l->link.bytes_per_s, qh_output_stream(o));
        fputc(',', qh_output_stream(o));
        qh_print_real(l->utilisation, qh_output_stream(o));
        fputc('\n', qh_output_stream(o));
    }
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

static qh_status write_traffic(const qh_runfolder *f, const qh_result *r)
{
    qh_output *o = NULL;
    qh_status st;

    QH_TRY(st, open_file(f, "traffic.csv", &o));
    fprintf(qh_output_stream(o), "src,dst,layer,direction,messages,bytes\n");
    for (int64_t i = 0; i < r->n_traffic; i++) {
        const qh_traffic_row *t = &r->traffic[i];

        fprintf(qh_output_stream(o), "%d,%d,%d,%s,%" PRId64 ",%" PRId64 "\n", t->src, t->dst,
                t->layer, qh_direction_name(t->direction), t->messages, t->bytes);
    }
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    return st;
}

/* Options of this host change wall times and nothing else, so they stand apart. */
static bool is_of_host(const char *name)
{
    return strcmp(name, "threads") == 0 || strcmp(name, "pin") == 0;
}

static json_t *figure(bool given, double x)
{
    return given ? qh_json_real(x) : json_null();
}

static json_t *relax_json(const qh_relax *r)
{
    bool smooth = r->smooth_features || r->smooth_gradients;

    return json_pack(
        "{s:I,s:b,s:b,s:o,s:o,s:o,s:o}", "stale", (json_int_t)r->stale, "smooth_features",
        r->smooth_features, "smooth_gradients", r->smooth_gradients, "smooth",
        figure(smooth, r->smooth), "skip_bound", figure(r->skip, r->skip_bound), "skip_age",
        figure(r->skip, (double)r->skip_age), "boundary_sample", figure(r->sample > 0, r->sample));
}

/* The parts that were in force, whatever named them; null: none. */
static json_t *effective_json(const qh_settings *s)
{
    qh_parts parts = {0};

    if (qh_settings_parts(s, &parts) < 0)
        return NULL; /* not after a run */
    return json_pack("{s:s,s:s?,s:s?,s:s?,s:b,s:s,s:o}", "codec", parts.codec, "assign",
                     parts.assign, "bits", parts.assign ? s->bits : NULL, "rate",
                     parts.rate[0] ? parts.rate : NULL, "error_feedback", parts.error_feedback,
                     "strategy", parts.strategy, "exchange", relax_json(&parts.relax));
}

json_t *qh_configuration_json(const char *dataset, const qh_settings *s)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "versions", qh_version_json(), "dataset",
                     qh_json_text(dataset), "configuration",
                     qh_json_settings(qh_scenario_options, s, is_of_host), "effective",
                     effective_json(s));
}

static json_t *run_json(const char *dataset, const qh_settings *s, const qh_result *r,
                        const json_t *summary)
{
    json_t *host = json_pack("{s:I,s:s,s:i,s:b,s:o,s:o}", "threads", (json_int_t)s->threads, "pin",
                             s->pin ? s->pin : "on", "cores", r->cores, "cores_shared",
                             r->cores_shared, "wall_seconds", qh_json_real(r->wall_seconds),
                             "cpu_seconds", qh_json_real(r->cpu_seconds));
    json_t *run = json_pack("{s:s}", "schema", "qhalo.run/1");
    json_t *what = qh_configuration_json(dataset, s);
    json_t *gave =
        json_pack("{s:O,s:o,s:b,s:o}", "summary", summary, "breakdown_max",
                  qh_breakdown_json(&r->max), "interrupted", r->interrupted, "host", host);

    if (json_object_update(run, what) != 0 || json_object_update(run, gave) != 0) {
        json_decref(run);
        run = NULL;
    }
    json_decref(what);
    json_decref(gave);
    return run;
}

qh_status qh_runfolder_finish(qh_runfolder *f, const char *dataset, const qh_settings *s,
                              const qh_result *r, const json_t *summary)
{
    json_t *run = NULL;
    qh_output *o = NULL;
    FILE *epochs = f->epochs;
    qh_status st;

    f->epochs = NULL;
    if (fclose(epochs) != 0) {
        st = epochs_failed(f);
        goto out;
    }
    QH_TRY(st, qh_output_commit(&f->bits));
    QH_TRY(st, write_traffic(f, r));
    QH_TRY(st, write_links(f, r));
    QH_TRY(st, open_file(f, "run.json", &o));
    run = run_json(dataset, s, r, summary);
    QH_TRY(st, qh_json_print(run, qh_output_stream(o)));
    QH_TRY(st, qh_output_commit(&o));
out:
    qh_output_abort(&o);
    json_decref(run);
    return st;
}
