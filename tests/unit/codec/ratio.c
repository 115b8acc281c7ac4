/* What keeps some columns: how many and which, the shared mask, the largest values, their bytes. */
#include "tests/unit/codec/fixture.h"

#include <stdio.h>

static const double ratios[] = {1, 1.3, 2, 2.5, 16, 128, 1e9};

START_TEST(kept_columns)
{
    static const struct {
        int64_t cols;
        double ratio;
        int64_t kept;
    } rows[] = {{0, 1, 0},    {0, 7, 0},       {1, 1, 1},       {1, 1e9, 1},   {7, 1, 7},
                {7, 2, 4},    {7, 3, 2},       {7, 128, 1},     {256, 2, 128}, {256, 128, 2},
                {256, 3, 85}, {257, 2.5, 103}, {1433, 128, 11}, {5, 1.1, 5},   {101, 1.5, 67}};

    for (size_t i = 0; i < QH_COUNT(rows); i++)
        ck_assert_int_eq(qh_kept_columns(rows[i].cols, rows[i].ratio), rows[i].kept);
}
END_TEST

/* Rising columns in range, the same again under the same key, others under another. */
START_TEST(masks_are_subsets)
{
    enum { D = 101 };
    int32_t a[D], b[D];
    int64_t differ = 0;

    for (int64_t d = 0; d <= D; d += d < 5 ? 1 : 19)
        for (int64_t k = 0; k <= d; k++) {
            qh_mask_draw(qh_rand_key(3, QH_RAND_MASK, (uint32_t)d, 1, 0), d, k, a);
            qh_mask_draw(qh_rand_key(3, QH_RAND_MASK, (uint32_t)d, 1, 0), d, k, b);
            for (int64_t i = 0; i < k; i++) {
                ck_assert(0 <= a[i] && a[i] < d && a[i] == b[i]);
                ck_assert(i == 0 || a[i - 1] < a[i]);
            }
            qh_mask_draw(qh_rand_key(3, QH_RAND_MASK, (uint32_t)d, 1, 1), d, k, b);
            differ += k > 3 && k < d && memcmp(a, b, (size_t)k * sizeof *a) != 0;
        }
    ck_assert_int_gt(differ, 100);
}
END_TEST

/* Each column has the chance k / D, each pair k (k - 1) / (D (D - 1)): within five deviations. */
START_TEST(masks_are_uniform)
{
    enum { D = 13, K = 5, N = 20000 };
    double one = (double)K / D, two = one * (K - 1) / (D - 1);
    int seen[D][D] = {{0}};

    for (uint32_t epoch = 0; epoch < N; epoch++) {
        int32_t c[K];

        qh_mask_draw(qh_rand_key(1, QH_RAND_MASK, epoch, 0, 0), D, K, c);
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++)
                seen[c[i]][c[j]]++;
    }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double p = i == j ? one : two;

            ck_assert_msg(fabs(seen[i][j] - N * p) < 5 * sqrt(N * p * (1 - p)),
                          "columns %d and %d: %d of %d", i, j, seen[i][j], N);
        }
}
END_TEST

static qh_codec ratio_codec(const char *name, double ratio, const char *kernels)
{
    char text[32];

    snprintf(text, sizeof text, "%s:%.10g", name, ratio);
    return make_codec(text, QH_PARAMS_BF16, kernels);
}

START_TEST(bytes_of_mask_and_topk)
{
    static const int64_t cols[] = {1, 2, 7, 255, 256, 257, 65536, 65537};

    for (size_t r = 0; r < QH_COUNT(ratios); r++)
        for (size_t d = 0; d < QH_COUNT(cols); d++) {
            int64_t k = qh_kept_columns(cols[d], ratios[r]);
            int64_t place = cols[d] <= 256 ? 1 : cols[d] <= 65536 ? 2 : 4;
            qh_codec mask = ratio_codec("mask", ratios[r], "ref");
            qh_codec topk = ratio_codec("topk", ratios[r], "ref");
            qh_codec both = make_codec("int:3", QH_PARAMS_BF16, "ref");
            qh_block b = {.n_rows = 11, .n_cols = cols[d], .n_kept = k};

            ck_assert_int_eq(qh_codec_cover(&both), QH_OK);
            ck_assert_int_eq(mask.ops->bytes(&mask, &b), 11 * 4 * k);
            ck_assert_int_eq(topk.ops->bytes(&topk, &b), 11 * (4 + place) * k);
            ck_assert_int_eq(both.ops->bytes(&both, &b), 11 * ((3 * k + 7) / 8 + 4));
        }
}
END_TEST

