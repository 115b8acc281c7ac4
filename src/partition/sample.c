#include "src/partition/sample.h"

#include "src/base/mem.h"
#include "src/base/rng.h"

#include <string.h>

struct qh_sample {
    const qh_halo *full;             /* borrowed */
    const float *in_full, *out_full; /* borrowed */
    qh_halo plan;                    /* its arrays are owned, with the room of full's */
    float *in_val, *out_val;         /* owned, [full->n_edges] */
    int32_t *new_row;                /* owned, [full->n_halo]: -1: lost */
    double p;
    uint64_t seed;
};

static bool keeps(qh_key key, int32_t node, int to, int n_ranks, double p)
{
    return qh_rand_unit(key, (uint64_t)node * (uint64_t)n_ranks + (uint64_t)to) < p;
}

static qh_key key_of(uint64_t seed, int32_t epoch)
{
    return qh_rand_key(seed, QH_RAND_SAMPLE, (uint32_t)epoch, 0, 0);
}

bool qh_sample_keeps(uint64_t seed, int32_t epoch, int32_t node, int to, int n_ranks, double p)
{
    return keeps(key_of(seed, epoch), node, to, n_ranks, p);
}

/* --- the parts of a draw --- */

static void draw_halo(qh_sample *s, qh_key key)
{
    const qh_halo *f = s->full;
    qh_halo *h = &s->plan;
    int64_t n = f->n_inner;

    for (int p = 0; p < f->n_ranks; p++) {
        for (int64_t i = f->recv_ptr[p]; i < f->recv_ptr[p + 1]; i++) {
            int64_t row = f->n_inner + i;

            s->new_row[i] = -1;
            if (!keeps(key, f->node[row], f->rank, f->n_ranks, s->p))
                continue;
            s->new_row[i] = (int32_t)n;
            h->node[n] = f->node[row];
            h->in_deg[n] = f->in_deg[row];
            h->out_deg[n++] = f->out_deg[row];
        }
        h->recv_ptr[p + 1] = n - f->n_inner;
    }
    h->n_local = n;
    h->n_halo = n - f->n_inner;
}

static void draw_boundary(qh_sample *s, qh_key key)
{
    const qh_halo *f = s->full;
    int64_t n = 0;

    for (int p = 0; p < f->n_ranks; p++) {
        for (int64_t i = f->send_ptr[p]; i < f->send_ptr[p + 1]; i++)
            if (keeps(key, f->node[f->send_row[i]], p, f->n_ranks, s->p))
                s->plan.send_row[n++] = f->send_row[i];
        s->plan.send_ptr[p + 1] = n;
    }
}

static float value(const float *val, int64_t e)
{
    return val ? val[e] : 1;
}

static float rescaled(const qh_sample *s, float value)
{
    return (float)(value / s->p);
}

/* Central rows have no halo neighbour: their part stays as qh_sample_new left it. */
static void draw_in(qh_sample *s)
{
    const qh_halo *f = s->full;
    qh_halo *h = &s->plan;
    int64_t n = f->in_ptr[f->n_central];

    for (int64_t row = f->n_central; row < f->n_inner; row++) {
        for (int64_t e = f->in_ptr[row]; e < f->in_ptr[row + 1]; e++) {
            int32_t col = f->in_col[e];
            bool inner = col < f->n_inner;

            if (!inner)
                col = s->new_row[col - f->n_inner];
            if (col < 0)
                continue;
            h->in_col[n] = col;
            s->in_val[n++] = inner ? value(s->in_full, e) : rescaled(s, value(s->in_full, e));
        }
        h->in_ptr[row + 1] = n;
    }
    h->n_edges = n;
}

/* Inner rows have the same targets whatever is lost: their part stays. */
static void draw_out(qh_sample *s)
{
    const qh_halo *f = s->full;
    qh_halo *h = &s->plan;
    int64_t n = f->out_ptr[f->n_inner];

    for (int64_t i = 0; i < f->n_halo; i++) {
        const int64_t *from = f->out_ptr + f->n_inner + i;

        if (s->new_row[i] < 0)
            continue;
        for (int64_t e = from[0]; e < from[1]; e++) {
            h->out_col[n] = f->out_col[e];
            s->out_val[n++] = rescaled(s, value(s->out_full, e));
        }
        h->out_ptr[s->new_row[i] + 1] = n;
    }
    QH_ASSERT(n == h->n_edges);
}

