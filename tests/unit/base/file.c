#include "src/base/file.h"

#include "src/base/hash.h"
#include "src/base/log.h"
#include "src/base/mem.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/qhalo-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int files_in_folder(void)
{
    DIR *d = opendir(folder);
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; /* . and .. */
}

static const int64_t sizes[] = {0, 1, 4095, 4096, 4097, 100003};

START_TEST(what_is_committed_is_read_back)
{
    qh_output *o = NULL;
    qh_map map = {0};
    char *text = NULL;
    int64_t n = sizes[_i];

    ck_assert_int_eq(qh_output_open(in_folder("f"), &o), QH_OK);
    for (int64_t i = 0; i < n; i++)
        fputc('a' + (int)(i % 26), qh_output_stream(o));
    ck_assert(!qh_file_exists(in_folder("f")));
    ck_assert_int_eq(qh_output_commit(&o), QH_OK);
    ck_assert_ptr_null(o);
    ck_assert_int_eq(files_in_folder(), 1);
    ck_assert_int_eq(qh_map_open(in_folder("f"), &map), QH_OK);
    ck_assert_int_eq(map.size, n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(map.data[i], 'a' + i % 26);
    qh_map_close(&map);
    qh_map_close(&map);
    ck_assert_int_eq(qh_file_read_text(in_folder("f"), n, &text), QH_OK);
    ck_assert_int_eq((int64_t)strlen(text), n);
    qh_mem_free(text);
    if (n > 0)
        ck_assert_int_eq(qh_file_read_text(in_folder("f"), n - 1, &text), QH_EINPUT);
}
END_TEST

START_TEST(an_abort_leaves_nothing_and_keeps_the_old)
{
    qh_output *o = NULL;
    char *text = NULL;

    ck_assert_int_eq(qh_output_open(in_folder("f"), &o), QH_OK);
    fputs("old", qh_output_stream(o));
    ck_assert_int_eq(qh_output_commit(&o), QH_OK);
    ck_assert_int_eq(qh_output_open(in_folder("f"), &o), QH_OK);
    fputs("new", qh_output_stream(o));
    qh_output_abort(&o);
    qh_output_abort(&o);
    ck_assert_int_eq(files_in_folder(), 1);
    ck_assert_int_eq(qh_file_read_text(in_folder("f"), 100, &text), QH_OK);
    ck_assert_str_eq(text, "old");
    qh_mem_free(text);
}
END_TEST

START_TEST(open_outputs_can_be_removed_at_once)
{
    qh_output *o[40] = {NULL};
    char name[16];

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "f%d", i);
        ck_assert_int_eq(qh_output_open(in_folder(name), &o[i]), QH_OK);
    }
    qh_output_abort(&o[3]); /* its place is taken by none of the later ones */
    qh_output_remove_open();
    ck_assert_int_eq(files_in_folder(), 40 - 32);
    for (int i = 0; i < 40; i++)
        qh_output_abort(&o[i]);
    ck_assert_int_eq(files_in_folder(), 0);
}
END_TEST

START_TEST(a_full_disk_is_told)
{
    qh_output *o = NULL;

    /* /dev/full takes every open and refuses every write. */
    ck_assert_int_eq(symlink("/dev/full", in_folder("f.tmp.0")), 0);
    ck_assert_int_eq(qh_output_open(in_folder("f"), &o), QH_OK);
    ck_assert_ptr_nonnull(freopen("/dev/full", "w", qh_output_stream(o)));
    fputs("some text", qh_output_stream(o));
    ck_assert_int_eq(qh_output_commit(&o), QH_ERESOURCE);
    ck_assert_ptr_null(o);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "No space left"));
    ck_assert(!qh_file_exists(in_folder("f")));
    ck_assert_int_eq(files_in_folder(), 1); /* the link */
}
END_TEST

START_TEST(what_cannot_be_read_or_written)
{
    qh_map map = {0};
    qh_output *o = NULL;
    char *text = NULL;

    ck_assert_int_eq(qh_map_open(in_folder("absent"), &map), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "absent: cannot be read: No such file"));
    ck_assert_int_eq(qh_map_open(folder, &map), QH_EINPUT);
    ck_assert_int_eq(qh_file_read_text("/dev/zero", 10, &text), QH_EINPUT);
    ck_assert_int_eq(qh_output_open(in_folder("no/f"), &o), QH_ERESOURCE);
    ck_assert_ptr_null(o);
}
END_TEST

START_TEST(folders)
{
    qh_output *o = NULL;

    ck_assert_int_eq(qh_make_folder(in_folder("a/b/c")), QH_OK);
    ck_assert(qh_is_folder(in_folder("a/b/c")));
    ck_assert_int_eq(qh_make_folder(in_folder("a/b/c")), QH_OK);
    ck_assert_int_eq(qh_make_folder(in_folder("a/b/c/")), QH_OK);
    ck_assert_int_eq(qh_output_open(in_folder("a/f"), &o), QH_OK);
    ck_assert_int_eq(qh_output_commit(&o), QH_OK);
    ck_assert(qh_file_exists(in_folder("a/f")) && !qh_is_folder(in_folder("a/f")));
    ck_assert_int_eq(qh_make_folder(in_folder("a/f")), QH_ERESOURCE);
    ck_assert_int_eq(qh_make_folder(in_folder("a/f/g")), QH_ERESOURCE);
    ck_assert_int_eq(qh_make_folder(""), QH_ERESOURCE);
}
END_TEST

/* XXH3 64 of nothing and of "a" with seed 0, as published with the reference code's test vectors
 * and by xxhsum -H3. */
START_TEST(hash_is_xxh3)
{
    ck_assert_uint_eq(qh_hash("", 0, 0), UINT64_C(0x2d06800538d394c2));
    ck_assert_uint_eq(qh_hash("a", 1, 0), UINT64_C(0xe6c632b61e964e1f));
    ck_assert_uint_ne(qh_hash("a", 1, 1), qh_hash("a", 1, 0));
}
END_TEST

static void keep(qh_log_level level, const char *text, void *ctx)
{
    snprintf(ctx, 64, "%d %s", level, text);
}

START_TEST(log_goes_to_its_sink)
{
    char line[64] = "";

    qh_log(QH_LOG_WARNING, "dropped");
    qh_log_set_sink(keep, line);
    qh_log(QH_LOG_NOTE, "edges.npy: %d duplicates", 3);
    ck_assert_str_eq(line, "1 edges.npy: 3 duplicates");
    qh_log_set_sink(NULL, NULL);
    qh_log(QH_LOG_WARNING, "dropped");
    ck_assert_str_eq(line, "1 edges.npy: 3 duplicates");
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("file");
    TCase *t = tcase_create("file");

    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_loop_test(t, what_is_committed_is_read_back, 0, QH_COUNT(sizes));
    tcase_add_test(t, an_abort_leaves_nothing_and_keeps_the_old);
    tcase_add_test(t, open_outputs_can_be_removed_at_once);
    tcase_add_test(t, a_full_disk_is_told);
    tcase_add_test(t, what_cannot_be_read_or_written);
    tcase_add_test(t, folders);
    tcase_add_test(t, hash_is_xxh3);
    tcase_add_test(t, log_goes_to_its_sink);
    suite_add_tcase(s, t);
    return s;
}
