#include "src/graph/dataset.h"

#include "src/base/log.h"
#include "src/base/mem.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <string.h>

static char *folder;
static qh_dataset *made, *back;
static char logged[4][512];
static int n_logged;

static void keep_line(qh_log_level level, const char *text, void *ctx)
{
    (void)level;
    (void)ctx;
    snprintf(logged[n_logged++ % 4], sizeof logged[0], "%s", text);
}

static void set_up(void)
{
    folder = sample_new_folder();
    made = back = NULL;
    n_logged = 0;
    qh_log_set_sink(keep_line, NULL);
}

static void tear_down(void)
{
    qh_dataset_free(made);
    qh_dataset_free(back);
    sample_remove_folder(folder);
}

/* bit 0: sparse, bit 1: multi-label */
START_TEST(folder_round_trip_is_the_same)
{
    static const int64_t nodes[] = {1, 2, 31, 1009};

    for (size_t i = 0; i < QH_COUNT(nodes); i++) {
        ck_assert_int_eq(sample_dataset(nodes[i], 5, 19, 3, _i & 1, _i & 2, 9, &made), QH_OK);
        ck_assert_msg(qh_neutral_write(made, folder) == QH_OK, "%s", qh_error_text());
        ck_assert_msg(qh_dataset_open(folder, &back) == QH_OK, "%s", qh_error_text());
        sample_assert_same(made, back);
        qh_dataset_free(made);
        qh_dataset_free(back);
        made = back = NULL;
    }
    ck_assert_int_eq(n_logged, 0);
}
END_TEST

START_TEST(folder_and_file_open_as_the_same)
{
    qh_dataset *from_file = NULL;
    const char *path = sample_path(folder, "a.qhd");

    ck_assert_int_eq(qh_synth_new("sbm,nodes=211,degree=7,features=5,directed=true", &made), QH_OK);
    ck_assert(!made->graph->symmetric);
    ck_assert_int_eq(qh_neutral_write(made, sample_path(folder, "n")), QH_OK);
    ck_assert_int_eq(qh_dataset_open(sample_path(folder, "n"), &back), QH_OK);
    ck_assert_int_eq(qh_qhd_write(back, path), QH_OK);
    ck_assert_int_eq(qh_dataset_open(path, &from_file), QH_OK);
    sample_assert_same(back, from_file);
    ck_assert_int_eq(from_file->edges.one_way, back->edges.one_way);
    ck_assert_int_gt(back->edges.one_way, 0);
    qh_dataset_free(from_file);
}
END_TEST

/* A folder is overwritten by a data set of the other kind without leaving two sources of features.
 */
START_TEST(writing_over_another_kind_works)
{
    for (int sparse = 0; sparse < 4; sparse++) {
        ck_assert_int_eq(sample_dataset(30, 5, 19, 3, sparse & 1, false, 9, &made), QH_OK);
        ck_assert_int_eq(qh_neutral_write(made, folder), QH_OK);
        ck_assert_msg(qh_dataset_open(folder, &back) == QH_OK, "%s", qh_error_text());
        sample_assert_same(made, back);
        qh_dataset_free(made);
        qh_dataset_free(back);
        made = back = NULL;
    }
}
END_TEST

/* Loading, from a folder and by a generator, holds at most 1.3 times the data at any moment. The
 * graph has many edges for few features, which is the hard case. */
START_TEST(loading_needs_little_more_than_the_data)
{
    int64_t before, data;

    ck_assert_int_eq(qh_synth_new("sbm,nodes=20000,degree=200,features=16,skew=mild", &made),
                     QH_OK);
    data = qh_dataset_bytes(made);
    ck_assert_int_ge(qh_mem_bytes(), data);
    ck_assert_int_le(qh_mem_bytes(), data + data / 8);
    ck_assert_msg(qh_mem_peak_bytes() <= data + data * 3 / 10, "made: peak %lld of %lld",
                  (long long)qh_mem_peak_bytes(), (long long)data);
    ck_assert_int_eq(qh_neutral_write(made, folder), QH_OK);
    before = qh_mem_bytes();
    ck_assert_int_eq(qh_dataset_open(folder, &back), QH_OK);
    /* `made` is still held: it counts in the peak, not in the data that is loaded. */
    ck_assert_msg(qh_mem_peak_bytes() - before <= data + data * 3 / 10, "loaded: peak %lld of %lld",
                  (long long)(qh_mem_peak_bytes() - before), (long long)data);
}
END_TEST

START_TEST(no_allocation_may_fail_unnoticed)
{
    const char *path = sample_path(folder, "a.qhd"), *open[3];
    int64_t before;

    ck_assert_int_eq(sample_dataset(31, 5, 19, 3, _i == 1, _i == 2, 9, &made), QH_OK);
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    ck_assert_int_eq(qh_neutral_write(made, sample_path(folder, "n")), QH_OK);
    open[0] = path;
    open[1] = sample_path(folder, "n");
    open[2] = "synth:sbm,nodes=31,degree=4";
    before = qh_mem_bytes();
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        qh_status st = QH_ERESOURCE;

        while (st != QH_OK) {
            qh_mem_fail_at(++n);
            st = qh_dataset_open(open[i], &back);
            ck_assert_msg(st == QH_OK || st == QH_ERESOURCE, "%s: the allocation %lld gives %d: %s",
                          open[i], (long long)n, st, qh_error_text());
            qh_mem_fail_at(0);
            if (st < 0)
                ck_assert_int_eq(qh_mem_bytes(), before);
        }
        ck_assert_int_gt(n, 5);
        qh_dataset_free(back);
        back = NULL;
        ck_assert_int_eq(qh_mem_bytes(), before);
    }
}
END_TEST

START_TEST(an_unlabelled_node_leaves_the_split)
{
    ck_assert_int_eq(sample_dataset(31, 5, 19, 3, false, false, 9, &made), QH_OK);
    made->label[4] = made->label[7] = -1;
    made->split[4] = QH_SPLIT_TRAIN;
    made->split[7] = QH_SPLIT_NONE;
    ck_assert_int_eq(qh_neutral_write(made, folder), QH_OK);
    ck_assert_int_eq(qh_dataset_open(folder, &back), QH_OK);
    ck_assert_int_eq(back->label[4], -1);
    ck_assert_int_eq(back->split[4], QH_SPLIT_NONE);
    ck_assert_int_eq(n_logged, 1);
    ck_assert_ptr_nonnull(strstr(logged[0], "split.npy: 1 nodes"));
}
END_TEST

START_TEST(what_is_no_data_set_is_refused)
{
    static const struct {
        const char *name;
        qh_status st;
    } rows[] = {{"nothing-here", QH_EINPUT}, {"", QH_EINPUT}, {"synth:", QH_EUSAGE}};

    for (size_t i = 0; i < QH_COUNT(rows); i++) {
        ck_assert_int_eq(qh_dataset_open(rows[i].name, &back), rows[i].st);
        ck_assert_ptr_null(back);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("dataset");
    TCase *t = tcase_create("dataset");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, folder_round_trip_is_the_same, 0, 4);
    tcase_add_test(t, folder_and_file_open_as_the_same);
    tcase_add_test(t, writing_over_another_kind_works);
    tcase_add_test(t, loading_needs_little_more_than_the_data);
    tcase_add_loop_test(t, no_allocation_may_fail_unnoticed, 0, 3);
    tcase_add_test(t, an_unlabelled_node_leaves_the_split);
    tcase_add_test(t, what_is_no_data_set_is_refused);
    suite_add_tcase(s, t);
    return s;
}
