/* Bit assigners: every member to the header's promises, the list of widths, and what each does. */
#include "src/policy/bits.h"

#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1000 };

static int32_t node[N], degree[N];

static void set_up(void)
{
    for (int i = 0; i < N; i++) {
        node[i] = (i * 389 + 7) % N * 3;
        degree[i] = i * 31 % 50;
    }
}

static qh_bits_request request(int32_t epoch, int layer, int direction, int64_t n)
{
    return (qh_bits_request){.epoch = epoch,
                             .layer = layer,
                             .direction = direction,
                             .n_messages = n,
                             .node = node,
                             .degree = degree};
}

static qh_bits_config config(const char *list)
{
    qh_bits_config c = {.assign_every = 50, .seed = 1};

    ck_assert_int_eq(qh_bits_parse("--bits", list, &c), QH_OK);
    return c;
}

static void assign(const char *name, const qh_bits_config *c, qh_bits_request r, uint8_t *width)
{
    ck_assert_int_eq(qh_bits_find(name)->assign(c, NULL, &r, width), QH_OK);
}

START_TEST(lists)
{
    static const struct {
        const char *text;
        int n;
        uint8_t width[QH_MAX_WIDTHS];
    } right[] = {{"4", 1, {4}},
                 {"2,4,8", 3, {2, 4, 8}},
                 {"16,32", 2, {16, 32}},
                 {"1,2,3,4,5,6,7,8,16,32", 10, {1, 2, 3, 4, 5, 6, 7, 8, 16, 32}}};
    static const char *const wrong[] = {"",
                                        ",",
                                        "2,",
                                        ",2",
                                        "0",
                                        "9",
                                        "2,,4",
                                        "4,2",
                                        "2,2",
                                        "2 4",
                                        "2, 4",
                                        "-2",
                                        "2,x",
                                        "64",
                                        "4294967298",
                                        "2;4",
                                        "+2",
                                        "1,2,3,4,5,"
                                        "6,7,8,16,32,"
                                        "32"};

    for (size_t i = 0; i < QH_COUNT(right); i++) {
        qh_bits_config c = config(right[i].text);

        ck_assert_int_eq(c.n_widths, right[i].n);
        ck_assert_mem_eq(c.width, right[i].width, (size_t)right[i].n);
    }
    for (size_t i = 0; i < QH_COUNT(wrong); i++) {
        qh_bits_config c = {.n_widths = 77};

        ck_assert_msg(qh_bits_parse("--bits", wrong[i], &c) == QH_EUSAGE, "'%s'", wrong[i]);
        ck_assert_int_eq(c.n_widths, 77);
        ck_assert_msg(strncmp(qh_error_text(), "--bits: ", 8) == 0, "%s", qh_error_text());
    }
}
END_TEST

START_TEST(choosing_by_text)
{
    static const char *const wrong[] = {"",     "rando", "randomly",  "random:3",
                                        "file", "file:", "uniform:4", ":"};
    qh_bits_config c = config("2,4,8");
    const qh_bits_ops *ops = NULL;

    ck_assert_int_eq(qh_bits_choose("--assign", "random", &c, &ops), QH_OK);
    ck_assert(ops == qh_bits_find("random") && !c.argument);
    ck_assert_int_eq(qh_bits_choose("--assign", "file:a:b", &c, &ops), QH_OK);
    ck_assert(ops == qh_bits_find("file"));
    ck_assert_str_eq(c.argument, "a:b");
    for (size_t i = 0; i < QH_COUNT(wrong); i++) {
        ck_assert_msg(qh_bits_choose("--assign", wrong[i], &c, &ops) == QH_EUSAGE, "'%s'",
                      wrong[i]);
        ck_assert_msg(strncmp(qh_error_text(), "--assign: ", 10) == 0, "%s", qh_error_text());
    }
    ck_assert_ptr_null(qh_bits_find("none"));
}
END_TEST

/* Any member: epoch 0 always changes; valid widths of the configuration; n of them, whatever n;
 * the same again when asked again, and for a part of the request's epoch. */
