/* Broken folders in the neutral layout. Each row takes a good folder, breaks one thing, and says
 * which words the one line of the error must have: the file, and the row or the size at fault. */
#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/graph/dataset.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 12, COLS = 3, CLASSES = 4, WORDS = 40 }; /* WORDS: columns of sparse features */
enum { DENSE, SPARSE, MULTI };                          /* the kind of the good folder */

static char *folder, logged[512];
static int n_logged;

/* --- means of breaking --- */

typedef struct row {
    const char *name; /* for the message of the test */
    int kind;         /* of the good folder */
    const char *file; /* which file is broken, how: */
    enum { ARRAY = 1, ITEM, ARRAY_AND_ITEM, CUT, DROP, TEXT } how;
    const char *descr, *fortran, *shape; /* an array of zeros */
    int64_t bytes;
    int64_t index; /* an item that is overwritten, as the type of item_bytes and is_float says */
    double value;
    int item_bytes;
    bool is_float;
    const char *text;
    const char *where, *fault; /* what the error must say */
} row;

#define ARRAY_OF(descr_, shape_, bytes_)                                                           \
    .how = ARRAY, .descr = descr_, .fortran = "False", .shape = shape_, .bytes = bytes_
#define I1(i, x)   .how = ITEM, .index = i, .value = x, .item_bytes = 1
#define I4(i, x)   .how = ITEM, .index = i, .value = x, .item_bytes = 4
#define I8(i, x)   .how = ITEM, .index = i, .value = x, .item_bytes = 8
#define F4(i, x)   I4(i, x), .is_float = true
#define SAYS(a, b) .where = a, .fault = b
#define META(fields, a)                                                                            \
    DENSE, "meta.json", .how = TEXT, .text = "{\n" fields "}\n", SAYS("meta.json", a)

static void put_array(const char *name, const char *descr, const char *fortran, const char *shape,
                      const void *data, int64_t bytes)
{
    char text[256];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
                     descr, fortran, shape);
    FILE *f = fopen(sample_path(folder, name), "wb");

    ck_assert_ptr_nonnull(f);
    fwrite("\x93NUMPY\x01", 1, 7, f);
    fputc(0, f);
    fputc(n & 255, f);
    fputc(n >> 8, f);
    fwrite(text, 1, (size_t)n, f);
    fwrite(data, 1, (size_t)bytes, f);
    fclose(f);
}

static void put_text(const char *name, const char *text)
{
    FILE *f = fopen(sample_path(folder, name), "w");

    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void poke(const char *name, int64_t index, int bytes, bool is_float, double value)
{
    FILE *f = fopen(sample_path(folder, name), "r+b");
    int64_t whole = isfinite(value) ? (int64_t)value : 0;
    float real = (float)value;
    uint8_t head[10];

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fread(head, 1, 10, f), 10);
    fseek(f, 10 + (head[8] | head[9] << 8) + index * bytes, SEEK_SET);
    fwrite(is_float ? (void *)&real : (void *)&whole, 1, (size_t)bytes, f); /* little-endian */
    fclose(f);
}

static void break_it(const row *r)
{
    static const uint8_t zeros[512];

    switch (r->how) {
    case ARRAY:
    case ARRAY_AND_ITEM:
        put_array(r->file, r->descr, r->fortran, r->shape, zeros, r->bytes);
        if (r->how == ARRAY)
            break;
        /* fall through */
    case ITEM:
        poke(r->file, r->index, r->item_bytes, r->is_float, r->value);
        break;
    case CUT: /* the header takes 128 */
        ck_assert_int_eq(truncate(sample_path(folder, r->file), 131), 0);
        break;
    case DROP:
        ck_assert_int_eq(unlink(sample_path(folder, r->file)), 0);
        break;
    case TEXT:
        put_text(r->file, r->text);
        break;
    }
}

/* --- the rows --- */

