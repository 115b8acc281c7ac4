#include "netmodel/preset.h"

#include "src/base/file.h"
#include "src/base/mem.h"
#include "src/base/options.h"

#include <string.h>

enum { MAX_DESCRIPTION_BYTES = 1 << 20, MAX_NAMES = 64 };

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n >= k && strcmp(text + n - k, end) == 0;
}

/* A path is meant: anything with a slash or the ending of a YAML file, or that is there. */
static int looks_like_file(const char *name)
{
    return strchr(name, '/') || ends_with(name, ".yaml") || ends_with(name, ".yml") ||
           qh_file_exists(name);
}

static qh_status unknown(const char *what, const qh_preset *presets, int64_t n_presets,
                         const char *name)
{
    const char *names[MAX_NAMES], *near;

    QH_ASSERT(n_presets <= MAX_NAMES);
    for (int64_t i = 0; i < n_presets; i++)
        names[i] = presets[i].name;
    near = qh_did_you_mean(name, names, n_presets);
    return qh_fail(QH_EUSAGE, "%s '%s': no preset of that name and no file; %s%s%s", what, name,
                   near ? "did you mean '" : "give a preset's name or a FILE.yaml",
                   near ? near : "", near ? "'?" : "");
}

qh_status qh_preset_read(const char *what, const qh_preset *presets, int64_t n_presets,
                         const char *name_or_file, char **out)
{
    for (int64_t i = 0; i < n_presets; i++)
        if (strcmp(presets[i].name, name_or_file) == 0)
            return qh_mem_strdup(presets[i].text, out);
    if (!looks_like_file(name_or_file))
        return unknown(what, presets, n_presets, name_or_file);
    return qh_file_read_text(name_or_file, MAX_DESCRIPTION_BYTES, out);
}

qh_status qh_preset_parse(const char *what, const qh_preset *presets, int64_t n_presets,
                          const char *name_or_file, qh_yaml **out)
{
    qh_status st;
    char *text = NULL;

    QH_TRY(st, qh_preset_read(what, presets, n_presets, name_or_file, &text));
    QH_TRY(st, qh_yaml_parse(name_or_file, text, (int64_t)strlen(text), QH_EINPUT, out));
out:
    qh_mem_free(text);
    return st;
}
