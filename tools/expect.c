#include "tools/expect.h"

#include "src/base/units.h"
#include "tools/console.h"
#include "tools/json.h"

#include <math.h>
#include <string.h>

/* Two-letter operators first, so that ">=" is not read as ">". */
static const struct {
    const char *text;
    qh_expect_op op;
} operators[] = {{">=", QH_GE}, {"<=", QH_LE}, {"==", QH_EQ},
                 {"!=", QH_NE}, {">", QH_GT},  {"<", QH_LT}};

static qh_status malformed(const char *text)
{
    return qh_fail(QH_EUSAGE,
                   "--expect: '%s' is not NAME OP NUMBER; write it like 'test_metric>=0.80'", text);
}

qh_status qh_expect_parse(const char *text, qh_expect *out)
{
    const char *start = text + strspn(text, " "), *at = start + strcspn(start, " <>=!");
    char number[64];
    size_t length = (size_t)(at - start), i, n;

    if (length == 0 || length >= sizeof out->name)
        return malformed(text);
    memcpy(out->name, start, length);
    out->name[length] = '\0';
    at += strspn(at, " ");
    for (i = 0; i < QH_COUNT(operators); i++)
        if (strncmp(at, operators[i].text, strlen(operators[i].text)) == 0)
            break;
    if (i == QH_COUNT(operators))
        return malformed(text);
    out->op = operators[i].op;
    at += strlen(operators[i].text);
    at += strspn(at, " ");
    n = strcspn(at, " ");
    if (n >= sizeof number || at[n + strspn(at + n, " ")])
        return malformed(text);
    memcpy(number, at, n);
    number[n] = '\0';
    if (qh_parse_real("--expect", number, -1e308, 1e308, &out->number) < 0)
        return malformed(text);
    return QH_OK;
}

qh_status qh_expect_check(const qh_text_list *list, const json_t *sample)
{
    qh_status st = QH_OK;

    for (int64_t i = 0; i < list->n; i++) {
        qh_expect e;
        double value;

        QH_TRY(st, qh_expect_parse(list->item[i], &e));
        /* Which widths a histogram will have shows at the end only. */
        if (sample && !qh_json_number(sample, e.name, &value) &&
            strncmp(e.name, "bits_histogram.", 15) != 0) {
            st = qh_fail(QH_EUSAGE, "--expect: '%s' is no number of the summary; --json shows them",
                         e.name);
            goto out;
        }
    }
out:
    return st;
}

static bool holds(const qh_expect *e, double value)
{
    if (isnan(value))
        return false;
    switch (e->op) {
    case QH_GE:
        return value >= e->number;
    case QH_LE:
        return value <= e->number;
    case QH_GT:
        return value > e->number;
    case QH_LT:
        return value < e->number;
    case QH_EQ:
        return value == e->number;
    case QH_NE:
        return value != e->number;
    }
    return false;
}

qh_status qh_expect_hold(const qh_text_list *list, const json_t *result)
{
    qh_status st = QH_OK;

    for (int64_t i = 0; i < list->n; i++) {
        qh_expect e;
        double value = NAN;
        qh_status parsed = qh_expect_parse(list->item[i], &e);

        if (parsed < 0)
            return parsed;
        if (!qh_json_number(result, e.name, &value) && strncmp(e.name, "bits_histogram.", 15) == 0)
            value = 0; /* no message had that width */
        if (holds(&e, value))
            continue;
        if (st < 0)
            qh_console_error(qh_error_text());
        if (isnan(value))
            st = qh_fail(QH_EEXPECT, "--expect: %s does not hold; %s has no value", list->item[i],
                         e.name);
        else
            st = qh_fail(QH_EEXPECT, "--expect: %s does not hold; %s is %.10g", list->item[i],
                         e.name, value);
    }
    return st;
}
