/* The generator behind every synthetic data set, in parts. Inside src/graph only.
 *
 * Model: a degree-corrected block model (Karrer and Newman, Phys. Rev. E 83, 016107, 2011) with two
 * levels. Each class is cut into communities; a node has a weight w drawn from a power law. One
 * draw picks u by weight from all nodes, then with probability `tight` v by weight from u's
 * community, up to `homophily` from u's class, else from another class. Draws that repeat or hit u
 * itself are dropped, and the number of draws is chosen so that what is left has the wanted degree.
 *
 * Every random number is a function of (seed, use, number), so the same recipe gives the same bits.
 */
#ifndef QH_GRAPH_SYNTH_H
#define QH_GRAPH_SYNTH_H

#include "src/base/rng.h"
#include "src/graph/build.h"
#include "src/graph/dataset.h"

/* What the streams are for (the `epoch` of qh_rand_key). */
enum {
    QH_SYNTH_WEIGHT,
    QH_SYNTH_ORDER,
    QH_SYNTH_EDGE,
    QH_SYNTH_MEAN,
    QH_SYNTH_FEATURE,
    QH_SYNTH_LABEL,
    QH_SYNTH_PROFILE,
    QH_SYNTH_SPLIT
};

enum { QH_SKEW_NONE, QH_SKEW_MILD, QH_SKEW_HEAVY };

typedef struct qh_recipe {
    int64_t nodes, features, classes, seed;
    double degree;      /* mean number of edges into a node */
    double homophily;   /* share of the draws inside a class */
    double tight;       /* share inside a community; <= homophily */
    int skew;           /* power law of the weights: none, exponent 3, exponent 2.33 */
    double hub;         /* largest weight over the smallest */
    double size_spread; /* class sizes fall linearly from 1 + this to 1 - this times the mean */
    double signal;      /* length of a class mean, in standard deviations of a node's noise */
    double label_noise; /* share of the labels that are drawn at random */
    double train, val;  /* shares of the split; the rest is test */
    double locality;    /* share of the nodes whose ids lie beside those of their community */
    bool sparse, multilabel, directed;
} qh_recipe;

/* Nodes by position: classes, and the communities in them, are ranges of positions. */
typedef struct qh_blocks {
    int64_t n_nodes, n_classes, n_communities;
    int64_t *class_start;     /* owned [n_classes + 1], positions */
    int64_t *class_community; /* owned [n_classes + 1]: its communities */
    int64_t *start;           /* owned [n_communities + 1], positions */
    int32_t *class_of;        /* owned [n_communities] */
    int32_t *node_of;         /* owned [n_nodes]: node id at a position */
    qh_key key[8];            /* by use */
} qh_blocks;

qh_status qh_blocks_init(const qh_recipe *r, qh_blocks *b);
void qh_blocks_fini(qh_blocks *b);

/* The edges. where names the spec in errors: QH_EUSAGE when so many cannot be had. */
qh_status qh_synth_edges(const qh_recipe *r, const qh_blocks *b, const char *where, qh_graph **out);

/* Features, labels and split of d, whose name, graph and sizes are there. */
qh_status qh_synth_features(const qh_recipe *r, const qh_blocks *b, qh_dataset *d);
qh_status qh_synth_labels(const qh_recipe *r, const qh_blocks *b, qh_dataset *d);

#endif
