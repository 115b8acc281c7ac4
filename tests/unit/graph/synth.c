#include "src/base/mem.h"
#include "src/graph/dataset.h"

#include "tests/support/sample.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static qh_dataset *make(const char *spec)
{
    qh_dataset *d = NULL;

    ck_assert_msg(qh_synth_new(spec, &d) == QH_OK, "%s: %s", spec, qh_error_text());
    ck_assert_int_eq(qh_dataset_check(d, spec), QH_OK);
    return d;
}

/* --- the same spec gives the same bits --- */

static const char *const specs[] = {
    "sbm,nodes=400,degree=9",
    "sbm,nodes=400,degree=9,sparse=true,multilabel=true",
    "sbm,nodes=400,degree=9,directed=true,skew=heavy,locality=0.5",
    "arxiv,scale=0.005",
    "yelp,scale=0.002",
};

START_TEST(a_spec_is_its_bits)
{
    char text[256];
    qh_dataset *a = make(specs[_i]), *b = make(specs[_i]), *c;

    sample_assert_same(a, b);
    snprintf(text, sizeof text, "%s,seed=2", specs[_i]);
    c = make(text);
    ck_assert_uint_ne(qh_graph_hash(a->graph), qh_graph_hash(c->graph));
    ck_assert(memcmp(a->split, c->split, (size_t)a->graph->n_nodes) != 0);
    qh_dataset_free(a);
    qh_dataset_free(b);
    qh_dataset_free(c);
}
END_TEST

/* --- sizes --- */

static const struct {
    const char *spec;
    int64_t nodes, edges, features, classes;
    bool multilabel;
    double train, val;
} twins[] = {
    /* nodes and edges of the originals, times the scale */
    {"arxiv,scale=0.1", 16934, 231560, 128, 40, false, 0.54, 0.18},
    {"reddit,scale=0.03", 6989, 3438477, 602, 41, false, 0.66, 0.1},
    {"products,scale=0.01", 24490, 1237183, 100, 47, false, 0.08, 0.02},
    {"yelp,scale=0.02", 14337, 279096, 300, 100, true, 0.75, 0.1},
    {"amazon,scale=0.005", 7850, 1321697, 200, 107, true, 0.85, 0.05},
};

