/* The members of the family, for the registry in partition.c, and what they share. */
#ifndef QH_PARTITION_PARTITIONERS_H
#define QH_PARTITION_PARTITIONERS_H

#include "src/partition/partition.h"

extern const qh_partitioner_ops qh_partitioner_metis, qh_partitioner_random, qh_partitioner_range,
    qh_partitioner_hash, qh_partitioner_file;

/* Gives every empty part one node out of a part above the mean size: nodes go from the highest id
 * down, to parts from the lowest id up, so the result depends on the arguments alone.
 * 1 <= n_parts <= n_nodes. Linear time. QH_ERESOURCE. */
qh_status qh_partition_fill_empty(int64_t n_nodes, int n_parts, int32_t *part);

#endif
