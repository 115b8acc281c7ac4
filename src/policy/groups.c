#include "src/policy/groups.h"

#include "src/base/sort.h"
#include "src/policy/tradeoff_parts.h"

#include <float.h>

int64_t qh_group_count(int64_t n_messages, int64_t group_size)
{
    return n_messages / group_size + (n_messages % group_size > 0);
}

static float to_float(double v)
{
    return v < FLT_MAX ? (float)v : FLT_MAX;
}

float qh_message_variance(double beta, int64_t n_cols, double square)
{
    return to_float(beta * (double)n_cols * to_float(square) / 6);
}

void qh_groups_form(const float *v, int64_t n, int64_t group_size, uint64_t *key, int32_t *order,
                    float *sum)
{
    qh_sort_falling(v, n, key, order);
    for (int64_t first = 0; first < n; first += group_size) {
        int64_t end = n - first < group_size ? n : first + group_size;
        double all = 0;

        for (int64_t i = first; i < end; i++)
            all += v[order[i]];
        *sum++ = to_float(all);
    }
}

void qh_groups_spread(const int32_t *order, int64_t n, int64_t group_size,
                      const uint8_t *group_width, uint8_t *width)
{
    for (int64_t i = 0; i < n; i++)
        width[order[i]] = group_width[i / group_size];
}

double qh_groups_shuffled_variance(const qh_tradeoff *p, const uint8_t *width)
{
    double all = 0;

    for (int64_t i = 0; i < p->n_channels; i++) {
        const qh_tradeoff_channel *c = &p->channel[i];
        int64_t n_full = c->n_groups - (c->last_size != c->group_size);
        double v = 0, cost = 0;

        for (int64_t g = 0; g < n_full; g++) {
            v += c->variance[g];
            cost += qh_trade_variance_of_width(width[g]);
        }
        all += n_full > 0 ? v * cost / (double)n_full : 0;
        for (int64_t g = n_full; g < c->n_groups; g++)
            all += c->variance[g] * qh_trade_variance_of_width(width[g]);
        width += c->n_groups;
    }
    return all;
}
