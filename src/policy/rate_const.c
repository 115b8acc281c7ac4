/* const:R, one rate. */
#include "src/base/mem.h"
#include "src/policy/rates.h"

struct qh_rate_state {
    double rate;
};

static qh_status open_state(const char *where, const char *argument, const qh_rate_run *run,
                            qh_rate_state **out)
{
    double rate;
    qh_status st;

    (void)run;
    QH_TRY(st, qh_rate_numbers(where, argument, "const", "R", 1, &rate));
    QH_TRY(st, QH_NEW(out));
    (*out)->rate = rate;
out:
    return st;
}

static void close_state(qh_rate_state *s)
{
    qh_mem_free(s);
}

static double at(const qh_rate_state *s, int64_t epoch, int layer)
{
    (void)epoch;
    (void)layer;
    return s->rate;
}

const qh_rate_ops qh_rate_const = {
    .name = "const",
    .help = "const:R, the same rate in every epoch",
    .open = open_state,
    .close = close_state,
    .at = at,
};
