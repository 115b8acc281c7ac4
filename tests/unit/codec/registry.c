/* Every codec of the registry against the promises of codec.h. */
#include "src/base/thread.h"
#include "tests/unit/codec/fixture.h"

#include <float.h>
#include <stdlib.h>

static const int64_t sizes[] = {0, 1, 7, 8, 9, 31}, columns[] = {1, 3, 64, 65, 129};

/* The registry's members, int for its eight widths; "mask:2.5/int:4" is a mask over int:4. */
static const char *const texts[] = {
    "fp32",           "bf16",         "fp16",         "int:1",       "int:2",  "int:3",
    "int:4",          "int:5",        "int:6",        "int:7",       "int:8",  "mixed",
    "mask:1",         "mask:2.5",     "mask:1000",    "topk:1",      "topk:3", "topk:1000",
    "mask:2.5/int:4", "mask:1/int:2", "mask:4/mixed", "mask:3/bf16", "drop"};

static qh_codec codec_of(const char *text, qh_params_format params, const char *kernels)
{
    const char *over = strchr(text, '/');

    return over ? covered_codec(over + 1, strtod(text + strlen("mask:"), NULL), params, kernels)
                : make_codec(text, params, kernels);
}

#define FOR_EVERY_CODEC                                                                            \
    for (size_t k_ = 0; k_ < QH_COUNT(kernel_names); k_++)                                         \
        for (size_t f_ = 0; f_ < QH_COUNT(formats); f_++)                                          \
            for (size_t c_ = 0; c_ < QH_COUNT(texts); c_++)
#define THIS_CODEC codec_of(texts[c_], formats[f_], kernel_names[k_])

START_TEST(every_member_is_complete_and_tested)
{
    int n = 0;

    for (const qh_codec_ops *ops; (ops = qh_codec_at(n)) != NULL; n++) {
        bool listed = false;

        ck_assert(ops->name && ops->help && ops->width && ops->bytes && ops->encode && ops->decode);
        ck_assert((ops->argument != NULL) == (ops->configure != NULL));
        for (size_t c = 0; c < QH_COUNT(texts); c++)
            listed = listed || strncmp(texts[c], ops->name, strlen(ops->name)) == 0;
        ck_assert_msg(listed, "codec %s is in no test", ops->name);
    }
    ck_assert_int_gt(n, 1);
    ck_assert_ptr_null(qh_codec_at(-1));
}
END_TEST

/* All bytes are written and no other; a block cut in any way is the same block. */
START_TEST(bytes_and_ranges)
{
    FOR_EVERY_CODEC for (size_t s = 0; s < QH_COUNT(sizes); s++) for (size_t d = 0;
                                                                      d < QH_COUNT(columns); d++)
    {
        int64_t n = sizes[s], bad = -1;
        uint8_t *whole;
        fixture t;

        fixture_init(&t, THIS_CODEC, n, columns[d], -1, 2);
        ck_assert_int_eq(QH_NEW_ARRAY(&whole, t.bytes + 1), QH_OK);
        ck_assert_int_eq(fixture_encode(&t), QH_OK);
        check_guards(&t);
        memcpy(whole, t.wire, (size_t)t.bytes);
        memset(t.wire, 0, (size_t)t.bytes);
        ck_assert_int_eq(fixture_encode(&t), QH_OK); /* nothing of what was there shows */
        ck_assert_mem_eq(whole, t.wire, (size_t)t.bytes);
        memset(t.wire, 0x3c, (size_t)t.bytes);
        for (int64_t i0 = 0, step = 1; i0 < n; i0 += step, step = step % 4 + 1) {
            int64_t i1 = i0 + step < n ? i0 + step : n;
            qh_mat piece = qh_mat_sub(t.rows, (qh_rows){i0, i1});

            ck_assert_int_eq(
                t.codec.ops->encode(&t.codec, &t.block, piece, NULL, t.node, i0, i1, t.wire, &bad),
                QH_OK);
        }
        ck_assert_mem_eq(whole, t.wire, (size_t)t.bytes);
        check_guards(&t);
        qh_mem_free(whole);
        fixture_fini(&t);
    }
}
END_TEST