static const row rows[] = {
    {"edge too large", DENSE, "edges.npy", I4(2 * 3, NODES), SAYS("edges.npy: row 3", "12")},
    {"edge negative", DENSE, "edges.npy", I4(2 * 3 + 1, -1), SAYS("edges.npy: row 3", "-1")},
    {"edge of 64 bits", DENSE, "edges.npy", ARRAY_AND_ITEM, "<i8", "False", "(4, 2)", 64,
     .index = 4, .value = 0x1p40, .item_bytes = 8, SAYS("edges.npy: row 2", "1099511627776")},
    {"edges of floats", DENSE, "edges.npy", ARRAY_OF("<f8", "(4, 2)", 64),
     SAYS("edges.npy", "float64")},
    {"edges big-endian", DENSE, "edges.npy", ARRAY_OF(">i4", "(4, 2)", 32),
     SAYS("edges.npy", "big-endian")},
    {"edges Fortran", DENSE, "edges.npy", ARRAY, "<i4", "True", "(4, 2)", 32,
     SAYS("edges.npy", "Fortran")},
    {"edges lying", DENSE, "edges.npy", ARRAY_OF("<i4", "(2, 4)", 32),
     SAYS("edges.npy", "shape [2, 4]; [any, 2]")},
    {"edges flat", DENSE, "edges.npy", ARRAY_OF("<i4", "(8,)", 32), SAYS("edges.npy", "shape [8]")},
    {"edges cut", DENSE, "edges.npy", CUT, SAYS("edges.npy", "truncated")},
    {"edges absent", DENSE, "edges.npy", DROP, SAYS("edges.npy", "No such file")},
    {"no edges", DENSE, "edges.npy", ARRAY_OF("<i4", "(0, 2)", 0),
     SAYS("edges.npy", "an empty graph")},
    {"all loops", DENSE, "edges.npy", ARRAY_OF("<i4", "(4, 2)", 32),
     SAYS("edges.npy", "an empty graph")},
    {"edges of text", DENSE, "edges.npy", .how = TEXT, .text = "0 1\n1 0\n",
     SAYS("edges.npy", "not a .npy file")},

    {"NaN", DENSE, "feat.npy", F4(7 * COLS + 2, NAN), SAYS("feat.npy: row 7, column 2", "nan")},
    {"infinite", DENSE, "feat.npy", F4(11 * COLS, -INFINITY),
     SAYS("feat.npy: row 11, column 0", "-inf")},
    {"double", DENSE, "feat.npy", ARRAY_OF("<f8", "(12, 3)", 288), SAYS("feat.npy", "float64")},
    {"features big-endian", DENSE, "feat.npy", ARRAY_OF(">f4", "(12, 3)", 144),
     SAYS("feat.npy", "big-endian")},
    {"features Fortran", DENSE, "feat.npy", ARRAY, "<f4", "True", "(12, 3)", 144,
     SAYS("feat.npy", "Fortran")},
    {"objects", DENSE, "feat.npy", ARRAY_OF("|O", "(12, 3)", 288),
     SAYS("feat.npy", "never unpickled")},
    {"a row less", DENSE, "feat.npy", ARRAY_OF("<f4", "(11, 3)", 132),
     SAYS("feat.npy", "shape [11, 3]; [12, 3]")},
    {"a column more", DENSE, "feat.npy", ARRAY_OF("<f4", "(12, 4)", 192),
     SAYS("feat.npy", "shape [12, 4]; [12, 3]")},
    {"overflow", DENSE, "feat.npy", ARRAY_OF("<f4", "(4611686018427387904, 8)", 0),
     SAYS("feat.npy", "more than can be addressed")},
    {"features cut", DENSE, "feat.npy", CUT, SAYS("feat.npy", "truncated")},
    {"features absent", DENSE, "feat.npy", DROP, SAYS("feat.npy", "No such file")},
    {"two sources", DENSE, "feat_data.npy", ARRAY_OF("<f4", "(1,)", 4),
     SAYS("both feat.npy and", "one of them is right")},

    {"rows begin at 1", SPARSE, "feat_indptr.npy", I8(0, 1), SAYS("feat_indptr.npy", "from 1")},
    {"rows fall", SPARSE, "feat_indptr.npy", I8(5, 1 << 30), SAYS("feat_indptr.npy", "row 5")},
    {"rows end elsewhere", SPARSE, "feat_indptr.npy", I8(NODES, 1 << 30),
     SAYS("feat_indptr.npy", "1073741824")},
    {"rows of int32", SPARSE, "feat_indptr.npy", ARRAY_OF("<i4", "(13,)", 52),
     SAYS("feat_indptr.npy", "int32")},
    {"rows short", SPARSE, "feat_indptr.npy", ARRAY_OF("<i8", "(12,)", 96),
     SAYS("feat_indptr.npy", "shape [12]; [13]")},
    {"column too large", SPARSE, "feat_indices.npy", I4(0, WORDS),
     SAYS("feat_indices.npy: row 0", "40")},
    {"column negative", SPARSE, "feat_indices.npy", I4(0, -3),
     SAYS("feat_indices.npy: row 0", "-3")},
    {"columns fall", SPARSE, "feat_indices.npy", I4(0, WORDS - 1),
     SAYS("feat_indices.npy: row 0", "after 39")},
    {"value NaN", SPARSE, "feat_data.npy", F4(0, NAN), SAYS("feat_data.npy: row 0", "nan")},
    {"values less", SPARSE, "feat_data.npy", ARRAY_OF("<f4", "(1,)", 4),
     SAYS("feat_data.npy", "shape [1]")},
    {"columns absent", SPARSE, "feat_indices.npy", DROP, SAYS("feat_indices.npy", "No such file")},

    {"label too large", DENSE, "label.npy", I4(9, CLASSES), SAYS("label.npy: row 9", "label 4")},
    {"label below -1", DENSE, "label.npy", I4(9, -2), SAYS("label.npy: row 9", "label -2")},
    {"labels of int64", DENSE, "label.npy", ARRAY_OF("<i8", "(12,)", 96),
     SAYS("label.npy", "int64")},
    {"labels less", DENSE, "label.npy", ARRAY_OF("<i4", "(11,)", 44),
     SAYS("label.npy", "shape [11]; [12]")},
    {"labels cut", DENSE, "label.npy", CUT, SAYS("label.npy", "truncated")},
    {"labels absent", DENSE, "label.npy", DROP, SAYS("label.npy", "No such file")},
    {"multi-label 2", MULTI, "label.npy", I1(6 * CLASSES + 1, 2),
     SAYS("label.npy: row 6, column 1", "2")},
    {"multi-label column less", MULTI, "label.npy", ARRAY_OF("|u1", "(12, 3)", 36),
     SAYS("label.npy", "shape [12, 3]; [12, 4]")},
    {"multi-label of int32", MULTI, "label.npy", ARRAY_OF("<i4", "(12, 4)", 192),
     SAYS("label.npy", "int32")},

    {"split 4", DENSE, "split.npy", I1(3, 4), SAYS("split.npy: row 3", "4")},
    {"split -1", DENSE, "split.npy", I1(3, -1), SAYS("split.npy: row 3", "-1")},
    {"no training node", DENSE, "split.npy", ARRAY_OF("|i1", "(12,)", 12),
     SAYS("split.npy", "no training node")},
    {"split of int32", DENSE, "split.npy", ARRAY_OF("<i4", "(12,)", 48),
     SAYS("split.npy", "int32")},
    {"split more", DENSE, "split.npy", ARRAY_OF("|i1", "(13,)", 13),
     SAYS("split.npy", "shape [13]; [12]")},
    {"split absent", DENSE, "split.npy", DROP, SAYS("split.npy", "No such file")},

    {"meta absent", DENSE, "meta.json", DROP, SAYS("meta.json: No such file", "name")},
    {"meta a list", DENSE, "meta.json", .how = TEXT, .text = "[1]", SAYS("meta.json", "name")},
    {"meta broken", META("\"name\": \"a\",\n\"nodes\": 12,,\n", ":3: ")},
    {"meta key twice", META("\"name\": \"a\",\n\"nodes\": 12,\n\"nodes\": 13\n", "duplicate")},
    {"no name", META("\"nodes\": 12, \"features\": 3, \"classes\": 4", "\"name\" is missing")},
    {"no nodes", META("\"name\": \"a\", \"features\": 3, \"classes\": 4", "\"nodes\" is missing")},
    {"0 nodes",
     META("\"name\": \"a\", \"nodes\": 0, \"features\": 3, \"classes\": 4", "\"nodes\"")},
    {"-12 nodes",
     META("\"name\": \"a\", \"nodes\": -12, \"features\": 3, \"classes\": 4", "\"nodes\"")},
    {"2^31 nodes",
     META("\"name\": \"a\", \"nodes\": 2147483648, \"features\": 3, \"classes\": 4", "\"nodes\"")},
    {"12.0 nodes",
     META("\"name\": \"a\", \"nodes\": 12.0, \"features\": 3, \"classes\": 4", "\"nodes\"")},
    {"13 nodes", DENSE, "meta.json", .how = TEXT,
     .text = "{\"name\": \"a\", \"nodes\": 13, \"features\": 3, \"classes\": 4}",
     SAYS("label.npy", "shape [12]; [13]")},
    {"0 classes",
     META("\"name\": \"a\", \"nodes\": 12, \"features\": 3, \"classes\": 0", "\"classes\"")},
    {"0 features",
     META("\"name\": \"a\", \"nodes\": 12, \"features\": 0, \"classes\": 4", "\"features\"")},
};

