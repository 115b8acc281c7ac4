#include "tests/support/fleet.h"

#include "src/base/mem.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct keeper {
    qh_sink sink; /* first */
    fleet_result *result;
    const fleet_spec *spec;
} keeper;

typedef struct member {
    const fleet_spec *spec;
    keeper *keeper;
    qh_layout *layout;
    qh_transport *transport;
    qh_status (*body)(void *ctx, int rank, qh_trainer *t);
    void *ctx;
    int rank;
    pthread_t thread;
    qh_status status;
    qh_train_result train;
    qh_volume volume;
    char error[QH_ERROR_TEXT_BYTES];
} member;

static void emit(qh_sink *sink, int rank, const qh_record *r)
{
    fleet_result *out = ((keeper *)sink)->result;
    const fleet_spec *spec = ((keeper *)sink)->spec;

    if (spec->watch)
        spec->watch(spec->watch_ctx, rank, r);
    if (!spec->no_records)
        ck_assert_int_eq(qh_record_list_add(&out->records[rank], r), QH_OK);
}

static void emit_widths(qh_sink *sink, int rank, const qh_record *send, const uint8_t *width,
                        int64_t n)
{
    const fleet_spec *spec = ((keeper *)sink)->spec;

    spec->watch_widths(spec->watch_ctx, rank, send, width, n);
}

static qh_status end_epoch(qh_sink *sink, int rank, const qh_epoch_metrics *m, int *stop)
{
    fleet_result *out = ((keeper *)sink)->result;

    (void)stop;
    if (rank == 0 && m->epoch < FLEET_MAX_EPOCHS) {
        out->loss[m->epoch] = m->loss;
        memcpy(out->metric[m->epoch], m->metric, sizeof m->metric);
    }
    return QH_OK;
}

qh_train_settings fleet_settings(const qh_dataset *d, const char *model, int layers, int64_t hidden,
                                 int64_t epochs)
{
    qh_train_settings s = {.model = {.name = model,
                                     .n_layers = layers,
                                     .n_features = d->n_features,
                                     .n_hidden = hidden,
                                     .n_classes = d->n_classes,
                                     .norm = true,
                                     .seed = 1},
                           .epochs = epochs,
                           .lr = 0.01,
                           .seed = 1,
                           .eval_every = 1};

    fleet_method(&s, "vanilla", "fast");
    return s;
}

/* A transport with a meter on what is sent. Each rank writes its own count only. */
typedef struct meter {
    qh_transport base; /* first */
    qh_transport *inner;
    int64_t *bytes;
} meter;

static qh_status metered_send(qh_transport *t, int rank, int peer, const void *data, int64_t bytes,
                              qh_transfer *out)
{
    meter *m = (meter *)t;

    m->bytes[rank] += bytes;
    return m->inner->ops->send_begin(m->inner, rank, peer, data, bytes, out);
}

static qh_status metered_send_finish(qh_transport *t, int rank, qh_transfer *x)
{
    return ((meter *)t)->inner->ops->send_finish(((meter *)t)->inner, rank, x);
}

static qh_status metered_recv(qh_transport *t, int rank, int peer, void *buffer, int64_t bytes,
                              qh_transfer *out)
{
    return ((meter *)t)
        ->inner->ops->recv_begin(((meter *)t)->inner, rank, peer, buffer, bytes, out);
}

static qh_status metered_recv_finish(qh_transport *t, int rank, qh_transfer *x)
{
    return ((meter *)t)->inner->ops->recv_finish(((meter *)t)->inner, rank, x);
}

static void metered_release(qh_transport *t, int rank, qh_transfer *x)
{
    ((meter *)t)->inner->ops->recv_release(((meter *)t)->inner, rank, x);
}

static qh_status metered_reserve(qh_transport *t, int rank, int peer, int64_t n_blocks)
{
    return ((meter *)t)->inner->ops->reserve(((meter *)t)->inner, rank, peer, n_blocks);
}

static void metered_abort(qh_transport *t, int rank)
{
    ((meter *)t)->inner->ops->abort(((meter *)t)->inner, rank);
}

