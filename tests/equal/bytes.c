/* Bytes and messages against a count by hand.
 *
 * The path 0-1-2-3-4-5 on two devices, {0,1,2} and {3,4,5}: nodes 2 and 3 are each other's halo, so
 * each exchange is one message each way. Three layers of a GCN on 5 features, 6 hidden columns: the
 * messages have 5, 6, 6 columns forward, 6 and 6 backward (layer 0 needs none). */
#include "tests/support/fleet.h"
#include "tests/support/support.h"
#include "tests/support/tiny.h"

enum { NODES = 6, FEATURES = 5, HIDDEN = 6, EPOCHS = 5 };

static const int32_t halves[NODES] = {0, 0, 0, 1, 1, 1};

static qh_dataset *path(void)
{
    static const int32_t src[] = {0, 1, 2, 3, 4, 1, 2, 3, 4, 5},
                         dst[] = {1, 2, 3, 4, 5, 0, 1, 2, 3, 4};
    static const int32_t label[NODES] = {0, 1, 0, 1, 0, 1};
    static const int8_t split[NODES] = {1, 1, 2, 1, 1, 3};
    float x[NODES * FEATURES];

    for (int i = 0; i < NODES * FEATURES; i++)
        x[i] = (float)(i % 7) - 3;
    return tiny_of(NODES, 10, src, dst, FEATURES, x, 2, label, NULL, split);
}

static void run(const char *method, qh_dataset *d, fleet_result *r)
{
    fleet_spec f = {.settings = fleet_settings(d, "gcn", 3, HIDDEN, EPOCHS),
                    .dataset = d,
                    .part = halves,
                    .n_ranks = 2};

    fleet_method(&f.settings, method, "fast");
    fleet_run(&f, NULL, NULL, r);
    ck_assert_msg(r->status == QH_OK, "%s", r->error);
}

static const struct row {
    const char *method;
    int64_t bytes; /* of an epoch, both devices */
    int64_t messages;
} rows[] = {
    /* 4 bytes a value. */
    {"vanilla", 2 * 4 * (5 + 6 + 6 + 6 + 6), 2 * 5},
    {"adaqp-p", 2 * 4 * (5 + 6 + 6 + 6 + 6), 2 * 5},
    /* ceil(columns * B / 8) and 4 bytes of bf16 parameters a message. */
    {"int8", 2 * ((5 + 4) + 4 * (6 + 4)), 2 * 5},
    {"int4", 2 * ((3 + 4) + 4 * (3 + 4)), 2 * 5},
    {"int2", 2 * ((2 + 4) + 4 * (2 + 4)), 2 * 5},
    {"nocomm", 0, 0},
};

START_TEST(uniform_widths)
{
    qh_dataset *d = path();
    fleet_result r;

    run(rows[_i].method, d, &r);
    for (int t = 0; t < EPOCHS; t++) {
        ck_assert_int_eq(fleet_bytes(&r, t), rows[_i].bytes);
        ck_assert_int_eq(fleet_messages(&r, t), rows[_i].messages);
    }
    ck_assert_int_eq(r.volume.bytes, rows[_i].bytes);
    ck_assert_int_eq(r.volume.messages, rows[_i].messages);
    ck_assert_int_eq(r.volume.fp32_bytes, rows[_i].messages ? rows[0].bytes : 0);
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* Widths 2, 4 or 8 for each message, drawn in epochs 0, 2 and 4 (assign_every 2): then each of the
 * ten blocks has a table of one message in front, 4 bits in one byte. */
START_TEST(random_widths_and_their_tables)
{
    qh_dataset *d = path();
    fleet_result r;
    int64_t seen = 0;

    run("random", d, &r);
    for (int rank = 0; rank < 2; rank++)
        for (int64_t i = 0; i < r.records[rank].n; i++) {
            const qh_record *x = &r.records[rank].item[i];
            int64_t cols = x->layer == 0 ? FEATURES : HIDDEN, want = x->epoch % 2 == 0 ? 1 : 0;

            if (x->op != QH_OP_SEND)
                continue;
            for (int w = 0; w < QH_N_WIDTHS; w++)
                want += x->messages[w] * ((cols * qh_width_of_index[w] + 7) / 8 + 4);
            ck_assert_int_eq(x->bytes, want);
            seen++;
        }
    ck_assert_int_eq(seen, 2 * 5 * EPOCHS);
    ck_assert_int_eq(r.volume.bytes, fleet_bytes(&r, 0));
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

/* The k-th block sent from a to b and the k-th expected by b from a are the same block. */
START_TEST(sends_and_receives_pair_up)
{
    static const char *const methods[] = {"vanilla", "int2", "random"};
    qh_dataset *d = tiny_new((tiny_spec){
        .nodes = 97, .degree = 5, .features = 11, .classes = 3, .directed = true, .seed = 7});
    fleet_spec f = {.settings = fleet_settings(d, "sage", 2, 8, 3),
                    .dataset = d,
                    .partitioner = "random",
                    .n_ranks = 5};
    fleet_result r;

    fleet_method(&f.settings, methods[_i], "fast");
    fleet_run(&f, NULL, NULL, &r);
    ck_assert_msg(r.status == QH_OK, "%s", r.error);
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++) {
            int64_t j = 0, n = r.records[b].n;

            for (int64_t i = 0; i < r.records[a].n; i++) {
                const qh_record *s = &r.records[a].item[i], *x;

                if (s->op != QH_OP_SEND || s->peer != b)
                    continue;
                while (j < n &&
                       (r.records[b].item[j].op != QH_OP_RECV || r.records[b].item[j].peer != a))
                    j++;
                ck_assert_int_lt(j, n);
                x = &r.records[b].item[j++];
                ck_assert(x->bytes == s->bytes && x->layer == s->layer && x->epoch == s->epoch &&
                          x->direction == s->direction && x->round == s->round);
                ck_assert_int_eq((a + s->round) % 5, b);
            }
        }
    fleet_free(&r);
    tiny_free(d);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("bytes");
    TCase *t = tcase_create("bytes");

    tcase_add_loop_test(t, uniform_widths, 0, (int)QH_COUNT(rows));
    tcase_add_test(t, random_widths_and_their_tables);
    tcase_add_loop_test(t, sends_and_receives_pair_up, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
