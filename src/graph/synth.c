/* From "PRESET[,key=value...]" to a data set: presets, keys, and the order of work. */
#include "src/graph/synth.h"

#include "src/base/mem.h"
#include "src/base/options.h"
#include "src/graph/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(qh_recipe, field)

static const qh_option sbm_keys[] = {
    {"nodes", QH_OPT_INT, AT(nodes), .def = 10000, .min = 1, .max = INT32_MAX, .help = "nodes"},
    {"degree", QH_OPT_REAL, AT(degree), .def = 20, .min = 0, .max = INT32_MAX,
     .help = "mean number of edges into a node"},
    {"features", QH_OPT_INT, AT(features), .def = 64, .min = 1, .max = 1 << 24, .help = "columns"},
    {"classes", QH_OPT_INT, AT(classes), .def = 8, .min = 1, .max = 1 << 20, .help = "classes"},
    {"homophily", QH_OPT_REAL, AT(homophily), .def = 0.8, .min = 0, .max = 1,
     .help = "share of the edges drawn inside a class"},
    {"seed", QH_OPT_INT, AT(seed), .def = 1, .min = 0, .max = 0x1p53, .help = "of all randomness"},
    {"train", QH_OPT_REAL, AT(train), .def = 0.6, .min = 0, .max = 1, .help = "share of the nodes"},
    {"val", QH_OPT_REAL, AT(val), .def = 0.2, .min = 0, .max = 1,
     .help = "share of the nodes; the rest is test"},
    {"signal", QH_OPT_REAL, AT(signal), .def = 1.5, .min = 0, .max = 16,
     .help = "length of a class mean over the noise of a node's features"},
    {"label-noise", QH_OPT_REAL, AT(label_noise), .def = 0.1, .min = 0, .max = 1,
     .help = "share of the labels drawn at random"},
    {"skew", QH_OPT_CHOICE, AT(skew), .def = QH_SKEW_NONE, .choices = "none|mild|heavy",
     .help = "power law of the degrees: none, exponent 3, exponent 2.33"},
    {"locality", QH_OPT_REAL, AT(locality), .def = 0, .min = 0, .max = 1,
     .help = "share of the nodes numbered beside their community (0: shuffled)"},
    {"sparse", QH_OPT_FLAG, AT(sparse), .help = "true: sparse features of ones"},
    {"multilabel", QH_OPT_FLAG, AT(multilabel), .help = "true: several labels a node"},
    {"directed", QH_OPT_FLAG, AT(directed), .help = "true: edges without their reverse"},
    {0}};

typedef struct twin_keys {
    double scale, locality;
    int64_t seed;
} twin_keys;

static const qh_option twin_options[] = {
    {"scale", QH_OPT_REAL, offsetof(twin_keys, scale), .def = 1, .min = 1e-6, .max = 100,
     .help = "times the nodes and edges; the mean degree stays"},
    {"seed", QH_OPT_INT, offsetof(twin_keys, seed), .def = 1, .min = 0, .max = 0x1p53,
     .help = "of all randomness"},
    {"locality", QH_OPT_REAL, offsetof(twin_keys, locality), .def = 0, .min = 0, .max = 1,
     .help = "share of the nodes numbered beside their community (0: shuffled)"},
    {0}};

/* Sizes and splits are those of the data sets (Hu et al., Open Graph Benchmark, 2020, for arxiv and
 * products; Hamilton et al., GraphSAGE, 2017, for reddit; Zeng et al., GraphSAINT, 2020, for yelp
 * and amazon); arxiv's edges are its 1,166,243 citations made undirected, which leaves 2,315,598.
 * Skew, homophily, signal and noise are ours: degrees spread as widely as the originals', and a GNN
 * gets to about their accuracy without getting everything right. */
typedef struct twin {
    const char *name;
    int64_t n_edges; /* directed */
    qh_recipe recipe;
} twin;

