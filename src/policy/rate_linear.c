/* linear:HIGH:LOW:SLOPE, T epochs, t = 0 .. T-1:
 *
 *     R(t) = max(HIGH - SLOPE (HIGH - LOW) t / T, LOW)
 *
 * so that LOW is reached after T / SLOPE epochs. Cervino et al., VARCO, 2024 (arXiv 2406.17611),
 * section 5, where SLOPE is 2 to 7. */
#include "src/base/mem.h"
#include "src/policy/rates.h"

struct qh_rate_state {
    double high, low, slope, epochs;
};

static qh_status open_state(const char *where, const char *argument, const qh_rate_run *run,
                            qh_rate_state **out)
{
    double v[3];
    qh_status st;

    QH_TRY(st, qh_rate_numbers(where, argument, "linear", "HIGH:LOW:SLOPE", 3, v));
    QH_TRY(st, QH_NEW(out));
    **out = (qh_rate_state){v[0], v[1], v[2], (double)run->epochs};
out:
    return st;
}

static void close_state(qh_rate_state *s)
{
    qh_mem_free(s);
}

static double at(const qh_rate_state *s, int64_t epoch, int layer)
{
    double rate = s->high - s->slope * (s->high - s->low) * (double)epoch / s->epochs;

    (void)layer;
    return rate > s->low ? rate : s->low;
}

const qh_rate_ops qh_rate_linear = {
    .name = "linear",
    .help = "linear:HIGH:LOW:SLOPE, max(HIGH - SLOPE (HIGH - LOW) t / T, LOW) in epoch t of T",
    .open = open_state,
    .close = close_state,
    .at = at,
};
