/* qhalo net: the networks and accelerators that are built in, and what a description means. */
#include "tools/args.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json.h"
#include "tools/net_run.h"
#include "tools/table.h"

#include "netmodel/netmodel.h"
#include "sim/compute.h"
#include "src/base/file.h"

#include <string.h>

typedef struct net_options {
    bool json, yaml;
    int64_t devices;
    char *net;
} net_options;

static const qh_option options[] = {
    {"devices", QH_OPT_INT, offsetof(net_options, devices), .def = 0, .min = 0, .max = 4096,
     .value = "N", .help = "show: devices on the network; 0: as it says, or 2"},
    {"net", QH_OPT_TEXT, offsetof(net_options, net), .value = "NAME|FILE",
     .help = "run: the network, in place of the links of the file"},
    {"yaml", QH_OPT_FLAG, offsetof(net_options, yaml),
     .help = "show: the file of a preset, a start for one of your own"},
    {"json", QH_OPT_FLAG, offsetof(net_options, json),
     .help = "list, run: one JSON object on stdout"},
    {0}};

/* A family of presets. */
typedef struct family {
    const char *title, *key;
    int64_t (*count)(void);
    const char *(*name)(int64_t i), *(*about)(int64_t i), *(*text)(int64_t i);
} family;

static const family families[] = {
    {"network", "networks", qh_net_preset_count, qh_net_preset_name, qh_net_preset_about,
     qh_net_preset_text},
    {"accelerator", "accelerators", qh_accelerator_preset_count, qh_accelerator_preset_name,
     qh_accelerator_preset_about, qh_accelerator_preset_text},
};

static void help(FILE *out)
{
    qh_options_help(options, out);
    fprintf(out,
            "\nNAME is a preset of qhalo net list, or a FILE.yaml that describes a network or an\n"
            "accelerator. show prints everything that will be applied. run sends the flows of a\n"
            "file through a network and tells when each finishes, and what the links carried.\n");
}

static void list_text(void)
{
    for (size_t f = 0; f < QH_COUNT(families); f++) {
        printf("%s%s\n", f ? "\n" : "", families[f].key);
        for (int64_t i = 0; i < families[f].count(); i++)
            printf("  %-14s %s\n", families[f].name(i), families[f].about(i));
    }
}

static qh_status list_json(void)
{
    json_t *all = json_pack("{s:s}", "schema", "qhalo.nets/1");
    qh_status st;

    for (size_t f = 0; f < QH_COUNT(families); f++) {
        json_t *array = json_array();

        for (int64_t i = 0; i < families[f].count(); i++)
            json_array_append_new(array, json_pack("{s:s,s:s}", "name", families[f].name(i),
                                                   "about", families[f].about(i)));
        json_object_set_new(all, families[f].key, array);
    }
    st = qh_json_print(all, stdout);
    json_decref(all);
    return st;
}

/* The family and number of a preset; false: there is none of that name. */
static bool find_preset(const char *name, const family **f, int64_t *number)
{
    for (size_t k = 0; k < QH_COUNT(families); k++)
        for (int64_t i = 0; i < families[k].count(); i++)
            if (strcmp(families[k].name(i), name) == 0) {
                *f = &families[k];
                *number = i;
                return true;
            }
    return false;
}

static qh_status show_network(const char *name, int64_t devices)
{
    qh_netmodel *m = NULL;
    qh_status st;

    QH_TRY(st, qh_netmodel_open(name, (int)devices, &m));
    qh_netmodel_show(m, stdout);
out:
    qh_netmodel_close(m);
    return st;
}

static qh_status show_accelerator(const char *name)
{
    qh_accelerator *a = NULL;
    qh_status st;

    QH_TRY(st, qh_accelerator_open(name, &a));
    qh_accelerator_show(a, stdout);
out:
    qh_accelerator_free(a);
    return st;
}

