/* Bit assignment for qhalo bench: all pairs of 8 devices, channels of unequal cost, variances over
 * two decades. */
#include "tools/bench_cases.h"

#include "src/base/rng.h"
#include "src/base/sort.h"
#include "src/policy/tradeoff.h"

#include <math.h>

enum { DEVICES = 8, CHANNELS = DEVICES * (DEVICES - 1) };

struct qh_bench_assign {
    qh_tradeoff problem;
    qh_tradeoff_channel channel[CHANNELS];
    qh_tradeoff_work *work; /* owned */
    float *variance;        /* owned, [n] */
    uint8_t *width;         /* owned, [n] */
    uint64_t *key;          /* owned, [2 * groups of a channel], of the sort alone */
    int32_t *order;         /* owned, [groups of a channel] */
    double z[DEVICES];
};

void qh_bench_assign_free(struct qh_bench_assign *a)
{
    if (!a)
        return;
    qh_tradeoff_work_free(a->work);
    qh_mem_free(a->order);
    qh_mem_free(a->key);
    qh_mem_free(a->width);
    qh_mem_free(a->variance);
    qh_mem_free(a);
}

static double uniform(int64_t i)
{
    return (double)qh_rand_below(qh_rand_key(3, QH_RAND_INIT, 0, 0, 0), (uint64_t)i,
                                 UINT64_C(1) << 32) *
           0x1p-32;
}

static void set_problem(struct qh_bench_assign *a, int64_t n_groups, int64_t group_size)
{
    static const uint8_t width[] = {2, 4, 8};
    qh_tradeoff *p = &a->problem;

    *p = (qh_tradeoff){.n_devices = DEVICES, .n_widths = 3, .lambda = 0.5, .channel = a->channel};
    for (int k = 0; k < 3; k++)
        p->width[k] = width[k];
    for (int i = 0; i < CHANNELS; i++) {
        int src = i / (DEVICES - 1), hop = 1 + i % (DEVICES - 1);

        a->channel[p->n_channels++] =
            (qh_tradeoff_channel){.src = src,
                                  .dst = (src + hop) % DEVICES,
                                  .theta = (0.5 + uniform(-1 - i)) * 1e-10,
                                  .gamma = 5e-6,
                                  .bytes = {68, 132, 260}, /* 256 values, bf16 parameters */
                                  .n_groups = n_groups,
                                  .group_size = group_size,
                                  .last_size = group_size,
                                  .variance = a->variance + i * n_groups};
    }
}

static qh_status problem_new(qh_bench_data *d, int64_t n_groups, int64_t group_size, double *work)
{
    struct qh_bench_assign *a = NULL;
    qh_status st;

    n_groups = d->quick ? n_groups / 50 : n_groups;
    QH_TRY(st, QH_NEW(&d->assign));
    a = d->assign;
    QH_TRY(st, QH_NEW_ARRAY(&a->variance, n_groups * CHANNELS));
    QH_TRY(st, QH_NEW_ARRAY(&a->width, n_groups * CHANNELS));
    QH_TRY(st, QH_NEW_ARRAY(&a->key, 2 * n_groups));
    QH_TRY(st, QH_NEW_ARRAY(&a->order, n_groups));
    for (int64_t i = 0; i < n_groups * CHANNELS; i++)
        a->variance[i] = (float)exp(4 * uniform(i) - 2);
    set_problem(a, n_groups, group_size);
    QH_TRY(st, qh_tradeoff_work_new(&a->problem, &a->work));
    *work = (double)(n_groups * CHANNELS);
out:
    return st;
}

qh_status qh_bench_groups_new(qh_bench_data *d, double *work)
{
    return problem_new(d, 200, 100, work);
}

qh_status qh_bench_messages_new(qh_bench_data *d, double *work)
{
    return problem_new(d, 1000000 / CHANNELS, 1, work);
}

void qh_bench_assign_run(qh_bench_data *d)
{
    struct qh_bench_assign *a = d->assign;
    const qh_tradeoff_solver *exact = qh_tradeoff_at(0);
    qh_tradeoff_answer answer;
    qh_status st = exact->solve(&a->problem, a->work, a->width, a->z, &answer);

    QH_ASSERT(st == QH_OK && answer.optimal);
}

void qh_bench_sort_run(qh_bench_data *d)
{
    struct qh_bench_assign *a = d->assign;

    for (int i = 0; i < CHANNELS; i++)
        qh_sort_falling(a->channel[i].variance, a->channel[i].n_groups, a->key, a->order);
}
