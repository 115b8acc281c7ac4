#include "src/codec/codec.h"

#include "src/codec/rows.h"

#include <string.h>

static const qh_codec_ops *const codecs[] = {&qh_codec_fp32, &qh_codec_bf16,  &qh_codec_fp16,
                                             &qh_codec_int,  &qh_codec_mixed, &qh_codec_mask,
                                             &qh_codec_topk, &qh_codec_drop};

const qh_codec_ops *qh_codec_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(codecs) ? codecs[i] : NULL;
}

static qh_status unknown(const char *text)
{
    char names[256] = "";

    for (size_t i = 0; i < QH_COUNT(codecs); i++) {
        size_t used = strlen(names);

        snprintf(names + used, sizeof names - used, "%s%s%s%s", i ? ", " : "", codecs[i]->name,
                 codecs[i]->argument ? ":" : "", codecs[i]->argument ? codecs[i]->argument : "");
    }
    return qh_fail(QH_EUSAGE, "--codec: '%s' is not a codec; there are %s", text, names);
}

qh_status qh_codec_init(const char *text, qh_params_format params, const qh_kernels *kernels,
                        qh_codec *out)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    qh_codec c = {.kernels = kernels, .params = params, .coded = &qh_codec_fp32};
    qh_status st = QH_OK;

    for (size_t i = 0; i < QH_COUNT(codecs) && !c.ops; i++)
        if (strlen(codecs[i]->name) == n && memcmp(codecs[i]->name, text, n) == 0)
            c.ops = codecs[i];
    if (!c.ops)
        return unknown(text);
    if (c.ops->configure)
        st = c.ops->configure(&c, colon ? colon + 1 : NULL);
    else if (colon)
        st = qh_fail(QH_EUSAGE, "--codec: '%s': %s takes no argument", text, c.ops->name);
    if (st == QH_OK)
        *out = c;
    return st;
}

void qh_codecs_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(codecs); i++)
        fprintf(out, "  %-8s %s\n", codecs[i]->name, codecs[i]->help);
}

int qh_codec_width(const qh_codec *c)
{
    return c->ops->width(c);
}

qh_status qh_codec_cover(qh_codec *c)
{
    if (c->ops->silent)
        return qh_fail(QH_EUSAGE,
                       "--rate-schedule: codec '%s' sends nothing that a rate could thin; leave "
                       "one of them out",
                       c->ops->name);
    if (!c->ops->takes_ratio) {
        c->coded = c->ops;
        c->ops = &qh_codec_mask;
    }
    return QH_OK;
}

bool qh_codec_is_mask(const qh_codec *c)
{
    return c->ops == &qh_codec_mask;
}

bool qh_codec_takes_widths(const qh_codec *c)
{
    return c->ops->takes_widths || (qh_codec_is_mask(c) && c->coded->takes_widths);
}

void qh_codec_work(const qh_codec *c, const qh_block *b, int64_t wire, bool encodes, int64_t *flops,
                   int64_t *memory)
{
    int64_t values = b->n_rows * b->n_cols;

    if (c->ops->work) {
        c->ops->work(c, b, wire, encodes, flops, memory);
        return;
    }
    *flops = c->ops->lossless ? 0 : (encodes ? 8 : 2) * values;
    *memory = wire + 4 * values + (encodes && !c->ops->lossless ? 4 * values : 0);
}

qh_status qh_row_not_finite(const qh_codec *c, int64_t row, int64_t *bad_row)
{
    *bad_row = row;
    return qh_fail(QH_EINTERNAL, "codec %s: a value is not finite", c->ops->name);
}