/* The preset of either family that may be meant by what is no file; NULL: none. */
static const char *closest(const char *name)
{
    const char *names[128];
    int64_t n = 0;

    if (strchr(name, '/') || strstr(name, ".y") || qh_file_exists(name))
        return NULL;
    for (size_t f = 0; f < QH_COUNT(families); f++)
        for (int64_t i = 0; i < families[f].count() && n < (int64_t)QH_COUNT(names); i++)
            names[n++] = families[f].name(i);
    return qh_did_you_mean(name, names, n);
}

static qh_status show(const net_options *o, const char *name)
{
    const family *f = NULL;
    const char *close;
    int64_t number;

    if (!find_preset(name, &f, &number) && o->yaml)
        return qh_fail(QH_EUSAGE, "--yaml: '%s' is no preset; qhalo net list has them", name);
    if (o->yaml) {
        fputs(f->text(number), stdout);
        return QH_OK;
    }
    if (f)
        return f == &families[0] ? show_network(name, o->devices) : show_accelerator(name);
    if ((close = closest(name)))
        return qh_fail(QH_EUSAGE,
                       "net show: there is no preset '%s' and no such file; did you mean "
                       "%s?",
                       name, close);
    return qh_accelerator_describes(name) ? show_accelerator(name) : show_network(name, o->devices);
}

/* An option that is for another of the three. */
static qh_status refuse(const char *option, bool given, const char *its, const char *here)
{
    if (!given)
        return QH_OK;
    return qh_fail(QH_EUSAGE, "--%s: is for net %s, not for net %s", option, its, here);
}

static qh_status do_list(const net_options *o, const qh_args *args)
{
    qh_status st;

    QH_TRY(st, qh_args_want(args, "net", 1, "list"));
    QH_TRY(st, refuse("yaml", o->yaml, "show NAME", "list"));
    QH_TRY(st, refuse("devices", o->devices, "show NAME", "list"));
    QH_TRY(st, refuse("net", o->net, "run FILE", "list"));
    if (o->json)
        QH_TRY(st, list_json());
    else
        list_text();
out:
    return st;
}

static qh_status do_show(const net_options *o, const qh_args *args)
{
    qh_status st;

    QH_TRY(st, qh_args_want(args, "net", 2, "show NAME"));
    QH_TRY(st, refuse("json", o->json, "list and net run", "show, which is for reading"));
    QH_TRY(st, refuse("net", o->net, "run FILE", "show"));
    QH_TRY(st, show(o, args->operand[1]));
out:
    return st;
}

static qh_status do_run(const net_options *o, const qh_args *args)
{
    qh_status st;

    QH_TRY(st, qh_args_want(args, "net", 2, "run FILE.json"));
    QH_TRY(st, refuse("yaml", o->yaml, "show NAME", "run"));
    QH_TRY(st, refuse("devices", o->devices, "show NAME", "run, whose file says"));
    QH_TRY(st, qh_net_run(args->operand[1], o->net, o->json));
out:
    return st;
}

static const struct {
    const char *name;
    qh_status (*run)(const net_options *o, const qh_args *args);
} parts[] = {{"list", do_list}, {"show", do_show}, {"run", do_run}};

static qh_status run(int argc, char **argv)
{
    net_options o = {0};
    qh_arg_set set = {options, &o};
    qh_args args = {.set = &set, .n_sets = 1};
    qh_status st;

    QH_TRY(st, qh_args_read(&args, argc, argv));
    if (args.n_operands == 0) {
        st = qh_fail(QH_EUSAGE,
                     "net: list, show NAME or run FILE is missing; qhalo net --help says more");
        goto out;
    }
    for (size_t i = 0; i < QH_COUNT(parts); i++)
        if (strcmp(args.operand[0], parts[i].name) == 0) {
            st = parts[i].run(&o, &args);
            goto out;
        }
    st = qh_fail(QH_EUSAGE, "net: there is no '%s' here; it is list, show NAME or run FILE",
                 args.operand[0]);
out:
    qh_args_free(&args);
    return st;
}

const qh_command qh_cmd_net = {
    .name = "net",
    .usage = "list [--json]\nshow NAME|FILE.yaml [--devices N] [--yaml]\nrun FILE.json [--net "
             "NAME|FILE.yaml] [--json]",
    .about = "Lists, explains and runs network models.",
    .help = help,
    .run = run,
};
