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

typedef struct qh_bits_config {
    uint8_t width[QH_MAX_WIDTHS]; /* --bits, rising */
    int n_widths;
    int64_t assign_every; /* epochs between assignments, >= 1 */
    uint64_t seed;
} qh_bits_config;

/* The messages of one channel, layer and direction. */
typedef struct qh_bits_request {
    int32_t epoch;
    int layer, direction;
    int64_t n_messages;
    const int32_t *node;   /* [n] global ids */
    const int32_t *degree; /* [n] global in-degrees */
    const float *range;    /* [n] max - min traced since the last assignment, or NULL */
    const float *beta;     /* [n] sum of alpha^2 over the receiver's neighbours, or NULL */
} qh_bits_request;

typedef struct qh_bits_ops {
    const char *name, *help;
    /* Whether widths are chosen anew in this epoch (the same answer on every rank). */
    bool (*changes)(const qh_bits_config *c, int32_t epoch);
    /* Fills width[n_messages]. */
    qh_status (*assign)(const qh_bits_config *c, const qh_bits_request *r, uint8_t *width);
} qh_bits_ops;

const qh_bits_ops *qh_bits_find(const char *name); /* NULL: none of that name */
void qh_bits_help(FILE *out);

/* "2,4,8" into the config: a subset of 1..8, 16, 32, sorted, no repeats. QH_EUSAGE. */
qh_status qh_bits_parse(const char *where, const char *text, qh_bits_config *out);

#endif
