#include "tools/instance.h"

#include "src/base/log.h"
#include "src/base/mem.h"
#include "src/base/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 4096, MOST_NAMES = 64 };

/* Where a value stands, for errors: "FILE: instance NAME: channels[3]". */
typedef struct place {
    const char *path, *name;
    int64_t channel; /* -1: none */
} place;

static const char *const file_keys[] = {"format", "description", "instances"};
/* The last ones say what is known of the answer; qhalo does not need to be told. */
static const char *const instance_keys[] = {"name",
                                            "N",
                                            "dim",
                                            "group_size",
                                            "bits",
                                            "lambda",
                                            "channels",
                                            "last_group",
                                            "format",
                                            "description",
                                            "normalisation",
                                            "optimum",
                                            "other_lambda_optima",
                                            "uniform_bits_objective"};
static const char *const channel_keys[] = {"src", "dst", "alpha", "beta", "messages", "variance"};

static qh_status wrong(const place *at, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static qh_status wrong(const place *at, const char *key, const char *format, ...)
{
    char what[512], where[64] = "", who[128] = "";
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    if (at->name && *at->name)
        snprintf(who, sizeof who, "instance %.100s: ", at->name);
    if (at->channel >= 0)
        snprintf(where, sizeof where, "channels[%lld]%s", (long long)at->channel, *key ? "." : "");
    return qh_fail(QH_EINPUT, "%s: %s%s%s: %s", at->path, who, where, key, what);
}

static qh_status check_keys(const place *at, const json_t *o, const char *const *known, size_t n)
{
    const char *key, *close;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)o, key, value)
    {
        size_t i = 0;

        while (i < n && strcmp(known[i], key) != 0)
            i++;
        if (i < n)
            continue;
        close = qh_did_you_mean(key, known, (int64_t)n);
        if (close)
            return wrong(at, key, "there is no such key; did you mean %s?", close);
        return wrong(at, key, "there is no such key; qhalo assign --help lists them");
    }
    return QH_OK;
}

static qh_status get(const place *at, const json_t *o, const char *key, const json_t **out)
{
    *out = json_object_get(o, key);
    return *out ? QH_OK : wrong(at, key, "is missing");
}

static qh_status get_int(const place *at, const json_t *o, const char *key, int64_t min,
                         int64_t max, int64_t *out)
{
    const json_t *value;
    qh_status st;

    QH_TRY(st, get(at, o, key, &value));
    if (!json_is_integer(value))
        return wrong(at, key, "is no whole number; %lld to %lld is right", (long long)min,
                     (long long)max);
    *out = json_integer_value(value);
    if (!(min <= *out && *out <= max))
        return wrong(at, key, "%lld is out of range; %lld to %lld is right", (long long)*out,
                     (long long)min, (long long)max);
out:
    return st;
}

static qh_status get_real(const place *at, const json_t *o, const char *key, double *out)
{
    const json_t *value;
    qh_status st;

    QH_TRY(st, get(at, o, key, &value));
    if (!json_is_number(value))
        return wrong(at, key, "is no number");
    *out = json_number_value(value);
out:
    return st;
}

static qh_status get_array(const place *at, const json_t *o, const char *key, const json_t **out)
{
    qh_status st;

    QH_TRY(st, get(at, o, key, out));
    if (!json_is_array(*out))
        return wrong(at, key, "is no list");
out:
    return st;
}

/* --- the file --- */

qh_status qh_instances_open(const char *path, qh_instances *out)
{
    qh_instances x = {.path = path};
    place at = {path, NULL, -1};
    json_error_t error;
    qh_status st;

    x.file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!x.file && error.line > 0)
        return qh_fail(QH_EINPUT, "%s:%d: %s; a bit-assignment problem in JSON is right", path,
                       error.line, error.text);
    if (!x.file)
        return qh_fail(QH_EINPUT, "%s: cannot be read: %s", path, error.text);
    if (!json_is_object(x.file))
        QH_TRY(st,
               wrong(&at, "", "is no object; one instance, or {\"instances\": [...]}, is right"));
    if (json_object_get(x.file, "instances")) {
        const json_t *list;

        QH_TRY(st, check_keys(&at, x.file, file_keys, QH_COUNT(file_keys)));
        QH_TRY(st, get_array(&at, x.file, "instances", &list));
        x.list = json_object_get(x.file, "instances");
        if (json_array_size(x.list) == 0)
            QH_TRY(st, wrong(&at, "instances", "is empty; at least one is right"));
    }
    *out = x;
    return QH_OK;
out:
    qh_instances_close(&x);
    return st;
}

