/* Features, labels and split of a synthetic data set: they follow the class of a node's block. */
#include "src/base/mem.h"
#include "src/graph/synth.h"

#include <math.h>

enum {
    WORD_COLUMNS = 20, /* sparse: one word a row for so many columns, */
    WORDS_MAX = 64     /* and no more than this */
};

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Two near-normal numbers of mean 0 and variance 1 from one block, each the sum of four uniform
 * ones of 16 bits (Irwin-Hall): integers until the last step, so the same bits everywhere, at a
 * third of the price of Box-Muller. */
static void two_normals(qh_rand4 r, float out[2])
{
    for (int i = 0; i < 2; i++) {
        uint32_t a = r.v[2 * i], b = r.v[2 * i + 1];
        int32_t sum = (int32_t)((a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16));

        out[i] = (float)(sum - 2 * 65535) * (1.7320508F / 65536); /* variance 4/12 */
    }
}

/* --- dense: the mean of the class, and noise --- */

static void fill_dense_row(const qh_blocks *b, const float *mean, int64_t node, int64_t n_cols,
                           float *row)
{
    for (int64_t c = 0; c < n_cols; c += 2) {
        float noise[2];

        two_normals(qh_rand_block(b->key[QH_SYNTH_FEATURE], (uint64_t)(c / 2), (uint64_t)node),
                    noise);
        row[c] = mean[c] + noise[0];
        if (c + 1 < n_cols)
            row[c + 1] = mean[c + 1] + noise[1];
    }
}

static qh_status dense_features(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    float *mean = NULL, length = (float)(r->signal / sqrt((double)r->features));
    qh_status st;

    QH_TRY(st, qh_mat_new(r->nodes, r->features, &d->dense));
    QH_TRY(st, QH_NEW_ARRAY(&mean, r->features + 1));
    for (int64_t c = 0; c < r->classes; c++) {
        for (int64_t f = 0; f < r->features; f += 2) {
            two_normals(qh_rand_block(b->key[QH_SYNTH_MEAN], (uint64_t)(f / 2), (uint64_t)c),
                        mean + f);
            mean[f] *= length;
            mean[f + 1] *= length;
        }
        for (int64_t p = b->class_start[c]; p < b->class_start[c + 1]; p++)
            fill_dense_row(b, mean, b->node_of[p], r->features,
                           qh_mat_row(d->dense, b->node_of[p]));
    }
out:
    qh_mem_free(mean);
    return st;
}

/* --- sparse: words, some of them from the class's own list --- */

/* n rising and different columns into col; a word drawn twice counts once. */
static int64_t fill_sparse_row(const qh_recipe *r, const qh_blocks *b, int64_t node, int64_t class,
                               int64_t n_words, int32_t *col)
{
    int64_t n_own = r->features / r->classes, n = 0;
    double own = r->signal / 16;

    n_own = n_own > 1 ? n_own : 1;
    for (int64_t w = 0; w < n_words; w++) {
        qh_rand4 x = qh_rand_block(b->key[QH_SYNTH_FEATURE], (uint64_t)w, (uint64_t)node);
        int64_t c = (int64_t)((uint64_t)x.v[1] * (uint64_t)r->features >> 32), at = n;

        if (x.v[0] * 0x1p-32 < own)
            c = (class * n_own + (int64_t)((uint64_t)x.v[1] * (uint64_t)n_own >> 32)) % r->features;
        while (at > 0 && col[at - 1] > c)
            at--;
        if (at > 0 && col[at - 1] == c)
            continue;
        for (int64_t i = n; i > at; i--)
            col[i] = col[i - 1];
        col[at] = (int32_t)c;
        n++;
    }
    return n;
}

