#include "traces/export.h"

#include "src/base/options.h"
#include "traces/export_members.h"

#include <string.h>

static const qh_export_ops *const formats[] = {
    &qh_export_chrome, &qh_export_csv, &qh_export_smpi, &qh_export_goal,
#if QH_WITH_PROTOBUF
    &qh_export_chakra,
#endif
};

const qh_export_ops *qh_export_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(formats) ? formats[i] : NULL;
}

qh_status qh_export_find(const char *where, const char *name, const qh_export_ops **out)
{
    const char *names[QH_COUNT(formats)], *close;
    char list[256];
    size_t used = 0;

    for (size_t i = 0; i < QH_COUNT(formats); i++) {
        names[i] = formats[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = formats[i];
            return QH_OK;
        }
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    if (strcmp(name, "chakra") == 0)
        return qh_fail(QH_EUSAGE,
                       "%s: this qhalo was built without protobuf-c, which chakra needs (Debian: "
                       "libprotobuf-c-dev protobuf-c-compiler)",
                       where);
    close = qh_did_you_mean(name, names, QH_COUNT(names));
    if (close)
        return qh_fail(QH_EUSAGE, "%s: there is no format '%s'; did you mean %s?", where, name,
                       close);
    return qh_fail(QH_EUSAGE, "%s: there is no format '%s'; it has to be one of %s", where, name,
                   list);
}
