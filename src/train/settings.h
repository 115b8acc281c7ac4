/* What a rank needs to know to train: numbers only, no names of files, networks or devices. */
#ifndef QH_TRAIN_SETTINGS_H
#define QH_TRAIN_SETTINGS_H

#include "src/base/status.h"
#include "src/codec/codec.h"
#include "src/model/model.h"
#include "src/policy/bits.h"
#include "src/policy/rate.h"

#include <stdio.h>

/* How an exchange may depart from bringing everything in every epoch, at once. All zero: it does
 * not. Formulas and sources: exchange.c, exchange_smooth.c, exchange_skip.c,
 * src/partition/sample.h. */
typedef struct qh_relax {
    int64_t stale;                          /* epochs by which halo values and gradients are late */
    bool smooth_features, smooth_gradients; /* use moving averages of late ones */
    double smooth;                          /* [0, 1): weight of the average so far */
    bool skip;         /* blocks that have drifted little are not sent again: by less than */
    double skip_bound; /* this, relative, */
    int64_t skip_age;  /* and never for so many epochs, >= 1 */
    double sample;     /* share of boundary messages kept, drawn for each epoch; 0: all, undrawn */
} qh_relax;

/* A method is a named bundle, one line of the table in method.c, where a part that is not named is
 * vanilla's; each part can be overridden by its own option. */
typedef struct qh_method {
    const char
        *name; /* "int8"; or "fixed:R", where R stands for an argument that has to be given */
    const char *help;
    const char *codec;    /* "fp32", "int:2", "mixed", "drop", ... */
    const char *assign;   /* bit assigner, with codec "mixed"; else NULL */
    const char *strategy; /* "sync", "overlap", ... */
    const char *rate; /* schedule; one that ends in ':' has the argument behind it; NULL: none */
    bool error_feedback;
    qh_relax relax;
    const char *argument; /* of a chosen method: the text after ':', "" where it takes none */
} qh_method;

/* Line i of the table as it stands there (a part may be NULL), or NULL past the last. */
const qh_method *qh_method_at(int i);
/* "vanilla|int8|...|fixed:R" for messages. */
enum { QH_METHODS_NAMES_BYTES = 512 };
const char *qh_methods_names(char buf[QH_METHODS_NAMES_BYTES]);
/* What "int8" or "fixed:16" stands for, all parts filled in (but assign, which may be NULL);
 * argument points into name. QH_EUSAGE, "WHERE: ..." with what would be right: an unknown name, an
 * argument that is missing or not wanted. Whether the argument is a good one is for the part that
 * it goes to. */
qh_status qh_method_choose(const char *where, const char *name, qh_method *out);
void qh_methods_help(FILE *out);

/* A part of a chosen method with the argument behind it where it ends in ':' ("" for NULL).
 * QH_EUSAGE when that is too long. */
enum { QH_PART_BYTES = 4200 };
qh_status qh_method_part(const char *where, const char *part, const char *argument,
                         char buf[QH_PART_BYTES]);

typedef struct qh_train_settings {
    qh_model_config model;
    int64_t epochs;
    double lr, weight_decay;
    bool decay_first;
    uint64_t seed;
    int64_t eval_every;        /* 0: after the last epoch only */
    int64_t early_stop;        /* epochs without a better validation metric; 0: off */
    qh_codec codec;            /* its kernels are those of all the rank's work */
    const qh_bits_ops *assign; /* NULL: the codec's own width */
    qh_bits_config bits;
    const qh_bits_state *bits_state; /* borrowed; what assign->open gave */
    const qh_rate *rate;             /* borrowed; NULL: the codec's own ratio, if it takes one */
    bool error_feedback;             /* what a codec loses of a message is added to the next */
    const char *strategy;
    qh_relax relax;
    bool cache_features; /* layer 0 rows travel in the first epoch only */
    /* The sink measures the host's time of each operation: fused steps run one by one, and layer 0
     * rows that the receiver could read in the data set itself (lossless codec, no input dropout),
     * which are charged either way, are really moved. Results and records are the same. */
    bool host_times;
    bool all_moves; /* the same rows are really moved: the network is a real one */
} qh_train_settings;

#endif
