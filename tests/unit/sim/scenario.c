#include "sim/scenario.h"

#include "src/base/mem.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { EPOCHS = 4, LAYERS = 2 };

static qh_dataset *graph(bool sparse)
{
    return tiny_new((tiny_spec){
        .nodes = 83, .degree = 5, .features = 12, .classes = 3, .sparse = sparse, .seed = 3});
}

static void set(qh_settings *s, const char *name, const char *value)
{
    ck_assert_msg(qh_options_set(qh_scenario_options, s, "test", name, value) == QH_OK, "%s",
                  qh_error_text());
}

static qh_settings small(const char *method)
{
    qh_settings s;

    ck_assert_int_eq(qh_settings_init(&s), QH_OK);
    set(&s, "devices", "3");
    set(&s, "layers", "2");
    set(&s, "hidden", "8");
    set(&s, "epochs", "4");
    set(&s, "partitioner", "random");
    set(&s, "assign-every", "2");
    set(&s, "method", method);
    return s;
}

/* What an observer saw. */
typedef struct seen {
    int64_t ready, first_epoch_bytes;
    int64_t rows, progress, intervals, bits_messages;
    qh_epoch_row row[EPOCHS];
    _Atomic int stop;
    int stop_after; /* epochs; 0: never */
    int fail_at;    /* row that is refused; 0: none */
} seen;

static void on_ready(void *ctx, const qh_settings *s, const qh_result *partial, int64_t bytes)
{
    seen *n = ctx;

    ck_assert_int_eq(partial->partition.n_parts, s->devices);
    ck_assert_int_eq(n->progress, 0);
    n->ready++;
    n->first_epoch_bytes = bytes;
}

static qh_status on_epoch(void *ctx, const qh_epoch_row *row)
{
    seen *n = ctx;

    ck_assert_int_eq(row->metrics.epoch, n->rows);
    if (n->fail_at && n->rows + 1 == n->fail_at)
        return qh_fail(QH_ERESOURCE, "disk full");
    n->row[n->rows++] = *row;
    return QH_OK;
}

static qh_status on_bits(void *ctx, int32_t epoch, int layer, int direction, int width, int64_t n)
{
    ck_assert(epoch >= 0 && layer < LAYERS && direction < 2 && qh_width_index(width) >= 0);
    ((seen *)ctx)->bits_messages += n;
    return QH_OK;
}

static void on_progress(void *ctx, const qh_epoch_metrics *m, int64_t epochs)
{
    seen *n = ctx;

    ck_assert_int_eq(epochs, EPOCHS);
    ck_assert_int_eq(m->epoch, n->progress);
    n->progress++;
    if (n->stop_after && n->progress == n->stop_after)
        n->stop = 1;
}

static void on_interval(void *ctx, const qh_interval *i)
{
    ck_assert_int_le(i->start, i->end);
    ((seen *)ctx)->intervals++;
}

static qh_observer observer_of(seen *n)
{
    return (qh_observer){.ready = on_ready,
                         .epoch = on_epoch,
                         .bits = on_bits,
                         .progress = on_progress,
                         .interval = on_interval,
                         .stop = &n->stop,
                         .ctx = n};
}

static const char *const methods[] = {"vanilla", "int8",   "int4",    "int2",  "random",
                                      "adaqp-p", "nocomm", "fixed:3", "varco", "ef-int2"};

