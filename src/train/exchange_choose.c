/* Rank 0's part of choosing widths: one trade-off (src/policy/tradeoff.h) a layer and direction,
 * over the groups of all channels. */
#include "src/base/mem.h"
#include "src/train/exchange_assign.h"

#include <string.h>

static int64_t n_messages(const qh_exchange *x, const int64_t *count, int src, int dst,
                          qh_direction dir)
{
    int n = x->plan->n_ranks;

    return dir == QH_FORWARD ? count[(int64_t)src * n + dst] : count[(int64_t)dst * n + src];
}

/* The problem of a layer and direction; k->next[src] moves past src's groups of it. */
static qh_tradeoff problem(const qh_exchange *x, qh_chooser *k, int layer, qh_direction dir)
{
    const qh_bits_config *bits = &x->settings->bits;
    int n = x->plan->n_ranks;
    qh_tradeoff p = {.n_devices = n, .n_widths = bits->n_widths, .channel = k->channel};

    memcpy(p.width, bits->width, sizeof p.width);
    for (int src = 0; src < n; src++)
        for (int dst = 0; dst < n; dst++) {
            int64_t count = n_messages(x, k->count, src, dst, dir);
            qh_tradeoff_channel *c = &k->channel[p.n_channels];

            if (count == 0)
                continue;
            *c = (qh_tradeoff_channel){.src = src,
                                       .dst = dst,
                                       .theta = bits->theta[(int64_t)src * n + dst],
                                       .gamma = bits->gamma[(int64_t)src * n + dst],
                                       .n_groups = qh_group_count(count, bits->group_size),
                                       .group_size = bits->group_size};
            if (c->n_groups == 1)
                c->group_size = count;
            c->last_size = count - (c->n_groups - 1) * c->group_size;
            for (int w = 0; w < bits->n_widths; w++)
                c->bytes[w] = qh_row_bytes(qh_model_message_cols(x->model, layer), bits->width[w],
                                           x->settings->codec.params);
            c->variance = k->sum + k->next[src];
            k->next[src] += c->n_groups;
            p.n_channels++;
        }
    return p;
}

static int64_t groups_of_rank(const qh_exchange *x, const qh_chooser *k, int src, qh_direction dir)
{
    int64_t all = 0;

    for (int dst = 0; dst < x->plan->n_ranks; dst++)
        all += qh_group_count(n_messages(x, k->count, src, dst, dir), x->settings->bits.group_size);
    return all;
}

static qh_status make_room(const qh_exchange *x, qh_chooser *k)
{
    int n = x->plan->n_ranks, n_pairs = 2 * qh_model_n_layers(x->model);
    int64_t most = 0, packed = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&k->at, n + 1));
    QH_TRY(st, QH_NEW_ARRAY(&k->next, n + 1));
    for (int r = 0; r < n; r++) {
        k->at[r + 1] = k->at[r];
        for (int i = 0; i < n_pairs; i++)
            if (qh_exchange_chooses(x, i / 2, (qh_direction)(i % 2)))
                k->at[r + 1] += groups_of_rank(x, k, r, (qh_direction)(i % 2));
        packed += qh_width_table_bytes(k->at[r + 1] - k->at[r]);
    }
    for (int d = QH_FORWARD; d <= QH_BACKWARD; d++) {
        int64_t all = 0;

        for (int r = 0; r < n; r++)
            all += groups_of_rank(x, k, r, (qh_direction)d);
        most = all > most ? all : most;
    }
    QH_TRY(st, QH_NEW_ARRAY(&k->sum, k->at[n]));
    QH_TRY(st, QH_NEW_ARRAY(&k->width, k->at[n]));
    QH_TRY(st, QH_NEW_ARRAY(&k->answer, most));
    QH_TRY(st, QH_NEW_ARRAY(&k->packed, packed));
    QH_TRY(st, QH_NEW_ARRAY(&k->channel, (int64_t)n * n));
    QH_TRY(st, QH_NEW_ARRAY(&k->z, n));
    QH_TRY(st, QH_NEW_ARRAY(&k->send, n));
out:
    return st;
}

qh_status qh_chooser_new(const qh_exchange *x, int64_t *count, qh_chooser **out)
{
    qh_chooser *k = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&k));
    k->count = count;
    QH_TRY(st, make_room(x, k));
    for (int i = 0; i < 2 * qh_model_n_layers(x->model); i++) {
        qh_direction dir = (qh_direction)(i % 2);
        qh_tradeoff p;

        if (k->work[dir] || !qh_exchange_chooses(x, i / 2, dir))
            continue;
        memcpy(k->next, k->at, (size_t)x->plan->n_ranks * sizeof *k->next);
        p = problem(x, k, i / 2, dir);
        QH_TRY(st, qh_tradeoff_work_new(&p, &k->work[dir]));
    }
    *out = k;
    k = NULL;
out:
    if (st < 0 && k)
        k->count = NULL; /* still the caller's */
    qh_chooser_free(k);
    return st;
}

void qh_chooser_free(qh_chooser *k)
{
    if (!k)
        return;
    qh_tradeoff_work_free(k->work[QH_BACKWARD]);
    qh_tradeoff_work_free(k->work[QH_FORWARD]);
    qh_mem_free(k->send);
    qh_mem_free(k->z);
    qh_mem_free(k->channel);
    qh_mem_free(k->packed);
    qh_mem_free(k->answer);
    qh_mem_free(k->width);
    qh_mem_free(k->sum);
    qh_mem_free(k->next);
    qh_mem_free(k->at);
    qh_mem_free(k->count);
    qh_mem_free(k);
}

/* Widths of a problem, channel after channel, to where its ranks find theirs: before next. */
static void hand_out(qh_chooser *k, const qh_tradeoff *p)
{
    const uint8_t *answer = k->answer;

    for (int64_t i = 0; i < p->n_channels; i++) {
        const qh_tradeoff_channel *c = &p->channel[i];

        memcpy(k->width + (c->variance - k->sum), answer, (size_t)c->n_groups);
        answer += c->n_groups;
    }
}

qh_status qh_chooser_solve(const qh_exchange *x, qh_chooser *k, qh_assign_result *r, int64_t *steps)
{
    const qh_train_settings *s = x->settings;
    qh_assign_result sum = {.n_assignments = r->n_assignments + 1};
    int n_problems = 0;
    qh_status st = QH_OK;

    *steps = 0;
    memcpy(k->next, k->at, (size_t)x->plan->n_ranks * sizeof *k->next);
    for (int i = 0; i < 2 * qh_model_n_layers(x->model); i++) {
        qh_direction dir = (qh_direction)(i % 2);
        qh_tradeoff_answer a;
        qh_tradeoff p;

        if (!qh_exchange_chooses(x, i / 2, dir))
            continue;
        p = problem(x, k, i / 2, dir);
        QH_TRY(st, s->assign->solve(&s->bits, &p, k->work[dir], k->answer, k->z, &a));
        hand_out(k, &p);
        sum.objective += a.objective;
        sum.gap = a.gap > sum.gap ? a.gap : sum.gap;
        sum.variance += a.var_sum;
        sum.shuffled_variance += qh_groups_shuffled_variance(&p, k->answer);
        sum.seconds += a.time_sum;
        *steps += a.candidates;
        n_problems++;
    }
    sum.objective /= n_problems > 0 ? n_problems : 1;
    *r = sum;
out:
    return st;
}
