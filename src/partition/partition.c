#include "src/partition/partition.h"

#include "src/base/mem.h"
#include "src/partition/partitioners.h"

#include <metis.h>
#include <string.h>

static const qh_partitioner_ops *const partitioners[] = {
    &qh_partitioner_metis, &qh_partitioner_random, &qh_partitioner_range,
    &qh_partitioner_hash,  &qh_partitioner_file,
};

static qh_status unknown(const char *name)
{
    char known[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < QH_COUNT(partitioners) && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s%s%s", i ? ", " : "",
                              partitioners[i]->name, partitioners[i]->argument ? ":" : "",
                              partitioners[i]->argument ? partitioners[i]->argument : "");
    return qh_fail(QH_EUSAGE, "partitioner '%s': unknown; known are %s", name, known);
}

/* The member that "NAME" or "NAME:ARGUMENT" names, and its argument. */
static qh_status find(const char *name, const qh_partitioner_ops **out, const char **argument)
{
    size_t length = strcspn(name, ":");
    const char *rest = name[length] == ':' ? name + length + 1 : NULL;
    const qh_partitioner_ops *p = NULL;

    for (size_t i = 0; i < QH_COUNT(partitioners); i++)
        if (strlen(partitioners[i]->name) == length &&
            memcmp(partitioners[i]->name, name, length) == 0)
            p = partitioners[i];
    if (!p)
        return unknown(name);
    if (p->argument && (!rest || !*rest))
        return qh_fail(QH_EUSAGE, "partitioner '%s': lacks its argument; %s:%s", name, p->name,
                       p->argument);
    if (!p->argument && rest)
        return qh_fail(QH_EUSAGE, "partitioner '%s': takes no argument; %s", name, p->name);
    *out = p;
    *argument = rest;
    return QH_OK;
}

/* Every member is held to the promises of the header. */
static qh_status check(const char *name, int64_t n_nodes, int n_parts, const int32_t *part)
{
    int64_t *size = NULL;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&size, n_parts));
    for (int64_t i = 0; i < n_nodes; i++) {
        if (!(part[i] >= 0 && part[i] < n_parts))
            QH_TRY(st, qh_fail(QH_EINTERNAL, "partitioner '%s': node %lld is in part %d of %d",
                               name, (long long)i, part[i], n_parts));
        size[part[i]]++;
    }
    for (int p = 0; p < n_parts; p++)
        if (size[p] == 0)
            QH_TRY(st, qh_fail(QH_EINTERNAL, "partitioner '%s': part %d of %d has no node", name, p,
                               n_parts));
out:
    qh_mem_free(size);
    return st;
}

qh_status qh_partition_make(const qh_graph *g, const char *partitioner, qh_partition_request r,
                            int32_t *part)
{
    const qh_partitioner_ops *p = NULL;
    qh_status st;

    QH_TRY(st, find(partitioner, &p, &r.argument));
    if (!(r.n_parts >= 1 && r.n_parts <= g->n_nodes))
        QH_TRY(st, qh_fail(QH_EUSAGE,
                           "partitioner '%s': %d parts for %lld nodes; every part needs a node, "
                           "so 1 to %lld",
                           partitioner, r.n_parts, (long long)g->n_nodes, (long long)g->n_nodes));
    QH_TRY(st, p->run(g, &r, part));
    QH_TRY(st, check(partitioner, g->n_nodes, r.n_parts, part));
out:
    return st;
}

void qh_partitioners_help(FILE *out)
{
    for (size_t i = 0; i < QH_COUNT(partitioners); i++) {
        const qh_partitioner_ops *p = partitioners[i];
        int width = fprintf(out, "  %s%s%s", p->name, p->argument ? ":" : "",
                            p->argument ? p->argument : "");

        fprintf(out, "%*s%s\n", width < 14 ? 14 - width : 1, "", p->help);
    }
}

qh_status qh_partition_made_by(const char *partitioner, qh_partition_request r, char *text,
                               int64_t size)
{
    const qh_partitioner_ops *p = NULL;
    qh_status st = find(partitioner, &p, &r.argument);

    if (st < 0)
        return st;
    if (p == &qh_partitioner_metis)
        snprintf(text, (size_t)size, "metis %d.%d.%d objective=%s seed=%llu", METIS_VER_MAJOR,
                 METIS_VER_MINOR, METIS_VER_SUBMINOR,
                 r.objective == QH_OBJECTIVE_VOL ? "vol" : "cut", (unsigned long long)r.seed);
    else
        snprintf(text, (size_t)size, "%s seed=%llu", partitioner, (unsigned long long)r.seed);
    return QH_OK;
}

qh_status qh_partition_fill_empty(int64_t n_nodes, int n_parts, int32_t *part)
{
    int64_t *size = NULL;
    int64_t mean = n_nodes / n_parts; /* >= 1 */
    int64_t node = n_nodes;
    qh_status st;

    QH_ASSERT(n_parts >= 1 && n_parts <= n_nodes);
    QH_TRY(st, QH_NEW_ARRAY(&size, n_parts));
    for (int64_t i = 0; i < n_nodes; i++)
        size[part[i]]++;
    for (int p = 0; p < n_parts; p++) {
        if (size[p] > 0)
            continue;
        /* While a part is empty another one is above the mean. A donor only shrinks and a filled
         * part has one node, so a node that was passed over never becomes right: one walk. */
        do
            node--;
        while (size[part[node]] <= mean);
        size[part[node]]--;
        part[node] = p;
        size[p] = 1;
    }
out:
    qh_mem_free(size);
    return st;
}
