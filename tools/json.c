#include "tools/json.h"

#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *qh_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Bytes of the character at text; 0 where there is none in UTF-8. jansson is the judge. */
static size_t character(const char *text)
{
    for (size_t n = 1; n <= 4 && n <= strlen(text); n++) {
        json_t *one = json_stringn(text, n);

        json_decref(one);
        if (one)
            return n;
    }
    return 0;
}

json_t *qh_json_text(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    json_t *value = json_string(text);
    char *copy = NULL, *to;

    if (value || QH_NEW_ARRAY(&copy, 3 * (int64_t)strlen(text) + 1) < 0)
        return value;
    for (to = copy; *text;) {
        size_t n = character(text), room = n ? n : sizeof replacement - 1;

        memcpy(to, n ? text : replacement, room);
        to += room;
        text += n ? n : 1;
    }
    value = json_string(copy);
    qh_mem_free(copy);
    return value;
}

qh_status qh_json_print(const json_t *o, FILE *out)
{
    if (!o || json_dumpf(o, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) != 0)
        return qh_fail(QH_ERESOURCE, "json: could not be put together; memory or disk is short");
    fputc('\n', out);
    return QH_OK;
}

static json_t *setting(const qh_option *o, const void *settings)
{
    const void *field = (const char *)settings + o->offset;
    char *text = NULL;
    json_t *value;

    if (o->type == QH_OPT_FLAG)
        return json_boolean(*(const bool *)field);
    if (o->type == QH_OPT_INT)
        return json_integer(*(const int64_t *)field);
    if (o->type == QH_OPT_REAL)
        return qh_json_real(*(const double *)field);
    if (o->type == QH_OPT_TEXT && !*(char *const *)field)
        return json_null();
    if (qh_options_print(o, settings, &text) < 0)
        return NULL;
    value = qh_json_text(text);
    qh_mem_free(text);
    return value;
}

json_t *qh_json_settings(const qh_option *table, const void *settings,
                         bool (*skip)(const char *name))
{
    json_t *all = json_object();

    for (const qh_option *o = table; o->type != QH_OPT_END; o++) {
        if (skip && skip(o->name))
            continue;
        if (json_object_set_new(all, o->name, setting(o, settings)) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

bool qh_json_number(const json_t *o, const char *path, double *out)
{
    while (*path) {
        size_t n = strcspn(path, ".");
        char key[64];

        if (n >= sizeof key || !json_is_object(o))
            return false;
        memcpy(key, path, n);
        key[n] = '\0';
        o = json_object_get(o, key);
        path += n + (path[n] == '.');
    }
    if (json_is_null(o)) {
        *out = NAN;
        return true;
    }
    *out = json_number_value(o);
    return json_is_number(o);
}

void qh_print_real(double value, FILE *out)
{
    char buf[32];

    if (!isfinite(value))
        return;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    fputs(buf, out);
}
