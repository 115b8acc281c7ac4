#include "src/codec/codec.h"

#include "src/codec/rows.h"

#include <string.h>

static const qh_codec_ops *const codecs[] = {&qh_codec_fp32, &qh_codec_bf16,  &qh_codec_fp16,
                                             &qh_codec_int,  &qh_codec_mixed, &qh_codec_drop};

const qh_codec_ops *qh_codec_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(codecs) ? codecs[i] : NULL;
}

static qh_status unknown(const char *text)
{
    char names[256] = "";

    for (size_t i = 0; i < QH_COUNT(codecs); i++) {
        size_t used = strlen(names);

        snprintf(names + used, sizeof names - used, "%s%s%s", i ? ", " : "", codecs[i]->name,
                 codecs[i]->configure ? ":B" : "");
    }
    return qh_fail(QH_EUSAGE, "--codec: '%s' is not a codec; there are %s", text, names);
}

qh_status qh_codec_init(const char *text, qh_params_format params, const qh_kernels *kernels,
                        qh_codec *out)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    qh_codec c = {.kernels = kernels, .params = params};
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

qh_status qh_row_not_finite(const qh_codec *c, int64_t row, int64_t *bad_row)
{
    *bad_row = row;
    return qh_fail(QH_EINTERNAL, "codec %s: a value is not finite", c->ops->name);
}
