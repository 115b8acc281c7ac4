#include "src/train/settings.h"

#include "src/base/options.h"

#include <string.h>

static const qh_method methods[] = {
    {"vanilla", "full precision, exchange first, then compute", "fp32", NULL, "sync"},
    {"int8", "every message in 8 bits", "int:8", NULL, "sync"},
    {"int4", "every message in 4 bits", "int:4", NULL, "sync"},
    {"int2", "every message in 2 bits", "int:2", NULL, "sync"},
    {"random", "bit-widths of --bits drawn anew every --assign-every epochs", "mixed", "random",
     "sync"},
    {"adaqp-p", "full precision, central nodes are computed while messages travel", "fp32", NULL,
     "overlap"},
    {"nocomm", "nothing is sent, halo values are 0", "drop", NULL, "sync"},
};

/* Names of the contract whose parts are still to come; ':' ends those that take an argument. */
static const char *const later[] = {
    "adaqp-q",    "adaqp",  "fixed:", "varco",  "pipegcn", "pipegcn-f", "pipegcn-g",
    "pipegcn-gf", "sancus", "bns:",   "pipeqs", "degree",  "ef-int2",
};

const qh_method *qh_method_find(const char *name)
{
    for (size_t i = 0; i < QH_COUNT(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

const char *qh_methods_names(void)
{
    return "vanilla|int8|int4|int2|random|adaqp-p|nocomm";
}

static bool is_later(const char *name)
{
    for (size_t i = 0; i < QH_COUNT(later); i++) {
        size_t n = strlen(later[i]);

        if (later[i][n - 1] == ':' ? strncmp(name, later[i], n) == 0 : strcmp(name, later[i]) == 0)
            return true;
    }
    return false;
}

qh_status qh_method_choose(const char *where, const char *name, const qh_method **out)
{
    const qh_method *m = qh_method_find(name);
    const char *near, *known[QH_COUNT(methods)];

    if (m) {
        *out = m;
        return QH_OK;
    }
    if (is_later(name))
        return qh_fail(QH_EUSAGE, "%s: method '%s' is not in this version; it has %s", where, name,
                       qh_methods_names());
    if (strncmp(name, "int", 3) == 0 && '1' <= name[3] && name[3] <= '8' && !name[4])
        return qh_fail(QH_EUSAGE,
                       "%s: there is no method '%s'; --codec int:%c of qhalo train sends so", where,
                       name, name[3]);
    for (size_t i = 0; i < QH_COUNT(methods); i++)
        known[i] = methods[i].name;
    near = qh_did_you_mean(name, known, QH_COUNT(known));
    if (near)
        return qh_fail(QH_EUSAGE, "%s: there is no method '%s'; did you mean %s?", where, name,
                       near);
    return qh_fail(QH_EUSAGE, "%s: there is no method '%s'; it has to be one of %s", where, name,
                   qh_methods_names());
}

void qh_methods_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(methods); i++)
        fprintf(out, "  %-10s %s\n", methods[i].name, methods[i].help);
}