/* --- the tests --- */

static void keep_line(qh_log_level level, const char *text, void *ctx)
{
    (void)level;
    (void)ctx;
    n_logged++;
    snprintf(logged, sizeof logged, "%s", text);
}

static void new_folder(int kind)
{
    qh_dataset *d = NULL;

    folder = sample_new_folder();
    n_logged = 0;
    qh_log_set_sink(keep_line, NULL);
    ck_assert_int_eq(sample_dataset(NODES, 4, kind == SPARSE ? WORDS : COLS, CLASSES,
                                    kind == SPARSE, kind == MULTI, 3, &d),
                     QH_OK);
    ck_assert_int_eq(qh_neutral_write(d, folder), QH_OK);
    qh_dataset_free(d);
    ck_assert_msg(qh_dataset_open(folder, &d) == QH_OK, "%s", qh_error_text());
    qh_dataset_free(d);
}

START_TEST(each_is_refused)
{
    qh_dataset *d = NULL;
    const char *text;

    new_folder(rows[_i].kind);
    break_it(&rows[_i]);
    ck_assert_msg(qh_dataset_open(folder, &d) == QH_EINPUT, "%s passes", rows[_i].name);
    text = qh_error_text();
    ck_assert_ptr_null(d);
    ck_assert_msg(strstr(text, folder) && strstr(text, rows[_i].where) &&
                      strstr(text, rows[_i].fault) && strstr(text, "; ") && !strchr(text, '\n'),
                  "%s: '%s' lacks '%s' or '%s'", rows[_i].name, text, rows[_i].where,
                  rows[_i].fault);
    ck_assert_int_eq(qh_mem_bytes(), 0); /* and nothing leaks on the way out */
    sample_remove_folder(folder);
}
END_TEST

