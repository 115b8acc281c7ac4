/* Columns of messages: the schedule of their rate, the mask that thins them, the errors fed back;
 * the method's, those that options put in their place, and what goes with what. */
#include "sim/scenario_check.h"

/* The codec of a text without its kernels; what is wrong with the text is said elsewhere. */
static bool codec_of(const char *text, qh_codec *c)
{
    return qh_codec_init(text, QH_PARAMS_FP32, NULL, c) == QH_OK;
}

bool qh_parts_have_mask(const qh_parts *p)
{
    qh_codec c;

    return codec_of(p->codec, &c) && (!p->rate[0] || qh_codec_cover(&c) == QH_OK) &&
           qh_codec_is_mask(&c);
}

qh_status qh_settings_rate(const qh_settings *s, const qh_method *m, qh_parts *p)
{
    const char *rate = s->rate_schedule;
    qh_codec own;
    qh_status st;

    /* "mask:4" brings a rate, which stands in the place of the method's; "mask" does not. */
    if (!rate && !(s->codec && codec_of(s->codec, &own) && own.ratio > 0))
        rate = m->rate;
    p->rate_where = s->rate_schedule ? "--rate-schedule" : "--method";
    p->error_feedback = s->error_feedback || m->error_feedback;
    QH_TRY(st, qh_method_part(p->rate_where, rate, s->rate_schedule ? "" : m->argument, p->rate));
out:
    return st;
}

qh_status qh_parts_open_rate(const qh_settings *s, const qh_parts *p, qh_rate **out)
{
    qh_rate_run run = {.epochs = s->epochs, .n_layers = (int)s->layers};

    return p->rate[0] ? qh_rate_open(p->rate_where, p->rate, &run, out) : QH_OK;
}

static qh_status check_feedback(const qh_settings *s, const qh_parts *p, const qh_codec *c)
{
    if (p->error_feedback && c->ops->silent)
        return qh_fail(QH_EUSAGE,
                       "--error-feedback: codec '%s' sends nothing, so that what is lost would "
                       "only grow; leave one of them out",
                       c->ops->name);
    if (p->error_feedback && s->mask_rescale)
        return qh_fail(QH_EUSAGE,
                       "--error-feedback: with --mask-rescale the error grows by D/k - 1 whenever "
                       "a column is sent; leave one of them out");
    return QH_OK;
}

qh_status qh_parts_cover(const qh_settings *s, const qh_parts *p, qh_codec *c)
{
    qh_status st;

    if (p->rate[0] && c->ratio > 0)
        return qh_fail(QH_EUSAGE, "%s: codec '%s' has a rate of its own; '%s' leaves it to '%s'",
                       p->rate_where, p->codec, c->ops->name, p->rate);
    if (!p->rate[0] && c->ops->takes_ratio && c->ratio == 0)
        return qh_fail(QH_EUSAGE, "--codec: '%s' lacks its ratio; %s:R, or --rate-schedule",
                       p->codec, c->ops->name);
    if (p->rate[0])
        QH_TRY(st, qh_codec_cover(c));
    QH_TRY(st, check_feedback(s, p, c));
    c->rescale = s->mask_rescale;
out:
    return st;
}