static const twin twins[] = {{"arxiv",
                              2315598,
                              {.nodes = 169343,
                               .features = 128,
                               .classes = 40,
                               .homophily = 0.65,
                               .tight = 0.4,
                               .skew = QH_SKEW_HEAVY,
                               .hub = 3400,
                               .size_spread = 0.5,
                               .signal = 2,
                               .label_noise = 0.2,
                               .train = 0.54,
                               .val = 0.18}},
                             {"reddit",
                              114615892,
                              {.nodes = 232965,
                               .features = 602,
                               .classes = 41,
                               .homophily = 0.7,
                               .tight = 0,
                               .skew = QH_SKEW_HEAVY,
                               .hub = 150,
                               .size_spread = 0.5,
                               .signal = 1,
                               .label_noise = 0.06,
                               .train = 0.66,
                               .val = 0.1}},
                             {"products",
                              123718280,
                              {.nodes = 2449029,
                               .features = 100,
                               .classes = 47,
                               .homophily = 0.75,
                               .tight = 0.5,
                               .skew = QH_SKEW_HEAVY,
                               .hub = 1200,
                               .size_spread = 0.5,
                               .signal = 1.5,
                               .label_noise = 0.15,
                               .train = 0.08,
                               .val = 0.02}},
                             {"yelp",
                              13954819,
                              {.nodes = 716847,
                               .features = 300,
                               .classes = 100,
                               .homophily = 0.6,
                               .tight = 0.4,
                               .skew = QH_SKEW_HEAVY,
                               .hub = 800,
                               .size_spread = 0.5,
                               .signal = 1.5,
                               .label_noise = 0.2,
                               .train = 0.75,
                               .val = 0.1,
                               .multilabel = true}},
                             {"amazon",
                              264339468,
                              {.nodes = 1569960,
                               .features = 200,
                               .classes = 107,
                               .homophily = 0.6,
                               .tight = 0.4,
                               .skew = QH_SKEW_HEAVY,
                               .hub = 1200,
                               .size_spread = 0.5,
                               .signal = 1.5,
                               .label_noise = 0.2,
                               .train = 0.85,
                               .val = 0.05,
                               .multilabel = true}}};

/* --- reading the spec --- */

enum { WHERE_BYTES = 160, NAMES_MAX = 32 };

