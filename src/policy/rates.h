/* The members of the family of rate schedules, for its registry, and how they read numbers. */
#ifndef QH_POLICY_RATES_H
#define QH_POLICY_RATES_H

#include "src/policy/rate.h"

extern const qh_rate_ops qh_rate_const, qh_rate_linear, qh_rate_exp, qh_rate_step, qh_rate_file;

/* The largest rate: a single column is left long before. */
enum { QH_RATE_MOST = 1000000000 };

/* Exactly n numbers with ':' between them into value; form says what they are ("HIGH:LOW"). The
 * first two, where there are two, are rates with HIGH >= LOW >= 1, a single one is a rate; more
 * have to be positive. QH_EUSAGE. */
qh_status qh_rate_numbers(const char *where, const char *text, const char *name, const char *form,
                          int n, double *value);

#endif
