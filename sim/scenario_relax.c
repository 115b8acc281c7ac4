/* How an exchange may depart from bringing everything at once: the method's figures, those that
 * options put in their place, and what goes with what. */
#include "sim/scenario_check.h"

#include "src/base/options.h"

enum { MAX_STALE = 100 };

/* Options that are left to the method when they are not given stand as texts in the settings; this
 * table reads them, with the range checks of all options. */
static const qh_option texts[] = {
    {"stale", QH_OPT_INT, offsetof(qh_relax, stale), .min = 0, .max = MAX_STALE},
    {"skip-bound", QH_OPT_REAL, offsetof(qh_relax, skip_bound), .min = 0, .max = 1e9},
    {"boundary-sample", QH_OPT_REAL, offsetof(qh_relax, sample), .min = 1e-9, .max = 1},
    {0},
};

static qh_status read(const char *where, const char *name, const char *text, qh_relax *r)
{
    return text ? qh_options_set(texts, r, where, name, text) : QH_OK;
}

qh_status qh_settings_relax(const qh_settings *s, const qh_method *m, qh_relax *out)
{
    qh_relax r = m->relax;
    qh_status st;

    r.smooth = s->smooth;
    if (m->relax.sample > 0)
        QH_TRY(st, read("--method bns", "boundary-sample", m->argument, &r));
    QH_TRY(st, read("--stale", "stale", s->stale, &r));
    r.skip_bound = 0.1;
    r.skip_age = s->skip_age;
    r.skip = r.skip || s->skip_bound;
    QH_TRY(st, read("--skip-bound", "skip-bound", s->skip_bound, &r));
    QH_TRY(st, read("--boundary-sample", "boundary-sample", s->boundary_sample, &r));
    *out = r;
out:
    return st;
}

/* What goes by the place of a message among all of its channel, or holds from epoch to epoch, has
 * no hold where each epoch has other messages. */
static qh_status check_sample(const qh_train_settings *t)
{
    const char *other = t->relax.stale > 0                 ? "late messages (--stale)"
                        : t->relax.skip                    ? "skipped blocks (--skip-bound)"
                        : qh_codec_takes_widths(&t->codec) ? "bit-widths by message (--assign)"
                        : t->error_feedback                ? "--error-feedback"
                        : t->cache_features                ? "--cache-features"
                        : t->codec.ops->silent             ? "a codec that sends nothing"
                                                           : NULL;

    if (t->relax.sample > 0 && other)
        return qh_fail(QH_EUSAGE,
                       "--boundary-sample: each epoch keeps other messages, which does not go with "
                       "%s; leave one of the two out",
                       other);
    return QH_OK;
}

qh_status qh_relax_check(const qh_train_settings *t)
{
    const qh_relax *r = &t->relax;

    if ((r->stale > 0 || r->skip) && t->codec.ops->silent)
        return qh_fail(
            QH_EUSAGE, "%s: codec '%s' sends nothing that could be %s; leave one of the two out",
            r->skip ? "--skip-bound" : "--stale", t->codec.ops->name, r->skip ? "skipped" : "late");
    return check_sample(t);
}
