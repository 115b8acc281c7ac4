#include "src/base/mem.h"
#include "src/graph/dataset.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;
static qh_dataset *made;

static void set_up(void)
{
    folder = sample_new_folder();
    made = NULL;
}

static void tear_down(void)
{
    qh_dataset_free(made);
    sample_remove_folder(folder);
}

static void assert_refused(const char *path, const char *says)
{
    qh_dataset *d = NULL;

    ck_assert_int_eq(qh_qhd_open(path, &d), QH_EINPUT);
    ck_assert_ptr_null(d);
    ck_assert_msg(strstr(qh_error_text(), path) && strstr(qh_error_text(), says) &&
                      strstr(qh_error_text(), "; "),
                  "'%s' lacks '%s'", qh_error_text(), says);
}

/* nodes, features, sparse, multilabel: features 17 and 33 give padded rows, 16 none. */
static const struct {
    int64_t nodes, features, classes;
    bool sparse, multilabel;
} shapes[] = {
    {1, 1, 1, false, false}, {2, 3, 2, true, false},    {7, 16, 3, false, true},
    {53, 17, 5, true, true}, {53, 33, 4, false, false}, {1009, 130, 7, true, false},
};

START_TEST(round_trip_is_the_same)
{
    const char *path = sample_path(folder, "a.qhd");
    qh_dataset *back = NULL;

    ck_assert_msg(sample_dataset(shapes[_i].nodes, 6, shapes[_i].features, shapes[_i].classes,
                                 shapes[_i].sparse, shapes[_i].multilabel, 5, &made) == QH_OK,
                  "%s", qh_error_text());
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    ck_assert_msg(qh_dataset_open(path, &back) == QH_OK, "%s", qh_error_text());
    sample_assert_same(made, back);
    qh_dataset_free(back);
}
END_TEST

START_TEST(arrays_are_not_copied)
{
    const char *path = sample_path(folder, "a.qhd");
    qh_dataset *back = NULL;
    int64_t before;

    ck_assert_int_eq(sample_dataset(5000, 20, 64, 4, false, false, 5, &made), QH_OK);
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    before = qh_mem_bytes();
    ck_assert_int_eq(qh_qhd_open(path, &back), QH_OK);
    ck_assert_int_lt(qh_mem_bytes() - before, 4096); /* of 1.7 MB */
    ck_assert_uint_eq((uintptr_t)back->dense.data % 64, 0);
    ck_assert_uint_eq((uintptr_t)back->graph->in_src % 64, 0);
    ck_assert_uint_eq((uintptr_t)back->split % 64, 0);
    qh_dataset_free(back);
    ck_assert_int_eq(qh_mem_bytes(), before);
}
END_TEST

/* One bit of each byte in turn, in place: header, table, gaps, arrays. */
START_TEST(every_flipped_byte_is_seen)
{
    const char *path = sample_path(folder, "a.qhd");
    qh_dataset *d = NULL;
    int fd;
    uint8_t byte;

    ck_assert_int_eq(sample_dataset(5, 2, 3, 2, _i == 1, _i == 2, 5, &made), QH_OK);
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    fd = open(path, O_RDWR);
    for (off_t i = 0; pread(fd, &byte, 1, i) == 1; i++) {
        uint8_t flipped = (uint8_t)(byte ^ 1 << (i * 7 + 3) % 8);

        ck_assert_int_eq(pwrite(fd, &flipped, 1, i), 1);
        assert_refused(path, "a.qhd");
        ck_assert_int_eq(pwrite(fd, &byte, 1, i), 1);
    }
    close(fd);
    ck_assert_int_eq(qh_qhd_open(path, &d), QH_OK);
    qh_dataset_free(d);
}
END_TEST

START_TEST(every_other_length_is_seen)
{
    const char *path = sample_path(folder, "a.qhd");
    struct stat info;

    ck_assert_int_eq(sample_dataset(5, 2, 3, 2, false, false, 5, &made), QH_OK);
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(truncate(path, info.st_size + 1), 0);
    assert_refused(path, "bytes after the end");
    for (off_t n = info.st_size - 1; n >= 0; n--) {
        ck_assert_int_eq(truncate(path, n), 0);
        assert_refused(path, n < 8 ? "not a .qhd file" : "truncated");
    }
    ck_assert_int_eq(qh_qhd_open(sample_path(folder, "absent.qhd"), &made), QH_EINPUT);
}
END_TEST

/* True checksums over wrong contents: the file of a writer gone mad. */
static const char *const mad_says[] = {"nodes are 0",      "in-degree", "label 9",
                                       "no training node", "finite",    "is 7",
                                       "an empty graph",   "edges out", "before it begins"};

START_TEST(contents_are_checked_too)
{
    const char *path = sample_path(folder, "a.qhd");

    ck_assert_int_eq(sample_dataset(40, 4, 30, 3, _i == 8, false, 5, &made), QH_OK);
    switch (_i) {
    case 0:
        made->graph->in_src[made->graph->n_edges - 1] = 1 << 30;
        break;
    case 1:
        made->graph->in_ptr[3] = INT64_MIN;
        break;
    case 2:
        made->label[39] = 9;
        break;
    case 3:
        memset(made->split, QH_SPLIT_TEST, 40);
        break;
    case 4:
        qh_mat_row(made->dense, 39)[29] = __builtin_inff();
        break;
    case 5:
        made->split[39] = 7;
        break;
    case 6:
        made->graph->n_edges = 0;
        memset(made->graph->in_ptr, 0, 41 * 8);
        memset(made->graph->in_deg, 0, 40 * 4);
        memset(made->graph->out_deg, 0, 40 * 4);
        break;
    case 7:
        made->graph->out_deg[5]++;
        break;
    default:
        ((int64_t *)made->sparse_features.ptr)[3] = INT64_MAX;
        break;
    }
    ck_assert_int_eq(qh_qhd_write(made, path), QH_OK);
    assert_refused(path, mad_says[_i]);
}
END_TEST

START_TEST(a_failed_write_leaves_nothing)
{
    ck_assert_int_eq(sample_dataset(5, 2, 3, 2, false, false, 5, &made), QH_OK);
    ck_assert_int_eq(qh_qhd_write(made, sample_path(folder, "no/such/a.qhd")), QH_ERESOURCE);
    ck_assert_int_eq(qh_qhd_write(made, "/dev/full/a.qhd"), QH_ERESOURCE);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("qhd");
    TCase *t = tcase_create("qhd");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, round_trip_is_the_same, 0, (int)QH_COUNT(shapes));
    tcase_add_test(t, arrays_are_not_copied);
    tcase_add_loop_test(t, every_flipped_byte_is_seen, 0, 3);
    tcase_add_test(t, every_other_length_is_seen);
    tcase_add_loop_test(t, contents_are_checked_too, 0, (int)QH_COUNT(mad_says));
    tcase_add_test(t, a_failed_write_leaves_nothing);
    suite_add_tcase(s, t);
    return s;
}
