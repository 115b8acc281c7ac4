/* Blocks as they came, to be decoded again in later epochs: the wire form is smaller than the rows,
 * and halo rows do not outlive a pass. Layer 0's when it comes once and with loss
 * (--cache-features), every layer's and direction's where senders skip (exchange_skip.c). */
#include "src/base/mem.h"
#include "src/train/exchange_parts.h"

#include <string.h>

enum { ALIGN = 64 };

static qh_kept *kept_of(const qh_exchange *x, int layer, qh_direction dir)
{
    return &x->kept[2 * layer + (int)dir];
}

static bool wanted(const qh_exchange *x, int layer, qh_direction dir)
{
    bool features = x->raw_features && layer == 0 && dir == QH_FORWARD;

    return qh_exchange_travels(x, &x->settings->codec, 0, layer, dir) &&
           !(features && x->known_features) &&
           (x->settings->relax.skip ||
            (features && x->settings->cache_features && !x->same_features));
}

static qh_status new_kept(qh_exchange *x, int layer, qh_direction dir)
{
    qh_kept *k = kept_of(x, layer, dir);
    int n_ranks = x->plan->n_ranks;
    int64_t n = dir == QH_FORWARD ? x->plan->n_halo : x->plan->send_ptr[n_ranks];
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&k->wire_at, n_ranks + 1));
    QH_TRY(st, QH_NEW_ARRAY(&k->epoch, n_ranks));
    QH_TRY(st, QH_NEW_ARRAY(&k->width, n));
    for (int p = 0; p < n_ranks; p++) {
        qh_channel c = qh_channel_at(x, &x->settings->codec, 0, layer, dir, false, p);

        k->wire_at[p + 1] = k->wire_at[p] + (qh_channel_most_bytes(&c) + ALIGN - 1) / ALIGN * ALIGN;
    }
    QH_TRY(st, QH_NEW_ARRAY(&k->wire, k->wire_at[n_ranks]));
out:
    return st;
}

qh_status qh_exchange_kept_new(qh_exchange *x)
{
    int n_layers = qh_model_n_layers(x->model);
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&x->kept, 2 * n_layers));
    for (int i = 0; i < 2 * n_layers; i++)
        if (wanted(x, i / 2, (qh_direction)(i % 2)))
            QH_TRY(st, new_kept(x, i / 2, (qh_direction)(i % 2)));
out:
    return st;
}

void qh_exchange_kept_free(qh_exchange *x)
{
    for (int i = 0; x->kept && i < 2 * qh_model_n_layers(x->model); i++) {
        qh_mem_free(x->kept[i].wire);
        qh_mem_free(x->kept[i].width);
        qh_mem_free(x->kept[i].epoch);
        qh_mem_free(x->kept[i].wire_at);
    }
    qh_mem_free(x->kept);
}

bool qh_exchange_keeps(const qh_exchange *x, int layer, qh_direction dir)
{
    return kept_of(x, layer, dir)->wire != NULL;
}

void qh_channel_keep(const qh_channel *c, const uint8_t *wire)
{
    qh_kept *k = kept_of(c->x, c->layer, c->dir);

    memcpy(k->wire + k->wire_at[c->peer], wire, (size_t)qh_channel_bytes(c));
    k->epoch[c->peer] = c->epoch;
    if (c->block.width)
        memcpy(k->width + c->first, c->block.width, (size_t)c->block.n_rows);
}

qh_channel qh_channel_kept(qh_exchange *x, int layer, qh_direction dir, int peer)
{
    const qh_kept *k = kept_of(x, layer, dir);
    qh_channel c = qh_channel_at(x, &x->settings->codec, k->epoch[peer], layer, dir, false, peer);

    if (c.block.n_rows > 0)
        qh_channel_index_as(&c, k->width + c.first);
    return c;
}

qh_status qh_channel_decode_kept(qh_channel *c)
{
    const qh_kept *k = kept_of(c->x, c->layer, c->dir);

    return qh_channel_decode(c, k->wire + k->wire_at[c->peer]);
}
