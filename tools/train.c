#include "tools/train.h"

#include "tools/expect.h"
#include "tools/json.h"
#include "tools/runfolder.h"
#include "tools/summary.h"
#include "tools/tracer.h"

const qh_option qh_train_options_table[] = {
    QH_FRONT_OPTIONS,
    {"trace", QH_OPT_TEXT, offsetof(qh_train_options, trace), .value = "FILE.qht",
     .help = "record what every device does, for qhalo replay and qhalo trace"},
    {"trace-payload", QH_OPT_FLAG, offsetof(qh_train_options, payload),
     .help = "with the bit-width of every message, for a replay that sends real bytes"},
    {"verbose", QH_OPT_FLAG, offsetof(qh_train_options, verbose),
     .help = "also say which CPUs each device runs on"},
    {0}};

void qh_train_help(FILE *out)
{
    qh_options_help(qh_train_options_table, out);
    fputc('\n', out);
    qh_options_help(qh_scenario_options, out);
    fprintf(out, "\nMethods:\n");
    qh_methods_help(out);
    fprintf(out,
            "\nDATASET is a .qhd file, a folder in the neutral layout, or synth:SPEC; qhalo data\n"
            "--help says more.\n");
}

/* Everything but what needs the data set, which may take long to load. */
qh_status qh_train_check(const qh_train_options *o, const qh_settings *s)
{
    const qh_front *front = &o->front;
    double second = 1;
    bool measured = s->clock == QH_CLOCK_REAL; /* so that its numbers may be expected */
    const qh_result none = {.wall_s = measured ? &second : NULL, .n_wall = measured};
    qh_graph no_graph = {0};
    const qh_dataset no_data = {.name = (char[]){""}, .graph = &no_graph};
    json_t *sample = qh_summary_json(s, &no_data, &none);
    qh_status st;

    QH_TRY(st, qh_expect_check(&front->expect, sample));
    QH_TRY(st, qh_settings_check(s));
    QH_TRY(st, qh_runfolder_check(front->out));
    if (o->payload && !o->trace)
        QH_TRY(st,
               qh_fail(QH_EUSAGE, "--trace-payload: is for --trace FILE.qht, which is missing"));
    QH_TRY(st, qh_tracer_check(o->trace));
out:
    json_decref(sample);
    return st;
}

static qh_status report(const qh_front *front, const qh_settings *s, const qh_dataset *d,
                        const qh_result *r, const json_t *summary)
{
    return front->json ? qh_json_print(summary, stdout) : qh_summary_print(s, d, r, stdout);
}

qh_status qh_train_run(const qh_train_options *o, const qh_settings *s, const char *name,
                       const qh_dataset *d, qh_run_output to)
{
    const qh_front *front = &o->front;
    char interruption[QH_ERROR_TEXT_BYTES];
    qh_result r = {0};
    json_t *summary = NULL;
    qh_status st;

    to.folder = front->out;
    to.trace = o->trace;
    to.payload = o->payload;
    to.verbose = o->verbose;
    st = qh_run_execute(s, name, d, &to, &r, &summary);
    if (st < 0 && st != QH_EINTERRUPT)
        goto out;
    snprintf(interruption, sizeof interruption, "%s", qh_error_text());
    if (summary && report(front, s, d, &r, summary) < 0)
        st = st < 0 ? st : QH_ERESOURCE;
    else if (st == QH_OK) /* what was promised of the whole says nothing of a part */
        st = qh_expect_hold(&front->expect, summary);
    if (st == QH_EINTERRUPT)
        qh_error_set_text(interruption);
out:
    json_decref(summary);
    qh_result_fini(&r);
    return st;
}
