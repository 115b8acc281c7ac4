/* Random problems of bit assignment, solved and evaluated from the definition, for their tests. */
#ifndef QH_TESTS_SUPPORT_TRADEOFF_H
#define QH_TESTS_SUPPORT_TRADEOFF_H

#include "src/policy/tradeoff.h"

enum { TEST_MAX_DEVICES = 9, TEST_MAX_CHANNELS = 80, TEST_MAX_GROUPS = 8192 };

typedef struct test_tradeoff {
    qh_tradeoff problem;
    qh_tradeoff_channel channel[TEST_MAX_CHANNELS];
    float variance[TEST_MAX_GROUPS];
    int64_t n_groups;
} test_tradeoff;

typedef struct test_answer {
    qh_tradeoff_answer a;
    double z[TEST_MAX_DEVICES];
    uint8_t width[TEST_MAX_GROUPS];
} test_answer;

/* Everything about the problem follows from the seed: widths, lambda, costs, sizes, variances;
 * channels of all pairs, of up to most_groups groups, some empty. Messages have n_cols values. */
void test_tradeoff_make(test_tradeoff *x, uint64_t seed, int n_devices, int64_t most_groups,
                        int64_t n_cols);
/* A number below n, the next from the seed of the last problem made. */
int64_t test_tradeoff_below(int64_t n);
void test_tradeoff_set_widths(test_tradeoff *x, const char *list);
void test_tradeoff_set_bytes(test_tradeoff *x, qh_tradeoff_channel *c, int64_t n_cols);

/* Solves, and fails the test for an error or for memory taken while solving. */
void test_tradeoff_solve(const char *solver, const test_tradeoff *x, test_answer *out);

/* The objective of any widths, written down once more from the definition. */
double test_tradeoff_objective(const test_tradeoff *x, const uint8_t *width);

#endif