static const qh_transport_ops metered = {
    .name = "metered",
    .send_begin = metered_send,
    .send_finish = metered_send_finish,
    .recv_begin = metered_recv,
    .recv_finish = metered_recv_finish,
    .recv_release = metered_release,
    .reserve = metered_reserve,
    .abort = metered_abort,
};

/* Settings are copied about and own nothing, so schedules are closed when the program ends: without
 * forks (CK_FORK=no) that is after all tests of a suite. */
static qh_rate *opened[1024];
static int n_opened;

static void close_opened(void)
{
    while (n_opened > 0)
        qh_rate_close(opened[--n_opened]);
}

void fleet_codec(qh_train_settings *s, const char *codec, const char *kernels)
{
    ck_assert_int_eq(qh_codec_init(codec, QH_PARAMS_BF16, qh_kernels_find(kernels), &s->codec),
                     QH_OK);
    if (s->rate)
        ck_assert_int_eq(qh_codec_cover(&s->codec), QH_OK);
}

void fleet_rate(qh_train_settings *s, const char *schedule)
{
    const qh_rate_run run = {.epochs = s->epochs, .n_layers = s->model.n_layers};

    ck_assert_int_lt(n_opened, QH_COUNT(opened));
    if (n_opened == 0)
        atexit(close_opened);
    ck_assert_int_eq(qh_rate_open("fleet", schedule, &run, &opened[n_opened]), QH_OK);
    if (!s->rate)
        ck_assert_int_eq(qh_codec_cover(&s->codec), QH_OK);
    s->rate = opened[n_opened++];
}

void fleet_method(qh_train_settings *s, const char *method, const char *kernels)
{
    char rate[QH_PART_BYTES];
    qh_method m;

    ck_assert_int_eq(qh_method_choose("fleet", method, &m), QH_OK);
    s->rate = NULL;
    fleet_codec(s, m.codec, kernels);
    ck_assert_int_eq(qh_method_part("fleet", m.rate, m.argument, rate), QH_OK);
    if (rate[0])
        fleet_rate(s, rate);
    s->error_feedback = m.error_feedback;
    s->strategy = m.strategy;
    s->relax = m.relax;
    s->relax.smooth = 0.95;
    s->relax.skip_bound = 0.1;
    s->relax.skip_age = 10;
    if (m.relax.sample > 0)
        s->relax.sample = strtod(m.argument, NULL);
    if (!m.assign)
        return;
    s->bits = (qh_bits_config){.width = {2, 4, 8}, .n_widths = 3, .assign_every = 2, .seed = 1};
    s->assign = qh_bits_find(m.assign);
    ck_assert_ptr_nonnull(s->assign);
}

static qh_status work(member *m, qh_team *team)
{
    qh_rank_context c = {.settings = &m->spec->settings,
                         .dataset = m->spec->dataset,
                         .layout = m->layout,
                         .rank = m->rank,
                         .transport = m->transport,
                         .team = team,
                         .sink = &m->keeper->sink};
    qh_trainer *t = NULL;
    qh_status st;

    QH_TRY(st, qh_trainer_new(&c, &t));
    QH_TRY(st, qh_trainer_volume(t, 0, &m->volume));
    QH_TRY(st, m->body ? m->body(m->ctx, m->rank, t) : qh_train(t, &m->train));
out:
    qh_trainer_free(t);
    return st;
}

static void *thread_main(void *ctx)
{
    member *m = ctx;
    qh_team *team = NULL;

    if (m->spec->team > 1)
        ck_assert_int_eq(qh_team_new(m->spec->team, NULL, &team), QH_OK);
    m->status = work(m, team);
    if (m->status < 0)
        snprintf(m->error, sizeof m->error, "%s", qh_error_text());
    qh_team_free(team);
    return NULL;
}

