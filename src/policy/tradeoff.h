/* The bit-assignment trade-off: a width for every group of messages, so that what quantization adds
 * to the gradients and the time of the exchange are small together. Arrays in, arrays out.
 *
 * Groups g of messages lie on channels c; the channels of round r = (dst - src) mod N run at the
 * same time. With V = sum_g v_g/(2^b_g - 1)^2 (0 for width 32: raw floats) and T = sum_r Z_r, Z_r
 * the largest theta_c * bytes_c + gamma_c of the round, the widths b_g minimise
 *   lambda * (V - V_utopia)/(V_nadir - V_utopia) + (1 - lambda) * (T - T_utopia)/(T_nadir -
 * T_utopia). Nadir: all groups narrowest for V, dearest for T (slowest channel of each round).
 * Utopia: widest for V, cheapest for T (fastest channel of each round). A term whose denominator
 * is 0 is dropped. Source: Wan, Zhao, Wu, AdaQP, MLSys 2023, eq. 10-12.
 *
 * Ties: the smaller width (a group of variance 0 never gets more than the cheapest), then among
 * equal variances the lower index comes first to bits. The answer depends on the problem alone. */
#ifndef QH_POLICY_TRADEOFF_H
#define QH_POLICY_TRADEOFF_H

#include "src/policy/bits.h"

/* One channel's block of one layer and direction. */
typedef struct qh_tradeoff_channel {
    int32_t src, dst;              /* other than each other */
    double theta, gamma;           /* time of a byte, and of the block; finite, >= 0 (a fit that
                                    * gave less is the caller's to set to 0) */
    int64_t bytes[QH_MAX_WIDTHS];  /* of one message at each width of the problem, >= 0 (or in any
                                    * other unit that theta is the time of) */
    int64_t n_groups;              /* 0: sends nothing, counts nowhere */
    int64_t group_size, last_size; /* messages of every group but the last, and of the last; >= 1 */
    const float *variance;         /* borrowed, [n_groups]: sum of the group; finite, >= 0 */
} qh_tradeoff_channel;

typedef struct qh_tradeoff {
    int n_devices;
    uint8_t width[QH_MAX_WIDTHS]; /* rising, of 1..8, 16, 32 */
    int n_widths;
    double lambda; /* 0: time alone, 1: variance alone */
    int64_t n_channels;
    const qh_tradeoff_channel *channel; /* borrowed; any order */
} qh_tradeoff;

typedef struct qh_tradeoff_answer {
    double objective, var_sum, time_sum; /* evaluated from the widths */
    double var_nadir, var_utopia, time_nadir, time_utopia;
    double
        lower_bound; /* of any assignment's objective, by multipliers of the rounds; <= objective */
    double gap;      /* (objective - lower_bound) / objective; 0 where they are equal */
    int64_t candidates; /* deadlines of rounds that were tried */
    bool optimal;       /* the search left nothing out: no assignment is better, but for rounding */
} qh_tradeoff_answer;

/* Room to solve p, and any problem with its devices, channels and numbers of groups; variance is
 * not looked at. QH_ERESOURCE. */
typedef struct qh_tradeoff_work qh_tradeoff_work;
qh_status qh_tradeoff_work_new(const qh_tradeoff *p, qh_tradeoff_work **out);
void qh_tradeoff_work_free(qh_tradeoff_work *w);

/* A way to solve. Fills width[] (one a group, channel after channel in the order of p),
 * z[n_devices] (Z of round r; 0 for r = 0 and for rounds that send nothing) and *out. No allocation
 * but in glpk. Shapes and widths are asserted; QH_EINPUT for a variance that is negative or not
 * finite. */
typedef struct qh_tradeoff_solver {
    const char *name, *help;
    qh_status (*solve)(const qh_tradeoff *p, qh_tradeoff_work *w, uint8_t *width, double *z,
                       qh_tradeoff_answer *out);
} qh_tradeoff_solver;

const qh_tradeoff_solver *qh_tradeoff_at(int i); /* the registry: NULL past the last */
/* "exact", "greedy", ...; QH_EUSAGE for one that is unknown or not built in. where names the
 * option.
 */
qh_status qh_tradeoff_find(const char *where, const char *name, const qh_tradeoff_solver **out);

/* z and the objective with its parts for any widths of the problem; bound, gap and search are left
 * as they are. Errors as of solve. */
qh_status qh_tradeoff_evaluate(const qh_tradeoff *p, const qh_tradeoff_work *w,
                               const uint8_t *width, double *z, qh_tradeoff_answer *out);

#endif