/* The only training node has no label: nothing is left to train on. */
START_TEST(unlabelled_training_nodes_do_not_count)
{
    qh_dataset *d = NULL;

    new_folder(DENSE);
    put_array("split.npy", "|i1", "False", "(12,)", "\1\2\3\2\3\2\3\2\3\2\3\2", NODES);
    poke("label.npy", 0, 4, false, -1);
    ck_assert_int_eq(qh_dataset_open(folder, &d), QH_EINPUT);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "split.npy: no training node"));
    sample_remove_folder(folder);
}
END_TEST

/* Dropped, counted, and said in one line; the nodes without an edge at the end stay. */
START_TEST(doubles_and_loops_are_dropped_and_said)
{
    const int64_t edges[] = {0, 1, 1, 0, 0, 1, 2, 2, 3, 1, 0, 1};
    qh_dataset *d = NULL;

    new_folder(DENSE);
    put_array("edges.npy", "<i8", "False", "(6, 2)", edges, sizeof edges);
    ck_assert_msg(qh_dataset_open(folder, &d) == QH_OK, "%s", qh_error_text());
    ck_assert_int_eq(d->graph->n_nodes, NODES);
    ck_assert_int_eq(d->graph->n_edges, 3);
    ck_assert_int_eq(d->edges.duplicates, 2);
    ck_assert_int_eq(d->edges.self_loops, 1);
    ck_assert_int_eq(d->edges.one_way, 1);
    ck_assert_int_eq(n_logged, 1);
    ck_assert(strstr(logged, "edges.npy") && strstr(logged, "2 duplicate") &&
              strstr(logged, "1 self"));
    qh_dataset_free(d);
    sample_remove_folder(folder);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("broken folders");
    TCase *t = tcase_create("broken folders");

    tcase_add_loop_test(t, each_is_refused, 0, (int)QH_COUNT(rows));
    tcase_add_test(t, unlabelled_training_nodes_do_not_count);
    tcase_add_test(t, doubles_and_loops_are_dropped_and_said);
    suite_add_tcase(s, t);
    return s;
}
