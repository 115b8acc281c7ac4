/* How an exchange may depart from bringing everything at once: the method's figures, those that
 * options put in their place, and what goes with what. */
#include "sim/scenario_check.h"

#include "src/base/options.h"

enum { MAX_STALE = 100 };

/* Options that are left to the method when they are not given stand as texts in the settings; this
 * table reads them, with the range checks of all options. */
static const qh_option texts[] = {
    {"stale", QH_OPT_INT, offsetof(qh_relax, stale), .min = 0, .max = MAX_STALE},
    {0},
};

static qh_status read(const char *where, const char *text, qh_relax *r)
{
    return text ? qh_options_set(texts, r, where, where + 2, text) : QH_OK;
}

qh_status qh_settings_relax(const qh_settings *s, const qh_method *m, qh_relax *out)
{
    qh_relax r = m->relax;
    qh_status st;

    r.smooth = s->smooth;
    QH_TRY(st, read("--stale", s->stale, &r));
    *out = r;
out:
    return st;
}

qh_status qh_relax_check(const qh_train_settings *t)
{
    const qh_relax *r = &t->relax;

    if (r->stale > 0 && t->codec.ops->silent)
        return qh_fail(QH_EUSAGE,
                       "--stale: codec '%s' sends nothing that could be late; leave one of the two "
                       "out",
                       t->codec.ops->name);
    return QH_OK;
}
