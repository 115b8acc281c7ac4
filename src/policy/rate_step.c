/* step:HIGH:LOW:EVERY: halved every EVERY epochs, down to LOW:
 *
 *     R(t) = max(HIGH / 2^floor(t / EVERY), LOW)
 */
#include "src/base/mem.h"
#include "src/policy/rates.h"

#include <math.h>

struct qh_rate_state {
    double high, low;
    int64_t every;
};

static qh_status open_state(const char *where, const char *argument, const qh_rate_run *run,
                            qh_rate_state **out)
{
    double v[3];
    qh_status st;

    (void)run;
    QH_TRY(st, qh_rate_numbers(where, argument, "step", "HIGH:LOW:EVERY", 3, v));
    if (v[2] != floor(v[2]) || v[2] > 1e9) {
        st = qh_fail(QH_EUSAGE, "%s: step: EVERY is %g; a whole number of epochs is wanted", where,
                     v[2]);
        goto out;
    }
    QH_TRY(st, QH_NEW(out));
    **out = (qh_rate_state){v[0], v[1], (int64_t)v[2]};
out:
    return st;
}

static void close_state(qh_rate_state *s)
{
    qh_mem_free(s);
}

static double at(const qh_rate_state *s, int64_t epoch, int layer)
{
    int64_t halvings = epoch / s->every;
    double rate = ldexp(s->high, halvings < 1000 ? -(int)halvings : -1000);

    (void)layer;
    return rate > s->low ? rate : s->low;
}

const qh_rate_ops qh_rate_step = {
    .name = "step",
    .help = "step:HIGH:LOW:EVERY, halved every EVERY epochs, down to LOW",
    .open = open_state,
    .close = close_state,
    .at = at,
};
