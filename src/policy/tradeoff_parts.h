/* What the solvers of the bit-assignment trade-off share. Not for other folders.
 *
 * Inside a channel a group's width is a level: 0 is the cheapest, and step k takes it from level k
 * to k + 1 for step_bytes[k] more bytes a message and step_gain[k] * v less variance. */
#ifndef QH_POLICY_TRADEOFF_PARTS_H
#define QH_POLICY_TRADEOFF_PARTS_H

#include "src/policy/tradeoff.h"

enum { QH_TRADE_STEPS = QH_MAX_WIDTHS - 1, QH_TRADE_STREAMS = 2 * QH_TRADE_STEPS };

/* The k-th steps of groups of one size, the most gainful first. */
typedef struct qh_trade_stream {
    const float *v;    /* [n], falling, > 0 */
    const double *sum; /* [n + 1], of the first i of v */
    int64_t n, bytes;  /* bytes of one step */
    double gain;       /* of one step, over v */
    double per_byte;   /* gain / bytes */
} qh_trade_stream;

typedef struct qh_trade_channel {
    const qh_tradeoff_channel *of;
    uint8_t *width; /* where the answer goes, [n_groups] */
    int n_steps;
    uint8_t narrow;                     /* the narrowest of the cheapest widths */
    uint8_t level_width[QH_MAX_WIDTHS]; /* [n_steps + 1] */
    int64_t step_bytes[QH_TRADE_STEPS]; /* of a message */
    double step_gain[QH_TRADE_STEPS];
    bool whole;                         /* no width was left out as being off the convex hull */
    int64_t base_bytes;                 /* all groups at level 0 */
    double base_var;                    /* and their variance */
    int64_t n_full, n_pos;              /* groups of group_size, and those of them with v > 0 */
    int32_t *order;                     /* [n_full]: groups by falling v */
    int64_t unit_bytes, n_units;        /* of a unit; units that take all of n_pos to the top */
    int64_t step_units[QH_TRADE_STEPS]; /* of a group */
    bool has_last;                      /* a last group of another size and v > 0 */
    float last;                         /* its v */
    double last_sum[2];
    qh_trade_stream stream[QH_TRADE_STREAMS]; /* of the n_steps, then of the last group */
    int n_streams;
    int first_lane, n_lanes;
} qh_trade_channel;

/* A plan of a lane's full groups, as its bytes above the base and its gain. */
typedef struct qh_trade_point {
    int64_t bytes;
    double gain;
} qh_trade_point;

enum { QH_TRADE_POINTS = 1 << 17 };

/* A channel with its last group held at one level: its time is base + units. */
typedef struct qh_trade_lane {
    int channel, last_level;
    int64_t base_bytes;
    double base_gain; /* of the last group */
    int64_t units;    /* that the deadline pays for; -1: not even the base */
    int64_t hint;     /* second steps at the last query */
    double next, gain;
    qh_trade_point *point; /* NULL: every unit is tried. Else only these plans, the more bytes the
                            * more gain */
    int64_t n_points, at;
} qh_trade_lane;

/* What a channel's full groups get: count[k] of them take step k. */
typedef struct qh_trade_plan {
    int last_level;
    int64_t count[QH_TRADE_STEPS];
    double gain; /* of variance, the last group's with it */
} qh_trade_plan;

typedef struct qh_trade_weights {
    double variance, time; /* of the objective; 0: the term is dropped or weighs nothing */
    double offset;         /* objective = variance * V + time * T - offset */
} qh_trade_weights;

/* One round, ready to be solved. */
typedef struct qh_trade_round {
    qh_trade_weights weight;
    qh_trade_channel *channel; /* [n_channels] */
    int n_channels;
    qh_trade_lane *lane; /* [n_lanes] */
    int n_lanes;
    int *heap;             /* [n_lanes] */
    double *tree;          /* [2 * leaves] */
    int leaves;            /* n_channels, up to a power of two */
    double *mu;            /* [2 * n_channels] */
    double bound;          /* of weight.variance * V + weight.time * Z */
    qh_trade_point *point; /* [QH_TRADE_POINTS], shared out to the lanes */
    int64_t n_points;
    int64_t candidates;
    int n_rounds;   /* of the problem, this one among them */
    int64_t nodes;  /* of the search inside channels still allowed */
    bool truncated; /* they ran out */
} qh_trade_round;