static qh_status unknown(const char *where, const char *what, const char *word,
                         const char *const *names, int64_t n)
{
    const char *near = qh_did_you_mean(word, names, n);
    char list[512] = "";
    size_t at = 0;

    for (int64_t i = 0; i < n && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", names[i]);
    if (near)
        return qh_fail(QH_EUSAGE, "%s: unknown %s '%.64s'; did you mean %s?", where, what, word,
                       near);
    return qh_fail(QH_EUSAGE, "%s: unknown %s '%.64s'; one of %s is right", where, what, word,
                   list);
}

/* One "key=value" (modified in place) into settings; seen tells which keys came before. */
static qh_status read_key(const qh_option *table, void *settings, const char *preset, char *text,
                          bool *seen)
{
    const char *names[NAMES_MAX];
    char where[WHERE_BYTES], *equals = strchr(text, '=');
    int64_t n = 0, i = 0;

    for (const qh_option *o = table; o->type != QH_OPT_END; o++)
        names[n++] = o->name;
    snprintf(where, sizeof where, "synth:%s", preset);
    if (!equals)
        return qh_fail(QH_EUSAGE, "%s: '%.64s' has no value; key=value is right", where, text);
    *equals = '\0';
    while (i < n && strcmp(names[i], text) != 0)
        i++;
    if (i == n)
        return unknown(where, "key", text, names, n);
    if (seen[i])
        return qh_fail(QH_EUSAGE, "%s: key '%s' is given twice; once is right", where, text);
    seen[i] = true;
    snprintf(where, sizeof where, "synth:%s,%s", preset, text);
    return qh_options_set(table, settings, where, text, equals + 1);
}

/* All keys of rest (modified), or none when NULL. */
static qh_status read_keys(const qh_option *table, void *settings, const char *preset, char *rest)
{
    bool seen[NAMES_MAX] = {false};
    qh_status st = qh_options_default(table, settings);

    while (st == QH_OK && rest) {
        char *comma = strchr(rest, ',');

        if (comma)
            *comma = '\0';
        st = read_key(table, settings, preset, rest, seen);
        rest = comma ? comma + 1 : NULL;
    }
    return st;
}

static qh_status read_twin(const twin *t, char *rest, qh_recipe *out)
{
    twin_keys keys = {0};
    qh_status st = read_keys(twin_options, &keys, t->name, rest);
    double nodes;

    if (st < 0)
        return st;
    nodes = floor((double)t->recipe.nodes * keys.scale + 0.5);
    if (nodes < 1 || nodes > INT32_MAX)
        return qh_fail(QH_EUSAGE, "synth:%s,scale: %g gives %.0f nodes; 1 to %d are right", t->name,
                       keys.scale, nodes, INT32_MAX);
    *out = t->recipe;
    out->nodes = (int64_t)nodes;
    out->degree = (double)t->n_edges / (double)t->recipe.nodes;
    out->seed = keys.seed;
    out->locality = keys.locality;
    return QH_OK;
}

static qh_status read_sbm(char *rest, qh_recipe *out)
{
    qh_recipe r = {.hub = 1000};
    qh_status st = read_keys(sbm_keys, &r, "sbm", rest);

    if (st < 0)
        return st;
    if (r.train + r.val > 1)
        return qh_fail(QH_EUSAGE,
                       "synth:sbm,val: train and val are %g of the nodes; at most 1 is right",
                       r.train + r.val);
    *out = r;
    return QH_OK;
}

/* The recipe, and the twin it is for (NULL: sbm). text is modified. */
static qh_status read_spec(char *text, qh_recipe *recipe, const twin **of)
{
    const char *names[QH_COUNT(twins) + 1] = {"sbm"};
    char *rest = strchr(text, ',');

    if (rest)
        *rest++ = '\0';
    *of = NULL;
    if (strcmp(text, "sbm") == 0)
        return read_sbm(rest, recipe);
    for (size_t i = 0; i < QH_COUNT(twins); i++) {
        names[i + 1] = twins[i].name;
        if (strcmp(text, twins[i].name) == 0) {
            *of = &twins[i];
            return read_twin(*of, rest, recipe);
        }
    }
    return unknown("synth", "preset", text, names, QH_COUNT(names));
}

/* --- making --- */

static qh_status set_names(const char *spec, const twin *of, qh_dataset *d)
{
    char name[64], source[1024];

    snprintf(name, sizeof name, "%s%s", of ? of->name : "sbm",
             of ? " (synthetic twin)" : " (synthetic)");
    if (of)
        snprintf(source, sizeof source,
                 "synthetic twin: generated by qhalo from synth:%.256s with the sizes of %s; it is "
                 "not the data",
                 spec, of->name);
    else
        snprintf(source, sizeof source, "synthetic: generated by qhalo from synth:%.256s", spec);
    if (qh_mem_strdup(name, &d->name) < 0)
        return QH_ERESOURCE;
    return qh_mem_strdup(source, &d->source);
}

qh_status qh_synth_new(const char *spec, qh_dataset **out)
{
    qh_recipe r = {0};
    qh_blocks b = {0};
    const twin *of = NULL;
    char *text = NULL, where[WHERE_BYTES];
    qh_dataset *d = NULL;
    qh_status st;

    snprintf(where, sizeof where, "synth:%.128s", spec);
    QH_TRY(st, qh_mem_strdup(spec, &text));
    QH_TRY(st, read_spec(text, &r, &of));
    QH_TRY(st, QH_NEW(&d));
    d->n_features = r.features;
    d->n_classes = r.classes;
    QH_TRY(st, set_names(spec, of, d));
    QH_TRY(st, qh_blocks_init(&r, &b));
    QH_TRY(st, qh_synth_edges(&r, &b, where, &d->graph));
    QH_TRY(st, qh_synth_features(&r, &b, d));
    QH_TRY(st, qh_synth_labels(&r, &b, d));
    QH_TRY(st, qh_dataset_check(d, where));
    *out = d;
    d = NULL;
out:
    qh_blocks_fini(&b);
    qh_dataset_free(d);
    qh_mem_free(text);
    return st;
}

static void keys_help(const char *preset, const qh_option *table, FILE *out)
{
    fprintf(out, "  %s\n", preset);
    for (const qh_option *o = table; o->type != QH_OPT_END; o++) {
        fprintf(out, "    %-12s %s", o->name, o->help);
        if (o->type == QH_OPT_INT || o->type == QH_OPT_REAL)
            fprintf(out, " [%g]", o->def);
        else if (o->type == QH_OPT_CHOICE)
            fprintf(out, " (%s)", o->choices);
        fputc('\n', out);
    }
}

void qh_synth_help(FILE *out)
{
    fprintf(out, "synth:PRESET[,key=value...] makes a data set.\n");
    keys_help("sbm: blocks of nodes with features that carry the class", sbm_keys, out);
    fprintf(out, "  Synthetic twins, with the sizes, degree skew and class counts of a data set, "
                 "which they are not:\n");
    for (size_t i = 0; i < QH_COUNT(twins); i++)
        fprintf(out, "    %-9s %lld nodes, %lld directed edges, %lld features, %lld %s\n",
                twins[i].name, (long long)twins[i].recipe.nodes, (long long)twins[i].n_edges,
                (long long)twins[i].recipe.features, (long long)twins[i].recipe.classes,
                twins[i].recipe.multilabel ? "labels (several a node)" : "classes");
    keys_help("their keys", twin_options, out);
}