/* A gather through row_index sends what the gathered rows would; decoding in pieces is decoding. */
START_TEST(gather_and_pieces)
{
    FOR_EVERY_CODEC
    {
        enum { N = 13, D = 37 };
        int32_t index[N];
        int64_t bad = -1;
        fixture t, gathered;

        fixture_init(&t, THIS_CODEC, N, D, -1, 2);
        fixture_init(&gathered, THIS_CODEC, N, D, -1, 2);
        for (int64_t i = 0; i < N; i++) {
            index[i] = (int32_t)((i * 5 + 2) % N);
            memcpy(qh_mat_row(gathered.rows, i), qh_mat_row(t.rows, index[i]), D * sizeof(float));
        }
        ck_assert_int_eq(fixture_encode(&gathered), QH_OK);
        ck_assert_int_eq(
            t.codec.ops->encode(&t.codec, &t.block, t.rows, index, t.node, 0, 4, t.wire, &bad),
            QH_OK);
        ck_assert_int_eq(
            t.codec.ops->encode(&t.codec, &t.block, t.rows, index, t.node, 4, N, t.wire, &bad),
            QH_OK);
        ck_assert_mem_eq(gathered.wire, t.wire, (size_t)t.bytes);
        fixture_decode(&gathered);
        for (int64_t i0 = 0; i0 < N; i0 += 3) {
            int64_t i1 = i0 + 3 < N ? i0 + 3 : N;

            t.codec.ops->decode(&t.codec, &t.block, t.wire, t.node, i0, i1,
                                qh_mat_sub(t.back, (qh_rows){i0, i1}));
        }
        for (int64_t i = 0; i < N; i++) {
            float *x = qh_mat_row(t.back, i), *y = qh_mat_row(gathered.back, i);

            ck_assert_mem_eq(x, y, D * sizeof(float));
            for (int64_t j = D; j < t.back.ld; j++)
                ck_assert(x[j] == 0); /* padding is not touched */
            if (t.codec.ops->lossless)
                ck_assert_mem_eq(y, qh_mat_row(gathered.rows, i), D * sizeof(float));
            for (int64_t j = 0; j < D && t.codec.ops->silent; j++)
                ck_assert(x[j] == 0);
            if (t.codec.ops->takes_ratio && t.codec.ratio == 1 && qh_codec_width(&t.codec) == 32)
                ck_assert_mem_eq(y, qh_mat_row(gathered.rows, i), D * sizeof(float));
        }
        fixture_fini(&gathered);
        fixture_fini(&t);
    }
}
END_TEST

enum { PIECE = 7 };

static void encode_piece(void *ctx, int64_t item)
{
    fixture *t = ctx;
    int64_t i0 = item * PIECE, i1 = i0 + PIECE < t->block.n_rows ? i0 + PIECE : t->block.n_rows;
    int64_t bad = -1;
    qh_block b = block_from(t, i0);
    qh_status st = t->codec.ops->encode(&t->codec, &b, qh_mat_sub(t->rows, (qh_rows){i0, i1}), NULL,
                                        t->node, i0, i1, t->wire, &bad);

    QH_ASSERT(st == QH_OK);
}

static void decode_piece(void *ctx, int64_t item)
{
    fixture *t = ctx;
    int64_t i0 = item * PIECE, i1 = i0 + PIECE < t->block.n_rows ? i0 + PIECE : t->block.n_rows;
    qh_block b = block_from(t, i0);

    t->codec.ops->decode(&t->codec, &b, t->wire, t->node, i0, i1,
                         qh_mat_sub(t->back, (qh_rows){i0, i1}));
}

/* Pieces on several threads at once make the same block and the same rows. */
START_TEST(teams_share_a_block)
{
    qh_team *team = NULL;

    ck_assert_int_eq(qh_team_new(3, NULL, &team), QH_OK);
    FOR_EVERY_CODEC
    {
        enum { N = 61, D = 43 };
        fixture alone, shared;

        fixture_init(&alone, THIS_CODEC, N, D, -1, 2);
        fixture_init(&shared, THIS_CODEC, N, D, -1, 2);
        ck_assert_int_eq(fixture_encode(&alone), QH_OK);
        fixture_decode(&alone);
        qh_team_run(team, (N + PIECE - 1) / PIECE, encode_piece, &shared);
        ck_assert_mem_eq(alone.wire, shared.wire, (size_t)alone.bytes);
        qh_team_run(team, (N + PIECE - 1) / PIECE, decode_piece, &shared);
        for (int64_t i = 0; i < N; i++)
            ck_assert_mem_eq(qh_mat_row(alone.back, i), qh_mat_row(shared.back, i),
                             D * sizeof(float));
        fixture_fini(&shared);
        fixture_fini(&alone);
    }
    qh_team_free(team);
}
END_TEST

START_TEST(bad_values_are_located)
{
    static const float bad_value[] = {NAN, -NAN, INFINITY, -INFINITY};

    FOR_EVERY_CODEC for (int64_t at = 0; at < 11; at++)
    {
        fixture t;
        int64_t bad = -1;
        qh_status st;

        fixture_init(&t, THIS_CODEC, 11, 35, -1, 2);
        qh_mat_row(t.rows, at)[at * 3] = bad_value[at % 4];
        st = t.codec.ops->encode(&t.codec, &t.block, t.rows, NULL, t.node, 0, 11, t.wire, &bad);
        ck_assert_int_eq(st, QH_EINTERNAL);
        ck_assert_int_eq(bad, at);
        ck_assert_ptr_nonnull(strstr(qh_error_text(), "finite"));
        check_guards(&t);
        fixture_fini(&t);
    }
}
END_TEST