/* --- tradeoff_levels.c --- */
double qh_trade_variance_of_width(int width); /* 1/(2^b - 1)^2 */
void qh_trade_set_levels(const qh_tradeoff *p, qh_trade_channel *c);
/* After the levels: sorts the groups into order, v[n_full], sum[n_full + 1]. */
void qh_trade_set_groups(qh_trade_channel *c, uint64_t *key, int32_t *order, float *v, double *sum);

/* --- tradeoff_channel.c --- */
double qh_trade_time(const qh_trade_channel *c, int64_t bytes);
/* The largest number of units within the deadline z, -1 where not even the base fits. */
int64_t qh_trade_units(const qh_trade_channel *c, const qh_trade_lane *l, double z);
/* The most gain that so many units buy the full groups; count[n_steps] says how. */
double qh_trade_best(qh_trade_round *r, const qh_trade_channel *c, int64_t units, int64_t *hint,
                     int64_t *count);
/* Neither all equal nor two of which the second is a multiple of the first: for these, the best is
 * searched. */
bool qh_trade_has_mixed_steps(const qh_trade_channel *c);
/* The best plan of a channel within the deadline. */
void qh_trade_plan_at(qh_trade_round *r, const qh_trade_channel *c, double z, qh_trade_plan *out);
void qh_trade_emit(const qh_trade_channel *c, const qh_trade_plan *plan);

/* --- tradeoff_relax.c --- */
/* The gain that so many bytes buy when steps may be taken in part; *slope: of the next byte,
 * count[n_streams] (or NULL): whole steps of each stream. Only the first n_streams count. */
double qh_trade_relaxed(const qh_trade_stream *stream, int n_streams, double bytes, double *slope,
                        int64_t *count);
/* How many of a stream's steps gain more than that a byte. */
int64_t qh_trade_count_above(const qh_trade_stream *s, double per_byte);
/* Where the relaxed round is least, between two deadlines next to each other. */
void qh_trade_least(const qh_trade_round *r, double *below, double *above);
/* A lower bound of weight.variance * V + weight.time * Z of the round, from multipliers at the
 * least. */
double qh_trade_bound(qh_trade_round *r, double below, double above);
/* The deadlines around the least whose relaxed value is not above `value`, a little widened. */
void qh_trade_window(const qh_trade_round *r, double below, double above, double value, double *lo,
                     double *hi);
double qh_trade_first_deadline(const qh_trade_round *r);

/* --- tradeoff_front.c --- */
/* Gives the lanes of channels with mixed steps the plans that may be part of an assignment of the
 * round no worse than value, at deadlines between lo and hi. */
void qh_trade_list_fronts(qh_trade_round *r, double lo, double hi, double value);

/* --- tradeoff_sweep.c --- */
typedef struct qh_trade_best_deadline {
    double z, value; /* weight.time * z - weight.variance * gain */
} qh_trade_best_deadline;
/* Tries every time that a channel can take from lo on (the last one not above lo is the first)
 * up to hi. */
qh_trade_best_deadline qh_trade_sweep(qh_trade_round *r, double lo, double hi);

/* --- tradeoff.c --- */
/* Prepares each round, bounds it, hands it with the least of its relaxation to `round`, which emits
 * widths, and evaluates. exhaustive: what is emitted is the optimum of the round. */
typedef qh_status (*qh_trade_round_fn)(qh_trade_round *r, double below, double above);
qh_status qh_trade_run(const qh_tradeoff *p, qh_tradeoff_work *w, qh_trade_round_fn round,
                       bool exhaustive, uint8_t *width, double *z, qh_tradeoff_answer *out);

extern const qh_tradeoff_solver qh_tradeoff_exact, qh_tradeoff_sweep, qh_tradeoff_greedy,
    qh_tradeoff_glpk;

#endif