static qh_status sparse_features(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    int64_t n_words = min64(r->features / WORD_COLUMNS + 1, WORDS_MAX), *ptr = NULL;
    int32_t words[WORDS_MAX], *class_of_node = NULL, *col = NULL;
    float *val = NULL;
    qh_status st;

    d->sparse = true;
    QH_TRY(st, QH_NEW_ARRAY(&class_of_node, r->nodes));
    for (int64_t c = 0; c < r->classes; c++)
        for (int64_t p = b->class_start[c]; p < b->class_start[c + 1]; p++)
            class_of_node[b->node_of[p]] = (int32_t)c;
    QH_TRY(st, QH_NEW_ARRAY(&ptr, r->nodes + 1));
    d->sparse_features = (qh_csr){.n_rows = r->nodes, .n_cols = r->features, .ptr = ptr};
    for (int64_t v = 0; v < r->nodes; v++)
        ptr[v + 1] = ptr[v] + fill_sparse_row(r, b, v, class_of_node[v], n_words, words);
    QH_TRY(st, QH_NEW_ARRAY(&col, ptr[r->nodes]));
    d->sparse_features.col = col;
    QH_TRY(st, QH_NEW_ARRAY(&val, ptr[r->nodes]));
    d->sparse_features.val = val;
    for (int64_t v = 0; v < r->nodes; v++) {
        int64_t n = fill_sparse_row(r, b, v, class_of_node[v], n_words, words);

        for (int64_t i = 0; i < n; i++) {
            col[ptr[v] + i] = words[i];
            val[ptr[v] + i] = 1;
        }
    }
out:
    qh_mem_free(class_of_node);
    return st;
}

qh_status qh_synth_features(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    return r->sparse ? sparse_features(r, b, d) : dense_features(r, b, d);
}

/* --- labels --- */

/* Whether nodes of a class mostly have this label: its own, and one in sixteen of the others. */
static bool in_profile(const qh_blocks *b, int64_t class, int64_t label)
{
    uint64_t cell = (uint64_t)(class * b->n_classes + label);

    return label == class || qh_rand_u64(b->key[QH_SYNTH_PROFILE], cell) % 16 == 0;
}

/* A label of the profile is missing with chance label_noise; another one is there with a tenth of
 * that. */
static void fill_multi_label(const qh_recipe *r, const qh_blocks *b, int64_t node,
                             const uint8_t *profile, uint8_t *row)
{
    for (int64_t l = 0; l < r->classes; l++) {
        double x = qh_rand_unit(b->key[QH_SYNTH_LABEL], (uint64_t)(node * r->classes + l));

        row[l] = profile[l] ? x >= r->label_noise : x < r->label_noise / 10;
    }
}

static qh_status multi_labels(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    uint8_t *profile = NULL;
    qh_status st;

    d->multilabel = true;
    QH_TRY(st, qh_mem_alloc((void **)&d->multi_label, r->nodes, (size_t)r->classes));
    QH_TRY(st, QH_NEW_ARRAY(&profile, r->classes));
    for (int64_t c = 0; c < r->classes; c++) {
        for (int64_t l = 0; l < r->classes; l++)
            profile[l] = in_profile(b, c, l);
        for (int64_t p = b->class_start[c]; p < b->class_start[c + 1]; p++)
            fill_multi_label(r, b, b->node_of[p], profile,
                             d->multi_label + b->node_of[p] * r->classes);
    }
out:
    qh_mem_free(profile);
    return st;
}

static qh_status single_labels(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    qh_key key = b->key[QH_SYNTH_LABEL];
    qh_status st = QH_NEW_ARRAY(&d->label, r->nodes);

    if (st < 0)
        return st;
    for (int64_t c = 0; c < r->classes; c++)
        for (int64_t p = b->class_start[c]; p < b->class_start[c + 1]; p++) {
            int32_t v = b->node_of[p];
            uint64_t at = 2 * (uint64_t)v;

            d->label[v] = (int32_t)c;
            if (r->label_noise > 0 && qh_rand_unit(key, at) < r->label_noise)
                d->label[v] = (int32_t)qh_rand_below(key, at + 1, (uint64_t)r->classes);
        }
    return st;
}

qh_status qh_synth_labels(const qh_recipe *r, const qh_blocks *b, qh_dataset *d)
{
    int64_t n_train = 0;
    qh_status st;

    QH_TRY(st, r->multilabel ? multi_labels(r, b, d) : single_labels(r, b, d));
    QH_TRY(st, QH_NEW_ARRAY(&d->split, r->nodes));
    for (int64_t v = 0; v < r->nodes; v++) {
        double x = qh_rand_unit(b->key[QH_SYNTH_SPLIT], (uint64_t)v);

        d->split[v] = QH_SPLIT_TEST;
        if (x < r->train)
            d->split[v] = QH_SPLIT_TRAIN;
        else if (x < r->train + r->val)
            d->split[v] = QH_SPLIT_VALIDATION;
        n_train += d->split[v] == QH_SPLIT_TRAIN;
    }
    if (!n_train) /* a few nodes and bad luck: training needs one */
        d->split[0] = QH_SPLIT_TRAIN;
out:
    return st;
}
