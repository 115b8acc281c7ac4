/* Widths from a file: what lines say, and every way in which they can be wrong. */
#include "src/base/mem.h"
#include "src/policy/bits.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[32];
static qh_bits_config config;

static qh_status open_text(const char *text, size_t size, qh_bits_state **out)
{
    FILE *f;
    int fd;
    qh_status st;

    strcpy(path, "bits-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    f = fdopen(fd, "w");
    ck_assert_uint_eq(fwrite(text, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
    config.argument = path;
    ck_assert_int_eq(qh_bits_parse("--bits", "1,2,3,4,5,6,7,8,16,32", &config), QH_OK);
    st = qh_bits_find("file")->open(&config, out);
    unlink(path);
    return st;
}

START_TEST(lines_are_heard)
{
    static const char text[] = "# node width\n"
                               "5 2\n"
                               "\n"
                               "  7\t16   # more\r\n"
                               "1 backward 5 1\n"
                               "0 forward 2147483647 3#last";
    static const int32_t node[] = {5, 7, 6, 2147483647, 0};
    static const struct {
        int layer, direction;
        uint8_t width[5];
    } row[] = {{0, 0, {2, 16, 32, 3, 32}},
               {0, 1, {2, 16, 32, 32, 32}},
               {1, 0, {2, 16, 32, 32, 32}},
               {1, 1, {1, 16, 32, 32, 32}}};
    const qh_bits_ops *ops = qh_bits_find("file");
    qh_bits_state *state = NULL;

    ck_assert_msg(open_text(text, sizeof text - 1, &state) == QH_OK, "%s", qh_error_text());
    for (size_t i = 0; i < QH_COUNT(row); i++) {
        qh_bits_request r = {
            .layer = row[i].layer, .direction = row[i].direction, .n_messages = 5, .node = node};
        uint8_t width[5];

        ck_assert_int_eq(ops->assign(&config, state, &r, width), QH_OK);
        ck_assert_mem_eq(width, row[i].width, 5);
    }
    ck_assert(ops->changes(&config, 0) && !ops->changes(&config, 50));
    ops->close(state);
}
END_TEST

START_TEST(errors_name_the_line)
{
    static const struct {
        const char *text, *where, *what;
    } bad[] = {
        {"1 4\n2\n", ":2: ", "fields"},
        {"1 2 4\n", ":1: ", "fields"},
        {"0 forward 1 4 5\n", ":1: ", "fields"},
        {"1 4\n\n# x\n2 9\n", ":4: ", "'9' is not a bit-width"},
        {"1 0\n", ":1: ", "'0' is not a bit-width"},
        {"1 64\n", ":1: ", "'64' is not a bit-width"},
        {"-1 4\n", ":1: ", "'-1' is not a node"},
        {"2147483648 4\n", ":1: ", "is not a node"},
        {"99999999999999999999999 4\n", ":1: ", "is not a node"},
        {"1,4\n", ":1: ", "fields"},
        {"x 4\n", ":1: ", "'x' is not a node"},
        {"0 up 1 4\n", ":1: ", "'up' is not a direction"},
        {"0 forwards 1 4\n", ":1: ", "'forwards' is not a direction"},
        {"65536 forward 1 4\n", ":1: ", "'65536' is not a layer"},
        {"1 4\n2 4\n1 8\n", ":3: ", "line 1 said of node 1"},
        {"0 forward 1 4\n1 4\n0 backward 1 4\n0 forward 1 4", ":4: ", "line 1"},
    };
    qh_bits_state *state = NULL;
    char where[64];

    for (size_t i = 0; i < QH_COUNT(bad); i++) {
        ck_assert_msg(open_text(bad[i].text, strlen(bad[i].text), &state) == QH_EINPUT, "%s",
                      bad[i].text);
        ck_assert_ptr_null(state);
        snprintf(where, sizeof where, "%s%s", path, bad[i].where);
        ck_assert_msg(strncmp(qh_error_text(), where, strlen(where)) == 0 &&
                          strstr(qh_error_text(), bad[i].what),
                      "%s", qh_error_text());
    }
    ck_assert_int_eq(open_text("1 4\0\n", 5, &state), QH_EINPUT);
    config.argument = "no-such-file";
    ck_assert_int_eq(qh_bits_find("file")->open(&config, &state), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "no-such-file"));
}
END_TEST

/* What the run has not is an error too: nodes, layers, widths. */
START_TEST(lines_stay_in_the_run)
{
    static const struct {
        const char *text, *what;
    } bad[] = {{"119 4\n120 4\n", ":2: there is no node 120; the last of 120 is 119"},
               {"1 forward 1 4\n2 forward 1 4\n", ":2: there is no layer 2"},
               {"1 2\n\n2 3\n", ":3: 3 is not one of --bits"}};
    qh_bits_config c = {.n_nodes = 120, .n_layers = 2};
    qh_bits_state *state = NULL;

    ck_assert_int_eq(qh_bits_parse("--bits", "2,4", &c), QH_OK);
    for (size_t i = 0; i < QH_COUNT(bad); i++) {
        FILE *f;

        c.argument = "bits-range";
        f = fopen(c.argument, "w");
        ck_assert(f && fputs(bad[i].text, f) >= 0 && fclose(f) == 0);
        ck_assert_int_eq(qh_bits_find("file")->open(&c, &state), QH_EINPUT);
        ck_assert_msg(strstr(qh_error_text(), bad[i].what) != NULL, "%s", qh_error_text());
    }
    unlink("bits-range");
}
END_TEST

/* Many lines, so that the table grows; out of memory anywhere is an error, and leaks nothing. */
START_TEST(long_files_and_no_memory)
{
    enum { LINES = 5000 };
    const qh_bits_ops *ops = qh_bits_find("file");
    int64_t held = qh_mem_bytes();
    qh_bits_state *state = NULL;
    char *text = malloc(LINES * 16);
    size_t size = 0;
    qh_status st = QH_ERESOURCE;

    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < LINES; i++)
        size += (size_t)snprintf(text + size, 16, "%d %d\n", i * 7 % LINES, i % 8 + 1);
    for (int n = 1; st == QH_ERESOURCE; n++) {
        ck_assert_int_lt(n, 20);
        qh_mem_fail_at(n);
        st = open_text(text, size, &state);
        ck_assert(st == QH_OK || qh_mem_bytes() == held);
    }
    qh_mem_fail_at(0);
    ck_assert_int_eq(st, QH_OK);
    for (int i = 0; i < LINES; i++) {
        int32_t node = i * 7 % LINES;
        qh_bits_request r = {.n_messages = 1, .node = &node};
        uint8_t width;

        ck_assert_int_eq(ops->assign(&config, state, &r, &width), QH_OK);
        ck_assert_int_eq(width, i % 8 + 1);
    }
    ops->close(state);
    ck_assert_int_eq(qh_mem_bytes(), held);
    free(text);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("bits_file");
    TCase *t = tcase_create("bits_file");

    config.assign_every = 50;
    tcase_add_test(t, lines_are_heard);
    tcase_add_test(t, errors_name_the_line);
    tcase_add_test(t, lines_stay_in_the_run);
    tcase_add_test(t, long_files_and_no_memory);
    suite_add_tcase(s, t);
    return s;
}
