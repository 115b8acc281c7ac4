#include "src/graph/npy.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static char *folder;

static void set_up(void)
{
    folder = sample_new_folder();
}

static void tear_down(void)
{
    sample_remove_folder(folder);
}

/* A file of this version, header text and number of data bytes (0, 1, 2, ...). */
static void write_npy(int version, const char *header, int data_bytes)
{
    FILE *f = fopen(sample_path(folder, "a.npy"), "wb");
    size_t n = strlen(header);

    ck_assert_ptr_nonnull(f);
    fwrite("\x93NUMPY", 1, 6, f);
    fputc(version, f);
    fputc(0, f);
    for (int i = 0; i < (version == 1 ? 2 : 4); i++)
        fputc((int)(n >> 8 * i & 255), f);
    fwrite(header, 1, n, f);
    for (int i = 0; i < data_bytes; i++)
        fputc(i, f);
    fclose(f);
}

/* Shape [2, 3] of float32 in every dress that is the same array. */
static const char *const good[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                         \n",
    "{\"shape\": (2, 3), \"descr\": \"<f4\", \"fortran_order\": False}",
    "{'descr':'=f4','fortran_order':False,'shape':(2L,3L)}",
};

START_TEST(reads_every_version)
{
    for (size_t i = 0; i < QH_COUNT(good); i++)
        for (int version = 1; version <= 3; version++) {
            uint8_t bytes[8];
            qh_npy a;

            write_npy(version, good[i], 24);
            ck_assert_msg(qh_npy_open(folder, "a.npy", &a) == QH_OK, "%s", qh_error_text());
            ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 2, 2, 3), QH_OK);
            ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_INT32, QH_NPY_FLOAT32, 2, QH_NPY_ANY, 3),
                             QH_OK);
            ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 2, 3, 2), QH_EINPUT);
            ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 1, 6, 0), QH_EINPUT);
            ck_assert_int_eq(qh_npy_read(&a, 4, 2, bytes), QH_OK);
            ck_assert_mem_eq(bytes, "\x10\x11\x12\x13\x14\x15\x16\x17", 8);
            qh_npy_close(&a);
        }
}
END_TEST

static const struct {
    int version;
    const char *header;
    int data_bytes;
    const char *says;
} bad[] = {
    {4, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, "version 4.0"},
    {0, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, "version 0.0"},
    {1, "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 16, "Python objects"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, "truncated"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, "bytes after the array"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,", 8, "malformed"},
    {1, "{'descr': '<f4', 'fortran_order': False}", 8, "malformed"},
    {1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8, "fortran_order is no bool"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2.5,)}", 8, "malformed"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, "no count"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8, "text after"},
    {1, "{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", 8, "a key twice"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'size': (2,)}", 8, "an unknown key"},
    {1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "structured"},
    {1, "{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", 8, "unknown dtype"},
    {1, "{'descr': '<f', 'fortran_order': False, 'shape': (2,)}", 8, "unknown dtype"},
    {1, "{'descr': '', 'fortran_order': False, 'shape': (2,)}", 8, "unknown dtype"},
    {1, "", 0, "malformed"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 2)}", 8, "dimensions"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8,
     "more than can be addressed"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,)}", 8,
     "more than can be addressed"},
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8,
     "below 2^63"},
    /* A 64-bit size that is 2 when cut to 32 bits. */
    {2, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967298,)}", 8, "truncated"},
};

START_TEST(refuses_by_name)
{
    qh_npy a;

    write_npy(bad[_i].version, bad[_i].header, bad[_i].data_bytes);
    ck_assert_int_eq(qh_npy_open(folder, "a.npy", &a), QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), "a.npy: ") && strstr(qh_error_text(), bad[_i].says),
                  "'%s' lacks '%s'", qh_error_text(), bad[_i].says);
}
END_TEST

/* Types that are arrays, but none that is read; and Fortran order. */
static const struct {
    const char *header, *says;
} other[] = {
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", "float64 (<f8)"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", "big-endian float32 (>f4)"},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3)}", "float16 (<f2)"},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3)}", "int64 (<i8)"},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3)}", "bool8 (|b1)"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", "Fortran order"},
};