static int falling(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

static double share(const qh_dataset *d, int8_t which)
{
    int64_t n = 0;

    for (int64_t v = 0; v < d->graph->n_nodes; v++)
        n += d->split[v] == which;
    return (double)n / (double)d->graph->n_nodes;
}

START_TEST(a_twin_has_the_sizes)
{
    qh_dataset *d = make(twins[_i].spec);
    const qh_graph *g = d->graph;
    int32_t *deg = g->in_deg; /* sorted in place: the data set is not used as one afterwards */

    ck_assert_int_eq(g->n_nodes, twins[_i].nodes);
    ck_assert_double_lt(fabs((double)g->n_edges / (double)twins[_i].edges - 1), 0.01);
    ck_assert_int_eq(d->n_features, twins[_i].features);
    ck_assert_int_eq(d->n_classes, twins[_i].classes);
    ck_assert_int_eq(d->multilabel, twins[_i].multilabel);
    ck_assert(g->symmetric && !d->sparse);
    ck_assert_double_lt(fabs(share(d, QH_SPLIT_TRAIN) - twins[_i].train), 0.02);
    ck_assert_double_lt(fabs(share(d, QH_SPLIT_VALIDATION) - twins[_i].val), 0.02);
    ck_assert_ptr_nonnull(strstr(d->name, "synthetic twin"));
    ck_assert_ptr_nonnull(strstr(d->source, "it is not the data"));
    /* Heavy tail: with equal chances the largest degree of so many nodes is 2 to 3 medians. */
    qsort(deg, (size_t)g->n_nodes, sizeof *deg, falling);
    ck_assert_int_gt(deg[0], 8 * deg[g->n_nodes / 2]);
    qh_dataset_free(d);
}
END_TEST

/* --- the features carry the class, the neighbours more of it --- */

/* Accuracy over the test nodes of choosing the nearest class mean (means of the training nodes). */
static double nearest_mean(const qh_dataset *d, qh_mat x)
{
    qh_mat mean = {0};
    int64_t count[64] = {0}, n = 0, right = 0;

    ck_assert_int_eq(qh_mat_new(d->n_classes, x.cols, &mean), QH_OK);
    for (int64_t v = 0; v < x.rows; v++)
        if (d->split[v] == QH_SPLIT_TRAIN) {
            count[d->label[v]]++;
            for (int64_t c = 0; c < x.cols; c++)
                qh_mat_row(mean, d->label[v])[c] += qh_mat_row(x, v)[c];
        }
    for (int64_t v = 0; v < x.rows; v++) {
        float best = INFINITY;
        int64_t at = -1;

        for (int64_t k = 0; k < d->n_classes && d->split[v] == QH_SPLIT_TEST; k++) {
            float sum = 0;

            for (int64_t c = 0; c < x.cols && count[k]; c++) {
                float y = qh_mat_row(x, v)[c] - qh_mat_row(mean, k)[c] / (float)count[k];

                sum += y * y;
            }
            if (count[k] && sum < best) {
                best = sum;
                at = k;
            }
        }
        n += at >= 0;
        right += at >= 0 && at == d->label[v];
    }
    qh_mat_free(&mean);
    return (double)right / (double)n;
}

/* The mean over a node and its neighbours. */
static void smooth(const qh_graph *g, qh_mat x, qh_mat out)
{
    for (int64_t v = 0; v < g->n_nodes; v++) {
        float *row = qh_mat_row(out, v);

        memcpy(row, qh_mat_row(x, v), (size_t)x.cols * sizeof *row);
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            for (int64_t c = 0; c < x.cols; c++)
                row[c] += qh_mat_row(x, g->in_src[e])[c];
        for (int64_t c = 0; c < x.cols; c++)
            row[c] /= (float)(g->in_deg[v] + 1);
    }
}

static const char *const learnable[] = {"sbm,nodes=5000", "arxiv,scale=0.05", "reddit,scale=0.02",
                                        "products,scale=0.004"};

START_TEST(neighbours_tell_more_than_the_node)
{
    qh_dataset *d = make(learnable[_i]);
    qh_mat one = {0}, two = {0};
    double own, near;

    ck_assert_int_eq(qh_mat_new(d->graph->n_nodes, d->n_features, &one), QH_OK);
    ck_assert_int_eq(qh_mat_new(d->graph->n_nodes, d->n_features, &two), QH_OK);
    smooth(d->graph, d->dense, one);
    smooth(d->graph, one, two);
    own = nearest_mean(d, d->dense);
    near = nearest_mean(d, two);
    ck_assert_msg(own > 1.5 / (double)d->n_classes && own < 0.6, "own features: %.3f", own);
    ck_assert_msg(near > own + 0.2 && near > 0.6 && near < 0.97, "neighbourhood: %.3f, own %.3f",
                  near, own);
    qh_mat_free(&one);
    qh_mat_free(&two);
    qh_dataset_free(d);
}
END_TEST

/* --- keys do what they say --- */

static double same_class(const qh_dataset *d)
{
    const qh_graph *g = d->graph;
    int64_t n = 0;

    for (int64_t v = 0; v < g->n_nodes; v++)
        for (int64_t e = g->in_ptr[v]; e < g->in_ptr[v + 1]; e++)
            n += d->label[v] == d->label[g->in_src[e]];
    return (double)n / (double)g->n_edges;
}

START_TEST(homophily_is_as_asked)
{
    static const double want[] = {0, 0.2, 0.8, 1};

    for (size_t i = 0; i < QH_COUNT(want); i++) {
        char text[128];
        qh_dataset *d;

        snprintf(text, sizeof text, "sbm,nodes=4000,degree=10,label-noise=0,homophily=%g", want[i]);
        d = make(text);
        ck_assert_double_lt(fabs(same_class(d) - want[i]), 0.02);
        ck_assert_double_lt(fabs((double)d->graph->n_edges / 40000 - 1), 0.02);
        qh_dataset_free(d);
    }
}
END_TEST

START_TEST(locality_numbers_neighbours_close)
{
    static const char *const keys[] = {"0", "0.5", "1"};
    double mean[3];

    for (int i = 0; i < 3; i++) {
        char text[128];
        double sum = 0;
        qh_dataset *d;

        snprintf(text, sizeof text, "sbm,nodes=4000,degree=10,classes=20,locality=%s", keys[i]);
        d = make(text);
        for (int64_t v = 0; v < 4000; v++)
            for (int64_t e = d->graph->in_ptr[v]; e < d->graph->in_ptr[v + 1]; e++)
                sum += fabs((double)(d->graph->in_src[e] - v));
        mean[i] = sum / (double)d->graph->n_edges;
        qh_dataset_free(d);
    }
    ck_assert_double_lt(mean[1], 0.95 * mean[0]);
    ck_assert_double_lt(mean[2], 0.5 * mean[0]);
}
END_TEST

START_TEST(small_ones_are_legal)
{
    static const char *const small[] = {
        "sbm,nodes=1,degree=0",
        "sbm,nodes=2,degree=1,classes=1",
        "sbm,nodes=3,degree=1,classes=7,features=1", /* classes without a node */
        "sbm,nodes=5,degree=2,train=0,val=0",        /* one training node all the same */
        "sbm,nodes=13,degree=6,classes=1,features=2",
    };

    for (size_t i = 0; i < QH_COUNT(small); i++)
        qh_dataset_free(make(small[i]));
}
END_TEST

static const struct {
    const char *spec, *says;
} wrong[] = {
    {"", "unknown preset"},
    {"redit", "did you mean reddit"},
    {"cora", "one of sbm, arxiv"},
    {"reddit,scal=1", "did you mean scale"},
    {"reddit,nodes=5", "one of scale, seed, locality"},
    {"sbm,homophilly=0.5", "did you mean homophily"},
    {"sbm,nodes", "has no value"},
    {"sbm,", "has no value"},
    {"sbm,nodes=0", "nodes"},
    {"sbm,nodes=-5", "nodes"},
    {"sbm,nodes=2147483648", "nodes"},
    {"sbm,nodes=1e9x", "nodes"},
    {"sbm,nodes=10,nodes=10", "twice"},
    {"sbm,homophily=1.5", "homophily"},
    {"sbm,homophily=nan", "homophily"},
    {"sbm,train=0.7,val=0.4", "at most 1"},
    {"sbm,nodes=10,degree=5", "mean degree"},
    {"sbm,skew=much", "skew"},
    {"sbm,sparse=maybe", "sparse"},
    {"arxiv,scale=0", "scale"},
    {"arxiv,scale=1e-6", "0 nodes"},
    {"amazon,scale=0.0001", "mean degree"}, /* 157 nodes of degree 168 */
};

START_TEST(a_wrong_spec_is_refused)
{
    qh_dataset *d = NULL;

    ck_assert_int_eq(qh_synth_new(wrong[_i].spec, &d), QH_EUSAGE);
    ck_assert_ptr_null(d);
    ck_assert_msg(strstr(qh_error_text(), "synth") && strstr(qh_error_text(), wrong[_i].says),
                  "'%s' lacks '%s'", qh_error_text(), wrong[_i].says);
    ck_assert_int_eq(qh_mem_bytes(), 0);
}
END_TEST

START_TEST(help_names_everything)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    ck_assert_ptr_nonnull(f);
    qh_synth_help(f);
    fclose(f);
    for (size_t i = 0; i < QH_COUNT(twins); i++) {
        char name[32];

        snprintf(name, sizeof name, "%.*s", (int)strcspn(twins[i].spec, ","), twins[i].spec);
        ck_assert_ptr_nonnull(strstr(text, name));
    }
    ck_assert(strstr(text, "homophily") && strstr(text, "scale") && strstr(text, "ynthetic twins"));
    free(text);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("synth");
    TCase *t = tcase_create("synth");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_spec_is_its_bits, 0, (int)QH_COUNT(specs));
    tcase_add_loop_test(t, a_twin_has_the_sizes, 0, (int)QH_COUNT(twins));
    tcase_add_loop_test(t, neighbours_tell_more_than_the_node, 0, (int)QH_COUNT(learnable));
    tcase_add_test(t, homophily_is_as_asked);
    tcase_add_test(t, locality_numbers_neighbours_close);
    tcase_add_test(t, small_ones_are_legal);
    tcase_add_loop_test(t, a_wrong_spec_is_refused, 0, (int)QH_COUNT(wrong));
    tcase_add_test(t, help_names_everything);
    suite_add_tcase(s, t);
    return s;
}
