/* exp:HIGH:LOW, T epochs, t = 0 .. T-1:
 *
 *     R(t) = HIGH (LOW / HIGH)^(t / (T - 1))
 *
 * from HIGH in the first epoch to LOW in the last by equal factors; HIGH where T = 1. */
#include "src/base/mem.h"
#include "src/policy/rates.h"

#include <math.h>

struct qh_rate_state {
    double high, low, last;
};

static qh_status open_state(const char *where, const char *argument, const qh_rate_run *run,
                            qh_rate_state **out)
{
    double v[2];
    qh_status st;

    QH_TRY(st, qh_rate_numbers(where, argument, "exp", "HIGH:LOW", 2, v));
    QH_TRY(st, QH_NEW(out));
    **out = (qh_rate_state){v[0], v[1], (double)(run->epochs - 1)};
out:
    return st;
}

static void close_state(qh_rate_state *s)
{
    qh_mem_free(s);
}

static double at(const qh_rate_state *s, int64_t epoch, int layer)
{
    double rate = epoch == 0 ? s->high : s->high * pow(s->low / s->high, (double)epoch / s->last);

    (void)layer;
    return rate > s->low ? rate : s->low; /* rounding must not pass it */
}

const qh_rate_ops qh_rate_exp = {
    .name = "exp",
    .help = "exp:HIGH:LOW, HIGH (LOW / HIGH)^(t / (T - 1)), LOW in the last epoch",
    .open = open_state,
    .close = close_state,
    .at = at,
};