/* Columns of the mask arrive as they were, the others as 0. */
START_TEST(mask_keeps_its_columns)
{
    for (size_t k = 0; k < QH_COUNT(kernel_names); k++)
        for (size_t r = 0; r < QH_COUNT(ratios); r++)
            for (int64_t d = 1; d < 300; d += d < 20 ? 1 : 37) {
                int64_t next = 0;
                fixture t;

                fixture_init(&t, ratio_codec("mask", ratios[r], kernel_names[k]), 3, d, 1, 2);
                ck_assert_int_eq(fixture_encode(&t), QH_OK);
                fixture_decode(&t);
                for (int64_t j = 0; j < d; j++) {
                    bool kept = next < t.block.n_kept && t.column[next] == j;

                    for (int64_t i = 0; i < 3; i++)
                        ck_assert(qh_mat_row(t.back, i)[j] ==
                                  (kept ? qh_mat_row(t.rows, i)[j] : 0));
                    next += kept;
                }
                ck_assert_int_eq(next, t.block.n_kept);
                fixture_fini(&t);
            }
}
END_TEST

/* Under --mask-rescale the mean over many masks is the value: a decoded value is D / k times it
 * with chance k / D, so its deviation is |x| sqrt(D / k - 1). */
START_TEST(rescaled_mask_has_no_bias)
{
    enum { N = 3, D = 29, MASKS = 4000 };

    for (size_t r = 0; r < QH_COUNT(ratios); r++) {
        double sum[N][D] = {{0}};
        double share;
        fixture t;

        fixture_init(&t, ratio_codec("mask", ratios[r], "fast"), N, D, 1, 2);
        t.codec.rescale = true;
        share = (double)t.block.n_kept / D;
        for (uint32_t epoch = 0; epoch < MASKS; epoch++) {
            qh_mask_draw(qh_rand_key(8, QH_RAND_MASK, epoch, 0, 0), D, t.block.n_kept, t.column);
            ck_assert_int_eq(fixture_encode(&t), QH_OK);
            fixture_decode(&t);
            for (int64_t i = 0; i < N; i++)
                for (int64_t j = 0; j < D; j++)
                    sum[i][j] += (double)qh_mat_row(t.back, i)[j];
        }
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < D; j++) {
                double x = (double)qh_mat_row(t.rows, i)[j];
                double sigma = fabs(x) * sqrt((1 / share - 1) / MASKS);

                ck_assert_msg(fabs(sum[i][j] / MASKS - x) <= 5 * sigma + 1e-6 * fabs(x),
                              "ratio %g: the mean of %g is %g", ratios[r], x, sum[i][j] / MASKS);
            }
        fixture_fini(&t);
    }
}
END_TEST

/* Against a plain search: the k largest magnitudes, of equal ones the lower columns. kind 1 has
 * many equal ones, kind 2 only zeros. */
static void check_top(const fixture *t, int64_t i)
{
    const float *x = qh_mat_row(t->rows, i), *y = qh_mat_row(t->back, i);

    for (int64_t j = 0; j < t->block.n_cols; j++) {
        int64_t before = 0;

        for (int64_t c = 0; c < t->block.n_cols; c++)
            before += fabsf(x[c]) > fabsf(x[j]) || (fabsf(x[c]) == fabsf(x[j]) && c < j);
        ck_assert_msg(memcmp(&y[j], before < t->block.n_kept ? &x[j] : &(float){0}, 4) == 0,
                      "%lld of %lld: column %lld is %g and became %g", (long long)t->block.n_kept,
                      (long long)t->block.n_cols, (long long)j, (double)x[j], (double)y[j]);
    }
}

START_TEST(topk_keeps_the_largest)
{
    for (size_t k = 0; k < QH_COUNT(kernel_names); k++)
        for (size_t r = 0; r < QH_COUNT(ratios); r++)
            for (int64_t d = 1; d < 400; d += d < 20 ? 1 : 59)
                for (int kind = 0; kind < 3; kind++) {
                    fixture t;

                    fixture_init(&t, ratio_codec("topk", ratios[r], kernel_names[k]), 5, d, -1, 2);
                    for (int64_t e = 0; e < 5 * d && kind > 0; e++)
                        qh_mat_row(t.rows, e / d)[e % d] =
                            kind == 2 ? (e % 3 ? 0.0F : -0.0F) : (float)(e * 7 % 5 - 2);
                    ck_assert_int_eq(fixture_encode(&t), QH_OK);
                    fixture_decode(&t);
                    check_guards(&t);
                    for (int64_t i = 0; i < 5; i++)
                        check_top(&t, i);
                    fixture_fini(&t);
                }
}
END_TEST

