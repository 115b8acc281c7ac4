#include "traces/import.h"

#include "src/base/options.h"
#include "traces/import_members.h"

#include <string.h>

static const qh_import_ops *const formats[] = {&qh_import_smpi, &qh_import_goal};

const qh_import_ops *qh_import_at(int i)
{
    return 0 <= i && i < (int)QH_COUNT(formats) ? formats[i] : NULL;
}

qh_status qh_import_find(const char *where, const char *name, const qh_import_ops **out)
{
    const char *names[QH_COUNT(formats)], *close;

    for (size_t i = 0; i < QH_COUNT(formats); i++) {
        names[i] = formats[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *out = formats[i];
            return QH_OK;
        }
    }
    close = qh_did_you_mean(name, names, QH_COUNT(names));
    if (close)
        return qh_fail(QH_EUSAGE, "%s: there is no import of '%s'; did you mean %s?", where, name,
                       close);
    return qh_fail(QH_EUSAGE, "%s: there is no import of '%s'; it has to be smpi or goal", where,
                   name);
}

qh_status qh_import_read(const qh_import_ops *format, const char *path, const qh_import_options *o,
                         qh_foreign **out)
{
    qh_foreign *f = NULL;
    qh_status st;

    QH_TRY(st, format->read(path, o, &f));
    QH_TRY(st, qh_foreign_match(f));
    QH_TRY(st, qh_foreign_check_progress(f));
    *out = f;
    f = NULL;
out:
    qh_foreign_free(f);
    return st;
}
