/* Groups of messages: what an assigner for all channels at once gives one width to.
 *
 * The messages of a channel, layer and direction, sorted by falling variance, are cut into groups
 * of group_size; the last may be smaller. So the messages of a group are alike, and there are few
 * groups (Wan, Zhao, Wu, AdaQP, MLSys 2023, section 4.2). */
#ifndef QH_POLICY_GROUPS_H
#define QH_POLICY_GROUPS_H

#include "src/policy/tradeoff.h"

int64_t qh_group_count(int64_t n_messages, int64_t group_size); /* 0 of no message */

/* The numerator of a message's variance, v of tradeoff.h: beta D R^2 / 6 for a row of D columns of
 * range R = (2^b - 1) S (AdaQP, theorem 2: Var = D S^2 / 6 a row, weighted by beta, the sum of
 * alpha^2 over the receiver's neighbours of its node). square is the mean of R^2. Never more than
 * the largest float. */
float qh_message_variance(double beta, int64_t n_cols, double square);

/* order[n]: the messages of group 0, then those of group 1, ...; sum[qh_group_count]: their
 * variances added. v[n] finite, >= 0. Of equal ones the lower index comes first. key is scratch,
 * [2 n]. */
void qh_groups_form(const float *v, int64_t n, int64_t group_size, uint64_t *key, int32_t *order,
                    float *sum);

/* width[order[i]] = group_width[i / group_size] for the n messages. */
void qh_groups_spread(const int32_t *order, int64_t n, int64_t group_size,
                      const uint8_t *group_width, uint8_t *width);

/* The V of tradeoff.h to expect when the widths of each channel's full groups are shuffled: what
 * random widths would give at the same bytes. */
double qh_groups_shuffled_variance(const qh_tradeoff *p, const uint8_t *width);

#endif
