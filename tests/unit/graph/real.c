/* The real graphs beside the checkout: sizes as their meta.json says, and the same after a .qhd and
 * after being written as a folder again. */
#include "src/base/log.h"
#include "src/graph/dataset.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <string.h>

static const char *const names[] = {"cora", "facebook", "film", "squirrel", "twitch_de"};
static int n_logged;

static void count_line(qh_log_level level, const char *text, void *ctx)
{
    (void)level;
    (void)text;
    (void)ctx;
    n_logged++;
}

static int64_t meta_number(const json_t *meta, const char *key)
{
    const json_t *x = json_object_get(meta, key);

    ck_assert_msg(json_is_integer(x), "no %s", key);
    return json_integer_value(x);
}

START_TEST(opens_with_its_sizes)
{
    char path[4096], *folder = sample_new_folder();
    const char *qhd = sample_path(folder, "a.qhd"), *again = sample_path(folder, "n");
    qh_dataset *d = NULL, *mapped = NULL, *back = NULL;
    json_t *meta;

    snprintf(path, sizeof path, "%s/data/%s", test_shared(), names[_i]);
    meta = json_load_file(sample_path(path, "meta.json"), 0, NULL);
    qh_log_set_sink(count_line, NULL);
    ck_assert_msg(qh_dataset_open(path, &d) == QH_OK, "%s", qh_error_text());
    ck_assert_str_eq(d->name, names[_i]);
    ck_assert_ptr_nonnull(strstr(d->source, "github.com"));
    ck_assert_int_eq(d->graph->n_nodes, meta_number(meta, "nodes"));
    ck_assert_int_eq(d->graph->n_edges, meta_number(meta, "edges_directed"));
    ck_assert_int_eq(d->n_features, meta_number(meta, "features"));
    ck_assert_int_eq(d->n_classes, meta_number(meta, "classes"));
    ck_assert(d->sparse && !d->multilabel && d->graph->symmetric);
    ck_assert_int_eq(d->edges.duplicates + d->edges.self_loops + d->edges.one_way, 0);
    ck_assert_int_eq(n_logged, 0);

    ck_assert_int_eq(qh_qhd_write(d, qhd), QH_OK);
    ck_assert_msg(qh_dataset_open(qhd, &mapped) == QH_OK, "%s", qh_error_text());
    sample_assert_same(d, mapped);
    ck_assert_int_eq(qh_neutral_write(mapped, again), QH_OK);
    ck_assert_msg(qh_dataset_open(again, &back) == QH_OK, "%s", qh_error_text());
    sample_assert_same(d, back);
    json_decref(meta);
    qh_dataset_free(d);
    qh_dataset_free(mapped);
    qh_dataset_free(back);
    sample_remove_folder(folder);
}
END_TEST

Suite *suite(void)
{
    Suite *s;
    TCase *t;

    if (!test_shared())
        return NULL;
    s = suite_create("real graphs");
    t = tcase_create("real graphs");
    tcase_add_loop_test(t, opens_with_its_sizes, 0, (int)QH_COUNT(names));
    suite_add_tcase(s, t);
    return s;
}
