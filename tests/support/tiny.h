/* Small data sets made of random numbers, for tests that want control of every kind. */
#ifndef QH_TESTS_SUPPORT_TINY_H
#define QH_TESTS_SUPPORT_TINY_H

#include "src/graph/dataset.h"

typedef struct tiny_spec {
    int64_t nodes, degree, features, classes;
    bool sparse, multilabel, directed;
    uint64_t seed;
} tiny_spec;

/* Random edges, features that carry the class, two thirds of the nodes to train on, the rest for
 * validation and test in turn. Freed with tiny_free. */
qh_dataset *tiny_new(tiny_spec spec);

/* Of given arrays: edges (src, dst), features [nodes x n_features] row by row; labels [nodes], or
 * targets [nodes x classes] and labels NULL; split [nodes]. All are copied. */
qh_dataset *tiny_of(int64_t nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
                    int64_t n_features, const float *features, int64_t classes,
                    const int32_t *label, const uint8_t *target, const int8_t *split);

void tiny_free(qh_dataset *d);

#endif
