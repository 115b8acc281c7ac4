/* Small data sets in memory, and folders for files, for the tests of every floor from graph on.
 * Link sample_dep. */
#ifndef QH_TESTS_SUPPORT_SAMPLE_H
#define QH_TESTS_SUPPORT_SAMPLE_H

#include "src/graph/dataset.h"

/* A synthetic data set (synth:sbm with homophily 0.8): mean degree as near to degree as the number
 * of nodes allows (at most half of the other nodes), 60/20/20 split with at least one training
 * node. multilabel: labels as [nodes x classes]. nodes >= 1. Freed with qh_dataset_free. */
qh_status sample_dataset(int64_t nodes, int64_t degree, int64_t features, int64_t classes,
                         bool sparse, bool multilabel, uint64_t seed, qh_dataset **out);

/* Fails the test where any array or size of a and b differs; padding may. */
void sample_assert_same(const qh_dataset *a, const qh_dataset *b);

/* A new empty folder under TMPDIR (or /tmp), which sample_remove_folder takes away with all in it.
 */
char *sample_new_folder(void); /* freed by sample_remove_folder */
void sample_remove_folder(char *folder);

/* "FOLDER/NAME" in one of four static buffers, used in turn. */
const char *sample_path(const char *folder, const char *name);

#endif