/* Every total is the sum of its parts, whoever tells it. */
START_TEST(figures_of_a_run_agree)
{
    qh_dataset *d = graph(_i % 2);
    qh_settings s = small(methods[_i]);
    seen n = {0};
    qh_observer o = observer_of(&n);
    int64_t bytes = 0, messages = 0, traffic = 0, bits = 0, floats = 0;
    qh_time sim = 0;
    qh_result r;

    ck_assert_msg(qh_scenario_run(&s, d, &o, &r) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(n.ready, 1);
    ck_assert_int_eq(n.rows, EPOCHS);
    ck_assert_int_eq(n.progress, EPOCHS);
    ck_assert_int_eq(n.first_epoch_bytes, n.row[0].bytes);
    for (int t = 0; t < EPOCHS; t++) {
        bytes += n.row[t].bytes;
        messages += n.row[t].messages;
        floats += n.row[t].floats;
        sim += n.row[t].sim;
        ck_assert_int_gt(n.row[t].sim, 0);
        ck_assert(n.row[t].metrics.evaluated && isfinite(n.row[t].metrics.loss));
    }
    ck_assert_int_eq(bytes, r.bytes_sent);
    ck_assert_int_eq(messages, r.messages);
    ck_assert_int_eq(floats, r.floats_sent);
    ck_assert_int_eq(n.bits_messages, r.messages);
    ck_assert_int_eq(sim, r.sim_end);
    for (int64_t i = 0; i < r.n_traffic; i++) {
        ck_assert(r.traffic[i].src != r.traffic[i].dst && r.traffic[i].messages > 0);
        traffic += r.traffic[i].bytes;
    }
    ck_assert_int_eq(traffic, r.bytes_sent);
    for (int i = 0; i < QH_N_WIDTHS; i++)
        bits += r.bits_messages[i];
    ck_assert_int_eq(bits, r.messages);
    ck_assert((r.messages == 0) == (strcmp(methods[_i], "nocomm") == 0));
    ck_assert(_i % 5 == 0 ? /* full precision */ r.bytes_sent == r.fp32_bytes
                          : r.bytes_sent <= r.fp32_bytes);
    ck_assert_int_eq(r.train.epochs, EPOCHS);
    ck_assert_str_eq(r.metric_name, "accuracy");
    ck_assert_str_eq(r.partition_method, "random");
    ck_assert(n.intervals > 0 && r.mean.compute > 0 && r.max.compute >= r.mean.compute);
    qh_result_fini(&r);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(one_device_needs_no_network)
{
    qh_dataset *d = graph(false);
    qh_settings s = small("int2");
    qh_result r;

    set(&s, "devices", "1");
    set(&s, "net", "there-is-none");
    ck_assert_msg(qh_scenario_run(&s, d, NULL, &r) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(r.messages + r.bytes_sent + r.n_traffic, 0);
    ck_assert_int_gt(r.sim_end, 0);
    qh_result_fini(&r);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

/* --- where devices run --- */

typedef struct places {
    int cpu[2]; /* of each device */
    int n_seen;
    pthread_mutex_t lock;
} places;

static qh_status look_where(void *ctx, int device, int32_t epoch, const qh_record *r, int64_t n)
{
    places *p = ctx;
    cpu_set_t now;

    (void)epoch;
    (void)r;
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(sched_getaffinity(0, sizeof now, &now), 0);
    ck_assert(CPU_COUNT(&now) == 1 && CPU_ISSET(p->cpu[device], &now));
    pthread_mutex_lock(&p->lock);
    p->n_seen++;
    pthread_mutex_unlock(&p->lock);
    return QH_OK;
}

/* Products large enough for threads of OpenBLAS, if it made any; and the caller stays where it was.
 */
START_TEST(products_leave_threads_where_they_are)
{
    qh_dataset *d =
        tiny_new((tiny_spec){.nodes = 2000, .degree = 3, .features = 300, .classes = 3, .seed = 3});
    qh_settings s = small("vanilla");
    places p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    qh_observer o = {.records = look_where, .ctx = &p};
    cpu_set_t before, after;
    char list[32];
    int n = 0;
    qh_result r;

    ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && n < 2; cpu--)
        if (CPU_ISSET(cpu, &before))
            p.cpu[n++] = cpu;
    set(&s, "devices", n == 2 ? "2" : "1");
    set(&s, "hidden", "256");
    snprintf(list, sizeof list, n == 2 ? "%d,%d" : "%d", p.cpu[0], p.cpu[1]);
    set(&s, "pin", list);
    ck_assert_msg(qh_scenario_run(&s, d, &o, &r) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(p.n_seen, n * EPOCHS);
    ck_assert_ptr_null(r.placement);
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&before, &after));
    qh_result_fini(&r);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(measured_times_change_no_number_of_training)
{
    qh_dataset *d = graph(_i == 1);
    qh_settings s = small("vanilla");
    qh_result modeled, measured;

    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &modeled), QH_OK);
    set(&s, "compute", "measured");
    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &measured), QH_OK);
    ck_assert(modeled.train.digest == measured.train.digest);
    ck_assert_int_eq(modeled.bytes_sent, measured.bytes_sent);
    ck_assert(measured.mean.compute > 0 && measured.mean.quantize > 0);
    qh_result_fini(&modeled);
    qh_result_fini(&measured);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(an_interrupt_keeps_what_was_done)
{
    qh_dataset *d = graph(false);
    qh_settings s = small("random");
    seen n = {.stop_after = 2};
    qh_observer o = observer_of(&n);
    qh_result r;

    ck_assert_int_eq(qh_scenario_run(&s, d, &o, &r), QH_EINTERRUPT);
    ck_assert_str_eq(qh_error_text(), "interrupted after epoch 2 of 4");
    ck_assert(r.interrupted);
    ck_assert_int_eq(r.train.epochs, 2);
    ck_assert_int_eq(n.rows, 2);
    qh_result_fini(&r);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(an_observer_that_fails_ends_the_run)
{
    qh_dataset *d = graph(false);
    qh_settings s = small("vanilla");
    seen n = {.fail_at = 1 + _i};
    qh_observer o = observer_of(&n);
    qh_result r;

    ck_assert_int_eq(qh_scenario_run(&s, d, &o, &r), QH_ERESOURCE);
    ck_assert_str_eq(qh_error_text(), "disk full");
    ck_assert_int_eq(n.rows, _i);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

static const struct bad {
    const char *name, *value;
    const char *name2, *value2;
    qh_status status;
    const char *text;
} bads[] = {
    {"devices", "84", NULL, NULL, QH_EUSAGE, "--devices: 84 devices for the 83 nodes of tiny"},
    {"model", "gnc", NULL, NULL, QH_EUSAGE, "--model: there is no model 'gnc'"},
    {"method", "fixed:0.5", NULL, NULL, QH_EUSAGE, "--method: const: a rate of 0.5; 1 (all"},
    {"method", "fixed:x", NULL, NULL, QH_EUSAGE, "--method: 'x' is not a number"},
    {"codec", "mask", NULL, NULL, QH_EUSAGE, "--codec: 'mask' lacks its ratio; mask:R, or --rate"},
    {"codec", "topk", NULL, NULL, QH_EUSAGE, "--codec: 'topk' lacks its ratio; topk:R, or --rate"},
    {"codec", "mask:0", NULL, NULL, QH_EUSAGE, "--codec: 0 is out of range; 1 to 1e+09"},
    {"rate-schedule", "linear:1:128", NULL, NULL, QH_EUSAGE, "--rate-schedule: 'linear:1:128' is"},
    {"rate-schedule", "file:no/such", NULL, NULL, QH_EINPUT, "no/such"},
    {"rate-schedule", "const:2", "codec", "mask:4", QH_EUSAGE,
     "--rate-schedule: codec 'mask:4' has a rate of its own; 'mask' leaves it to 'const:2'"},
    {"rate-schedule", "const:2", "codec", "drop", QH_EUSAGE, "--rate-schedule: codec 'drop' sends"},
    {"method", "varco", "codec", "drop", QH_EUSAGE, "--rate-schedule: codec 'drop' sends nothing"},
    {"rate-schedule", "const:2", "method", "adaqp", QH_EUSAGE, "--rate-schedule: --assign adap"},
    {"error-feedback", NULL, "codec", "drop", QH_EUSAGE, "--error-feedback: codec 'drop' sends"},
    {"error-feedback", NULL, "mask-rescale", NULL, QH_EUSAGE, "--error-feedback: with --mask-r"},
    {"error-feedback", NULL, "boundary-sample", "0.5", QH_EUSAGE, "--boundary-sample: each epoch"},
    {"method", "vanila", NULL, NULL, QH_EUSAGE, "--method: there is no method 'vanila'"},
    {"codec", "int:9", NULL, NULL, QH_EUSAGE, "--codec: "},
    {"codec", "int:4", "assign", "random", QH_EUSAGE, "--assign: codec 'int:4' gives all"},
    {"codec", "mixed", NULL, NULL, QH_EUSAGE, "--codec: 'mixed' takes a width for each message"},
    {"assign", "adaptiv", NULL, NULL, QH_EUSAGE, "--assign: "},
    {"assign", "random", "bits", "2,9", QH_EUSAGE, "--bits: "},
    {"cache-features", NULL, "input-dropout", "0.5", QH_EUSAGE, "--cache-features: "},
    {"net", "no-such-net", NULL, NULL, QH_EUSAGE, ""},
    {"accelerator", "no-such-chip", NULL, NULL, QH_EUSAGE, ""},
    {"partitioner", "metsi", NULL, NULL, QH_EUSAGE, "partitioner 'metsi'"},
    {"partition", "no/such/file.qhp", NULL, NULL, QH_EINPUT, "no/such/file.qhp"},
};

START_TEST(mistakes_are_named)
{
    const struct bad *b = &bads[_i];
    qh_dataset *d = graph(false);
    qh_settings s = small("vanilla");
    qh_result r;

    set(&s, b->name, b->value);
    if (b->name2)
        set(&s, b->name2, b->value2);
    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &r), b->status);
    ck_assert_msg(strncmp(qh_error_text(), b->text, strlen(b->text)) == 0 && *qh_error_text(),
                  "'%s' in place of '%s...'", qh_error_text(), b->text);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(parts_override_the_method)
{
    qh_dataset *d = graph(false);
    qh_settings s = small("vanilla");
    qh_result r;

    set(&s, "codec", "bf16");
    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &r), QH_OK);
    ck_assert_int_eq(2 * r.bytes_sent, r.fp32_bytes);
    ck_assert_int_eq(r.bits_messages[qh_width_index(16)], r.messages);
    qh_result_fini(&r);
    qh_settings_fini(&s);

    s = small("random");
    set(&s, "codec", "fp32"); /* takes the assigner out too */
    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &r), QH_OK);
    ck_assert_int_eq(r.bytes_sent, r.fp32_bytes);
    qh_result_fini(&r);
    qh_settings_fini(&s);

    s = small("vanilla");
    set(&s, "assign", "uniform");
    set(&s, "bits", "4");
    ck_assert_int_eq(qh_scenario_run(&s, d, NULL, &r), QH_OK);
    ck_assert_int_eq(r.bits_messages[qh_width_index(4)], r.messages);
    qh_result_fini(&r);
    qh_settings_fini(&s);
    tiny_free(d);
}
END_TEST