void qh_sample_draw(qh_sample *s, int32_t epoch)
{
    qh_key key = key_of(s->seed, epoch);

    draw_halo(s, key);
    draw_boundary(s, key);
    draw_in(s);
    draw_out(s);
}

/* --- building --- */

static qh_status take_plan(const qh_halo *f, qh_halo *h)
{
    qh_status st;

    *h = (qh_halo){
        .rank = f->rank, .n_ranks = f->n_ranks, .n_central = f->n_central, .n_inner = f->n_inner};
    QH_TRY(st, QH_NEW_ARRAY(&h->node, f->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_deg, f->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_deg, f->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->recv_ptr, f->n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->send_ptr, f->n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->send_row, f->send_ptr[f->n_ranks]));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_ptr, f->n_inner + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_col, f->n_edges));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_ptr, f->n_local + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_col, f->n_edges));
out:
    return st;
}

#define COPY(to, from, n) memcpy(to, from, (size_t)(n) * sizeof *(to))

/* What no draw changes. */
static void fill(qh_sample *s)
{
    const qh_halo *f = s->full;
    int64_t n_in = f->in_ptr[f->n_central], n_out = f->out_ptr[f->n_inner];

    COPY(s->plan.node, f->node, f->n_inner);
    COPY(s->plan.in_deg, f->in_deg, f->n_inner);
    COPY(s->plan.out_deg, f->out_deg, f->n_inner);
    COPY(s->plan.in_ptr, f->in_ptr, f->n_central + 1);
    COPY(s->plan.in_col, f->in_col, n_in);
    COPY(s->plan.out_ptr, f->out_ptr, f->n_inner + 1);
    COPY(s->plan.out_col, f->out_col, n_out);
    for (int64_t e = 0; e < n_in; e++)
        s->in_val[e] = value(s->in_full, e);
    for (int64_t e = 0; e < n_out; e++)
        s->out_val[e] = value(s->out_full, e);
}

qh_status qh_sample_new(const qh_halo *full, const float *in_val, const float *out_val, double p,
                        uint64_t seed, qh_sample **out)
{
    qh_sample *s = NULL;
    qh_status st;

    QH_ASSERT(0 < p && p <= 1);
    QH_TRY(st, QH_NEW(&s));
    s->full = full;
    s->in_full = in_val;
    s->out_full = out_val;
    s->p = p;
    s->seed = seed;
    QH_TRY(st, take_plan(full, &s->plan));
    QH_TRY(st, QH_NEW_ARRAY(&s->in_val, full->n_edges));
    QH_TRY(st, QH_NEW_ARRAY(&s->out_val, full->n_edges));
    QH_TRY(st, QH_NEW_ARRAY(&s->new_row, full->n_halo));
    fill(s);
    *out = s;
    s = NULL;
out:
    qh_sample_free(s);
    return st;
}

void qh_sample_free(qh_sample *s)
{
    if (!s)
        return;
    qh_mem_free(s->new_row);
    qh_mem_free(s->out_val);
    qh_mem_free(s->in_val);
    qh_mem_free(s->plan.out_col);
    qh_mem_free(s->plan.out_ptr);
    qh_mem_free(s->plan.in_col);
    qh_mem_free(s->plan.in_ptr);
    qh_mem_free(s->plan.send_row);
    qh_mem_free(s->plan.send_ptr);
    qh_mem_free(s->plan.recv_ptr);
    qh_mem_free(s->plan.out_deg);
    qh_mem_free(s->plan.in_deg);
    qh_mem_free(s->plan.node);
    qh_mem_free(s);
}

const qh_halo *qh_sample_plan(const qh_sample *s)
{
    return &s->plan;
}

const float *qh_sample_in_values(const qh_sample *s)
{
    return s->in_val;
}

const float *qh_sample_out_values(const qh_sample *s)
{
    return s->out_val;
}
