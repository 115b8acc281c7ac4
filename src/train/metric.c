#include "src/train/metric.h"

#include <math.h>

static int64_t largest(const float *x, int64_t n)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

static void add_labels(const float *logit, const uint8_t *target, int64_t n, int split,
                       qh_counts *sum)
{
    for (int64_t i = 0; i < n; i++) {
        bool found = logit[i] > 0, wanted = target[i] != 0;

        sum->tp[split] += found && wanted;
        sum->fp[split] += found && !wanted;
        sum->fn[split] += !found && wanted;
    }
}

void qh_counts_add(const qh_local *l, qh_mat logits, qh_rows rows, qh_counts *sum)
{
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *logit = qh_mat_row(logits, r);
        int split = l->split[r];

        if (split == QH_SPLIT_NONE)
            continue;
        if (l->target)
            add_labels(logit, l->target + r * logits.cols, logits.cols, split, sum);
        else
            sum->correct[split] += largest(logit, logits.cols) == l->label[r];
    }
}

void qh_counts_merge(const qh_counts *c, qh_counts *sum)
{
    for (int s = 0; s < 4; s++) {
        sum->correct[s] += c->correct[s];
        sum->tp[s] += c->tp[s];
        sum->fp[s] += c->fp[s];
        sum->fn[s] += c->fn[s];
    }
}

void qh_counts_metric(const qh_counts *c, const int64_t n_of_split[4], bool multilabel,
                      double metric[4])
{
    for (int s = 0; s < 4; s++) {
        int64_t all = 2 * c->tp[s] + c->fp[s] + c->fn[s];

        if (s == QH_SPLIT_NONE || n_of_split[s] == 0)
            metric[s] = NAN;
        else if (!multilabel)
            metric[s] = (double)c->correct[s] / (double)n_of_split[s];
        else
            metric[s] = all > 0 ? 2.0 * (double)c->tp[s] / (double)all : 0;
    }
}