START_TEST(recipes_set_and_later_options_win)
{
    qh_settings s;

    ck_assert_int_eq(qh_settings_init(&s), QH_OK);
    ck_assert_int_eq(qh_settings_recipe(&s, "--recipe", "kipf"), QH_OK);
    ck_assert_int_eq(s.layers, 2);
    ck_assert_int_eq(s.hidden, 16);
    ck_assert_double_eq(s.input_dropout, 0.5);
    ck_assert_double_eq(s.weight_decay, 5e-4);
    ck_assert_int_eq(s.decay_layers, 1);
    ck_assert_int_eq(s.feature_norm, QH_NORM_ROW);
    ck_assert_int_eq(s.norm, 0);
    set(&s, "hidden", "32");
    ck_assert_int_eq(s.hidden, 32);
    ck_assert_int_eq(qh_settings_recipe(&s, "--recipe", "varco"), QH_OK);
    ck_assert_str_eq(s.model, "sage");
    ck_assert_int_eq(s.epochs, 300);
    ck_assert_int_eq(qh_settings_recipe(&s, "--recipe", "adaqp"), QH_OK);
    ck_assert_int_eq(s.norm, 1);
    ck_assert_int_eq(qh_settings_recipe(&s, "file:3", "kipff"), QH_EUSAGE);
    ck_assert_str_eq(qh_error_text(), "file:3: there is no recipe 'kipff'; did you mean kipf?");
    qh_settings_fini(&s);
}
END_TEST

