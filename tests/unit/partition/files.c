#include "src/base/mem.h"
#include "src/partition/partition.h"
#include "tests/support/support.h"
#include "tests/unit/partition/graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All tests work in a folder of their own. */
static char folder[64];

static void enter(void)
{
    strcpy(folder, "/tmp/qhalo-partition-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
}

static void leave(void)
{
    unlink("p.txt");
    unlink("p.qhp");
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
}

/* A path of five nodes in two parts. */
static const graph_case *path_case(void)
{
    static graph_case c;

    c = graph_cases[4];
    ck_assert_str_eq(c.name, "path");
    c.n_nodes = 5;
    return &c;
}

static const struct {
    const char *text;
    const char *error; /* NULL: 0 1 1 0 1 */
} texts[] = {
    {"0\n1\n1\n0\n1\n", NULL},
    {"0\n1\n1\n0\n1", NULL},
    {" 0\r\n1\t\n01\r\n0\n1\n\n \n", NULL},
    {"", "p.txt: 0 part ids; the graph has 5 nodes"},
    {"0\n1\n1\n0\n", "p.txt: 4 part ids; the graph has 5 nodes"},
    {"0\n1\n1\n0\n\n", "p.txt: 4 part ids; the graph has 5 nodes"},
    {"0\n1\n1\n0\n1\n0\n", "p.txt:6: a line too many; the graph has 5 nodes"},
    {"0\n1\n2\n0\n1\n", "p.txt:3: part 2 of 2; 0 to 1"},
    {"0\n1\n-1\n0\n1\n", "p.txt:3: no part id"},
    {"0\n\n1\n0\n1\n", "p.txt:2: no part id"},
    {"0\n1\n1 0\n0\n1\n", "p.txt:3: more than a part id"},
    {"0\n1\n1.0\n0\n1\n", "p.txt:3: more than a part id"},
    {"0\n99999999999999999999\n1\n0\n1\n", "p.txt:2: no part id"},
    {"x\n1\n1\n0\n1\n", "p.txt:1: no part id"},
    {"0\n0\n0\n0\n0\n", "p.txt: part 1 of 2 has no node; every part needs one"},
};

START_TEST(text_files)
{
    qh_graph *g = graph_of_case(path_case());
    int32_t part[5], want[5] = {0, 1, 1, 0, 1};
    qh_status st;

    write_file("p.txt", texts[_i].text, strlen(texts[_i].text));
    st = qh_partition_make(g, "file:p.txt", (qh_partition_request){.n_parts = 2}, part);
    if (texts[_i].error) {
        ck_assert_int_eq(st, QH_EINPUT);
        ck_assert_msg(strstr(qh_error_text(), texts[_i].error) == qh_error_text(), "%s",
                      qh_error_text());
    } else {
        ck_assert_msg(st == QH_OK, "%s", qh_error_text());
        ck_assert_mem_eq(part, want, sizeof want);
    }
    qh_graph_free(g);
}
END_TEST

START_TEST(a_missing_file_is_an_input_error)
{
    qh_graph *g = graph_of_case(path_case());
    int32_t part[5], *read = NULL;
    int n_parts;

    ck_assert_int_eq(
        qh_partition_make(g, "file:absent", (qh_partition_request){.n_parts = 2}, part), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "absent"));
    ck_assert_int_eq(qh_partition_read("absent", g, &read, &n_parts), QH_EINPUT);
    ck_assert_ptr_null(read);
    qh_graph_free(g);
}
END_TEST

