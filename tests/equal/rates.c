/* Parts of the columns, and errors fed back: a rate of 1 is vanilla to the bit, orders of work and
 * thread counts change no bit, bytes and floats are those of the schedule, and what is lost comes
 * again. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include <math.h>
#include <string.h>

enum { EPOCHS = 8 };

static const tiny_spec graphs[] = {
    {.nodes = 97, .degree = 6, .features = 19, .classes = 4, .seed = 1},
    {.nodes = 89, .degree = 5, .features = 67, .classes = 3, .sparse = true, .seed = 2},
    {.nodes = 83, .degree = 7, .features = 1, .classes = 3, .directed = true, .seed = 3},
};
static const char *const models[] = {"gcn", "sage", "gin"};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs, N_MODELS = 3 };

static fleet_spec spec_of(const qh_dataset *d, const char *model)
{
    fleet_spec f = {.settings = fleet_settings(d, model, 3, 13, EPOCHS),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = 3};

    f.settings.model.dropout = 0.5;
    return f;
}

static void run(const fleet_spec *f, fleet_result *r)
{
    fleet_run(f, NULL, NULL, r);
    ck_assert_msg(r->status == QH_OK, "%s", r->error);
}

/* --- a rate of 1 --- */

static const struct whole {
    const char *method, *codec, *rate;
    bool error_feedback, rescale, overlap;
} wholes[] = {
    {.method = "fixed:1"},
    {.method = "fixed:1", .rescale = true},
    {.method = "varco", .rate = "linear:1:1:5"},
    {.method = "vanilla", .codec = "mask:1"},
    {.method = "vanilla", .codec = "topk:1"},
    {.method = "vanilla", .codec = "topk", .rate = "const:1"},
    {.method = "vanilla", .error_feedback = true},
    {.method = "fixed:1", .error_feedback = true},
    {.method = "vanilla", .codec = "topk:1", .error_feedback = true, .overlap = true},
};

START_TEST(a_rate_of_one_is_vanilla)
{
    const struct whole *w = &wholes[_i % QH_COUNT(wholes)];
    size_t kind = (size_t)_i / QH_COUNT(wholes);
    qh_dataset *d = tiny_new(graphs[kind % N_GRAPHS]);
    fleet_spec f = spec_of(d, models[kind / N_GRAPHS]);
    fleet_result vanilla, whole;

    f.settings.model.input_dropout = kind % 2 ? 0.25 : 0;
    run(&f, &vanilla);
    fleet_method(&f.settings, w->method, "fast");
    if (w->codec)
        fleet_codec(&f.settings, w->codec, "fast");
    if (w->rate)
        fleet_rate(&f.settings, w->rate);
    f.settings.error_feedback = w->error_feedback;
    f.settings.codec.rescale = w->rescale;
    if (w->overlap)
        f.settings.strategy = "overlap";
    run(&f, &whole);
    ck_assert(memcmp(vanilla.loss, whole.loss, sizeof whole.loss) == 0);
    ck_assert(vanilla.train.digest == whole.train.digest);
    ck_assert_int_eq(fleet_messages(&vanilla, -1), fleet_messages(&whole, -1));
    fleet_free(&vanilla);
    fleet_free(&whole);
    tiny_free(d);
}
END_TEST

/* --- the same bits however it is worked --- */

static const struct lossy {
    const char *method, *codec;
    bool error_feedback;
} lossies[] = {
    {"varco", NULL, false},     {"fixed:3", NULL, true},      {"varco", "int:4", false},
    {"fixed:2", "int:2", true}, {"ef-int2", NULL, true},      {"vanilla", "topk:4", true},
    {"random", NULL, true},     {"vanilla", "topk:5", false}, {"pipegcn", "int:1", true},
    {"sancus", "mask:3", true},
};

START_TEST(orders_and_threads_change_no_bit)
{
    const struct lossy *l = &lossies[_i % QH_COUNT(lossies)];
    qh_dataset *d = tiny_new(graphs[(size_t)_i / QH_COUNT(lossies)]);
    fleet_spec f = spec_of(d, "gcn");
    fleet_result sync, overlap, team, ref;

    fleet_method(&f.settings, l->method, "fast");
    if (l->codec)
        fleet_codec(&f.settings, l->codec, "fast");
    f.settings.error_feedback = l->error_feedback;
    run(&f, &sync);
    f.settings.strategy = "overlap";
    run(&f, &overlap);
    f.team = 3;
    run(&f, &team);
    ck_assert(sync.train.digest == overlap.train.digest);
    ck_assert(sync.train.digest == team.train.digest);
    for (int t = 0; t < EPOCHS; t++)
        ck_assert(isfinite(sync.loss[t]));
    f.settings.codec.kernels = qh_kernels_find("ref");
    run(&f, &ref);
    for (int t = 0; t < 3; t++) /* rounding of sums, which the codecs then make more of */
        ck_assert_double_eq_tol(ref.loss[t], sync.loss[t], 0.05 * sync.loss[t]);
    fleet_free(&sync);
    fleet_free(&overlap);
    fleet_free(&team);
    fleet_free(&ref);
    tiny_free(d);
}
END_TEST