/* Every option has its help, a default in its range, and prints what it would read. */
START_TEST(options_read_what_they_print)
{
    qh_settings s;

    ck_assert_int_eq(qh_settings_init(&s), QH_OK);
    for (const qh_option *o = qh_scenario_options; o->type != QH_OPT_END; o++) {
        char *text = NULL;

        ck_assert_msg(o->help && *o->help, "%s", o->name);
        ck_assert_int_eq(qh_options_print(o, &s, &text), QH_OK);
        if (*text)
            set(&s, o->name, text);
        qh_mem_free(text);
    }
    qh_settings_fini(&s);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("scenario");
    TCase *t = tcase_create("scenario");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, figures_of_a_run_agree, 0, (int)QH_COUNT(methods));
    tcase_add_test(t, one_device_needs_no_network);
    tcase_add_test(t, products_leave_threads_where_they_are);
    tcase_add_loop_test(t, measured_times_change_no_number_of_training, 0, 2);
    tcase_add_test(t, an_interrupt_keeps_what_was_done);
    tcase_add_loop_test(t, an_observer_that_fails_ends_the_run, 0, EPOCHS);
    tcase_add_loop_test(t, mistakes_are_named, 0, (int)QH_COUNT(bads));
    tcase_add_test(t, parts_override_the_method);
    tcase_add_test(t, recipes_set_and_later_options_win);
    tcase_add_test(t, options_read_what_they_print);
    suite_add_tcase(s, t);
    return s;
}
