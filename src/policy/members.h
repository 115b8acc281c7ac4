/* The members of the family of bit assigners, for its registry. */
#ifndef QH_POLICY_MEMBERS_H
#define QH_POLICY_MEMBERS_H

#include "src/policy/bits.h"

extern const qh_bits_ops qh_bits_uniform, qh_bits_random, qh_bits_degree, qh_bits_adaptive,
    qh_bits_file;

#endif