/* Whatever comes in, something comes out, and only where it should. */
START_TEST(garbage_decodes)
{
    FOR_EVERY_CODEC for (uint64_t seed = 0; seed < 20; seed++)
    {
        qh_key key = qh_rand_key(seed, QH_RAND_SAMPLE, 0, 0, 0);
        fixture t;

        fixture_init(&t, THIS_CODEC, 9, 41, 0, 1);
        for (int64_t i = 0; i < t.bytes; i++)
            t.wire[i] = seed < 2 ? (uint8_t)(255 * seed) : (uint8_t)qh_rand_u64(key, (uint64_t)i);
        fixture_decode(&t);
        for (int64_t i = 0; i < 9; i++)
            for (int64_t j = 41; j < t.back.ld; j++)
                ck_assert(qh_mat_row(t.back, i)[j] == 0);
        fixture_fini(&t);
    }
}
END_TEST

/* Relative error of rounding to 8 and 11 significant bits. */
START_TEST(half_precision)
{
    static const struct {
        const char *text;
        double bound;
        float most;
    } half[] = {{"bf16", 0x1p-8, 0x1.FEp127F}, {"fp16", 0x1p-11, 65504}};

    for (size_t h = 0; h < QH_COUNT(half); h++) {
        fixture t;
        float *x, *y;

        fixture_init(&t, make_codec(half[h].text, QH_PARAMS_BF16, "ref"), 20, 33, 1, 1000);
        ck_assert_int_eq(t.bytes, 20 * 33 * 2);
        ck_assert_int_eq(qh_codec_width(&t.codec), 16);
        qh_mat_row(t.rows, 3)[2] = half[h].most;
        ck_assert_int_eq(fixture_encode(&t), QH_OK);
        fixture_decode(&t);
        for (int64_t i = 0; i < 20; i++)
            for (int64_t j = 0; j < 33; j++) {
                x = qh_mat_row(t.rows, i) + j;
                y = qh_mat_row(t.back, i) + j;
                ck_assert(fabs((double)*x - *y) <= half[h].bound * fabs((double)*x));
            }
        /* Finite, yet it would arrive as an infinity. */
        qh_mat_row(t.rows, 3)[2] = nextafterf(h ? 65519.996F : 0x1.FEFFFEp127F, INFINITY);
        ck_assert_int_eq(fixture_encode(&t), QH_EINTERNAL);
        ck_assert_ptr_nonnull(strstr(qh_error_text(), "hold"));
        fixture_fini(&t);
    }
}
END_TEST

START_TEST(names_and_arguments)
{
    static const char *const wrong[] = {
        "",         "int",       "int:",    "int:0",    "int:9",     "int:44",  "int:x",
        "fp32:1",   "fp64",      "mixed:2", "drop:1",   "in:4",      "fp",      "int4",
        "int:-1",   "mask:",     "mask:0",  "mask:0.5", "mask:-1",   "mask:x",  "mask:nan",
        "mask:inf", "mask:1e10", "mask:2x", "topk:",    "topk:0.99", "topk:1,5"};
    static const struct {
        const char *text;
        int width;
    } right[] = {{"fp32", 32}, {"bf16", 16},     {"fp16", 16},   {"int:1", 1},
                 {"int:8", 8}, {"drop", 0},      {"mask:1", 32}, {"mask:2.5", 32},
                 {"mask", 32}, {"topk:1e9", 32}, {"topk", 32}};
    const qh_kernels *k = qh_kernels_find("ref");
    qh_codec c = {.bits = 77};

    for (size_t i = 0; i < QH_COUNT(wrong); i++) {
        ck_assert_int_eq(qh_codec_init(wrong[i], QH_PARAMS_BF16, k, &c), QH_EUSAGE);
        ck_assert_int_eq(c.bits, 77);
        ck_assert_msg(strstr(qh_error_text(), "--codec: "), "%s", qh_error_text());
    }
    ck_assert_int_eq(qh_codec_init("int", QH_PARAMS_BF16, k, &c), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "int:4"));
    ck_assert_int_eq(qh_codec_init("none", QH_PARAMS_BF16, k, &c), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "int:B, mixed, mask:R, topk:R, drop"));
    for (size_t i = 0; i < QH_COUNT(right); i++) {
        ck_assert_int_eq(qh_codec_init(right[i].text, QH_PARAMS_BF16, k, &c), QH_OK);
        ck_assert_int_eq(qh_codec_width(&c), right[i].width);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("codecs");
    TCase *t = tcase_create("codecs");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, every_member_is_complete_and_tested);
    tcase_add_test(t, bytes_and_ranges);
    tcase_add_test(t, gather_and_pieces);
    tcase_add_test(t, teams_share_a_block);
    tcase_add_test(t, bad_values_are_located);
    tcase_add_test(t, garbage_decodes);
    tcase_add_test(t, half_precision);
    tcase_add_test(t, names_and_arguments);
    suite_add_tcase(s, t);
    return s;
}