START_TEST(nothing_is_allocated_after_the_first_epoch)
{
    const struct lossy *l = &lossies[_i % QH_COUNT(lossies)];
    qh_dataset *d = tiny_new(graphs[(size_t)_i / QH_COUNT(lossies)]);
    fleet_spec f = spec_of(d, "sage");
    fleet_result r;

    fleet_method(&f.settings, l->method, "fast");
    if (l->codec)
        fleet_codec(&f.settings, l->codec, "fast");
    f.settings.error_feedback = l->error_feedback;
    f.no_records = true;
    f.settings.eval_every = 0;
    run(&f, &r);
    ck_assert_int_eq(r.train.allocations_after_first_epoch, 0);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* --- how much is sent --- */

/* VARCO's schedule in its own words (arXiv 2406.17611): R(t) = max(128 - 5 * 127 t / T, 1). */
static int64_t columns_of(int64_t cols, int t)
{
    double r = 128 - 5.0 * 127 * t / EPOCHS, k;

    r = r < 1 ? 1 : r;
    k = floor((double)cols / r + 0.5);
    return k < 1 ? 1 : (int64_t)k;
}

static int64_t floats_of(const fleet_result *r, int epoch)
{
    int64_t sum = 0;

    for (int rank = 0; rank < r->n_ranks; rank++)
        for (int64_t i = 0; i < r->records[rank].n; i++)
            if (r->records[rank].item[i].op == QH_OP_SEND &&
                r->records[rank].item[i].epoch == epoch)
                sum += r->records[rank].item[i].values;
    return sum;
}

/* Messages of an epoch, layer and direction are as many in every epoch: those of vanilla. */
START_TEST(varco_sends_what_its_schedule_says)
{
    static const int widths[] = {32, 4};
    qh_dataset *d = tiny_new(graphs[_i / 2]);
    fleet_spec f = spec_of(d, "gcn");
    fleet_result r, vanilla;
    int width = widths[_i % 2];
    int64_t rows, cols[] = {d->n_features, 13, 13, 13, 13};

    run(&f, &vanilla);
    rows = fleet_messages(&vanilla, 0) / 5; /* three exchanges forward, two backward */
    fleet_method(&f.settings, "varco", "fast");
    if (width == 4)
        fleet_codec(&f.settings, "int:4", "fast");
    run(&f, &r);
    for (int t = 0; t < EPOCHS; t++) {
        int64_t bytes = 0, floats = 0;

        for (int i = 0; i < 5; i++) {
            int64_t k = columns_of(cols[i], t);

            floats += rows * k;
            bytes += rows * (width == 32 ? 4 * k : (4 * k + 7) / 8 + 4);
        }
        ck_assert_int_eq(floats_of(&r, t), floats);
        ck_assert_int_eq(fleet_bytes(&r, t), bytes);
        ck_assert_int_eq(fleet_messages(&r, t), 5 * rows);
    }
    ck_assert_int_eq(r.volume.bytes, fleet_bytes(&r, 0));
    ck_assert_int_eq(r.volume.fp32_bytes, fleet_bytes(&vanilla, 0));
    fleet_free(&r);
    fleet_free(&vanilla);
    tiny_free(d);
}
END_TEST

START_TEST(a_rate_for_each_layer)
{
    qh_dataset *d = tiny_new(graphs[0]);
    fleet_spec f = spec_of(d, "gcn");
    fleet_result r;
    int64_t cols[] = {19, 3, 2}; /* of 19, 13, 13 at 1, 4 and 8 */

    fleet_method(&f.settings, "varco", "fast");
    fleet_rate(&f.settings, "const:1,const:4,const:8");
    run(&f, &r);
    for (int rank = 0; rank < 3; rank++)
        for (int64_t i = 0; i < r.records[rank].n; i++) {
            const qh_record *x = &r.records[rank].item[i];

            if (x->op == QH_OP_SEND) {
                ck_assert_int_eq(x->bytes % (4 * cols[x->layer]), 0);
                ck_assert_int_eq(x->bytes, 4 * x->values);
            }
        }
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* --- errors fed back --- */

/* Halo rows of layer 0 after each epoch, against a plain account of every message on its own:
 * p = h + e, the k largest of p arrive, e = p - what arrived. Transform-first, h = H W travels, and
 * without a step it is the same in every epoch; a first run, in full precision, writes it down. */
enum { COLS = 13, KEPT = 3, NODES = 97 };

typedef struct account {
    qh_trainer *trainer[3];
    float h[NODES][COLS];
    float lost[3][NODES][COLS];
    int n_taken[3]; /* blocks of this epoch's layer 0 */
    bool differs[3], exact;
} account;

static void write_down(account *a, const qh_halo *plan, qh_mat message)
{
    for (int64_t r = 0; r < plan->n_inner; r++)
        memcpy(a->h[plan->node[r]], qh_mat_row(message, r), sizeof a->h[0]);
}

static bool is_among_largest(const float *p, int64_t j)
{
    int64_t before = 0;

    for (int64_t c = 0; c < COLS; c++)
        before += fabsf(p[c]) > fabsf(p[j]) || (fabsf(p[c]) == fabsf(p[j]) && c < j);
    return before < KEPT;
}

static void follow(account *a, int rank, const qh_halo *plan, qh_mat message)
{
    for (int64_t r = plan->n_inner; r < plan->n_local; r++) {
        float *e = a->lost[rank][r - plan->n_inner], p[COLS];

        for (int j = 0; j < COLS; j++)
            p[j] = a->h[plan->node[r]][j] + e[j];
        for (int j = 0; j < COLS; j++) {
            float want = is_among_largest(p, j) ? p[j] : 0;

            if (qh_mat_row(message, r)[j] != want)
                a->differs[rank] = true;
            e[j] = p[j] - want;
        }
    }
}

static void watch(void *ctx, int rank, const qh_record *r)
{
    account *a = ctx;
    qh_mat message;

    if (r->layer != 0 || r->direction != QH_FORWARD)
        return;
    message = qh_model_message(qh_trainer_model(a->trainer[rank]), 0);
    if (a->exact && r->op == QH_OP_QUANTIZE)
        write_down(a, qh_trainer_plan(a->trainer[rank]), message);
    if (a->exact || r->op != QH_OP_DEQUANTIZE)
        return;
    if (++a->n_taken[rank] % 2 == 0) /* from both others */
        follow(a, rank, qh_trainer_plan(a->trainer[rank]), message);
}

/* Gradients, and no step. */
static qh_status several_epochs(void *ctx, int rank, qh_trainer *t)
{
    account *a = ctx;
    double loss;
    qh_status st = QH_OK;

    a->trainer[rank] = t;
    for (int32_t epoch = 0; epoch < 12; epoch++)
        QH_TRY(st, qh_trainer_gradient(t, epoch, &loss));
out:
    return st;
}

static void run_watched(fleet_spec *f, account *a)
{
    fleet_result r;

    memset(a->lost, 0, sizeof a->lost);
    f->watch = watch;
    f->watch_ctx = a;
    fleet_run(f, several_epochs, a, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    fleet_free(&r);
}

START_TEST(what_is_lost_comes_again)
{
    qh_dataset *d = tiny_new(graphs[2 * _i]); /* sparse ones are sent as they are */
    fleet_spec f = spec_of(d, "gcn");
    account a = {.exact = true};

    f.settings.model.order = QH_TRANSFORM_FIRST;
    f.settings.model.dropout = 0;
    run_watched(&f, &a);
    a.exact = false;
    fleet_codec(&f.settings, "topk:4", "fast");
    f.settings.error_feedback = true;
    f.team = 2;
    run_watched(&f, &a);
    ck_assert(!a.differs[0] && !a.differs[1] && !a.differs[2]);
    f.settings.error_feedback = false; /* the account does notice */
    run_watched(&f, &a);
    ck_assert(a.differs[0] && a.differs[1] && a.differs[2]);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("rates");
    TCase *t = tcase_create("rates");
    int all = (int)QH_COUNT(lossies) * N_GRAPHS;

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_rate_of_one_is_vanilla, 0,
                        (int)QH_COUNT(wholes) * N_GRAPHS * N_MODELS);
    tcase_add_loop_test(t, orders_and_threads_change_no_bit, 0, all);
    tcase_add_loop_test(t, nothing_is_allocated_after_the_first_epoch, 0, all);
    tcase_add_loop_test(t, varco_sends_what_its_schedule_says, 0, 2 * N_GRAPHS);
    tcase_add_test(t, a_rate_for_each_layer);
    tcase_add_loop_test(t, what_is_lost_comes_again, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
