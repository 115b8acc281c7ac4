/* Boundary-node sampling (BNS-GCN: Wan, Li, Li, Kim, Lin, MLSys 2022, arXiv 2203.10983): in each
 * epoch a device does without most of its halo.
 *
 * A message (node u to device q) is kept with probability p, drawn by a function of seed, epoch, u
 * and q, so that both ends know which are kept and nothing is sent about it. Kept halo rows count
 * 1 / p times in aggregation and in its transpose: in A' = A with the columns of lost halo rows
 * taken out and those of kept ones divided by p, so that E[A' H] = A H. Forward and backward of an
 * epoch use one sample, in all layers (section 3.2). What is lost is in no list: it is neither
 * sent nor stored nor computed with. */
#ifndef QH_PARTITION_SAMPLE_H
#define QH_PARTITION_SAMPLE_H

#include "src/partition/halo.h"

#include <stdbool.h>

typedef struct qh_sample qh_sample;

/* Whether the message of a node to device `to` of n_ranks is kept. */
bool qh_sample_keeps(uint64_t seed, int32_t epoch, int32_t node, int to, int n_ranks, double p);

/* full is borrowed, and so are its coefficients by edge of in_col and of out_col (NULL: all 1). 0 <
 * p <= 1. Everything is allocated here; nothing is drawn yet. QH_ERESOURCE. */
qh_status qh_sample_new(const qh_halo *full, const float *in_val, const float *out_val, double p,
                        uint64_t seed, qh_sample **out);
void qh_sample_free(qh_sample *s); /* NULL is fine */

void qh_sample_draw(qh_sample *s, int32_t epoch);

/* The plan of the last draw, and its coefficients: valid as long as s, changed by the next draw.
 * Inner rows are those of the full plan; halo rows and lists of messages keep their order. */
const qh_halo *qh_sample_plan(const qh_sample *s);
const float *qh_sample_in_values(const qh_sample *s);
const float *qh_sample_out_values(const qh_sample *s);

#endif
