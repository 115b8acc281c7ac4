#include "src/train/settings.h"

#include "src/base/options.h"

#include <string.h>

static const qh_method methods[] = {
    {.name = "vanilla", .help = "full precision, exchange first, then compute"},
    {.name = "int8", .help = "every message in 8 bits", .codec = "int:8"},
    {.name = "int4", .help = "every message in 4 bits", .codec = "int:4"},
    {.name = "int2", .help = "every message in 2 bits", .codec = "int:2"},
    {.name = "random",
     .help = "bit-widths of --bits drawn anew every --assign-every epochs",
     .codec = "mixed",
     .assign = "random"},
    {.name = "adaqp-p",
     .help = "full precision, central nodes are computed while messages travel",
     .strategy = "overlap"},
    {.name = "adaqp-q",
     .help = "bit-widths that weigh variance against time (--lambda) over all messages",
     .codec = "mixed",
     .assign = "adaptive"},
    {.name = "adaqp",
     .help = "adaqp-q and adaqp-p together",
     .codec = "mixed",
     .assign = "adaptive",
     .strategy = "overlap"},
    {.name = "degree",
     .help = "the wider of --bits for the nodes of higher degree",
     .codec = "mixed",
     .assign = "degree"},
    {.name = "pipegcn",
     .help = "halo values and gradients are one epoch late, and travel all that time",
     .relax = {.stale = 1}},
    {.name = "pipegcn-f",
     .help = "pipegcn with smoothed features",
     .relax = {.stale = 1, .smooth_features = true}},
    {.name = "pipegcn-g",
     .help = "pipegcn with smoothed gradients",
     .relax = {.stale = 1, .smooth_gradients = true}},
    {.name = "pipegcn-gf",
     .help = "pipegcn with both smoothed",
     .relax = {.stale = 1, .smooth_features = true, .smooth_gradients = true}},
    {.name = "pipeqs",
     .help = "adaptive bit-widths (adaqp-q), and one epoch late (pipegcn)",
     .codec = "mixed",
     .assign = "adaptive",
     .relax = {.stale = 1}},
    {.name = "sancus",
     .help = "what has hardly changed since it was last sent is not sent again",
     .relax = {.skip = true}},
    {.name = "bns:P",
     .help = "each epoch does without a random 1 - P of the boundary",
     .relax = {.sample = 1}},
    {.name = "fixed:R",
     .help = "a random 1/R of the columns of every message, others 0",
     .rate = "const:"},
    {.name = "varco",
     .help = "the same, R falling from 128 to 1 in the first fifth of the epochs",
     .rate = "linear:128:1:5"},
    {.name = "ef-int2",
     .help = "int2, what a message lost is added to the next",
     .codec = "int:2",
     .error_feedback = true},
    {.name = "nocomm", .help = "nothing is sent, halo values are 0", .codec = "drop"},
};

const qh_method *qh_method_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(methods) ? &methods[i] : NULL;
}

const char *qh_methods_names(char buf[QH_METHODS_NAMES_BYTES])
{
    size_t used = 0;

    for (size_t i = 0; i < QH_COUNT(methods); i++) {
        used += (size_t)snprintf(buf + used, QH_METHODS_NAMES_BYTES - used, "%s%s", i ? "|" : "",
                                 methods[i].name);
        QH_ASSERT(used < QH_METHODS_NAMES_BYTES);
    }
    return buf;
}

/* The line of a name up to its ':'. */
static const qh_method *find(const char *name)
{
    size_t n = strcspn(name, ":");

    for (size_t i = 0; i < QH_COUNT(methods); i++)
        if (strcspn(methods[i].name, ":") == n && strncmp(methods[i].name, name, n) == 0)
            return &methods[i];
    return NULL;
}

static qh_status unknown(const char *where, const char *name)
{
    char names[QH_METHODS_NAMES_BYTES];
    const char *near, *known[QH_COUNT(methods)];

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
                   qh_methods_names(names));
}

qh_status qh_method_choose(const char *where, const char *name, qh_method *out)
{
    const qh_method *m = find(name);
    const char *given = strchr(name, ':');
    bool wanted;

    if (!m)
        return unknown(where, name);
    wanted = strchr(m->name, ':') != NULL;
    if (wanted && !(given && given[1]))
        return qh_fail(QH_EUSAGE, "%s: method '%s' lacks its argument; %s, %s", where, name,
                       m->name, m->help);
    if (!wanted && given)
        return qh_fail(QH_EUSAGE, "%s: method '%s': %s takes no argument", where, name, m->name);
    *out = *m;
    out->codec = m->codec ? m->codec : "fp32";
    out->strategy = m->strategy ? m->strategy : "sync";
    out->argument = wanted ? given + 1 : "";
    return QH_OK;
}

qh_status qh_method_part(const char *where, const char *part, const char *argument,
                         char buf[QH_PART_BYTES])
{
    size_t n = part ? strlen(part) : 0;
    bool takes = n > 0 && part[n - 1] == ':';

    if (snprintf(buf, QH_PART_BYTES, "%s%s", part ? part : "", takes ? argument : "") <
        QH_PART_BYTES)
        return QH_OK;
    return qh_fail(QH_EUSAGE, "%s: '%.40s...' is too long", where, takes ? argument : part);
}

void qh_methods_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(methods); i++)
        fprintf(out, "  %-10s %s\n", methods[i].name, methods[i].help);
}
