/* Benchmarks of codecs that keep some columns: whole encoders and decoders, the check of the values
 * included. */
#include "tools/bench_cases.h"

#include "src/codec/codec.h"

static qh_codec codec_of(const qh_bench_data *d, const char *text)
{
    qh_codec c = {0};
    qh_status st = qh_codec_init(text, QH_PARAMS_BF16, d->kernels, &c);

    QH_ASSERT(st == QH_OK);
    return c;
}

static qh_block block_of(const qh_bench_data *d)
{
    return (qh_block){.n_rows = d->in.rows,
                      .n_cols = d->in.cols,
                      .n_kept = qh_kept_columns(d->in.cols, d->width),
                      .column = d->column};
}

qh_status qh_bench_ratio_new(qh_bench_data *d, double *work)
{
    qh_status st;

    QH_TRY(st, qh_bench_pack_new(d, work));
    QH_TRY(st, QH_NEW_ARRAY(&d->column, d->in.cols));
    qh_mask_draw(qh_rand_key(1, QH_RAND_MASK, 0, 0, 0), d->in.cols,
                 qh_kept_columns(d->in.cols, d->width), d->column);
    qh_mem_free(d->bytes);
    d->bytes = NULL;
    QH_TRY(st, QH_NEW_ARRAY(&d->bytes, d->in.rows * d->in.cols * 5)); /* topk at ratio 1 */
out:
    return st;
}

static void encode(qh_bench_data *d, const char *text, int64_t item)
{
    qh_codec c = codec_of(d, text);
    qh_block b = block_of(d);
    qh_rows rows = qh_bench_chunk(d, item);
    int64_t bad;
    qh_status st = c.ops->encode(&c, &b, qh_mat_sub(d->in, rows), NULL, d->node, rows.first,
                                 rows.end, d->bytes, &bad);

    QH_ASSERT(st == QH_OK);
}

static void mask_item(void *ctx, int64_t item)
{
    encode(ctx, "mask", item);
}

static void topk_item(void *ctx, int64_t item)
{
    encode(ctx, "topk", item);
}

/* What the encoder of an earlier case left, or not: any bytes decode. */
static void unmask_item(void *ctx, int64_t item)
{
    qh_bench_data *d = ctx;
    qh_codec c = codec_of(d, "mask");
    qh_block b = block_of(d);
    qh_rows rows = qh_bench_chunk(d, item);

    c.ops->decode(&c, &b, d->bytes, d->node, rows.first, rows.end, qh_mat_sub(d->out, rows));
}

void qh_bench_mask(qh_bench_data *d)
{
    qh_bench_chunks(d, mask_item);
}

void qh_bench_unmask(qh_bench_data *d)
{
    qh_bench_chunks(d, unmask_item);
}

void qh_bench_topk(qh_bench_data *d)
{
    qh_bench_chunks(d, topk_item);
}