void qh_instances_close(qh_instances *x)
{
    json_decref(x->file);
    *x = (qh_instances){0};
}

static const char *name_of(const json_t *instance)
{
    const char *name = json_string_value(json_object_get(instance, "name"));

    return name ? name : "";
}

/* "it has a, b, c" for the error line. */
static void list_names(const qh_instances *x, char *out, size_t size)
{
    size_t n = x->list ? json_array_size(x->list) : 1, at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && i < MOST_NAMES && at + 1 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "",
                               name_of(x->list ? json_array_get(x->list, i) : x->file));
}

qh_status qh_instances_find(const qh_instances *x, const char *name, const json_t **out)
{
    size_t n = x->list ? json_array_size(x->list) : 1;
    char names[512];

    list_names(x, names, sizeof names);
    if (!name && n > 1)
        return qh_fail(QH_EUSAGE, "--instance: %s holds %zu of them; one of %s is right", x->path,
                       n, names);
    for (size_t i = 0; i < n; i++) {
        const json_t *o = x->list ? json_array_get(x->list, i) : x->file;

        if (!name || strcmp(name_of(o), name) == 0) {
            *out = o;
            return QH_OK;
        }
    }
    return qh_fail(QH_EUSAGE, "--instance: %s has no '%s'; one of %s is right", x->path, name,
                   names);
}

/* --- one instance --- */

static qh_status read_widths(const place *at, const json_t *o, qh_tradeoff *p)
{
    const json_t *list;
    qh_status st;

    QH_TRY(st, get_array(at, o, "bits", &list));
    if (json_array_size(list) < 1 || json_array_size(list) > QH_MAX_WIDTHS)
        return wrong(at, "bits", "holds %zu widths; 1 to %d is right", json_array_size(list),
                     QH_MAX_WIDTHS);
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *value = json_array_get(list, k);
        int64_t width = json_integer_value(value);

        if (!json_is_integer(value) || !qh_bits_is_width(width) ||
            (k > 0 && width <= p->width[k - 1]))
            return wrong(at, "bits", "rising bit-widths of 1 to 8, 16 and 32 are right");
        p->width[k] = (uint8_t)width;
    }
    p->n_widths = (int)json_array_size(list);
out:
    return st;
}

static qh_status read_variance(const place *at, const json_t *o, int64_t n, float *out)
{
    const json_t *list;
    qh_status st;

    QH_TRY(st, get_array(at, o, "variance", &list));
    if ((int64_t)json_array_size(list) != n)
        return wrong(at, "variance", "holds %zu groups; %lld for so many messages is right",
                     json_array_size(list), (long long)n);
    for (int64_t g = 0; g < n; g++) {
        const json_t *value = json_array_get(list, (size_t)g);

        out[g] = (float)json_number_value(value);
        if (!json_is_number(value) || !(0 <= out[g] && out[g] < INFINITY))
            return wrong(at, "variance", "item %lld is no number from 0 up to the largest float",
                         (long long)g);
    }
out:
    return st;
}

/* A cost of a channel; a fit of few points may fall below zero. */
static qh_status read_cost(const place *at, const json_t *o, const char *key, double *out)
{
    qh_status st;

    QH_TRY(st, get_real(at, o, key, out));
    if (*out < 0) {
        qh_log(QH_LOG_WARNING, "%s: %s%schannels[%lld].%s: %g is negative and counts as 0",
               at->path, at->name, *at->name ? ": " : "", (long long)at->channel, key, *out);
        *out = 0;
    }
out:
    return st;
}

typedef struct shape {
    int64_t n_devices, dim, group_size;
    bool last_is_full; /* a last group is charged as a full one */
} shape;

static qh_status read_channel(const place *at, const json_t *o, const shape *s, qh_instance *x,
                              qh_tradeoff_channel *c)
{
    int64_t src, dst, messages, last;
    double alpha, beta;
    qh_status st;

    if (!json_is_object(o))
        return wrong(at, "", "is no object");
    QH_TRY(st, check_keys(at, o, channel_keys, QH_COUNT(channel_keys)));
    QH_TRY(st, get_int(at, o, "src", 0, s->n_devices - 1, &src));
    QH_TRY(st, get_int(at, o, "dst", 0, s->n_devices - 1, &dst));
    if (src == dst)
        return wrong(at, "dst", "%lld is src too; another device is right", (long long)dst);
    QH_TRY(st, read_cost(at, o, "alpha", &alpha));
    QH_TRY(st, read_cost(at, o, "beta", &beta));
    QH_TRY(st, get_int(at, o, "messages", 0, INT32_MAX, &messages));
    *c = (qh_tradeoff_channel){.src = (int32_t)src,
                               .dst = (int32_t)dst,
                               .theta = alpha / 8 / (1 << 20),
                               .gamma = beta,
                               .n_groups = (messages + s->group_size - 1) / s->group_size,
                               .group_size = s->group_size};
    last = messages - (c->n_groups - 1) * s->group_size;
    c->last_size = s->last_is_full ? s->group_size : last;
    for (int k = 0; k < x->problem.n_widths; k++)
        c->bytes[k] = x->problem.width[k] * s->dim;
    c->variance = x->variance + x->n_groups;
    QH_TRY(st, read_variance(at, o, c->n_groups, x->variance + x->n_groups));
    x->n_groups += c->n_groups;
out:
    return st;
}

