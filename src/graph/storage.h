/* What dataset*.c, the readers and the generators share about a qh_dataset. Inside src/graph only.
 */
#ifndef QH_GRAPH_STORAGE_H
#define QH_GRAPH_STORAGE_H

#include "src/base/file.h"
#include "src/graph/dataset.h"

/* Behind qh_dataset.storage: NULL where every array is owned (qh_mem), else the mapping that some
 * of them lie in. An array is known to be mapped by its address. */
typedef struct qh_storage {
    qh_map map;
} qh_storage;

/* Where each part of a data set came from, for errors. */
typedef struct qh_places {
    /* borrowed; rows and values: of sparse features, whose columns are `features` */
    const char *graph, *features, *rows, *values, *labels, *split;
} qh_places;

/* qh_dataset_check, naming the file of each part. */
qh_status qh_dataset_check_places(const qh_dataset *d, const qh_places *where);

/* Takes nodes without label out of the split (nothing could be learnt or measured on them) and says
 * so through qh_log. */
void qh_dataset_drop_unlabelled(qh_dataset *d, const char *where);

/* Frees the features, be they owned or mapped, and leaves none. */
void qh_dataset_free_features(qh_dataset *d);

/* One warning for what building the graph dropped, if it dropped anything. */
void qh_edges_warn(const char *where, const qh_edge_report *r);

#endif
