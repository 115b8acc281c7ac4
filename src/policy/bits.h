/* Bit assigners: the width of every message of a channel. Arrays in, arrays out.
 *
 * The sender of a channel decides; the receiver learns the widths from the table that travels in
 * front of the block in the epochs in which `changes` holds. */
#ifndef QH_POLICY_BITS_H
#define QH_POLICY_BITS_H

#include "src/base/rng.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { QH_MAX_WIDTHS = 10 };

/* What an assigner keeps between calls; each has its own, made by open. */
typedef struct qh_bits_state qh_bits_state;

/* Of src/policy/tradeoff.h, which needs this header. */
struct qh_tradeoff;
struct qh_tradeoff_work;
struct qh_tradeoff_answer;

typedef struct qh_bits_config {
    uint8_t width[QH_MAX_WIDTHS]; /* --bits, rising */
    int n_widths;
    int64_t assign_every; /* epochs between assignments, >= 1 */
    uint64_t seed;
    int64_t n_nodes; /* of the graph, and layers of the model: what a file may name; 0: any */
    int n_layers;
    const char *argument; /* borrowed; the text after ':' of --assign, NULL: none */
    /* For assigners with `solve`: */
    double lambda;               /* weight of the variance, [0, 1]; the rest is for the time */
    int64_t group_size;          /* messages that share a width, >= 1 */
    const double *theta, *gamma; /* borrowed, [n_ranks * n_ranks] by source, then destination:
                                    seconds of a byte and of a block, >= 0 */
} qh_bits_config;

/* The messages of one channel, layer and direction. */
typedef struct qh_bits_request {
    int32_t epoch;
    int layer, direction;
    int64_t n_messages;
    const int32_t *node;   /* [n] global ids */
    const int32_t *degree; /* [n] global in-degrees */
} qh_bits_request;

typedef struct qh_bits_ops {
    const char *name, *help; /* help names the argument: "file:PATH" */
    bool takes_argument;     /* must have one; else it must have none */
    /* Checks the configuration and reads what the assigner needs; the state is shared by all ranks,
     * read-only, and kept by the caller. NULL: nothing to check, no state. QH_EUSAGE, QH_EINPUT
     * with file:line, QH_ERESOURCE. */
    qh_status (*open)(const qh_bits_config *c, qh_bits_state **out);
    void (*close)(qh_bits_state *state); /* NULL where open is; state NULL is fine */
    /* Whether widths are chosen anew in this epoch (the same answer on every rank); always in
     * epoch 0. */
    bool (*changes)(const qh_bits_config *c, int32_t epoch);
    /* Fills width[n_messages] with widths of the configuration. Any thread. Depends on config,
     * state and request alone. */
    qh_status (*assign)(const qh_bits_config *c, const qh_bits_state *state,
                        const qh_bits_request *r, uint8_t *width);
    /* Not NULL: widths are chosen for all channels of a layer and direction together, from the
     * ranges of what was sent; `assign` then gives those before the first choice. The problem comes
     * whole but for lambda; arguments as of a solver in tradeoff.h. */
    qh_status (*solve)(const qh_bits_config *c, const struct qh_tradeoff *problem,
                       struct qh_tradeoff_work *w, uint8_t *width, double *z,
                       struct qh_tradeoff_answer *out);
} qh_bits_ops;

const qh_bits_ops *qh_bits_find(const char *name); /* NULL: none of that name */
const qh_bits_ops *qh_bits_at(int i);              /* the registry: NULL past the last */
void qh_bits_help(FILE *out);

/* "random" or "file:PATH", as --assign says it: the assigner, and its argument into c->argument,
 * pointing into text. where names the option. QH_EUSAGE with the known ones. */
qh_status qh_bits_choose(const char *where, const char *text, qh_bits_config *c,
                         const qh_bits_ops **out);

/* Whether a message may have this width: 1..8, 16, 32. */
bool qh_bits_is_width(int64_t width);

/* "2,4,8" into width and n_widths of the config: a subset of 1..8, 16, 32, rising, no repeats.
 * QH_EUSAGE. */
qh_status qh_bits_parse(const char *where, const char *text, qh_bits_config *out);

#endif