/* Graph by graph, with made_by of several lengths, so that paddings differ. */
START_TEST(qhp_files_come_back)
{
    qh_graph *g = graph_of_case(&graph_cases[_i]);
    int n_parts = g->n_nodes < 3 ? (int)g->n_nodes : 3, n_read = 0;
    int32_t *part = malloc((size_t)g->n_nodes * sizeof *part), *read = NULL, *again;
    const char *made_by[] = {"", "x", "metis 5", "metis 5."};

    again = malloc((size_t)g->n_nodes * sizeof *part);
    ck_assert_int_eq(
        qh_partition_make(g, "random", (qh_partition_request){.n_parts = n_parts}, part), QH_OK);
    ck_assert_int_eq(qh_partition_write("p.qhp", g, part, n_parts, made_by[_i % 4]), QH_OK);
    ck_assert_msg(qh_partition_read("p.qhp", g, &read, &n_read) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(n_read, n_parts);
    ck_assert_mem_eq(read, part, (size_t)g->n_nodes * sizeof *part);
    ck_assert_int_eq(
        qh_partition_make(g, "file:p.qhp", (qh_partition_request){.n_parts = n_parts}, again),
        QH_OK);
    ck_assert_mem_eq(again, part, (size_t)g->n_nodes * sizeof *part);
    if (g->n_nodes > n_parts) {
        ck_assert_int_eq(qh_partition_make(g, "file:p.qhp",
                                           (qh_partition_request){.n_parts = n_parts + 1}, part),
                         QH_EINPUT);
        ck_assert_ptr_nonnull(strstr(qh_error_text(), "has 3 parts; 4 are asked for"));
    }
    qh_mem_free(read);
    free(again);
    free(part);
    qh_graph_free(g);
}
END_TEST

START_TEST(qhp_of_another_graph_is_refused)
{
    qh_graph *path = graph_of_case(path_case()), *other;
    graph_case star = *path_case();
    int32_t part[5] = {0, 1, 1, 0, 1}, *read = NULL;
    int n_parts = -1;

    star.edges = graph_cases[3].edges;
    other = graph_of_case(&star);
    ck_assert_int_eq(qh_partition_write("p.qhp", path, part, 2, "test"), QH_OK);
    ck_assert_int_eq(qh_partition_read("p.qhp", other, &read, &n_parts), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "p.qhp: made for another graph of 5 nodes"));
    ck_assert_ptr_null(read);
    ck_assert_int_eq(n_parts, -1);
    qh_graph_free(other);
    qh_graph_free(path);
}
END_TEST

/* Any byte changed and any length cut: refused, one line, nothing leaks. */
START_TEST(damage_is_refused)
{
    qh_graph *g = graph_of_case(path_case());
    int32_t part[5] = {0, 1, 1, 0, 1}, *read = NULL;
    int n_parts;
    char bytes[200];
    size_t size;
    FILE *f;
    int64_t before = qh_mem_bytes();

    ck_assert_int_eq(qh_partition_write("p.qhp", g, part, 2, "test"), QH_OK);
    f = fopen("p.qhp", "rb");
    ck_assert_ptr_nonnull(f);
    size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert_uint_eq(size, 40 + 8 + 24 + 8);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 4;
        write_file("p.qhp", bytes, size);
        ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_EINPUT);
        ck_assert_ptr_null(strchr(qh_error_text(), '\n'));
        bytes[i] ^= 4;
        write_file("p.qhp", bytes, i);
        ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_EINPUT);
    }
    bytes[size] = 0;
    write_file("p.qhp", bytes, size + 1);
    ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_EINPUT);
    ck_assert_int_eq(qh_mem_bytes(), before);
    write_file("p.qhp", bytes, size);
    ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_OK);
    qh_mem_free(read);
    qh_graph_free(g);
}
END_TEST

/* The checksum is right, the ids are not. */
START_TEST(wrong_ids_in_a_sound_file_are_refused)
{
    qh_graph *g = graph_of_case(path_case());
    int32_t high[5] = {0, 1, 2, 0, 1}, empty[5] = {0}, *read = NULL;
    int n_parts;

    ck_assert_int_eq(qh_partition_write("p.qhp", g, high, 2, "test"), QH_OK);
    ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_EINPUT);
    ck_assert_str_eq(qh_error_text(), "p.qhp: node 2 is in part 2 of 2");
    ck_assert_int_eq(qh_partition_write("p.qhp", g, empty, 2, "test"), QH_OK);
    ck_assert_int_eq(qh_partition_read("p.qhp", g, &read, &n_parts), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "part 1 of 2 has no node"));
    qh_graph_free(g);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("partition files");
    TCase *t = tcase_create("files");

    tcase_add_checked_fixture(t, enter, leave);
    tcase_add_loop_test(t, text_files, 0, QH_COUNT(texts));
    tcase_add_test(t, a_missing_file_is_an_input_error);
    tcase_add_loop_test(t, qhp_files_come_back, 0, n_graph_cases);
    tcase_add_test(t, qhp_of_another_graph_is_refused);
    tcase_add_test(t, damage_is_refused);
    tcase_add_test(t, wrong_ids_in_a_sound_file_are_refused);
    suite_add_tcase(s, t);
    return s;
}