static qh_status check_pairs(const place *at, const qh_instance *x, int64_t n_devices)
{
    uint8_t *seen = NULL;
    place here = *at;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&seen, n_devices * n_devices));
    for (int64_t i = 0; i < x->problem.n_channels; i++) {
        const qh_tradeoff_channel *c = &x->channel[i];

        here.channel = i;
        if (seen[c->src * n_devices + c->dst]++) {
            st = wrong(&here, "", "goes from %d to %d, as an earlier one does", c->src, c->dst);
            break;
        }
    }
out:
    qh_mem_free(seen);
    return st;
}

static qh_status read_channels(const place *at, const json_t *o, const shape *s, qh_instance *x)
{
    const json_t *list;
    int64_t n, room = 0;
    qh_status st;

    QH_TRY(st, get_array(at, o, "channels", &list));
    n = (int64_t)json_array_size(list);
    for (int64_t i = 0; i < n; i++)
        room +=
            (int64_t)json_array_size(json_object_get(json_array_get(list, (size_t)i), "variance"));
    QH_TRY(st, QH_NEW_ARRAY(&x->variance, room));
    QH_TRY(st, QH_NEW_ARRAY(&x->channel, n));
    x->problem.channel = x->channel;
    x->problem.n_channels = n;
    for (int64_t i = 0; i < n; i++) {
        place here = {at->path, at->name, i};

        QH_TRY(st, read_channel(&here, json_array_get(list, (size_t)i), s, x, &x->channel[i]));
    }
    QH_TRY(st, check_pairs(at, x, s->n_devices));
out:
    return st;
}

static qh_status read_shape(const place *at, const json_t *o, shape *s)
{
    const json_t *last = json_object_get(o, "last_group");
    const char *text = json_string_value(last);
    qh_status st;

    QH_TRY(st, get_int(at, o, "N", 1, MOST_DEVICES, &s->n_devices));
    QH_TRY(st, get_int(at, o, "dim", 1, 1 << 24, &s->dim));
    QH_TRY(st, get_int(at, o, "group_size", 1, INT32_MAX / 2, &s->group_size));
    if (last && (!text || (strcmp(text, "full") != 0 && strcmp(text, "true") != 0)))
        return wrong(at, "last_group", "is neither \"full\" nor \"true\"");
    s->last_is_full = text && strcmp(text, "full") == 0;
out:
    return st;
}

qh_status qh_instance_read(const qh_instances *file, const json_t *o, qh_instance *out)
{
    qh_instance x = {0};
    place at = {file->path, name_of(o), -1};
    shape s = {0};
    qh_status st;

    if (!json_is_object(o))
        return wrong(&at, "instances", "holds something that is no object");
    QH_TRY(st, check_keys(&at, o, instance_keys, QH_COUNT(instance_keys)));
    QH_TRY(st, read_shape(&at, o, &s));
    x.problem.n_devices = (int)s.n_devices;
    QH_TRY(st, get_real(&at, o, "lambda", &x.problem.lambda));
    if (!(0 <= x.problem.lambda && x.problem.lambda <= 1))
        QH_TRY(st, wrong(&at, "lambda", "%g is out of range; 0 to 1 is right", x.problem.lambda));
    QH_TRY(st, read_widths(&at, o, &x.problem));
    QH_TRY(st, read_channels(&at, o, &s, &x));
    QH_TRY(st, qh_mem_strdup(at.name, &x.name));
    *out = x;
    return QH_OK;
out:
    qh_instance_fini(&x);
    return st;
}

void qh_instance_fini(qh_instance *x)
{
    qh_mem_free(x->name);
    qh_mem_free(x->channel);
    qh_mem_free(x->variance);
    *x = (qh_instance){0};
}