START_TEST(every_member)
{
    static const int64_t sizes[] = {0, 1, 7, 997};
    char path[] = "bits-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    for (int m = 0; qh_bits_at(m); m++) {
        const qh_bits_ops *ops = qh_bits_at(m);
        qh_bits_config c = config(strcmp(ops->name, "uniform") == 0 ? "4" : "2,4,8");
        qh_bits_state *state = NULL;

        ck_assert(ops->name && ops->help && ops->changes && ops->assign);
        ck_assert(qh_bits_find(ops->name) == ops);
        c.argument = ops->takes_argument ? path : NULL;
        if (ops->open)
            ck_assert_int_eq(ops->open(&c, &state), QH_OK);
        ck_assert(ops->changes(&c, 0));
        for (size_t s = 0; s < QH_COUNT(sizes); s++) {
            qh_bits_request r = request(0, 1, 1, sizes[s]);
            uint8_t a[N] = {0}, b[N] = {0};

            ck_assert_int_eq(ops->assign(&c, state, &r, a), QH_OK);
            ck_assert_int_eq(ops->assign(&c, state, &r, b), QH_OK);
            ck_assert_mem_eq(a, b, N);
            for (int64_t i = 0; i < N; i++)
                ck_assert(i < sizes[s] ? memchr(c.width, a[i], (size_t)c.n_widths) != NULL
                                       : a[i] == 0);
        }
        if (ops->close)
            ops->close(state);
    }
    unlink(path);
    ck_assert_ptr_null(qh_bits_at(-1));
}
END_TEST

START_TEST(uniform_wants_one_width)
{
    const qh_bits_ops *ops = qh_bits_find("uniform");
    qh_bits_config c = config("2,4,8");
    qh_bits_state *state = NULL;

    ck_assert_int_eq(ops->open(&c, &state), QH_EUSAGE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "3 widths"));
    ck_assert(!ops->changes(&c, 1) && !ops->changes(&c, 50));
}
END_TEST

START_TEST(random_changes_on_time)
{
    const qh_bits_ops *ops = qh_bits_find("random");
    qh_bits_config c = config("2,4,8");
    uint8_t now[N], later[N], then[N];

    for (int32_t epoch = 0; epoch < 200; epoch++)
        ck_assert_int_eq(ops->changes(&c, epoch), epoch % 50 == 0);
    assign("random", &c, request(50, 0, 0, N), now);
    assign("random", &c, request(99, 0, 0, N), later);
    assign("random", &c, request(100, 0, 0, N), then);
    ck_assert_mem_eq(now, later, N);
    ck_assert_mem_ne(now, then, N);
    c.assign_every = 1;
    for (int32_t epoch = 0; epoch < 5; epoch++)
        ck_assert(ops->changes(&c, epoch));
}
END_TEST

/* The width belongs to the node, not to its place in a request; shares are even; layer, direction
 * and seed matter. */
START_TEST(random_draws)
{
    qh_bits_config c = config("2,4,8");
    uint8_t all[N], part[N], other[N];
    int count[9] = {0};

    assign("random", &c, request(0, 0, 0, N), all);
    for (int64_t i = 0; i < N; i++)
        count[all[i]]++;
    for (int i = 0; i < 3; i++) /* binomial: five standard deviations */
        ck_assert_double_lt(fabs(count[c.width[i]] - N / 3.0), 5 * sqrt(N * 2 / 9.0));
    for (int64_t i = 0; i < N; i++) {
        qh_bits_request one = request(0, 0, 0, 1);

        one.node = node + i;
        assign("random", &c, one, part);
        ck_assert_int_eq(part[0], all[i]);
    }
    assign("random", &c, request(0, 1, 0, N), other);
    ck_assert_mem_ne(all, other, N);
    assign("random", &c, request(0, 0, 1, N), other);
    ck_assert_mem_ne(all, other, N);
    c.seed = 2;
    assign("random", &c, request(0, 0, 0, N), other);
    ck_assert_mem_ne(all, other, N);
}
END_TEST

START_TEST(degree_protects_the_well_connected)
{
    qh_bits_config c = config("2,4,8");
    uint8_t width[N], turned[N];
    int32_t back_node[N], back_degree[N];
    qh_bits_request r = request(0, 0, 0, N);
    int count[9] = {0};

    assign("degree", &c, r, width);
    for (int i = 0; i < N; i++) {
        count[width[i]]++;
        back_node[i] = node[N - 1 - i];
        back_degree[i] = degree[N - 1 - i];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (degree[i] > degree[j] || (degree[i] == degree[j] && node[i] > node[j]))
                ck_assert_int_ge(width[i], width[j]);
    for (int i = 0; i < 3; i++)
        ck_assert(count[c.width[i]] == N / 3 || count[c.width[i]] == N / 3 + 1);
    r.node = back_node;
    r.degree = back_degree;
    assign("degree", &c, r, turned);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(turned[i], width[N - 1 - i]);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("bits");
    TCase *t = tcase_create("bits");

    tcase_add_checked_fixture(t, set_up, NULL);
    tcase_add_test(t, lists);
    tcase_add_test(t, choosing_by_text);
    tcase_add_test(t, every_member);
    tcase_add_test(t, uniform_wants_one_width);
    tcase_add_test(t, random_changes_on_time);
    tcase_add_test(t, random_draws);
    tcase_add_test(t, degree_protects_the_well_connected);
    suite_add_tcase(s, t);
    return s;
}
