/* Descriptions that are built into the program, and finding one by name or by file. Used for
 * networks and, in sim, for accelerators. */
#ifndef QH_NETMODEL_PRESET_H
#define QH_NETMODEL_PRESET_H

#include "src/base/status.h"
#include "src/base/yaml.h"

#include <stdint.h>

typedef struct qh_preset {
    const char *name;  /* of its file, without .yaml */
    const char *about; /* its "about:" line */
    const char *text;  /* the file */
} qh_preset;

/* Made from netmodel/presets by tools/embed.py at build time; sorted by name. */
extern const qh_preset qh_net_presets[];
extern const int64_t qh_net_presets_count;

/* The text of the description called name_or_file, which the caller frees: a preset where there is
 * one of that name, else a file. what names the kind in errors ("network"). QH_EUSAGE for an
 * unknown name (with the closest one), QH_EINPUT for a file that cannot be read. */
qh_status qh_preset_read(const char *what, const qh_preset *presets, int64_t n_presets,
                         const char *name_or_file, char **out);

/* The parsed description called name_or_file, which the caller frees: a preset where there is one
 * of that name, else a file. what names the kind in errors ("network"). Errors: QH_EUSAGE for an
 * unknown name (with the closest one); QH_EINPUT for a file that cannot be read or is no good
 * YAML, and whatever its reader finds wrong with it has that status, too. */
qh_status qh_preset_parse(const char *what, const qh_preset *presets, int64_t n_presets,
                          const char *name_or_file, qh_yaml **out);

#endif
