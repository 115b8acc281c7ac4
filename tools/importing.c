#include "tools/importing.h"

#include "src/base/file.h"
#include "tools/json.h"
#include "tools/version.h"
#include "traces/reader.h"

#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path)
{
    const char *slash;
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    slash = memrchr(path, '/', n - (n > 0));
    return slash ? slash + 1 : path;
}

/* What stands for the configuration of a run: where it came from. No path of this machine but the
 * name of the input. */
static json_t *head_json(const qh_importing *i, int n_ranks)
{
    const char *name = last_part(i->input);
    char method[256];

    snprintf(method, sizeof method, "imported from %.*s (%s)", 200, name, i->format);
    return json_pack("{s:s,s:o,s:o,s:s,s:i,s:{s:s,s:s},s:{s:s,s:o,s:s,s:s},s:b,s:b}", "schema",
                     "qhalo.trace/1", "versions", qh_version_json(), "method", qh_json_text(method),
                     "graph", "", "devices", n_ranks, "accelerator", "name", "given times", "text",
                     qh_import_accelerator, "imported", "format", i->format, "input",
                     qh_json_text(name), "speed", i->speed ? i->speed : "1GFLOP/s", "eager",
                     i->eager ? i->eager : "0B", "payload", 0, "widths_follow_network", 0);
}

static qh_status write_trace(const qh_importing *i, qh_foreign *f)
{
    json_t *head = head_json(i, qh_foreign_n_ranks(f));
    char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
    qh_status st = text ? qh_foreign_write(f, text, i->output)
                        : qh_fail(QH_ERESOURCE, "memory: too short for the head of the trace");

    free(text);
    json_decref(head);
    return st;
}

qh_status qh_import_run(const qh_importing *i)
{
    const qh_import_ops *format = NULL;
    qh_import_options o = {.flops_per_s = 1e9};
    qh_foreign *f = NULL;
    qh_status st;

    QH_TRY(st, qh_import_find("--format", i->format, &format));
    if (i->speed)
        QH_TRY(st, qh_parse_flops("--speed", i->speed, &o.flops_per_s));
    if (!(o.flops_per_s > 0))
        QH_TRY(st, qh_fail(QH_EUSAGE, "--speed: '%s' never ends; give more", i->speed));
    if (i->eager)
        QH_TRY(st, qh_parse_bytes("--eager", i->eager, &o.eager_bytes));
    if (qh_file_exists(i->output) && !qh_trace_may_replace(i->output))
        QH_TRY(st,
               qh_fail(QH_EUSAGE, "-o: %s is there and is no trace; give another name", i->output));
    QH_TRY(st, qh_import_read(format, i->input, &o, &f));
    QH_TRY(st, write_trace(i, f));
out:
    qh_foreign_free(f);
    return st;
}

void qh_import_help(FILE *out)
{
    const qh_import_ops *f;

    for (int i = 0; (f = qh_import_at(i)); i++)
        fprintf(out, "  %-8s %s\n", f->name, f->help);
}