static qh_layout *make_layout(const fleet_spec *f)
{
    const qh_graph *g = f->dataset->graph;
    qh_partition_request r = {.n_parts = f->n_ranks, .seed = 1};
    int32_t *part = NULL;
    qh_layout *layout = NULL;

    ck_assert_int_eq(QH_NEW_ARRAY(&part, g->n_nodes), QH_OK);
    if (f->partitioner)
        ck_assert_msg(qh_partition_make(g, f->partitioner, r, part) == QH_OK, "%s",
                      qh_error_text());
    else
        memcpy(part, f->part, (size_t)g->n_nodes * sizeof *part);
    ck_assert_int_eq(qh_layout_new(g, part, f->n_ranks, &layout), QH_OK);
    qh_mem_free(part);
    return layout;
}

static void collect(member *m, int n, fleet_result *out)
{
    for (int i = 0; i < n; i++) {
        bool worse = out->status == QH_OK || out->status == QH_EINTERRUPT;

        if (m[i].status < 0 && worse && (out->status == QH_OK || m[i].status != QH_EINTERRUPT)) {
            out->status = m[i].status;
            memcpy(out->error, m[i].error, sizeof out->error);
        }
        out->volume.bytes += m[i].volume.bytes;
        out->volume.messages += m[i].volume.messages;
        out->volume.fp32_bytes += m[i].volume.fp32_bytes;
    }
    out->train = m[0].train;
}

void fleet_run(const fleet_spec *f, qh_status (*body)(void *ctx, int rank, qh_trainer *t),
               void *ctx, fleet_result *out)
{
    keeper k = {.sink = {.emit = emit, .end_epoch = end_epoch}, .result = out, .spec = f};
    qh_layout *layout = make_layout(f);
    qh_transport *transport = NULL;
    meter metering = {.base = {.ops = &metered, .n_ranks = f->n_ranks}, .bytes = f->wire_bytes};
    member *m = NULL;

    if (f->watch_widths)
        k.sink.widths = emit_widths;
    *out = (fleet_result){.n_ranks = f->n_ranks};
    ck_assert_int_eq(QH_NEW_ARRAY(&out->records, f->n_ranks), QH_OK);
    ck_assert_int_eq(qh_inproc_new(f->n_ranks, &transport), QH_OK);
    metering.inner = transport;
    ck_assert_int_eq(QH_NEW_ARRAY(&m, f->n_ranks), QH_OK);
    for (int i = 0; i < f->n_ranks; i++) {
        m[i] = (member){.spec = f,
                        .keeper = &k,
                        .layout = layout,
                        .transport = f->wire_bytes ? &metering.base : transport,
                        .body = body,
                        .ctx = ctx,
                        .rank = i};
        ck_assert_int_eq(pthread_create(&m[i].thread, NULL, thread_main, &m[i]), 0);
    }
    for (int i = 0; i < f->n_ranks; i++)
        pthread_join(m[i].thread, NULL);
    collect(m, f->n_ranks, out);
    qh_mem_free(m);
    transport->ops->free(transport);
    qh_layout_free(layout);
}

void fleet_free(fleet_result *r)
{
    for (int i = 0; i < r->n_ranks; i++)
        qh_record_list_fini(&r->records[i]);
    qh_mem_free(r->records);
    r->records = NULL;
}

int64_t fleet_bytes(const fleet_result *r, int epoch)
{
    int64_t sum = 0;

    for (int i = 0; i < r->n_ranks; i++)
        for (int64_t k = 0; k < r->records[i].n; k++) {
            const qh_record *x = &r->records[i].item[k];

            if (x->op == QH_OP_SEND && (epoch < 0 || x->epoch == epoch))
                sum += x->bytes;
        }
    return sum;
}

int64_t fleet_messages(const fleet_result *r, int epoch)
{
    int64_t sum = 0;

    for (int i = 0; i < r->n_ranks; i++)
        for (int64_t k = 0; k < r->records[i].n; k++) {
            const qh_record *x = &r->records[i].item[k];

            for (int w = 0;
                 x->op == QH_OP_SEND && (epoch < 0 || x->epoch == epoch) && w < QH_N_WIDTHS; w++)
                sum += x->messages[w];
        }
    return sum;
}
