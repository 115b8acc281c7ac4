/* Metrics as integer counts, which add up over rows, threads and ranks without rounding. */
#ifndef QH_TRAIN_METRIC_H
#define QH_TRAIN_METRIC_H

#include "src/train/local.h"

/* By split. Accuracy: correct. F1: true positives, false positives, false negatives. */
typedef struct qh_counts {
    int64_t correct[4], tp[4], fp[4], fn[4];
} qh_counts;

/* Adds the rows first .. end-1 of logits [n_inner x classes]. A class is predicted when its logit
 * is the largest (the lowest class of equals); with many labels, when it is above 0. */
void qh_counts_add(const qh_local *l, qh_mat logits, qh_rows rows, qh_counts *sum);

/* sum += c. */
void qh_counts_merge(const qh_counts *c, qh_counts *sum);

/* Accuracy = correct / nodes; or micro-averaged F1 = 2 tp / (2 tp + fp + fn), 0 when there is
 * nothing to find and nothing was found. NaN for a split without nodes. */
void qh_counts_metric(const qh_counts *c, const int64_t n_of_split[4], bool multilabel,
                      double metric[4]);

#endif