/* Wide rows: columns that take two and four bytes. */
START_TEST(topk_of_wide_rows)
{
    static const int64_t cols[] = {257, 65536, 65537};

    for (size_t c = 0; c < QH_COUNT(cols); c++) {
        fixture t;

        fixture_init(&t, ratio_codec("topk", (double)cols[c] / 3, "fast"), 2, cols[c], -1, 2);
        qh_mat_row(t.rows, 1)[cols[c] - 1] = 9;
        qh_mat_row(t.rows, 1)[cols[c] / 2] = -8;
        qh_mat_row(t.rows, 1)[0] = 7;
        ck_assert_int_eq(t.block.n_kept, 3);
        ck_assert_int_eq(fixture_encode(&t), QH_OK);
        fixture_decode(&t);
        for (int64_t j = 0; j < cols[c]; j++)
            ck_assert(qh_mat_row(t.back, 1)[j] == (j == cols[c] - 1   ? 9.0F
                                                   : j == cols[c] / 2 ? -8.0F
                                                   : j == 0           ? 7.0F
                                                                      : 0.0F));
        fixture_fini(&t);
    }
}
END_TEST

/* A mask over a codec is the codec of the kept columns: its bytes are those of a block of them. */
START_TEST(mask_over_a_codec)
{
    static const char *const texts[] = {"bf16", "int:2", "int:8", "mixed", "fp32"};

    for (size_t c = 0; c < QH_COUNT(texts); c++) {
        enum { N = 9, D = 45 };
        fixture t, plain;

        fixture_init(&t, covered_codec(texts[c], 3, QH_PARAMS_BF16, "fast"), N, D, -1, 2);
        fixture_init(&plain, make_codec(texts[c], QH_PARAMS_BF16, "fast"), N, D / 3, -1, 2);
        ck_assert_int_eq(t.block.n_kept, D / 3);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < D / 3; j++)
                qh_mat_row(plain.rows, i)[j] = qh_mat_row(t.rows, i)[t.column[j]];
        ck_assert_int_eq(fixture_encode(&t), QH_OK);
        ck_assert_int_eq(fixture_encode(&plain), QH_OK);
        ck_assert_int_eq(t.bytes, plain.bytes);
        ck_assert_mem_eq(t.wire, plain.wire, (size_t)t.bytes);
        fixture_decode(&t);
        fixture_decode(&plain);
        for (int64_t i = 0; i < N; i++)
            for (int64_t j = 0; j < D / 3; j++)
                ck_assert(qh_mat_row(t.back, i)[t.column[j]] == qh_mat_row(plain.back, i)[j]);
        fixture_fini(&plain);
        fixture_fini(&t);
    }
}
END_TEST

START_TEST(what_can_be_covered)
{
    qh_codec drop = make_codec("drop", QH_PARAMS_BF16, "ref");
    qh_codec topk = make_codec("topk", QH_PARAMS_BF16, "ref");
    qh_codec mixed = make_codec("mixed", QH_PARAMS_BF16, "ref");

    ck_assert_int_eq(qh_codec_cover(&drop), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "--rate-schedule: codec 'drop' sends nothing"));
    ck_assert_int_eq(qh_codec_cover(&topk), QH_OK);
    ck_assert_str_eq(topk.ops->name, "topk");
    ck_assert(!qh_codec_takes_widths(&topk));
    ck_assert_int_eq(qh_codec_cover(&mixed), QH_OK);
    ck_assert_str_eq(mixed.ops->name, "mask");
    ck_assert(qh_codec_takes_widths(&mixed));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("ratio");
    TCase *t = tcase_create("ratio");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, kept_columns);
    tcase_add_test(t, masks_are_subsets);
    tcase_add_test(t, masks_are_uniform);
    tcase_add_test(t, bytes_of_mask_and_topk);
    tcase_add_test(t, mask_keeps_its_columns);
    tcase_add_test(t, rescaled_mask_has_no_bias);
    tcase_add_test(t, topk_keeps_the_largest);
    tcase_add_test(t, topk_of_wide_rows);
    tcase_add_test(t, mask_over_a_codec);
    tcase_add_test(t, what_can_be_covered);
    suite_add_tcase(s, t);
    return s;
}