START_TEST(expect_names_both_sides)
{
    static const int item_bytes[] = {8, 4, 2, 8, 1, 4};
    qh_npy a;

    write_npy(1, other[_i].header, 6 * item_bytes[_i]);
    ck_assert_msg(qh_npy_open(folder, "a.npy", &a) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_FLOAT32, QH_NPY_FLOAT32, 2, 2, 3), QH_EINPUT);
    ck_assert_msg(strstr(qh_error_text(), other[_i].says), "'%s'", qh_error_text());
    qh_npy_close(&a);
}
END_TEST

START_TEST(one_dimension_has_one_order)
{
    qh_npy a;

    write_npy(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (3,)}", 12);
    ck_assert_int_eq(qh_npy_open(folder, "a.npy", &a), QH_OK);
    ck_assert_int_eq(qh_npy_expect(&a, QH_NPY_INT32, QH_NPY_INT32, 1, 3, 0), QH_OK);
    qh_npy_close(&a);
}
END_TEST

/* Every prefix of a good file is refused, and so is what never was one. */
START_TEST(no_prefix_passes)
{
    char bytes[256];
    FILE *f;
    size_t n;
    qh_npy a;

    write_npy(1, good[0], 24);
    f = fopen(sample_path(folder, "a.npy"), "rb");
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t i = 0; i < n; i++) {
        f = fopen(sample_path(folder, "cut.npy"), "wb");
        fwrite(bytes, 1, i, f);
        fclose(f);
        ck_assert_int_eq(qh_npy_open(folder, "cut.npy", &a), QH_EINPUT);
    }
    ck_assert_int_eq(qh_npy_open(folder, "absent.npy", &a), QH_EINPUT);
    ck_assert_int_eq(qh_npy_open(folder, ".", &a), QH_EINPUT);
}
END_TEST

START_TEST(writes_what_it_reads)
{
    static const struct {
        qh_npy_type type;
        int n_dims;
        int64_t rows, cols, bytes;
    } rows[] = {{QH_NPY_INT8, 1, 7, 0, 7},
                {QH_NPY_UINT8, 2, 3, 5, 15},
                {QH_NPY_INT32, 2, 0, 2, 0},
                {QH_NPY_INT64, 1, 1, 0, 8},
                {QH_NPY_FLOAT32, 2, 2, 2, 16}};

    for (size_t i = 0; i < QH_COUNT(rows); i++) {
        char data[16] = "0123456789abcde", back[16];
        qh_output *o = NULL;
        qh_npy a;

        ck_assert_int_eq(qh_output_open(sample_path(folder, "w.npy"), &o), QH_OK);
        qh_npy_write_header(o, rows[i].type, rows[i].n_dims, rows[i].rows, rows[i].cols);
        fwrite(data, 1, (size_t)rows[i].bytes, qh_output_stream(o));
        ck_assert_int_eq(qh_output_commit(&o), QH_OK);
        ck_assert_msg(qh_npy_open(folder, "w.npy", &a) == QH_OK, "%s", qh_error_text());
        ck_assert_int_eq(qh_npy_expect(&a, rows[i].type, rows[i].type, rows[i].n_dims, rows[i].rows,
                                       rows[i].cols),
                         QH_OK);
        ck_assert_int_eq(a.offset % 64, 0);
        ck_assert_int_eq(qh_npy_read(&a, 0, a.n_items, back), QH_OK);
        ck_assert(memcmp(data, back, (size_t)rows[i].bytes) == 0);
        qh_npy_close(&a);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("npy");
    TCase *t = tcase_create("npy");

    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, reads_every_version);
    tcase_add_loop_test(t, refuses_by_name, 0, (int)QH_COUNT(bad));
    tcase_add_loop_test(t, expect_names_both_sides, 0, (int)QH_COUNT(other));
    tcase_add_test(t, one_dimension_has_one_order);
    tcase_add_test(t, no_prefix_passes);
    tcase_add_test(t, writes_what_it_reads);
    suite_add_tcase(s, t);
    return s;
}
