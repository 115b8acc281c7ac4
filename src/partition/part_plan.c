#include "src/base/mem.h"
#include "src/partition/part.h"

#include <string.h>

/* Copies of the lists, so that a plan is one whatever it was made from. */
static qh_status copy_lists(const qh_halo *from, qh_halo *h)
{
    int64_t n_send = from->send_ptr[from->n_ranks];
    qh_status st;

    h->rank = from->rank;
    h->n_ranks = from->n_ranks;
    h->n_central = from->n_central;
    h->n_inner = from->n_inner;
    h->n_halo = from->n_halo;
    h->n_local = from->n_local;
    QH_TRY(st, QH_NEW_ARRAY(&h->node, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_deg, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_deg, h->n_local));
    QH_TRY(st, QH_NEW_ARRAY(&h->recv_ptr, h->n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->send_ptr, h->n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->send_row, n_send));
    memcpy(h->node, from->node, (size_t)h->n_local * sizeof *h->node);
    memcpy(h->in_deg, from->in_deg, (size_t)h->n_local * sizeof *h->in_deg);
    memcpy(h->out_deg, from->out_deg, (size_t)h->n_local * sizeof *h->out_deg);
    memcpy(h->recv_ptr, from->recv_ptr, (size_t)(h->n_ranks + 1) * sizeof *h->recv_ptr);
    memcpy(h->send_ptr, from->send_ptr, (size_t)(h->n_ranks + 1) * sizeof *h->send_ptr);
    memcpy(h->send_row, from->send_row, (size_t)n_send * sizeof *h->send_row);
out:
    return st;
}

/* In-lists stay rising: the loop to the row itself goes where its number belongs. */
static qh_status copy_edges(const qh_halo *from, bool self_loops, qh_halo *h)
{
    int64_t to = 0;
    qh_status st;

    h->n_edges = from->n_edges + (self_loops ? from->n_inner : 0);
    QH_TRY(st, QH_NEW_ARRAY(&h->in_ptr, h->n_inner + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->in_col, h->n_edges));
    for (int64_t row = 0; row < h->n_inner; row++) {
        int64_t e = from->in_ptr[row], end = from->in_ptr[row + 1];

        for (; e < end && from->in_col[e] < row; e++)
            h->in_col[to++] = from->in_col[e];
        if (self_loops)
            h->in_col[to++] = (int32_t)row;
        for (; e < end; e++)
            h->in_col[to++] = from->in_col[e];
        h->in_ptr[row + 1] = to;
    }
out:
    return st;
}

static qh_status transpose(qh_halo *h)
{
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&h->out_ptr, h->n_local + 1));
    QH_TRY(st, QH_NEW_ARRAY(&h->out_col, h->n_edges));
    for (int64_t e = 0; e < h->n_edges; e++)
        h->out_ptr[h->in_col[e] + 1]++;
    for (int64_t i = 0; i < h->n_local; i++)
        h->out_ptr[i + 1] += h->out_ptr[i];
    for (int64_t row = 0; row < h->n_inner; row++) /* moves every offset to the end of its list, */
        for (int64_t e = h->in_ptr[row]; e < h->in_ptr[row + 1]; e++)
            h->out_col[h->out_ptr[h->in_col[e]]++] = (int32_t)row;
    for (int64_t i = h->n_local; i > 0; i--) /* which is where the next one begins */
        h->out_ptr[i] = h->out_ptr[i - 1];
    h->out_ptr[0] = 0;
out:
    return st;
}

qh_status qh_part_plan(const qh_part *p, bool self_loops, qh_halo **out)
{
    qh_halo *h = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW(&h));
    QH_TRY(st, copy_lists(&p->lists, h));
    QH_TRY(st, copy_edges(&p->lists, self_loops, h));
    QH_TRY(st, transpose(h));
    *out = h;
    h = NULL;
out:
    qh_halo_free(h);
    return st;
}
