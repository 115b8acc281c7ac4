/* Parts in a .qhp file: what each rank needs of a data set, so that a job of many processes does
 * not hold the graph as many times. Written once from the whole; a rank maps the file and looks at
 * its own part alone. */
#ifndef QH_PARTITION_PART_H
#define QH_PARTITION_PART_H

#include "src/base/file.h"
#include "src/graph/dataset.h"
#include "src/partition/halo.h"
#include "src/partition/partition.h"

/* One part. What is not marked owned lies in the mapping. */
typedef struct qh_part {
    qh_map map;           /* owned */
    qh_dataset facts;     /* owned texts; names and sizes of the whole, no rows; its graph ... */
    qh_graph sizes;       /* ... has sizes alone */
    qh_feature_norm norm; /* of the features */
    qh_partition_figures figures;
    int64_t *inner_nodes;  /* owned, [n_parts] */
    int64_t n_of_split[4]; /* labelled nodes of all parts */
    int n_parts, rank;
    qh_halo lists;             /* the plan without self loops, and without out_ptr, out_col */
    const int32_t *halo_order; /* [n_halo]: halo rows, counted from the first, by node id */
    /* By local row, halo rows as well: */
    bool sparse;
    qh_mat dense;
    qh_csr sparse_features;
    /* By inner row: */
    const int32_t *label;  /* NULL when multilabel */
    const uint8_t *target; /* [n_inner x classes]; NULL unless multilabel */
    const int8_t *split;
} qh_part;

/* A .qhp file as qh_partition_write makes it, which qh_partition_read reads as well, with the parts
 * behind. norm: how the features of d were scaled. QH_ERESOURCE. */
qh_status qh_parts_write(const char *path, const qh_dataset *d, qh_feature_norm norm,
                         const int32_t *part, int n_parts, const char *made_by);

/* Whether path is a .qhp file with parts; false also where it cannot be read. */
bool qh_parts_are_in(const char *path);

/* Part rank of n_parts. QH_EINPUT: the file is missing, damaged, without parts; QH_EUSAGE: it has
 * another number of parts. */
qh_status qh_part_open(const char *path, int rank, int n_parts, qh_part **out);
void qh_part_close(qh_part *p); /* NULL is fine */

/* The plan, as qh_halo_new makes it of the whole graph. */
qh_status qh_part_plan(const qh_part *p, bool self_loops, qh_halo **out);

/* The local row of a node of this part or of its halo that is a halo row: by bisection. */
int64_t qh_part_halo_row(const qh_part *p, int32_t node);

/* The dense features of rows into the same rows of `to`. What was read is let go of, so that the
 * file does not fill the memory. */
void qh_part_copy_features(const qh_part *p, qh_rows rows, qh_mat to);

#endif
