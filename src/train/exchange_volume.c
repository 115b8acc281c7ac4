#include "src/train/exchange_parts.h"

qh_status qh_exchange_volume(qh_exchange *x, int32_t epoch, qh_volume *out)
{
    const qh_codec *codec = &x->settings->codec;
    qh_volume v = {0};
    qh_status st = QH_OK;

    for (int i = 0; i < 2 * qh_model_n_layers(x->model); i++) {
        int layer = i / 2;
        qh_direction dir = (qh_direction)(i % 2);

        if (!qh_exchange_travels(x, codec, epoch, layer, dir))
            continue;
        if (qh_exchange_widths_change(x, epoch))
            QH_TRY(st, qh_exchange_widths_choose(x, epoch, layer, dir));
        for (int p = 0; p < x->plan->n_ranks; p++) {
            qh_channel c = qh_channel_at(x, codec, epoch, layer, dir, true, p);

            if (c.block.n_rows == 0)
                continue;
            qh_channel_index(&c);
            v.bytes +=
                qh_channel_bytes(&c) + qh_channel_table_bytes(&c) + qh_channel_flag_bytes(&c);
            v.messages += c.block.n_rows;
            v.fp32_bytes += 4 * c.block.n_rows * c.block.n_cols;
        }
    }
    if (epoch == 0)
        v.bytes += qh_exchange_assign_first_bytes(x);
    *out = v;
out:
    return st;
}
