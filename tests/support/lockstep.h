/* A model on several ranks, all in this thread: every call is made on each rank in turn, and halo
 * rows are copied between them. The plainest form of distributed training, for tests of models. */
#ifndef QH_TESTS_SUPPORT_LOCKSTEP_H
#define QH_TESTS_SUPPORT_LOCKSTEP_H

#include "src/model/model.h"
#include "src/partition/halo.h"

enum { LOCKSTEP_MAX_RANKS = 8 };

/* A graph with features and labels, by global node. */
typedef struct lockstep_data {
    int64_t n_nodes, n_edges;
    const int32_t *src, *dst;
    const float *features; /* [n_nodes x config.n_features] */
    const int32_t *label;  /* [n_nodes], or NULL: multi */
    const uint8_t *multi;  /* [n_nodes x classes] */
    int64_t n_train;
    const int32_t *train;
} lockstep_data;

typedef struct lockstep_options {
    int n_ranks;
    bool sparse, overlap; /* overlap: central rows first, then halo rows come */
    int64_t split;        /* > 0: with one rank, call this many rows central */
    /* What comes is that of `stale` epochs ago, zero before there is any; smoothed: the average
     * (from zero on) of what came so far, new values weighing 1 - smooth. Input features never are.
     * Epochs go 0, 1, ... */
    int stale;
    bool smooth_features, smooth_gradients;
    float smooth;
    /* skip_age > 0: what a rank has for another is not sent again while it has changed by less than
     * skip_bound (Frobenius norm, relative) and is not skip_age epochs old. */
    double skip_bound;
    int skip_age;
    const qh_kernels *kernels;
    qh_team *team;
    qh_sink *sink;
} lockstep_options;

/* Messages of a halo in one layer and direction: of the last epochs, their averages, and those that
 * were last sent. */
typedef struct lockstep_late {
    float *past, *average, *last; /* [(stale + 1) * n_halo * cols], then [n_halo * cols] */
    int sent[LOCKSTEP_MAX_RANKS]; /* epoch + 1 in which the block of a rank was last sent */
} lockstep_late;

enum { LOCKSTEP_MAX_LAYERS = 8 };

typedef struct lockstep_rank {
    lockstep_late late[LOCKSTEP_MAX_LAYERS][2];
    qh_halo *plan;
    qh_exec exec;
    qh_model *model;
    int64_t n_features;
    qh_mat dense;
    int64_t *x_ptr;
    int32_t *x_col;
    float *x_val;
    int32_t *label;
    uint8_t *multi;
    int32_t *train; /* inner rows */
    int64_t n_train;
} lockstep_rank;

typedef struct lockstep {
    lockstep_data data;
    lockstep_options options;
    qh_graph *graph;
    qh_layout *layout;
    lockstep_rank rank[LOCKSTEP_MAX_RANKS];
} lockstep;

/* A random data set to play with, one in four edges without its reverse, a third of the features
 * zero, two thirds of the nodes for training. Freed with lockstep_data_free. */
lockstep_data lockstep_random(int64_t n_nodes, int64_t n_pairs, int64_t n_features,
                              int64_t n_classes, bool multilabel);
void lockstep_data_free(lockstep_data *d);

/* Nodes are dealt to ranks by a hash of their number. Any failure fails the test. */
lockstep *lockstep_new(const qh_model_config *c, const lockstep_data *d, const lockstep_options *o);
void lockstep_free(lockstep *s);

/* What a rank's model was made from. */
qh_model_graph lockstep_graph(const lockstep *s, int rank);
qh_model_input lockstep_input(const lockstep *s, int rank);

void lockstep_forward(lockstep *s, int32_t epoch, bool training);
/* Mean loss over the training nodes, and its gradient by the logits. */
double lockstep_loss(lockstep *s);
/* Backward pass; then every rank holds the sum of all ranks' parameter gradients. */
void lockstep_backward(lockstep *s);
/* Row of the logits of a global node. */
const float *lockstep_logits(lockstep *s, int32_t node);

#endif
