/* Widths chosen for all channels together: what goes over the wire is what the records say, and a
 * file of the chosen widths makes the same blocks. */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, LAYERS = 3, EPOCHS = 5, MOST = 256 };

/* Seconds of a byte and of a block: channels all alike. */
static const double even[RANKS * RANKS] = {1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9,
                                           1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 1e-9};
static const double none[RANKS * RANKS];

static qh_dataset *graph(bool directed)
{
    return tiny_new((tiny_spec){
        .nodes = 149, .degree = 6, .features = 11, .classes = 3, .directed = directed, .seed = 5});
}

static fleet_spec of(const qh_dataset *d, const char *model, const char *method, int n_ranks)
{
    fleet_spec f = {.settings = fleet_settings(d, model, LAYERS, 9, EPOCHS),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = n_ranks};

    fleet_method(&f.settings, method, "fast");
    f.settings.bits.lambda = 0.5;
    f.settings.bits.group_size = 3;
    f.settings.bits.theta = even;
    f.settings.bits.gamma = none;
    return f;
}

/* Epochs without evaluation, which moves rows that no record tells of. */
static qh_status epochs_alone(void *ctx, int rank, qh_trainer *t)
{
    double loss;
    qh_status st = QH_OK;

    (void)ctx;
    (void)rank;
    for (int32_t epoch = 0; epoch < EPOCHS; epoch++) {
        QH_TRY(st, qh_trainer_gradient(t, epoch, &loss));
        qh_trainer_update(t, epoch);
    }
out:
    return st;
}

/* wire[RANKS] and recorded[RANKS]: bytes that each rank handed over, and those of its SENDs. */
static void count(const fleet_spec *spec, int64_t *wire, int64_t *recorded)
{
    fleet_spec f = *spec;
    fleet_result r;

    memset(wire, 0, RANKS * sizeof *wire);
    memset(recorded, 0, RANKS * sizeof *recorded);
    f.wire_bytes = wire;
    fleet_run(&f, epochs_alone, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    for (int rank = 0; rank < RANKS; rank++)
        for (int64_t i = 0; i < r.records[rank].n; i++)
            if (r.records[rank].item[i].op == QH_OP_SEND)
                recorded[rank] += r.records[rank].item[i].bytes;
    fleet_free(&r);
}

static const struct wire_row {
    const char *model, *method;
    bool directed;
} wire_rows[] = {
    {"gcn", "adaqp", false},   {"gcn", "adaqp-q", true}, {"sage", "adaqp", true},
    {"gin", "adaqp-q", false}, {"gcn", "random", false}, {"gcn", "degree", true},
    {"gcn", "int2", false},
};

/* nocomm sends nothing but the all-reduce, which is the same for every method. */
START_TEST(the_wire_has_what_the_records_say)
{
    const struct wire_row *row = &wire_rows[_i];
    qh_dataset *d = graph(row->directed);
    fleet_spec f = of(d, row->model, row->method, RANKS),
               silent = of(d, row->model, "nocomm", RANKS);
    int64_t wire[RANKS], recorded[RANKS], reduced[RANKS], nothing[RANKS];

    count(&f, wire, recorded);
    count(&silent, reduced, nothing);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(nothing[rank], 0);
        ck_assert_int_gt(reduced[rank], 0);
        ck_assert_int_gt(recorded[rank], 0);
        ck_assert_msg(wire[rank] - reduced[rank] == recorded[rank],
                      "%s %s: rank %d sent %lld bytes, its records say %lld", row->model,
                      row->method, rank, (long long)(wire[rank] - reduced[rank]),
                      (long long)recorded[rank]);
    }
    tiny_free(d);
}
END_TEST

/* The last widths that each of two ranks chose. */
typedef struct chosen {
    int64_t n[2][LAYERS][2];
    uint8_t width[2][LAYERS][2][MOST];
    int32_t node[2][2][MOST]; /* by direction: of the messages of a rank, in their order */
    int64_t n_nodes[2][2];
} chosen;

static void note(void *ctx, int rank, const qh_record *send, const uint8_t *width, int64_t n)
{
    chosen *c = ctx;

    ck_assert_int_le(n, MOST);
    ck_assert_int_le(send->direction, QH_BACKWARD);
    c->n[rank][send->layer][send->direction] = n;
    memcpy(c->width[rank][send->layer][send->direction], width, (size_t)n);
}

static qh_status train_and_list(void *ctx, int rank, qh_trainer *t)
{
    const qh_halo *h = qh_trainer_plan(t);
    chosen *c = ctx;
    qh_train_result r;

    c->n_nodes[rank][QH_FORWARD] = h->send_ptr[2];
    for (int64_t i = 0; i < h->send_ptr[2]; i++)
        c->node[rank][QH_FORWARD][i] = h->node[h->send_row[i]];
    c->n_nodes[rank][QH_BACKWARD] = h->n_halo;
    for (int64_t i = 0; i < h->n_halo; i++)
        c->node[rank][QH_BACKWARD][i] = h->node[h->n_inner + i];
    return qh_train(t, &r);
}

static void run_noting(fleet_spec *f, chosen *c)
{
    fleet_result r;

    memset(c, 0, sizeof *c);
    f->watch_widths = note;
    f->watch_ctx = c;
    fleet_run(f, train_and_list, c, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    fleet_free(&r);
}

static void write_file(const char *path, const chosen *c)
{
    static const char *const name[] = {"forward", "backward"};
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    for (int rank = 0; rank < 2; rank++)
        for (int l = 0; l < LAYERS; l++)
            for (int d = QH_FORWARD; d <= QH_BACKWARD; d++)
                for (int64_t i = 0; i < c->n[rank][l][d]; i++)
                    fprintf(out, "%d %s %d %d\n", l, name[d], c->node[rank][d][i],
                            c->width[rank][l][d][i]);
    ck_assert_int_eq(fclose(out), 0);
}

/* With two devices a node has one reader, so that a line of the file is one message. */
START_TEST(a_file_of_the_chosen_widths)
{
    static chosen first, again;
    char path[] = "/tmp/qhalo-widths-XXXXXX";
    int fd = mkstemp(path);
    qh_dataset *d = graph(false);
    fleet_spec f = of(d, "gcn", "adaqp", 2), g = of(d, "gcn", "random", 2);
    qh_bits_state *state = NULL;
    int seen[3] = {0};

    ck_assert_int_ge(fd, 0);
    close(fd);
    run_noting(&f, &first);
    write_file(path, &first);
    g.settings.assign = qh_bits_find("file");
    g.settings.bits.argument = path;
    ck_assert_msg(g.settings.assign->open(&g.settings.bits, &state) == QH_OK, "%s",
                  qh_error_text());
    g.settings.bits_state = state;
    run_noting(&g, &again);
    ck_assert_mem_eq(&again, &first, sizeof first);
    for (int64_t i = 0; i < first.n[0][1][QH_FORWARD]; i++)
        for (int w = 0; w < 3; w++)
            seen[w] += first.width[0][1][QH_FORWARD][i] == f.settings.bits.width[w];
    ck_assert_msg((seen[0] > 0) + (seen[1] > 0) + (seen[2] > 0) >= 2, "all widths are the same");
    ck_assert_int_eq(first.n[0][1][QH_FORWARD], first.n_nodes[0][QH_FORWARD]);
    g.settings.assign->close(state);
    unlink(path);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("equal assign");
    TCase *t = tcase_create("assign");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_wire_has_what_the_records_say, 0, QH_COUNT(wire_rows));
    tcase_add_test(t, a_file_of_the_chosen_widths);
    suite_add_tcase(s, t);
    return s;
}
