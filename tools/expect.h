/* --expect 'NAME OP NUMBER': a promise about the numbers of a result.
 *
 * NAME is a dotted path in the result's JSON ("test_metric", "breakdown.compute"), OP one of
 * >= <= > < == !=. A value that is null (no such nodes) holds for nothing. */
#ifndef QH_TOOLS_EXPECT_H
#define QH_TOOLS_EXPECT_H

#include "src/base/options.h"

#include <jansson.h>

typedef enum qh_expect_op { QH_GE, QH_LE, QH_GT, QH_LT, QH_EQ, QH_NE } qh_expect_op;

enum { QH_EXPECT_NAME_BYTES = 128 };

typedef struct qh_expect {
    char name[QH_EXPECT_NAME_BYTES];
    qh_expect_op op;
    double number;
} qh_expect;

/* Reads one expression; blanks may stand around NAME, OP and NUMBER. QH_EUSAGE. */
qh_status qh_expect_parse(const char *text, qh_expect *out);

/* Refuses an expression that is malformed, or names nothing in sample, a result of the same shape
 * (NULL: any name will do): called before a long run. QH_EUSAGE. */
qh_status qh_expect_check(const qh_text_list *list, const json_t *sample);

/* Holds all against the result; every one that fails gets its line on the console, but for the
 * last, which is left as the error text. QH_EEXPECT. */
qh_status qh_expect_hold(const qh_text_list *list, const json_t *result);

#endif
